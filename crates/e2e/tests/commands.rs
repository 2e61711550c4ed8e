//! What commands print and refuse: wrong usage, output that cannot be written, and the words of a judgement.

use e2e::package::{self, DOUBLE};
use e2e::stage::{self, Pass, Stage};
use e2e::tauto;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Only reached by a `tauto` that hangs.
const PATIENCE: Duration = Duration::from_secs(120);

#[test]
fn wrong_usage_of_run_is_refused() {
    let cases: [(&[&str], &str); 29] = [
        (&["run", "--cpu", "99", "--", "true"], "--cpu 99: CPU 99 is not on this machine\nhint: CPUs 0"),
        (&["bench", "--cpu", "0,99", "--", "true"], "--cpu 99: CPU 99 is not on this machine\nhint: CPUs 0"),
        (
            &["run", "--mem-node", "7", "--", "true"],
            "--mem-node 7: this machine has no such memory node\nhint: it has 0",
        ),
        (
            &["run", "--memory", "1K", "--", "true"],
            "no program starts in less than 64K\nhint: give more, such as 64M",
        ),
        (&["run", "--stack", "1K", "--", "true"], "no program starts in less than 16K"),
        (&["run", "--show", "/tmp:/usr", "--", "true"], "every run sees the host's own /usr there"),
        (
            &["run", "--show", "/etc:/tmp/x", "--", "true"],
            "what a run sees in /tmp is its own\nhint: name another place",
        ),
        (&["run", "--show", "/etc:/", "--", "true"], "in place of the root"),
        (
            &["run", "--counter", "processor", "--", "true"],
            "--counter has no effect: the clock cpu counts nothing\nhint: add --clock instructions",
        ),
        (&["judge", "--languages", "pipe", "none", "none"], "pipe: is not a regular file"),
        (&["judge", "double", "pipe.c"], "pipe.c: is not a regular file"),
        (&["index", "--compare", "pipe"], "pipe: is not a regular file"),
        (&["config", "check", "pipe"], "pipe: is not a regular file"),
        (
            &["load", "--priority", "2", "--kind", "cpu"],
            "--priority has no effect on the kind cpu\nhint: leave out --priority, or give --kind rt",
        ),
        (&["load", "--directory", "/tmp"], "--directory has no effect"),
        (&["bench", "--max-runs", "5", "--", "true"], "--until-ci"),
        (
            &["bench", "echo {n}"],
            "{n}: no parameter has this name\nhint: give its values with --parameter n=V1,V2",
        ),
        (&["bench", "-p", "n=1,2", "echo {n} {m}"], "{m}: no parameter"),
        (&["bench", "--csv", "one", "--html", "./one", "--", "true"], "--csv and --html: both name"),
        (&["bench", "--csv", "-", "--json", "--", "true"], "--csv - and --json: both go to standard output"),
        (&["run"], "CMD"),
        (&["run", "--json", "--"], "CMD"),
        (&["run", "--no-such-option", "--", "/bin/true"], "--no-such-option"),
        (&["run", "--cpu-time", "soon", "--", "/bin/true"], "--cpu-time"),
        (&["run", "--cpu-time", "-1", "--", "/bin/true"], "--cpu-time"),
        (&["run", "--memory", "64Q", "--", "/bin/true"], "--memory"),
        (&["run", "--processes", "0", "--", "/bin/true"], "--processes"),
        (&["run", "--", "./no-such-program"], "no-such-program"),
        (&["no-such-command"], "no-such-command"),
    ];
    stage::for_each_user(&e2e::scratch!(), "usage", |place| {
        package::write(&place.path("double"), &DOUBLE)?;
        for name in ["pipe", "pipe.c"] {
            let made = Command::new("mkfifo").args(["-m", "666"]).arg(place.path(name)).status();
            if !made.is_ok_and(|status| status.success()) {
                return Err(format!("mkfifo {name}"));
            }
        }
        let ended = place.run(&["run", "--sched", "fifo", "--", "true"])?;
        let told =
            ["--sched: ", "priority 50 is above", "ulimit -r"].iter().all(|part| ended.stderr.contains(part));
        if !place.is_root() && (ended.code()? != 2 || !told) {
            return Err(format!("a real-time class as a user: {ended:?}"));
        }
        for (arguments, named) in cases {
            let ended = place.run(arguments)?;
            if ended.code()? != 2 || !ended.stderr.contains(named) {
                return Err(format!("{arguments:?}: wanted 2 and `{named}`: {ended:?}"));
            }
        }
        Ok(())
    });
}

/// The run's user may not read such a program: it gets a copy.
#[test]
fn a_program_that_only_its_owner_may_execute_runs() {
    stage::for_each_user(&e2e::scratch!(), "own-program", |place| {
        for mode in [0o700, 0o711, 0o500] {
            let program = place.install(Path::new("/bin/echo"), false)?;
            fs::set_permissions(&program, Permissions::from_mode(mode)).map_err(|e| e.to_string())?;
            place.give_away(&program)?;
            let ended = place.run(&["run", "--json", "--", &program.display().to_string()])?;
            if ended.code()? != 0 || ended.document()?["status"] != "ok" {
                return Err(format!("mode {mode:o}: {}{}", ended.stdout, ended.stderr));
            }
            fs::remove_file(&program).map_err(|e| e.to_string())?;
        }
        Ok(())
    });
}

#[test]
fn what_cannot_be_executed_is_no_run() {
    stage::for_each_user(&e2e::scratch!(), "not-executable", |place| {
        package::write(
            &place.path(""),
            &[("plain.txt", "text\n"), ("no_interpreter", "#!/no/such/thing\n"), ("empty", "")],
        )?;
        fs::create_dir(place.path("directory")).map_err(|error| error.to_string())?;
        for name in ["no_interpreter", "empty"] {
            fs::set_permissions(place.path(name), Permissions::from_mode(0o755))
                .map_err(|error| error.to_string())?;
        }
        for name in ["./plain.txt", "./no_interpreter", "./empty", "./directory", "/etc/passwd"] {
            let ended = place.run(&["run", "--json", "--wall-time", "5", "--", name])?;
            let code = ended.code()?;
            let fault = code == 3 && ended.document()?["status"] == "system_error";
            if code != 2 && !fault {
                return Err(format!("{name}: {ended:?}"));
            }
        }
        Ok(())
    });
}

/// Every command that prints, by a short invocation of each form; those of a service's database print by the same means (crates/xtask).
const PRINTING: [&str; 38] = [
    "help",
    "--help",
    "--version",
    "help run",
    "run --help",
    "run -- echo output",
    "run --json -- true",
    "judge double double/submissions/accepted/right.c",
    "judge --json double double/submissions/accepted/right.c",
    "verify double",
    "verify --json double",
    "limits --runs 1 double",
    "limits --runs 1 --json double",
    "languages",
    "languages --json",
    "bench -n 2 -- true",
    "bench -n 2 --json -- true",
    "bench -n 2 --csv - -- true",
    "audit",
    "audit --json",
    "audit --markdown",
    "slots",
    "slots --json",
    "clocks --json",
    "doctor",
    "doctor --json",
    "config show",
    "config show --json",
    "config check",
    "tune plan --json",
    "numa topology",
    "numa decode --cpu nehalem 0x2001",
    "lab ladder -n 1 --fresh -- true",
    "lab consistency --only syscalls --loads idle --clocks cpu -n 1 --fresh",
    "load --json --seconds 0.01",
    "index --json --seconds 1",
    "probe compute",
    "completions bash",
];

/// Commands that answer a service's users or its database, or write files only.
const OTHERS: [&str; 12] = [
    "serve",
    "worker",
    "judgehost",
    "shadow",
    "export",
    "database",
    "pool",
    "node",
    "contest",
    "manual",
    "new",
    "convert",
];

#[test]
fn output_that_cannot_be_written_is_a_failure_of_the_system() {
    let _alone = stage::alone(&e2e::scratch!()).expect("the lock of the suite");
    let stage = Stage::new(Pass::possible()[0]).expect("a stage");
    let place = stage.place("lost-output").expect("a place");
    package::write(&place.path("double"), &DOUBLE).expect("a package");
    let help = place.run(&["--help"]).expect("help").stdout;
    // Groups of commands: each line is indented and begins with a name; options begin with a dash.
    let listed = help.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    for name in listed.filter(|name| name.starts_with(|c: char| c.is_ascii_lowercase())) {
        let tried = PRINTING.iter().any(|words| words.split(' ').next() == Some(name));
        assert!(tried || OTHERS.contains(&name), "{name}: no invocation of it is tried");
    }
    let mut broken = Vec::new();
    for (sink, why) in [(">/dev/full", "No space left on device"), (">&-", "closed")] {
        for words in PRINTING {
            let mut shell = place.command(Path::new("/bin/sh"));
            let tauto = place.tauto().get_program().to_owned();
            shell.args(["-c", &format!("exec \"$0\" \"$@\" {sink}")]).arg(tauto).args(words.split(' '));
            let ended = tauto::run(&mut shell, false, PATIENCE).expect(words);
            let told = ended.stderr.contains("standard output") && ended.stderr.contains(why);
            if ended.code() != Ok(3) || !told {
                broken.push(format!("{words} {sink}: {:?}: {}", ended.code(), ended.stderr));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn a_report_that_cannot_be_written_leaves_no_half_of_it() {
    stage::for_each_user(&e2e::scratch!(), "half-written", |place| {
        let bench = |options: &[&str]| place.run(&[&["bench", "-n", "2"], options, &["--", "true"]].concat());
        let full = bench(&["--csv", "/dev/full", "--html", "page.html", "--json"])?;
        if full.code()? != 3 || !full.stderr.contains("/dev/full") || full.document().is_err() {
            return Err(format!("a full device: {full:?}"));
        }
        let page = fs::read_to_string(place.path("page.html")).map_err(|error| error.to_string())?;
        if !page.trim_end().ends_with("</html>") {
            return Err("the other form is not whole".into());
        }
        // On a full disk nothing is left of the page, and what was there stays.
        let script =
            "mkdir small && mount -t tmpfs -o size=8k none small && printf old >small/old.html || exit 9
            cat /dev/zero 2>/dev/null >small/fill
            \"$0\" numa topology --svg small/old.html >/dev/null; code=$?
            cat small/old.html; ls -A small; exit $code";
        let mut unshare = place.command(Path::new("unshare"));
        unshare.args([if place.is_root() { "-m" } else { "-rm" }, "sh", "-c", script]);
        unshare.arg(place.tauto().get_program());
        let ended = tauto::run(&mut unshare, false, PATIENCE)?;
        if ended.code()? != 3 || ended.stdout != "oldfill\nold.html\n" {
            return Err(format!("a full disk: {ended:?}"));
        }
        Ok(())
    });
}

#[test]
fn verify_says_what_bounds_the_limit_and_what_is_untidy() {
    let slow = "int main(void) { for (;;) __asm__ volatile(\"\"); }\n";
    let script = "print(2 * int(input()))\n";
    stage::for_each_user(&e2e::scratch!(), "verify-limits", |place| {
        let yaml = DOUBLE[0].1;
        package::write(&place.path("double"), &DOUBLE)?;
        let more = [
            ("double/problem.yaml", format!("{yaml}languages: [c]\n")),
            ("double/submissions/time_limit_exceeded/endless.c", slow.into()),
            ("double/submissions/acepted/script.py", script.into()),
            ("empty/problem.yaml", yaml.into()),
            ("empty/data/secret/1.in", "1\n".into()),
            ("empty/data/secret/1.ans", "2\n".into()),
        ];
        package::write(&place.path(""), &more.each_ref().map(|(name, text)| (*name, text.as_str())))?;
        let text = place.run(&["verify", "double"])?;
        let said = [
            "limit     double: 500.0 ms (problem.yaml: limits.time_limit)",
            "slowest accepted ",
            ", the limit is ",
            "fastest too slow over ",
            "time_limit_exceeded/endless.c, more than 1.",
            "all as expected, 3 warnings",
        ];
        let warned = ["did you mean `accepted`?", "which the package does not take; it takes c"];
        let missing = said.iter().find(|part| !text.stdout.contains(**part));
        let missing = missing.or(warned.iter().find(|part| !text.stderr.contains(**part)));
        if missing.is_some() || text.code()? != 0 {
            return Err(format!("no {missing:?}: {text:?}"));
        }
        let document = place.run(&["verify", "--json", "double"])?.document()?;
        let found = &document["packages"][0];
        let (of, slowest) = (&found["submissions"], found["slowest_accepted_ns"].as_u64());
        let limited = found["time_limit"]["ns"] == 500_000_000 && found["time_limit"]["source"].is_string();
        let accepted =
            slowest.is_some() && slowest == of[0]["slowest_ns"].as_u64().max(of[1]["slowest_ns"].as_u64());
        let beyond = found["fastest_too_slow_ns"].as_u64() > Some(500_000_000);
        if !(limited && accepted && beyond && of[0]["memory_peak_bytes"].as_u64() > Some(0)) {
            return Err(format!("{found:#}"));
        }
        let nothing = place.run(&["verify", "empty"])?;
        if nothing.code()? != 1
            || nothing.stdout.contains("as expected")
            || !nothing.stdout.contains("no jury submission")
        {
            return Err(format!("nothing to verify: {nothing:?}"));
        }
        // A user of its own has less in force, and is told so; so is root where something is missing.
        let told = |text: &str| text.lines().any(|line| line.starts_with("weaker: "));
        let judged =
            place.run(&["judge", "--json", "double", "double/submissions/accepted/right.c"])?.document()?;
        let weaker = judged["tests"][0]["runs"][0]["evidence"]["weaker"].is_array();
        let judged = place.run(&["judge", "double", "double/submissions/accepted/right.c"])?;
        if told(&judged.stdout) != weaker || told(&text.stdout) != weaker {
            return Err(format!("weaker: {weaker}: {} {}", judged.stdout, text.stdout));
        }
        Ok(())
    });
}

#[test]
fn the_reason_of_a_verdict_is_told_whole() {
    let endless = "int main(void) { for (;;) __asm__ volatile(\"\"); }\n";
    let validator = "import sys\nprint('reading the output', file=sys.stderr)\nraise ValueError('token 7 is not a number')\n";
    stage::for_each_user(&e2e::scratch!(), "reasons", |place| {
        package::write(&place.path("double"), &DOUBLE)?;
        let custom: Vec<_> = DOUBLE.iter().map(|(name, text)| (format!("custom/{name}"), *text)).collect();
        package::write(
            &place.path(""),
            &custom.iter().map(|(name, text)| (name.as_str(), *text)).collect::<Vec<_>>(),
        )?;
        let files = [
            ("custom/output_validator/validate.py", validator),
            ("endless.c", endless),
            ("throws.py", "import sys\nprint('before', file=sys.stderr)\nint('x' * 3)\n"),
        ];
        package::write(&place.path(""), &files)?;
        let cases = [
            ("double", "endless.c", "     CPU time limit; stopped at 1."),
            ("double", "throws.py", "     exit code 1: ValueError: invalid literal for int()"),
            ("custom", "custom/submissions/accepted/right.c", "ValueError: token 7 is not a number"),
        ];
        for (package, submission, line) in cases {
            let ended = place.run(&["judge", "--memory", "512M", package, submission])?;
            if !ended.stdout.contains(line) {
                return Err(format!("{submission}: no `{line}`: {ended:?}"));
            }
        }
        Ok(())
    });
}

#[test]
fn both_streams_of_a_run_in_one_file_keep_their_order() {
    stage::for_each_user(&e2e::scratch!(), "one-file", |place| {
        let words = ["sh", "-c", "echo out; echo err >&2; echo out"];
        let ended =
            place.run(&[&["run", "--stdout", "both", "--stderr", "./both", "--"][..], &words].concat())?;
        let both = fs::read_to_string(place.path("both")).map_err(|error| error.to_string())?;
        if ended.code()? == 0 && both == "out\nerr\nout\n" {
            Ok(())
        } else {
            Err(format!("{both:?}: {ended:?}"))
        }
    });
}

#[test]
fn the_sentence_behind_a_spread_too_wide() {
    stage::for_each_user(&e2e::scratch!(), "max-spread", |place| {
        let script = "i=0; n=$(($$ % 7 * 20000)); while [ $i -lt $n ]; do i=$((i+1)); done";
        let ended = place.run(&["bench", "-n", "6", "--max-spread", "0.0001", "--", "sh", "-c", script])?;
        let told = ended.stderr.contains("the spread of its time is ")
            && ended.stderr.contains("above --max-spread 0.0001 %");
        if ended.code()? == 1 && told { Ok(()) } else { Err(format!("{ended:?}")) }
    });
}
