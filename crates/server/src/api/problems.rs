//! Problems: list, show, add and verify them.

use super::extract::{Body, Path, Query, of_status};
use super::problem::Problem as Failure;
use crate::accounts::{Caller, Right};
use crate::errors::Refusal;
use crate::problems::limits::{self, Needs};
use crate::problems::{self, Added, Opened};
use crate::service::Service;
use crate::submit::code_limit;
use crate::timestamp::to_rfc3339;
use crate::view::{Names, SubmissionView, VerdictName};
use axum::Json;
use axum::extract::State;
use axum::extract::multipart::MultipartError;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use judge::package::TimeLimit;
use model::Verdict;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use store::{Problem, Version};
use utoipa::{IntoParams, ToSchema};

/// Maximum size of a sample in a response, in bytes.
const SAMPLE: u64 = 64 << 10;
/// Maximum number of samples in a response.
const SAMPLES: usize = 20;

/// Summary of a problem.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ProblemInShort)]
pub(super) struct ProblemBrief {
    /// Short name of the problem, used in addresses.
    name: String,
    /// Title of the problem.
    title: String,
    /// Number of the newest version.
    version: u32,
    /// When the first version was added.
    #[schema(format = DateTime)]
    created: String,
    /// When the newest version was added.
    #[schema(format = DateTime)]
    updated: String,
}

impl ProblemBrief {
    fn new(problem: &Problem) -> ProblemBrief {
        ProblemBrief {
            name: problem.name.clone(),
            title: problem.title.clone(),
            version: problem.newest.number,
            created: to_rfc3339(problem.created),
            updated: to_rfc3339(problem.newest.created),
        }
    }
}

/// A list of problems.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Problems {
    /// Problems, ordered by name.
    problems: Vec<ProblemBrief>,
}

/// List problems
#[utoipa::path(get, path = "/problems", tag = "problems", responses((status = 200, description = "All problems, by name", body = Problems)))]
pub(super) async fn list(
    State(service): State<Arc<Service>>,
    caller: Caller,
) -> Result<Json<Problems>, Failure> {
    caller.must(Right::View)?;
    let problems = service.store.problems().await?;
    Ok(Json(Problems { problems: problems.iter().map(ProblemBrief::new).collect() }))
}

/// A problem.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Problem)]
pub(super) struct ProblemView {
    /// Summary of the problem.
    #[serde(flatten)]
    brief: ProblemBrief,
    /// CPU time limit of a test for submissions outside contests, without language factors. Null until an inferred
    /// limit is available; see `GET /problems/{name}/time-limits`.
    time_limit_ns: Option<u64>,
    /// Source of the time limit. Null for callers outside the jury.
    time_limit_source: Option<String>,
    /// Memory limit of a run. Null if the package sets none.
    memory_limit_bytes: Option<u64>,
    /// Output limit of a run. Null if the package sets none.
    output_limit_bytes: Option<u64>,
    /// Maximum size of a submission, all files together.
    code_limit_bytes: u64,
    /// Whether the problem awards points instead of pass or fail.
    scoring: bool,
    /// Whether submissions communicate with an interactor.
    interactive: bool,
    /// Whether a submission runs in several passes, each with input from the previous one.
    multi_pass: bool,
    /// Whether submissions consist of answers instead of a program.
    submit_answer: bool,
    /// Codes of the allowed languages. Null: all languages.
    languages: Option<Vec<String>>,
    /// Number of tests.
    tests: u64,
    /// Sample tests of the statement, at most 20.
    samples: Vec<Sample>,
}

/// A sample test.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Sample {
    /// Path below `data/`, without extension.
    name: String,
    /// Input, truncated to 64 KiB.
    input: String,
    /// Expected answer, truncated to 64 KiB. Null if the package has none.
    answer: Option<String>,
}

/// Get a problem
///
/// Returns the newest version with its limits, languages and samples.
#[utoipa::path(get, path = "/problems/{name}", tag = "problems", params(("name" = String, Path, description = "Short name of the problem", example = "fence")),
    responses((status = 200, description = "The newest version of the problem", body = ProblemView)))]
pub(super) async fn one(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<Json<ProblemView>, Failure> {
    caller.must(Right::View)?;
    let problem = found(&service, &name).await?;
    let opened = service.packages.get(&service.store, &problem.newest.package, &problem.name).await?;
    let (time_limit, source) = time_limit(&service, &problem.newest, &opened).await?;
    let reading = opened.clone();
    let samples = tokio::task::spawn_blocking(move || samples(&reading))
        .await
        .map_err(|e| Refusal::Fault(format!("reading samples: {e}")))?;
    let package = &opened.package;
    Ok(Json(ProblemView {
        brief: ProblemBrief::new(&problem),
        time_limit_ns: time_limit,
        // It may name submissions of the jury.
        time_limit_source: source.filter(|_| caller.may(Right::SeeAll)),
        memory_limit_bytes: package.limits.memory.map(|limit| limit.0),
        output_limit_bytes: package.limits.output.map(|limit| limit.0),
        code_limit_bytes: code_limit(package).0,
        scoring: package.scoring,
        interactive: package.interactive,
        multi_pass: package.multi_pass,
        submit_answer: package.submit_answer,
        languages: package.languages.as_ref().map(|codes| codes.iter().cloned().collect()),
        tests: package.data.all_cases().len() as u64,
        samples,
    }))
}

/// Language of the statement.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct WhichLanguage {
    /// Code of the preferred language. If the statement does not exist in it, the service returns English, or else
    /// any other language.
    #[param(example = "en")]
    language: Option<String>,
}

/// The statement of a problem.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Statement)]
pub(super) struct StatementView {
    /// Language code of this text. Null if the package does not state it.
    language: Option<String>,
    /// Codes of all languages that the statement exists in.
    languages: Vec<String>,
    /// Statement as HTML without scripts and styles; image addresses lead to this service. Null if there is only a
    /// PDF, or no statement.
    html: Option<String>,
    /// Address of the statement as PDF. Null if there is none.
    pdf: Option<String>,
}

/// Get the statement of a problem
///
/// Returns the text that the problem's page shows. `GET /problems/{name}` returns the samples.
#[utoipa::path(get, path = "/problems/{name}/statement", tag = "problems", params(("name" = String, Path, description = "Short name of the problem", example = "fence"), WhichLanguage),
    responses((status = 200, description = "The statement of the newest version", body = StatementView)))]
pub(super) async fn statement(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path(name): Path<String>,
    query: Query<WhichLanguage>,
) -> Result<Json<StatementView>, Failure> {
    caller.must(Right::View)?;
    let wish = query.read()?.language;
    let problem = found(&service, &name).await?;
    let opened = service.packages.get(&service.store, &problem.newest.package, &problem.name).await?;
    let called = problem.name.clone();
    let read =
        tokio::task::spawn_blocking(move || crate::statement::statement(&opened, &called, wish.as_deref()));
    let found = read.await.map_err(|e| Refusal::Fault(format!("reading a statement: {e}")))??;
    Ok(Json(StatementView {
        language: found.language,
        languages: found.languages,
        html: Some(found.body).filter(|html| !html.is_empty()),
        pdf: found.pdf.map(|file| format!("/problems/{}/files/{file}", problem.name)),
    }))
}

pub(super) async fn found(service: &Service, name: &str) -> Result<Problem, Refusal> {
    Ok(service.store.problem(name).await?)
}

/// The time limit in force and its source, as far as known.
async fn time_limit(
    service: &Service,
    version: &Version,
    opened: &Opened,
) -> Result<(Option<u64>, Option<String>), Refusal> {
    if let TimeLimit::Stated { limit, source } = &opened.package.limits.time {
        return Ok((Some(limit.0), Some(source.clone())));
    }
    let needs = limits::needs(service, version, "", None).await?;
    Ok(match needs {
        Needs::Limit(limit) => (Some(limit.limit.0), Some(limit.source)),
        Needs::Nothing | Needs::Missing(_) => (None, None),
    })
}

fn samples(opened: &Opened) -> Vec<Sample> {
    let groups = opened.package.data.groups.iter().filter(|group| group.name == "sample");
    let cases = groups.flat_map(|group| group.all_cases());
    let sample = |case: &judge::package::TestCase| Sample {
        name: case.name.clone(),
        input: text(opened, &case.input).unwrap_or_default(),
        answer: text(opened, &case.answer),
    };
    cases.take(SAMPLES).map(sample).collect()
}

/// The beginning of a file of a package as text; `None` if there is no file.
fn text(opened: &Opened, path: &str) -> Option<String> {
    if path.is_empty() {
        return None;
    }
    let bytes = opened.source.head(path, SAMPLE).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// A version of a problem.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Version)]
pub(super) struct VersionView {
    /// Version number, from 1.
    number: u32,
    /// SHA-256 hash of the package.
    package: String,
    /// Name of the user who added the version. Null if no user did.
    author: Option<String>,
    /// When the version was added.
    #[schema(format = DateTime)]
    created: String,
}

impl VersionView {
    fn new(version: &Version, names: &Names) -> VersionView {
        VersionView {
            number: version.number,
            package: version.package.as_str().to_string(),
            author: version.author.and_then(|id| names.name_of(id)),
            created: to_rfc3339(version.created),
        }
    }
}

/// A list of versions of a problem.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Versions {
    /// Versions, newest first.
    versions: Vec<VersionView>,
}

/// List the versions of a problem
#[utoipa::path(get, path = "/problems/{name}/versions", tag = "problems", params(("name" = String, Path, description = "Short name of the problem", example = "fence")),
    responses((status = 200, description = "Versions, newest first", body = Versions)))]
pub(super) async fn versions(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<Json<Versions>, Failure> {
    caller.must(Right::Problems)?;
    let problem = found(&service, &name).await?;
    let all = service.store.versions(problem.id).await?;
    let names = Names::read(&service, &all.iter().map(|version| version.author).collect::<Vec<_>>()).await?;
    Ok(Json(Versions { versions: all.iter().map(|version| VersionView::new(version, &names)).collect() }))
}

/// Which version to use.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct WhichVersion {
    /// Version number. Default: the newest version.
    #[param(minimum = 1)]
    version: Option<u32>,
}

impl WhichVersion {
    pub(super) const fn new(version: Option<u32>) -> WhichVersion {
        WhichVersion { version }
    }
}

pub(super) async fn version(
    service: &Service,
    problem: &Problem,
    which: &WhichVersion,
) -> Result<Version, Refusal> {
    let Some(number) = which.version else { return Ok(problem.newest.clone()) };
    let all = service.store.versions(problem.id).await?;
    let asked = all.into_iter().find(|version| version.number == number);
    asked.ok_or_else(|| Refusal::missing(format_args!("version {number} of problem {}", problem.name)))
}

/// A zip archive.
#[derive(ToSchema)]
#[schema(as = ZipArchive, value_type = String, format = Binary)]
#[expect(dead_code, reason = "describes bytes")]
struct Archive(Vec<u8>);

const ZIP: &str = "application/zip";
/// What generated clients treat as a file.
const BYTES: &str = "application/octet-stream";

/// Download a package
#[utoipa::path(get, path = "/problems/{name}/package", tag = "problems", params(("name" = String, Path, description = "Short name of the problem", example = "fence"), WhichVersion),
    responses((status = 200, description = "The uploaded zip archive. Its type is application/octet-stream if `Accept` requests that",
        content((Archive = "application/zip"), (Archive = "application/octet-stream")))))]
pub(super) async fn package(
    State(service): State<Arc<Service>>,
    caller: Caller,
    headers: HeaderMap,
    Path(name): Path<String>,
    query: Query<WhichVersion>,
) -> Result<Response, Failure> {
    caller.must(Right::Problems)?;
    let which = query.read()?;
    let problem = found(&service, &name).await?;
    let version = version(&service, &problem, &which).await?;
    let bytes = service.store.blob(&version.package).await?;
    let file = format!("attachment; filename=\"{}-{}.zip\"", problem.name, version.number);
    let accepts = headers.get(header::ACCEPT).and_then(|accepts| accepts.to_str().ok()).unwrap_or_default();
    let kind = if accepts.contains(BYTES) && !accepts.contains(ZIP) { BYTES } else { ZIP };
    let headers = [(header::CONTENT_TYPE, kind.to_string()), (header::CONTENT_DISPOSITION, file)];
    Ok((headers, bytes).into_response())
}

/// Name of the problem that a package is for.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Named {
    /// Short name of the problem. Required unless the body is a form: its field `name` takes precedence, and the
    /// file's name is the default.
    #[param(pattern = "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
    name: Option<String>,
}

/// A package as a form.
#[derive(ToSchema)]
#[schema(as = NewProblemForm)]
#[expect(dead_code, reason = "describes the form, which is read part by part")]
pub(super) struct Form {
    /// Short name of the problem. Default: the file's name without extension.
    #[schema(pattern = "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
    name: Option<String>,
    /// Zip archive of the package.
    #[schema(format = Binary, content_media_type = "application/zip")]
    package: String,
}

/// A problem after the upload of a package.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AddedProblem)]
pub(super) struct AddedView {
    /// Summary of the problem.
    #[serde(flatten)]
    problem: ProblemBrief,
    /// Whether a version was added. False if the package is identical to the newest version.
    fresh: bool,
    /// Warnings about the package.
    warnings: Vec<Warning>,
}

/// A warning about a package.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Warning {
    /// Location: the file, and the line and field if known.
    place: String,
    /// Text of the warning, with the remedy.
    message: String,
}

/// Add a problem or a version of a problem
///
/// The body is a package as a zip archive of at most 128 MiB (see docs/packages.md), or a form that contains one.
/// Submissions to earlier versions keep their verdicts; rejudge them if the change matters.
#[utoipa::path(post, path = "/problems", tag = "problems", params(Named),
    request_body(content((Archive = "application/octet-stream"), (Archive = "application/zip"), (Form = "multipart/form-data"))),
    responses((status = 201, description = "The version was added", body = AddedView), (status = 200, description = "The package is identical to the newest version; nothing was added", body = AddedView)))]
pub(super) async fn add(
    State(service): State<Arc<Service>>,
    caller: Caller,
    query: Query<Named>,
    body: Body<()>,
) -> Result<(StatusCode, Json<AddedView>), Failure> {
    caller.must(Right::Problems)?;
    let Named { name } = query.read()?;
    let (name, zip) = match body.media_type().as_str() {
        "multipart/form-data" => of_form(body, name).await?,
        ZIP | "application/x-zip-compressed" | BYTES => (name, body.bytes().await?.into()),
        _ => {
            let takes = "it must be application/zip, application/octet-stream or multipart/form-data";
            return Err(Refusal::MediaType(takes.into()).into());
        }
    };
    let name = name.ok_or_else(|| Refusal::Bad("name: is missing".into()))?;
    let added = problems::add(&service, caller.id(), &name, zip).await?;
    let status = if added.fresh { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(AddedView::new(added))))
}

impl AddedView {
    fn new(added: Added) -> AddedView {
        let warning = |(place, message)| Warning { place, message };
        AddedView {
            problem: ProblemBrief::new(&added.problem),
            fresh: added.fresh,
            warnings: added.warnings.into_iter().map(warning).collect(),
        }
    }
}

async fn of_form(body: Body<()>, named: Option<String>) -> Result<(Option<String>, Vec<u8>), Refusal> {
    let bad = |text: &str| Refusal::Bad(text.into());
    let broken = |e: MultipartError| of_status(e.status(), &e.body_text());
    let mut form = body.form().await?;
    let (mut name, mut of_file, mut package) = (named, None, None);
    while let Some(part) = form.next_field().await.map_err(broken)? {
        let field = part.name().unwrap_or_default().to_string();
        let file = part.file_name().map(|file| problems::name_of_file(file).to_string());
        let bytes = part.bytes().await.map_err(broken)?;
        match field.as_str() {
            "name" => {
                let text = String::from_utf8(bytes.to_vec()).map_err(|_| bad("name: no text in UTF-8"))?;
                name = Some(text).filter(|name| !name.is_empty()).or(name);
            }
            "package" => (of_file, package) = (file, Some(bytes.to_vec())),
            _ => return Err(bad("form: a part is neither `name` nor `package`")),
        }
    }
    let package = package.ok_or_else(|| bad("package: missing"))?;
    Ok((name.or(of_file), package))
}

/// State of the verification of a package.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Verification {
    /// Short name of the problem.
    problem: String,
    /// Version number.
    version: u32,
    /// Whether all jury submissions got their expected verdicts. Null until that is known.
    ok: Option<bool>,
    /// Number of jury submissions whose result is known.
    done: u64,
    /// Jury submissions, ordered by path.
    submissions: Vec<Check>,
}

/// A jury submission and its expected verdict.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Check {
    /// Path in the package.
    path: String,
    /// Verdicts that meet the expectation. Empty: any.
    #[schema(value_type = Vec<VerdictName>)]
    expected: Vec<Verdict>,
    /// Whether the verdict meets the expectation. Null until it is known.
    ok: Option<bool>,
    /// How the result differs from the expectation, in words.
    broken: Vec<String>,
    /// Submission that was made for the verification. Null if there is none.
    submission: Option<SubmissionView>,
}

/// Verify a package
///
/// Judges the jury submissions of the newest version on all tests. Each must get a verdict that its directory
/// expects. `GET /problems/{name}/verification` returns the results. Repeating the request rejudges the submissions.
#[utoipa::path(post, path = "/problems/{name}/verify", tag = "problems", params(("name" = String, Path, description = "Short name of the problem", example = "fence")),
    responses((status = 202, description = "The jury submissions are queued", body = Verification)))]
pub(super) async fn verify(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<(StatusCode, Json<Verification>), Failure> {
    caller.must(Right::Problems)?;
    let problem = found(&service, &name).await?;
    let version = problems::verify(&service, &problem.name, caller.id()).await?;
    Ok((StatusCode::ACCEPTED, Json(standing(&service, &problem, &version).await?)))
}

/// Get the state of a verification
#[utoipa::path(get, path = "/problems/{name}/verification", tag = "problems", params(("name" = String, Path, description = "Short name of the problem", example = "fence"), WhichVersion),
    responses((status = 200, description = "Expected and actual verdict of each jury submission", body = Verification)))]
pub(super) async fn verification(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path(name): Path<String>,
    query: Query<WhichVersion>,
) -> Result<Json<Verification>, Failure> {
    caller.must(Right::Problems)?;
    let which = query.read()?;
    let problem = found(&service, &name).await?;
    let version = version(&service, &problem, &which).await?;
    Ok(Json(standing(&service, &problem, &version).await?))
}

async fn standing(service: &Service, problem: &Problem, version: &Version) -> Result<Verification, Refusal> {
    let verification = problems::verification(service, problem, version).await?;
    let authors = verification.checks.iter().flat_map(|check| &check.submission).map(|s| s.author);
    let names = Names::read(service, &authors.collect::<Vec<_>>()).await?;
    let (ok, done) = (verification.ok(), verification.done() as u64);
    let check = |check: problems::JuryCheck| Check {
        ok: check.broken.as_ref().map(Vec::is_empty),
        path: check.path,
        expected: check.expected,
        broken: check.broken.unwrap_or_default(),
        submission: check.submission.map(|submission| SubmissionView::new(&submission, &names)),
    };
    let submissions = verification.checks.into_iter().map(check).collect();
    let (problem, version) = (problem.name.clone(), verification.version.number);
    Ok(Verification { problem, version, ok, done, submissions })
}
