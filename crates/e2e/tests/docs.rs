//! What documents show is what happens: every block that is marked `console` is executed, its commands one after the
//! other in one shell for each page, and what they print is compared. Numbers with their units are masked; an ellipsis
//! stands for any text of a line, or for any lines where it is a line of its own. Commands of a block that is marked
//! `console,running` run until they are ended. As root a page has a network of its own, so that a service finds its usual
//! port free; other users cannot have that, and do not execute such blocks.

#[path = "docs/book.rs"]
mod book;

use e2e::stage::{self, Pass, Stage};
use e2e::tauto;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Only reached by a page that hangs.
const PATIENCE: Duration = Duration::from_secs(600);
/// What the shell prints before each command.
const MARK: &str = "=== command ";

/// A command of a page, and what it is to print.
#[derive(Debug, PartialEq, Eq)]
struct Step {
    /// Line of the page, from 1.
    line: usize,
    command: String,
    printed: Vec<String>,
    /// It does not end by itself.
    runs_on: bool,
}

fn steps(page: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut within = None;
    for (number, line) in page.lines().enumerate() {
        match (within, line) {
            (None, "```console") => within = Some(false),
            (None, "```console,running") => within = Some(true),
            (Some(_), "```") => within = None,
            (None, _) => {}
            (Some(runs_on), line) => {
                match (line.strip_prefix("$ "), line.strip_prefix("> "), steps.last_mut()) {
                    (Some(command), ..) => {
                        let printed = Vec::new();
                        steps.push(Step { line: number + 1, command: command.into(), printed, runs_on });
                    }
                    (None, Some(more), Some(step)) if step.printed.is_empty() => {
                        step.command += &format!("\n{more}");
                    }
                    (None, _, Some(step)) => step.printed.push(line.into()),
                    (None, _, None) => panic!("line {}: output before the first command", number + 1),
                }
            }
        }
    }
    steps
}

/// A line without what differs from run to run: numbers with their units, and the width of columns.
fn masked(line: &str) -> String {
    let mut text = String::new();
    let mut digits = false;
    for c in line.chars() {
        let part = c.is_ascii_digit() || (digits && c == '.');
        if part && !digits {
            text.push('#');
        }
        digits = part;
        if !part {
            text.push(c);
        }
    }
    let units = ["ns", "µs", "ms", "s", "B", "KiB", "MiB", "GiB", "%"];
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let bare = word.trim_end_matches([',', ';', ')']);
        match words.last_mut() {
            Some(last) if last.ends_with('#') && units.contains(&bare) => *last += &word[bare.len()..],
            _ => words.push(word.replace(['+', '−'], "").replace("#,", "# ,").replace(" ,", ",")),
        }
    }
    words.join(" ")
}

/// Whether lines are as they are to be.
fn matches(expected: &[String], printed: &[String]) -> bool {
    match (expected.split_first(), printed.split_first()) {
        (None, None) => true,
        (Some((first, rest)), _) if first == "…" => {
            (0..=printed.len()).any(|skipped| matches(rest, &printed[skipped..]))
        }
        (Some((first, rest)), Some((line, others))) => line_matches(first, line) && matches(rest, others),
        _ => false,
    }
}

fn line_matches(expected: &str, line: &str) -> bool {
    let mut parts = expected.split('…').map(str::trim);
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = line.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, between)) = parts.split_last() else { return rest.is_empty() };
    for part in between {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// What a page's script begins with: `sudo` for whoever needs none, and a command that runs until it has printed enough lines and
/// then nothing for two seconds, a minute at most.
const PRELUDE: &str = r#"
sudo() { "$@"; }
export -f sudo
runs_on() { # script, lines
    : >"$1.said"
    setsid bash "$1" >>"$1.said" 2>&1 &
    local before=none now turns=0
    while now=$(wc -l <"$1.said"); ((now < $2)) || [[ $now != "$before" ]]; do
        ((++turns <= 30)) || break
        before=$now
        sleep 2
    done
    cat "$1.said"
    kill -TERM -- -$!
    wait $!
}
"#;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Executes a page; what does not fit, in words.
fn execute(stage: &Stage, name: &str, text: &str) -> Result<usize, String> {
    let place = stage.place(&name.replace('.', "-"))?;
    let steps: Vec<Step> = steps(text).into_iter().filter(|step| !step.runs_on || place.is_root()).collect();
    if steps.is_empty() {
        return Ok(0);
    }
    let own = place.path("page");
    stage.make_directory(&own)?;
    let copied = place.command(Path::new("cp")).arg("-r").arg(root().join("examples")).arg(&own).status();
    if !copied.is_ok_and(|status| status.success()) {
        return Err("examples were not copied".into());
    }
    let file = place.path("script");
    let mut script = PRELUDE.to_string();
    for (n, step) in steps.iter().enumerate() {
        let command = if step.runs_on {
            let alone = file.with_extension(n.to_string());
            fs::write(&alone, &step.command).map_err(|error| error.to_string())?;
            let lines = step.printed.iter().filter(|line| *line != "…").count();
            format!("runs_on '{}' {lines}", alone.display())
        } else {
            step.command.clone()
        };
        script += &format!("printf '\\n{MARK}%s\\n' {n}\n{command}\n");
    }
    fs::write(&file, script).map_err(|error| error.to_string())?;
    let mut shell = if place.is_root() {
        let mut unshare = place.command(Path::new("unshare"));
        unshare.args(["--net", "sh", "-c", "ip link set lo up && exec \"$@\"", "sh", "/bin/bash"]);
        unshare
    } else {
        place.command(Path::new("/bin/bash"))
    };
    let directory = stage.path().display();
    shell.env("PATH", format!("{directory}:/usr/local/bin:/usr/bin:/bin")).current_dir(&own);
    shell.args(["-c", "exec 2>&1; . \"$0\""]).arg(&file);
    let ended = tauto::run(&mut shell, false, PATIENCE)?;
    let mut wrong = Vec::new();
    let outputs =
        ended.stdout.split(MARK).skip(1).map(|output| output.split_once('\n').unwrap_or_default().1);
    let outputs: Vec<&str> = outputs.collect();
    for (step, output) in steps.iter().zip(&outputs) {
        let lines = |text: &mut dyn Iterator<Item = &str>| -> Vec<String> {
            text.map(masked).filter(|line| !line.is_empty()).collect()
        };
        let expected = lines(&mut step.printed.iter().map(String::as_str));
        let printed = lines(&mut output.lines());
        if !matches(&expected, &printed) {
            wrong.push(format!(
                "{name}:{}: $ {}\n  the page says\n    {}\n  and it printed\n    {}",
                step.line,
                step.command,
                step.printed.join("\n    "),
                output.trim_end().replace('\n', "\n    ")
            ));
        }
    }
    if outputs.len() != steps.len() {
        wrong.push(format!("{name}: {} of {} commands were executed: {ended:?}", outputs.len(), steps.len()));
    }
    if wrong.is_empty() { Ok(steps.len()) } else { Err(wrong.join("\n")) }
}

/// Pages by name: README.md and those of docs/, chosen by whether a newcomer reads them first.
fn pages(first: bool) -> Vec<(String, String)> {
    let docs = fs::read_dir(root().join("docs")).expect("docs");
    let paths = docs.map(|entry| entry.expect("an entry of docs").path());
    let mut paths: Vec<PathBuf> = paths.chain([root().join("README.md")]).collect();
    paths.sort();
    let name = |path: &Path| path.strip_prefix(root()).expect("below the root").display().to_string();
    let chosen = paths.into_iter().filter(|path| path.extension().is_some_and(|end| end == "md"));
    let named = chosen.map(|path| (name(&path), fs::read_to_string(&path).expect("a page")));
    named.filter(|(name, _)| (name == "README.md" || name.contains("tutorial-judgement")) == first).collect()
}

#[track_caller]
fn all_do_what_they_say(pages: &[(String, String)], least: usize) {
    let _alone = stage::alone(&e2e::scratch!()).expect("the lock of the suite");
    let stage = Stage::new(Pass::possible()[0]).expect("a stage");
    let results: Vec<_> = pages.iter().map(|(name, text)| execute(&stage, name, text)).collect();
    let executed: usize = results.iter().flatten().sum();
    let wrong: Vec<&str> =
        results.iter().filter_map(|result| result.as_ref().err()).map(String::as_str).collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n\n"));
    assert!(executed >= least, "only {executed} commands were found");
}

#[test]
fn what_newcomers_read_first_happens() {
    all_do_what_they_say(&pages(true), 10);
}

#[test]
fn what_the_other_pages_show_happens() {
    all_do_what_they_say(&pages(false), 20);
}

#[test]
fn pages_are_compared_by_what_does_not_vary() {
    let found = steps(
        "text\n```console\n$ a <<E\n> x\n> E\nout\n$ b\n```\n```text\n$ c\n```\n```console,running\n$ d\n```\n",
    );
    let commands: Vec<(&str, usize, bool)> =
        found.iter().map(|step| (step.command.as_str(), step.printed.len(), step.runs_on)).collect();
    assert_eq!(commands, [("a <<E\nx\nE", 1, false), ("b", 0, false), ("d", 0, true)]);
    assert_eq!(masked("AC  secret/1   29.1 ms   19.1 MiB"), masked("AC secret/2 1.03 s 900 KiB"));
    assert_ne!(masked("AC  secret/1"), masked("WA  secret/1"));
    let lines = |text: &str| text.lines().map(str::to_string).collect::<Vec<_>>();
    for (expected, printed, same) in [
        ("a\n…\nd", "a\nb\nc\nd", true),
        ("a\n…", "a", true),
        ("a\n…\nd", "a\nb", false),
        ("a … c", "a b c", true),
        ("a … c", "a b d", false),
        ("a", "a\nb", false),
    ] {
        assert_eq!(matches(&lines(expected), &lines(printed)), same, "{expected} {printed}");
    }
}
