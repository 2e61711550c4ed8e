//! Problems: list, look at, add, verify.

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

/// Bytes of a sample that are shown.
const SAMPLE: u64 = 64 << 10;
/// Samples that are shown.
const SAMPLES: usize = 20;

/// A problem in short.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ProblemInShort)]
pub(super) struct ProblemBrief {
    /// Its short name, which stands in addresses.
    name: String,
    /// Its title.
    title: String,
    /// Number of its newest version.
    version: u32,
    /// When its first version came.
    #[schema(format = DateTime)]
    created: String,
    /// When its newest version came.
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

/// The problems.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Problems {
    /// By name.
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
    /// In short.
    #[serde(flatten)]
    brief: ProblemBrief,
    /// CPU time of a test, without factors of languages, of what is of no contest; null while it has to be inferred from jury submissions. See `GET` on
    /// `time-limits`.
    time_limit_ns: Option<u64>,
    /// Where the time limit comes from; only the jury sees it.
    time_limit_source: Option<String>,
    /// Memory of a run, where the package says.
    memory_limit_bytes: Option<u64>,
    /// Output of a run, where the package says.
    output_limit_bytes: Option<u64>,
    /// Size of a submission, all files together.
    code_limit_bytes: u64,
    /// Points in place of pass or fail.
    scoring: bool,
    /// The judge talks to the submission.
    interactive: bool,
    /// The submission is run again with what the judge hands on.
    multi_pass: bool,
    /// Submissions are answers and no programs.
    submit_answer: bool,
    /// Codes of the languages that may be used; null: all.
    languages: Option<Vec<String>>,
    /// How many tests there are.
    tests: u64,
    /// The samples of the statement.
    samples: Vec<Sample>,
}

/// A sample.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Sample {
    /// Path below `data/` without extension.
    name: String,
    /// What the program is given, clipped at 64 KiB.
    input: String,
    /// What it may answer, likewise; null where the package has no answer.
    answer: Option<String>,
}

/// A problem
///
/// Its limits, languages and samples.
#[utoipa::path(get, path = "/problems/{name}", tag = "problems", params(("name" = String, Path, description = "Short name of the problem", example = "fence")),
    responses((status = 200, description = "Its newest version", body = ProblemView)))]
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

/// In which language.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct WhichLanguage {
    /// Code of the language to read it in; where there is none in it, in English, else in any.
    #[param(example = "en")]
    language: Option<String>,
}

/// The statement of a problem.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Statement)]
pub(super) struct StatementView {
    /// Code of the language it is in, where the package says so.
    language: Option<String>,
    /// Codes of all languages it can be had in.
    languages: Vec<String>,
    /// Its text as HTML without scripts, styles and what else could do harm; pictures are addresses of this service. Null: there is a PDF only, or nothing.
    html: Option<String>,
    /// Address of the statement as PDF.
    pdf: Option<String>,
}

/// The statement of a problem
///
/// As the page of the problem shows it. Samples are in the problem itself.
#[utoipa::path(get, path = "/problems/{name}/statement", tag = "problems", params(("name" = String, Path, description = "Short name of the problem", example = "fence"), WhichLanguage),
    responses((status = 200, description = "Of its newest version", body = StatementView)))]
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
    match service.store.problem(name).await {
        Err(store::Error::NotFound(_)) => Err(Refusal::NotFound("a problem of this name".into())),
        other => Ok(other?),
    }
}

/// The time limit in force and where it comes from, as far as it is known.
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

/// The beginning of a file of a package as text; `None` where there is none.
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
    /// 1 for the first.
    number: u32,
    /// SHA-256 of its package.
    package: String,
    /// Who handed it in.
    author: Option<String>,
    /// When.
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

/// The versions of a problem.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Versions {
    /// Newest first.
    versions: Vec<VersionView>,
}

/// The versions of a problem
#[utoipa::path(get, path = "/problems/{name}/versions", tag = "problems", params(("name" = String, Path, description = "Short name of the problem", example = "fence")),
    responses((status = 200, description = "Newest first", body = Versions)))]
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

/// Which version.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct WhichVersion {
    /// Its number; the newest where nothing is said.
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
    asked.ok_or_else(|| Refusal::NotFound("a version of this number".into()))
}

/// A zip archive.
#[derive(ToSchema)]
#[schema(as = ZipArchive, value_type = String, format = Binary)]
#[expect(dead_code, reason = "describes bytes")]
struct Archive(Vec<u8>);

const ZIP: &str = "application/zip";
/// What clients that were generated take for a file.
const BYTES: &str = "application/octet-stream";

/// Download a package
#[utoipa::path(get, path = "/problems/{name}/package", tag = "problems", params(("name" = String, Path, description = "Short name of the problem", example = "fence"), WhichVersion),
    responses((status = 200, description = "The zip archive as it was uploaded; as application/octet-stream where `Accept` asks for that",
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

/// What a package is called.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Named {
    /// Short name of the problem; in a form, that of the file where nothing is said.
    #[param(pattern = "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
    name: Option<String>,
}

/// A package as a form.
#[derive(ToSchema)]
#[schema(as = NewProblemForm)]
#[expect(dead_code, reason = "describes the form, which is read part by part")]
pub(super) struct Form {
    /// Short name of the problem; that of the file where nothing is said.
    #[schema(pattern = "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
    name: Option<String>,
    /// The zip archive.
    #[schema(format = Binary, content_media_type = "application/zip")]
    package: String,
}

/// What became of a package.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AddedProblem)]
pub(super) struct AddedView {
    /// The problem.
    #[serde(flatten)]
    problem: ProblemBrief,
    /// It was not the newest version already.
    fresh: bool,
    /// What is untidy about it.
    warnings: Vec<Warning>,
}

/// Something untidy about a package.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Warning {
    /// Where: file, and line and field where they are known.
    place: String,
    /// What, with the remedy.
    message: String,
}

/// Add a problem, or a version of one
///
/// The body is a package as a zip archive of at most 128 MiB (see docs/packages.md), or a form with it. Submissions to earlier
/// versions keep their verdicts; judge them again where the change matters.
#[utoipa::path(post, path = "/problems", tag = "problems", params(Named),
    request_body(content((Archive = "application/octet-stream"), (Archive = "application/zip"), (Form = "multipart/form-data"))),
    responses((status = 201, description = "It was accepted", body = AddedView), (status = 200, description = "It is the newest version already", body = AddedView)))]
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

/// How the verification of a package stands.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Verification {
    /// The problem.
    problem: String,
    /// Which version of it.
    version: u32,
    /// All verdicts are as expected; null while that is not known.
    ok: Option<bool>,
    /// Jury submissions of which the outcome is known.
    done: u64,
    /// The jury submissions, by path.
    submissions: Vec<Check>,
}

/// A jury submission and its expected verdict.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Check {
    /// Its path in the package.
    path: String,
    /// Final verdicts it may have; none: any.
    #[schema(value_type = Vec<VerdictName>)]
    expected: Vec<Verdict>,
    /// It has its expected verdict; null while that is not known.
    ok: Option<bool>,
    /// How its verdict differs from the expected one, in words.
    broken: Vec<String>,
    /// The submission; null: there is none.
    submission: Option<SubmissionView>,
}

/// Verify a package
///
/// Its jury submissions are judged on all tests, and must get the verdicts that their directories expect; see `GET` on `verification`. To verify again is to judge
/// them again.
#[utoipa::path(post, path = "/problems/{name}/verify", tag = "problems", params(("name" = String, Path, description = "Short name of the problem", example = "fence")),
    responses((status = 202, description = "They are submitted", body = Verification)))]
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

/// How a verification stands
#[utoipa::path(get, path = "/problems/{name}/verification", tag = "problems", params(("name" = String, Path, description = "Short name of the problem", example = "fence"), WhichVersion),
    responses((status = 200, description = "The expected verdict of each jury submission, and the verdict it got", body = Verification)))]
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
