//! `tauto export contest-api`: a contest that a service has judged, as a feed; and the way back, where `tauto shadow` judges what was exported.

use e2e::package::{self, DOUBLE, RIGHT, zipped};
use e2e::primary::{CONTEST, PASSWORD, Primary, Submitted, USER};
use e2e::service::{Service, submission};
use e2e::{stage, tauto};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// Only reached by what hangs.
const PATIENCE: Duration = Duration::from_secs(180);

const PROGRAMS: [(&str, &str, &str, &str); 3] = [
    ("c", "right.c", RIGHT, "AC"),
    ("python3", "wrong.py", "print(3 * int(input()))\n", "WA"),
    ("python3", "right.py", "print(2 * int(input()))\n", "AC"),
];

fn run(data: &Path, words: &[&str]) -> tauto::Ended {
    let mut command = e2e::child::command(tauto::binary().expect("tauto"));
    command.env("TAUTO_DATA_DIR", data).current_dir(data).args(words);
    tauto::run(&mut command, false, PATIENCE).expect("it ends")
}

/// A service with a contest in which these were judged.
fn judged(data: &Path) {
    let service = Service::start(data, ([127, 0, 0, 1], 0).into(), &[]).expect("a service");
    let token = service.admin_token().expect("an admin");
    let bearer = format!("Bearer {token}");
    let mut client = service.client().with("authorization", &bearer);
    let package = package::zipped(&DOUBLE).expect("a package");
    let zip = [("content-type", "application/zip")];
    let added = client.ask("POST", "/api/v1/problems?name=twice", &zip, &package).expect("an answer");
    assert_eq!(added.status, 201, "{}", added.text());
    let set = run(data, &["contest", "set", CONTEST, "--pool", "default", "--strictness", "relaxed"]);
    assert_eq!(set.code(), Ok(0), "{set:?}");
    for (language, file, text, expected) in PROGRAMS {
        let mut document = submission("twice", language, file, text, false);
        document["contest"] = CONTEST.into();
        let taken = client.post("/api/v1/submissions", &[], &document).expect("an answer").json();
        let url = taken["url"].as_str().unwrap_or_else(|| panic!("{taken:#}"));
        let begun = Instant::now();
        loop {
            let seen = client.get(url).expect("an answer").json();
            if let Some(verdict) = seen["judgement"]["verdict"].as_str() {
                assert_eq!(verdict, expected, "{seen:#}");
                break;
            }
            assert!(begun.elapsed() < PATIENCE, "{taken:#} {seen:#}: {}", service.log());
            std::thread::sleep(Duration::from_millis(100));
        }
    }
    service.stop().expect("it ends");
}

#[test]
fn a_contest_as_a_feed_and_back() {
    let _alone = stage::alone(&e2e::scratch!()).expect("the lock of the suite");
    let scratch = tempfile::tempdir().expect("a directory");
    let data = scratch.path();
    judged(data);
    let teams = |duration: &Value| {
        let teams = json!({
            "contest": { "name": "Finals", "duration": duration }, "groups": [{ "id": "g", "name": "All" }],
            "teams": [{ "id": "t1", "name": "The Team", "account": "root", "group_ids": ["g"] }],
        });
        fs::write(data.join("teams.json"), teams.to_string()).expect("a file");
    };
    let read = |text: &str| -> Vec<Value> {
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    };
    let of = |lines: &[Value], kind: &str| -> Vec<Value> {
        lines.iter().filter(|line| line["type"] == kind).map(|line| line["data"].clone()).collect()
    };
    let export =
        |more: &[&str]| run(data, &[&["export", "contest-api", "--contest", CONTEST], more].concat());
    teams(&json!("5:00:00"));
    let old = export(&["--teams", "teams.json", "--version", "2023-06"]);
    assert_eq!(old.code(), Ok(0), "{old:?}");
    let old = read(&old.stdout);
    // The contest ends with its last judgement.
    teams(&of(&old, "judgements").last().expect("judgements")["end_contest_time"]);
    let new = export(&["--teams", "teams.json", "--output", "feed.ndjson"]);
    assert_eq!((new.code(), new.stdout.as_str()), (Ok(0), ""), "{new:?}");
    let text = fs::read_to_string(data.join("feed.ndjson")).expect("a feed");
    let lines = read(&text);
    assert_eq!(
        (&of(&old, "contest")[0]["penalty_time"], &of(&lines, "contest")[0]["penalty_time"]),
        (&json!(20), &json!("0:20:00.000"))
    );
    let team = json!({ "id": "t1", "name": "The Team", "group_ids": ["g"], "label": "t1" });
    assert_eq!(of(&lines, "teams"), [team]);
    let types: Vec<Value> = of(&lines, "judgements").iter().map(|j| j["judgement_type_id"].clone()).collect();
    assert_eq!(types, ["AC", "WA", "AC"]);
    assert_eq!(of(&lines, "submissions").len(), 3);
    // Right ones have run at all tests.
    assert_eq!(
        (&of(&lines, "problems")[0]["test_data_count"], &of(&lines, "problems")[0]["time_limit"]),
        (&json!(3), &json!(0.5))
    );
    assert!(of(&lines, "runs").len() >= 7, "{text}");
    let state = |lines: &[Value]| of(lines, "state").pop().expect("a state");
    assert!(state(&old)["started"].is_string() && state(&old)["end_of_updates"].is_null(), "{old:?}");
    assert!(state(&lines)["end_of_updates"].is_string(), "{text}");
    // Mistakes are said.
    for (words, said) in [
        (&["--teams", "absent"][..], "absent"),
        (&["--contest", "other"], "cannot be used multiple times"),
        (&["--teams", "feed.ndjson"], "feed.ndjson"),
    ] {
        let ended = export(words);
        assert!(ended.code() == Ok(2) && ended.stderr.contains(said), "{words:?}: {ended:?}");
    }
    let missing = run(data, &["export", "contest-api", "--contest", "other"]);
    assert!(missing.code() == Ok(2) && missing.stderr.contains("contest other"), "{missing:?}");
    // The way back.
    let all = PROGRAMS.map(|(language, file, text, judged)| Submitted {
        problem: "twice",
        language,
        archive: zipped(&[(file, text)]).expect("an archive"),
        judged,
        time: 0.0,
    });
    let primary = Primary::start(text.lines().map(str::to_owned).collect(), &all).expect("a server");
    primary.release_all();
    package::write(&data.join("packages/twice"), &DOUBLE).expect("a package");
    fs::write(data.join("password"), PASSWORD).expect("a password");
    let url = format!("{}/contests/{CONTEST}", primary.api());
    let words = [
        "shadow",
        "--url",
        &url,
        "--user",
        USER,
        "--password-file",
        "password",
        "--packages",
        "packages",
        "--slot",
        "none",
    ];
    let shadow = run(data, &words);
    assert_eq!(shadow.code(), Ok(0), "{shadow:?}");
    assert!(shadow.stdout.ends_with("finals: 3 submissions: 3 agree, 0 differ\n"), "{shadow:?}");
}
