//! `tauto export`: what the service knows, in the forms of other systems.

use crate::Done;
use crate::exports::Exports;
use crate::inputs;
use crate::service::database::{address, become_keeper, failure, open, wait_for};
use crate::terminal::{Failure, print, tell_warning};
use clap::{Args, Subcommand, ValueEnum};
use contest_api::export::{Author, Contest, Judged, Language, People, Problem, Submission, Version, feed};
use judge::language::Table;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use store::{Filter, Page, Purpose, Store};

/// Submissions read at a time.
const AT_A_TIME: u32 = 500;

#[derive(Args, Debug)]
pub(crate) struct ExportArgs {
    #[command(subcommand)]
    form: Form,
}

#[derive(Subcommand, Debug)]
enum Form {
    /// Write a contest's event feed (CLICS Contest API) as lines of JSON
    // `--version` is the specification's.
    #[command(disable_version_flag = true)]
    ContestApi(ContestApiArgs),
}

#[derive(Args, Debug)]
struct ContestApiArgs {
    /// Name of the contest
    #[arg(long, value_name = "NAME")]
    contest: String,
    /// JSON file with the contest, groups, organizations and teams: {"contest": {…}, "groups": […], "organizations": […],
    /// "teams": […]} [default: one team for each user with a submission]
    #[arg(long, value_name = "FILE")]
    teams: Option<PathBuf>,
    /// Version of the Contest API specification
    #[arg(long, value_enum, default_value = "2026-01")]
    version: ContestApiVersion,
    /// Write to FILE; - is standard output
    #[arg(long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// Database: a file or postgres://… [default: from the configuration, else the file in the data directory]
    #[arg(long, value_name = "URL")]
    database: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ContestApiVersion {
    #[value(name = "2026-01")]
    V2026,
    #[value(name = "2023-06")]
    V2023,
}

pub(crate) fn main(args: &ExportArgs) -> Result<Done, Failure> {
    let Form::ContestApi(args) = &args.form;
    if args.output != Path::new("-") {
        return into_file(args);
    }
    let people = args.teams.as_deref().map(people).transpose()?.unwrap_or_default();
    let address = address(args.database.as_deref())?;
    become_keeper(&address)?;
    let contest = wait_for(async {
        let store = open(&address).await?;
        let contest = read(&store, &args.contest).await;
        store.close().await;
        contest
    })?
    .map_err(failure)?;
    let version = match args.version {
        ContestApiVersion::V2026 => Version::V2026,
        ContestApiVersion::V2023 => Version::V2023,
    };
    let (lines, left) = feed(&contest, &people, version).map_err(|why| {
        let file = args.teams.as_deref().unwrap_or(Path::new("--teams"));
        Failure::usage(format!("{}: {why}", file.display()))
    })?;
    left.iter().for_each(tell_warning);
    lines.iter().for_each(|line| print(&format!("{line}\n")));
    Ok(Done::Good)
}

/// Root becomes whoever keeps the database, who may not write where root may: this program again tells it, and root writes it down.
fn into_file(args: &ContestApiArgs) -> Result<Done, Failure> {
    let exports = Exports::open(false, [("--output", Some(&args.output))])?;
    let version = args.version.to_possible_value();
    let version = version.as_ref().map_or("2026-01", |value| value.get_name());
    let mut again = Command::new("/proc/self/exe");
    again.args(["export", "contest-api", "--contest", &args.contest, "--version", version]);
    let given = [
        ("--teams", args.teams.as_deref().map(Path::as_os_str)),
        ("--database", args.database.as_deref().map(OsStr::new)),
    ];
    for (option, value) in given {
        if let Some(value) = value {
            again.arg(option).arg(value);
        }
    }
    let told = again.stdin(Stdio::null()).stderr(Stdio::inherit()).output().map_err(Failure::system)?;
    match told.status.code() {
        Some(0) => {}
        Some(2) => return Err(Failure::usage("nothing was written\nhint: see the messages above")),
        _ => {
            return Err(Failure::system(format!(
                "nothing was written ({})\nhint: see the messages above",
                told.status
            )));
        }
    }
    let text = String::from_utf8(told.stdout).map_err(Failure::system)?;
    exports.write([&|| text.clone()]);
    Ok(Done::Good)
}

fn people(path: &Path) -> Result<People, Failure> {
    let bad = |why: String| Failure::usage(format!("--teams {}: {why}", path.display()));
    let text = inputs::text(path).map_err(|e| bad(e.to_string()))?;
    serde_json::from_str(&text).map_err(|e| bad(e.to_string()))
}

/// The contest as it is stored.
async fn read(store: &Store, name: &str) -> store::Result<Contest> {
    let found = store.contest(name).await?;
    let filter = Filter { contest: Some(found.id), ..Filter::default() };
    let users: BTreeMap<_, _> = store.users().await?.into_iter().map(|user| (user.id, user)).collect();
    let mut stored = Vec::new();
    let mut page = Page::first(AT_A_TIME);
    loop {
        let some = store.submissions(&filter, page).await?;
        let Some(last) = some.last() else { break };
        page = Page::after(last.id, AT_A_TIME);
        stored.extend(some);
    }
    // Newest first.
    stored.reverse();
    let mut submissions = Vec::new();
    for one in &stored {
        // What is run without a problem is nothing a contest knows.
        let Some(problem) = &one.problem else { continue };
        let author = one.author.and_then(|id| users.get(&id));
        let author = author.map(|user| Author { name: user.name.clone(), display: user.display.clone() });
        let mut judgements = Vec::new();
        for summary in store.history(one.id).await? {
            if summary.purpose != Purpose::Verdict || !(summary.stands || summary.current) {
                continue;
            }
            let begun = store.job(summary.job).await?.started.unwrap_or(summary.finished);
            let whole = store.judgement(summary.id).await?;
            judgements.push(Judged {
                id: summary.id.0,
                current: summary.current,
                from: begun.0,
                to: summary.finished.0,
                judgement: whole.judgement,
            });
        }
        submissions.push(Submission {
            id: one.id.0,
            problem: problem.name.clone(),
            language: one.language.clone(),
            author,
            at: one.created.0,
            judgements,
        });
    }
    let used: BTreeSet<&str> = submissions.iter().map(|submission| submission.problem.as_str()).collect();
    let mut problems = Vec::new();
    for name in used {
        problems.push(Problem { id: name.to_owned(), title: store.problem(name).await?.title });
    }
    Ok(Contest {
        id: found.name,
        created: found.created.0,
        now: crate::service::manage::now().0,
        problems,
        languages: languages(&submissions),
        submissions,
    })
}

/// The languages of submissions, as the table that comes with the program knows them.
fn languages(submissions: &[Submission]) -> Vec<Language> {
    let table = Table::shipped();
    let used: BTreeSet<&str> = submissions.iter().map(|submission| submission.language.as_str()).collect();
    let told = |id: &str| match table.get(id) {
        Some(known) => Language {
            id: id.to_owned(),
            codes: known.codes.clone(),
            name: known.name.clone(),
            extensions: known.extensions.clone(),
        },
        // One of the site's own.
        None => {
            Language { id: id.to_owned(), codes: Vec::new(), name: id.to_owned(), extensions: Vec::new() }
        }
    };
    used.into_iter().map(told).collect()
}
