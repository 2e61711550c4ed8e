//! What a newcomer does first: check the installation, make a package, judge with tests alone.

use e2e::package::{self, RIGHT};
use e2e::stage;
use e2e::tauto::{self, Ended};
use serde_json::Value;
use std::time::Duration;

/// Only reached by a `tauto` that hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// Succeeds if the program ended with this code and printed each of the texts; the error is all that it printed.
fn expect(ended: &Ended, code: i32, told: &[&str]) -> Result<(), String> {
    let all = format!("{}{}", ended.stdout, ended.stderr);
    match ended.code()? == code && told.iter().all(|text| all.contains(text)) {
        true => Ok(()),
        false => Err(format!("wanted {code} and {told:?}: {ended:?}")),
    }
}

#[test]
fn the_doctor_finds_what_this_machine_has() {
    stage::for_each_user(&e2e::scratch!(), "doctor", |place| {
        let ended = place.run(&["doctor", "--json"])?;
        let document = ended.document()?;
        let checks = document["checks"].as_array().cloned().unwrap_or_default();
        let state = |id: &str| {
            checks
                .iter()
                .find(|check| check["id"] == id)
                .map(|check| check["state"].clone())
                .unwrap_or_default()
        };
        let states = ["ok", "weaker", "bad", "unknown"];
        let known = checks.iter().all(|check| {
            let named = |key: &str| check[key].as_str().is_some_and(|text| !text.is_empty());
            let mended = check["state"] == "ok" || named("remedy");
            states.iter().any(|state| check["state"] == *state) && named("found") && mended
        });
        let judges =
            ["sandbox", "toolchains"].iter().all(|id| ["ok", "weaker"].iter().any(|s| state(id) == *s));
        let rest = ["slots", "noise", "clocks", "configuration", "data", "disk", "port", "database"];
        let all = rest.iter().all(|id| state(id).is_string());
        if (ended.code()?, &document["ok"]) != (0, &Value::Bool(true)) || !known || !judges || !all {
            return Err(format!("{ended:?}"));
        }
        // A mistake in the configuration is told, with the file, and does not hide the rest.
        package::write(&place.path(""), &[("wrong.toml", "[serve]\nlisen = 1\n")])?;
        let mut command = place.tauto();
        command.env("TAUTO_CONFIG", place.path("wrong.toml")).arg("doctor");
        let ended = tauto::run(&mut command, false, PATIENCE)?;
        expect(&ended, 1, &["wrong.toml", "lisen", "hint: ", "toolchains", "cannot judge"])
    });
}

#[test]
fn the_configuration_is_shown_and_checked() {
    stage::for_each_user(&e2e::scratch!(), "config", |place| {
        package::write(
            &place.path(""),
            &[("good.toml", "[serve]\naccounts = true\n"), ("bad.toml", "[slots]\ncores = 0\n")],
        )?;
        let with = |file: &str, words: &[&str]| {
            let mut command = place.tauto();
            command.env("TAUTO_CONFIG", place.path(file)).args(words);
            tauto::run(&mut command, false, PATIENCE)
        };
        let shown = with("good.toml", &["config", "show", "--json"])?.document()?;
        let keys = shown["keys"].as_array().cloned().unwrap_or_default();
        let key = |name: &str| keys.iter().find(|key| key["key"] == name).cloned().unwrap_or_default();
        let (accounts, listen) = (key("serve.accounts"), key("serve.listen"));
        if accounts["value"] != true || accounts["origin"] != "file" || listen["origin"] != "default" {
            return Err(format!("{shown:#}"));
        }
        expect(
            &with("good.toml", &["config", "show"])?,
            0,
            &["serve.accounts = true", "# file", "# default"],
        )?;
        expect(&with("good.toml", &["config", "check"])?, 0, &["good.toml: ok"])?;
        expect(&with("bad.toml", &["config", "check"])?, 1, &["bad.toml", "slots.cores"])?;
        expect(&place.run(&["config", "check", "none.toml"])?, 2, &["none.toml"])
    });
}

#[test]
fn every_kind_of_new_package_verifies_at_once() {
    stage::for_each_user(&e2e::scratch!(), "new", |place| {
        let kinds = [
            ("pass-fail", "cpp"),
            ("checker", "python3"),
            ("interactive", "cpp"),
            ("scoring", "python3"),
            ("multi-pass", "c"),
        ];
        for (kind, language) in kinds {
            let name = format!("my-{kind}");
            expect(
                &place.run(&["new", &name, "--type", kind, "--language", language])?,
                0,
                &["next: tauto verify"],
            )?;
            expect(&place.run(&["verify", &name])?, 0, &["2 submissions, all as expected"])?;
        }
        expect(
            &place.run(&["verify", "my-scoring", "--only", "accepted/*"])?,
            0,
            &["1 submission, all as expected"],
        )?;
        expect(
            &place.run(&["verify", "my-scoring", "--only", "partial.py"])?,
            0,
            &["1 submission, all as expected"],
        )?;
        expect(
            &place.run(&["verify", "my-scoring", "--only", "*.hs"])?,
            2,
            &["--only matches no jury submission"],
        )?;
        expect(&place.run(&["new", "my-checker"])?, 2, &["my-checker exists already"])?;
        expect(&place.run(&["new", "My Problem"])?, 2, &["lower-case letters"])?;
        expect(&place.run(&["new", "other", "--language", "cobol"])?, 2, &["cobol", "c, cpp, java, python3"])
    });
}

#[test]
fn tests_alone_are_enough_to_judge() {
    const CLOSE: &str = "print(float(input()) * 2 + 1e-7)\n";
    const CHECKER: &str =
        "import sys\nn = int(open(sys.argv[1]).read())\nsys.exit(42 if int(sys.stdin.read()) > n else 43)\n";
    stage::for_each_user(&e2e::scratch!(), "tests", |place| {
        let tests =
            [("1.in", "21\n"), ("1.ans", "42\n"), ("2.in", "4\n"), ("2.ans", "8\n"), ("wrong.ans", "9\n")];
        package::write(&place.path("tests"), &tests)?;
        package::write(&place.path(""), &[("right.c", RIGHT), ("close.py", CLOSE), ("more.py", CHECKER)])?;
        let verdict = |words: &[&str]| {
            let ended = place.run(&[&["judge", "--json"], words].concat())?;
            let document = ended.document()?;
            let tests = document["tests"].as_array().map_or(0, Vec::len);
            Ok::<_, String>((document["verdict"].as_str().unwrap_or_default().to_string(), tests))
        };
        for (words, wanted) in [
            (&["--in", "tests/1.in", "--answer", "tests/1.ans", "right.c"][..], ("AC", 1)),
            (&["--in", "tests/2.in", "--answer", "tests/wrong.ans", "right.c"], ("WA", 1)),
            (
                &[
                    "--in",
                    "tests/1.in",
                    "--in",
                    "tests/2.in",
                    "--answer",
                    "tests/1.ans",
                    "--answer",
                    "tests/2.ans",
                    "right.c",
                ],
                ("AC", 2),
            ),
            (&["--in", "tests/1.in", "--answer", "tests/1.ans", "close.py"], ("WA", 1)),
            (
                &["--in", "tests/1.in", "--answer", "tests/1.ans", "--tolerance", "1e-6", "close.py"],
                ("AC", 1),
            ),
            (
                &["--in", "tests/1.in", "--answer", "tests/wrong.ans", "--checker", "more.py", "right.c"],
                ("AC", 1),
            ),
        ] {
            let found = verdict(words)?;
            if (&*found.0, found.1) != wanted {
                return Err(format!("{words:?}: {found:?}, wanted {wanted:?}"));
            }
        }
        std::fs::remove_file(place.path("tests/wrong.ans")).map_err(|e| e.to_string())?;
        let found = verdict(&["--tests", "tests", "right.c"])?;
        if found != ("AC".to_string(), 2) {
            return Err(format!("{found:?}"));
        }
        expect(
            &place.run(&["judge", "--tests", "tests", "--tolerance", "x", "right.c"])?,
            2,
            &["--tolerance"],
        )?;
        expect(
            &place.run(&["judge", "tests", "--tolerance", "1", "right.c"])?,
            2,
            &["--tolerance has no effect"],
        )?;
        expect(&place.run(&["judge", "right.c"])?, 2, &["--in and --answer"])?;
        match place.temporaries() {
            left if left.is_empty() => Ok(()),
            left => Err(format!("left behind: {left:?}")),
        }
    });
}
