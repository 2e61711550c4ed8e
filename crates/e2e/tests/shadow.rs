//! `tauto shadow` beside a contest's system written from the Contest API: what agrees and differs, whatever breaks, and what a hostile server
//! tells. TAUTO_SHADOW_SUBMISSIONS=2000 makes the long form of the one that is killed.

use e2e::package::{self, DOUBLE, RIGHT, zipped};
use e2e::primary::{CONTEST, PASSWORD, Primary, Submitted, USER, Version, notice, recorded};
use e2e::tauto::{self, Ended};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Only reached by what hangs.
const PATIENCE: Duration = Duration::from_secs(120);

const LIMIT: f64 = 0.4;

/// Language, name and text of a program, and what it earns.
const PROGRAMS: [(&str, &str, &str, &str); 8] = [
    ("c", "right.c", RIGHT, "AC"),
    ("python3", "right.py", "print(2 * int(input()))\n", "AC"),
    ("python3", "wrong.py", "print(3 * int(input()))\n", "WA"),
    ("c", "crash.c", "#include <stdlib.h>\nint main(void) { abort(); }\n", "RTE"),
    ("python3", "silent.py", "input()\n", "WA"),
    ("c", "none.c", "int main(void) { return nothing; }\n", "CE"),
    ("python3", "raise.py", "raise SystemExit(3)\n", "RTE"),
    ("c", "slow.c", "int main(void) { for (;;) ; }\n", "TLE"),
];

/// One that was judged so by the contest.
fn submitted(n: usize, judged: &'static str) -> Submitted {
    let (language, name, text, _) = PROGRAMS[n % PROGRAMS.len()];
    let archive = zipped(&[(name, text)]).expect("an archive");
    Submitted { problem: "twice", language, archive, judged, time: 0.012 }
}

/// Where packages, passwords and data are.
struct Workspace {
    directory: tempfile::TempDir,
}

impl Workspace {
    fn new() -> Workspace {
        let directory = tempfile::tempdir().expect("a directory");
        package::write(&directory.path().join("packages/double"), &DOUBLE).expect("a package");
        fs::write(directory.path().join("password"), format!("{PASSWORD}\n")).expect("a password");
        fs::write(
            directory.path().join("map.toml"),
            "[problems]\ntwice = \"packages/double\"\n[languages]\nc = \"c\"\n",
        )
        .expect("a table");
        Workspace { directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn command(&self, url: &str, more: &[&str]) -> Command {
        let mut command = e2e::child::command(tauto::binary().expect("tauto"));
        command.env("TAUTO_DATA_DIR", self.path("data")).current_dir(self.directory.path());
        command.args(["shadow", "--url", url, "--user", USER, "--slot", "none"]).args(more);
        if !more.contains(&"--password-file") {
            command.args(["--password-file", "password"]);
        }
        command
    }

    fn run(&self, url: &str, more: &[&str]) -> Ended {
        tauto::run(&mut self.command(url, more), false, PATIENCE).expect("it ends")
    }

    /// Runs it and gives its document.
    fn document(&self, url: &str, code: i32, more: &[&str]) -> Value {
        let ended = self.run(url, &[more, &["--json"]].concat());
        assert_eq!(ended.code(), Ok(code), "{ended:?}");
        ended.document().expect("a document")
    }
}

fn contest_url(primary: &Primary) -> String {
    format!("{}/contests/{CONTEST}", primary.api())
}

#[test]
fn verdicts_and_times_side_by_side_in_both_versions() {
    let place = Workspace::new();
    for (version, code) in [(Version::V2023, 1), (Version::V2026, 1)] {
        // As it is; `NO` is WA in the five; and two that the contest judged otherwise.
        let judged = ["AC", "AC", "WA", "RTE", "NO", "CE", "AC", "TLE", "WA", ""];
        let all: Vec<Submitted> = judged.iter().enumerate().map(|(n, judged)| submitted(n, judged)).collect();
        let primary =
            Primary::start(recorded(version, &[("twice", "Double", LIMIT)], &all), &all).expect("a server");
        primary.release_all();
        let page = place.path("page.html");
        let more =
            ["--packages", "packages", "--fresh", "--contest", CONTEST, "--html", page.to_str().unwrap()];
        let document = place.document(&primary.api(), code, &more);
        assert_eq!(document["contest"], CONTEST);
        assert_eq!(document["ended"], true);
        let counts = ["submissions", "agree", "differ", "not_judged", "pending", "waiting"]
            .map(|key| document[key].clone());
        assert_eq!(counts, [10, 7, 2, 0, 0, 1].map(|n| json!(n)), "{document:#}");
        let row = |n: usize| document["results"][n].clone();
        assert_eq!(row(4)["theirs"]["type"], "NO");
        assert_eq!((&row(4)["theirs"]["simplified"], &row(4)["state"]), (&json!("WA"), &json!("agrees")));
        assert_eq!((&row(6)["state"], &row(6)["ours"]["verdict"]), (&json!("differs"), &json!("RTE")));
        assert_eq!((&row(9)["state"], &row(9)["theirs"]), (&json!("waiting"), &Value::Null));
        // Of 2023-06 here the runs tell the time, of 2026-01 the judgement.
        assert_eq!(row(0)["theirs"]["time_ns"], 12_000_000);
        assert!(row(0)["ours"]["time_ns"].as_u64().is_some_and(|ns| ns < 400_000_000), "{}", row(0));
        // The contest's limit, not the package's.
        assert_eq!(row(7)["ours"]["time_limit_ns"], 400_000_000);
        assert_eq!(row(0)["problem"], "A");
        let page = fs::read_to_string(&page).expect("a page");
        assert!(page.contains("<h1>finals in shadow</h1>") && page.contains("differs"), "{page}");
    }
}

#[test]
fn what_agrees_ends_well_and_is_told_in_lines() {
    let place = Workspace::new();
    let all = [submitted(0, "AC"), submitted(2, "WA")];
    let primary = Primary::start(recorded(Version::V2026, &[("twice", "?", LIMIT)], &all), &all).unwrap();
    primary.release_all();
    let ended = place.run(&contest_url(&primary), &["--packages", "map.toml"]);
    assert_eq!(ended.code(), Ok(0), "{ended:?}");
    let lines: Vec<&str> = ended.stdout.lines().collect();
    assert!(lines.len() == 3 && lines[0].starts_with("agrees      1 A c"), "{lines:?}");
    assert!(lines[0].contains("there AC   0.012 s  here AC "), "{lines:?}");
    assert_eq!(lines[2], "finals: 2 submissions: 2 agree, 0 differ");
    // All of it is known: nothing is asked, nothing is judged, nothing is told again.
    let asked = primary.state().asked.len();
    let again = place.run(&contest_url(&primary), &["--packages", "map.toml"]);
    assert_eq!((again.code(), again.stdout.lines().count()), (Ok(0), 1), "{again:?}");
    let state = primary.state();
    assert_eq!((state.asked.len(), state.fetched["1"]), (asked, 1));
}

#[test]
fn a_feed_that_breaks_is_read_on() {
    let place = Workspace::new();
    let all: Vec<Submitted> = (0..6).map(|n| submitted(n, PROGRAMS[n].3)).collect();
    let primary =
        Primary::start(recorded(Version::V2026, &[("twice", "Double", LIMIT)], &all), &all).unwrap();
    primary.release_all();
    {
        let mut state = primary.state();
        (state.drop_after, state.errors) = (9, 300);
    }
    let document = place.document(&contest_url(&primary), 0, &["--packages", "packages/double"]);
    assert_eq!((&document["agree"], &document["differ"]), (&json!(6), &json!(0)), "{document:#}");
    let state = primary.state();
    assert!(state.asked.len() > 3 && state.asked[0].is_empty(), "{:?}", state.asked);
    assert!(state.asked[1].starts_with("since_token="), "{:?}", state.asked);
    assert!(state.fetched.values().all(|times| *times == 1), "{:?}", state.fetched);
}

#[test]
fn what_a_hostile_server_tells_is_the_matter_of_one_submission() {
    let place = Workspace::new();
    let zeros = "0".repeat(80 << 20);
    let bomb = zipped(&[("a.c", &zeros)]).unwrap();
    let outside = zipped(&[("../a.c", RIGHT)]).unwrap();
    let right = submitted(0, "AC");
    let with = |archive: Vec<u8>| Submitted { archive, ..right.clone() };
    let all = [
        right.clone(),
        with(bomb),
        with(outside),
        with(b"no archive".to_vec()),
        Submitted { language: "weird", ..right.clone() },
        Submitted { problem: "unheard", ..right.clone() },
        right.clone(),
        right.clone(),
    ];
    let mut events = recorded(Version::V2026, &[("twice", "Double", LIMIT), ("none", "None", 1.0)], &all);
    let end = events.pop().unwrap();
    let data = json!({ "id": "9", "language_id": "c", "problem_id": "twice", "files": [{ "href": "http://127.0.0.1:9/files" }] });
    events.push(notice("submissions", Some("9"), &data));
    let data = json!({ "id": "10\u{1b}[31m", "language_id": "c", "problem_id": "none" });
    events.push(notice("submissions", Some("10\u{1b}[31m"), &data));
    events.extend(
        ["{", "[]", "\"x\"", "{\"type\":7}", "{\"type\":\"submissions\",\"id\":\"x\",\"data\":7}"]
            .map(String::from),
    );
    events.push(format!("{{\"type\":\"teams\",\"id\":\"{}\",\"data\":{{}}}}", "x".repeat(1 << 20)));
    events.push(end);
    let primary = Primary::start(events, &all).unwrap();
    primary.release_all();
    primary.state().archives.remove("7");
    let document = place.document(&contest_url(&primary), 1, &["--packages", "packages"]);
    let why: BTreeMap<&str, &str> = (document["results"].as_array().unwrap().iter())
        .map(|row| (row["submission"].as_str().unwrap(), row["why"].as_str().unwrap_or_default()))
        .collect();
    for (id, words) in [
        ("1", ""),
        ("2", "more than 67108864 bytes when unpacked"),
        ("3", "leaves the archive"),
        ("4", "not a zip archive"),
        ("5", "no language is called `weird`"),
        ("6", ""),
        ("7", "was answered 404"),
        ("8", ""),
        ("9", "is on another server"),
        ("10\u{1b}[31m", "no package is called `none`"),
    ] {
        assert!(why[id].contains(words) && why[id].is_empty() == words.is_empty(), "{id}: {why:?}");
    }
    let counts = ["agree", "differ", "not_judged", "pending"].map(|key| document[key].clone());
    assert_eq!(counts, [2, 0, 7, 1].map(|n| json!(n)), "{document:#}");
    let lines = place.run(&contest_url(&primary), &["--packages", "packages"]).stdout;
    assert!(!lines.contains('\u{1b}') && lines.contains("10·[31m"), "{lines}");
    // A line without an end.
    let endless = Primary::start(vec![format!("{{\"x\":\"{}\"}}", "x".repeat(17 << 20))], &[]).unwrap();
    endless.release_all();
    let ended = place.run(&contest_url(&endless), &["--packages", "packages", "--once"]);
    assert!(
        ended.code() == Ok(3) && ended.stderr.contains("a line has more than 16777216 bytes"),
        "{ended:?}"
    );
}

#[test]
fn wrong_usage_is_said_at_once() {
    let place = Workspace::new();
    let primary = Primary::start(Vec::new(), &[]).unwrap();
    fs::write(place.path("bad.toml"), "[problems]\na = \"packages/double\"\n[language]\n").unwrap();
    fs::write(place.path("bad-language.toml"), "[languages]\nc = \"klingon\"\n").unwrap();
    fs::create_dir(place.path("empty")).unwrap();
    let url = contest_url(&primary);
    for (url, more, words) in [
        (url.as_str(), &["--packages", "absent"][..], "absent"),
        (&url, &["--packages", "empty"], "no package is in this directory"),
        (&url, &["--packages", "bad.toml"], "line 3"),
        (&url, &["--packages", "bad-language.toml"], "languages.c"),
        (&url, &["--packages", "packages", "--password-file", "absent"], "--password-file"),
        (&url, &["--packages", "packages", "--password-file", "map.toml", "--once"], "401"),
        (&url, &["--packages", "packages", "--contest", "other", "--once"], "404"),
        ("judge.example.org", &["--packages", "packages"], "--url"),
        (&url, &[], "--packages"),
    ] {
        let ended = place.run(url, more);
        assert!(ended.code() == Ok(2) && ended.stderr.contains(words), "{more:?}: {ended:?}");
    }
}

/// Ended when it is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// How often each submission was judged, by the journal.
fn judged(data: &Path) -> BTreeMap<String, usize> {
    let journals = fs::read_dir(data.join("shadow")).into_iter().flatten().flatten();
    let mut times = BTreeMap::new();
    for journal in journals {
        let text = fs::read_to_string(journal.path().join("journal")).unwrap_or_default();
        for line in text.lines() {
            let line: Value = serde_json::from_str(line).unwrap_or_default();
            if let Some(id) = line["judged"]["submission"].as_str() {
                *times.entry(id.to_owned()).or_default() += 1;
            }
        }
    }
    times
}

fn submissions() -> usize {
    std::env::var("TAUTO_SHADOW_SUBMISSIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(60)
}

/// A recorded contest, killed five times on the way, with a feed that breaks and places in it that are forgotten: none is lost, none is judged twice.
#[test]
#[expect(clippy::print_stdout, reason = "what a run of the long form came to")]
fn killed_five_times_and_resumed() {
    let place = Workspace::new();
    let count = submissions();
    // One in ten is judged otherwise by the contest.
    let other = |n: usize| if PROGRAMS[n % PROGRAMS.len()].3 == "AC" { "WA" } else { "AC" };
    let judge = |n: usize| if n % 10 == 3 { other(n) } else { PROGRAMS[n % PROGRAMS.len()].3 };
    let all: Vec<Submitted> = (0..count).map(|n| submitted(n, judge(n))).collect();
    let events = recorded(Version::V2026, &[("twice", "Double", LIMIT)], &all);
    let total = events.len();
    let primary = Primary::start(events, &all).unwrap();
    {
        let mut state = primary.state();
        (state.drop_after, state.errors) = (count * 2, 50);
    }
    let begun = Instant::now();
    let patience = PATIENCE + Duration::from_secs(1) * u32::try_from(count).unwrap();
    for kill in 1..=5 {
        primary.state().released = total * kill / 6;
        let log = File::create(place.path("log")).unwrap();
        let mut command = place.command(&contest_url(&primary), &["--packages", "packages"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let running = Running(command.spawn().expect("it starts"));
        let until = count * kill / 6 - 2;
        while judged(&place.path("data")).len() < until {
            assert!(begun.elapsed() < patience, "{}", fs::read_to_string(place.path("log")).unwrap());
            std::thread::sleep(Duration::from_millis(20));
        }
        // SIGKILL.
        drop(running);
        if kill == 3 {
            // The server has forgotten our place meanwhile.
            let mut state = primary.state();
            state.expired = state.released;
        }
    }
    primary.release_all();
    let mut command = place.command(&contest_url(&primary), &["--packages", "packages", "--json"]);
    let ended = tauto::run(&mut command, false, patience).expect("it ends");
    assert_eq!(ended.code(), Ok(1), "{}", ended.stderr);
    let journal = judged(&place.path("data"));
    assert_eq!(journal.len(), count, "some are lost");
    assert!(journal.values().all(|times| *times == 1), "some are judged twice: {journal:?}");
    if count <= 500 {
        let document = ended.document().unwrap();
        let differ = (0..count).filter(|n| n % 10 == 3).count();
        let counts = ["submissions", "differ", "agree", "pending"].map(|key| document[key].clone());
        assert_eq!(counts, [count, differ, count - differ, 0].map(|n| json!(n)), "{document:#}");
    }
    let state = primary.state();
    let again = state.fetched.values().map(|times| times - 1).sum::<usize>();
    assert!(again <= 5, "one submission was in hand at each kill, and {again} were fetched again");
    assert!(
        state.asked.iter().filter(|query| query.starts_with("since_token")).count() >= 4,
        "{:?}",
        state.asked
    );
    println!(
        "{count} submissions in {:.0} s, killed 5 times: 0 lost, 0 judged twice, {again} in hand at a kill, {} connections",
        begun.elapsed().as_secs_f64(),
        state.asked.len()
    );
}
