//! What documents show is what happens: every block that is marked `console` is executed, its commands one after the
//! other in one shell for each page, and what they print is compared. Numbers with their units are masked; an ellipsis
//! stands for any text of a line, or for any lines but errors where it is a line of its own. Words after `console` say what runs beside
//! the commands, and until when they run ([`page::World`], [`page::End`]).
//!
//! As root a page has a network of its own, in which a service finds its usual port free; other users cannot have that,
//! and execute only blocks that need nothing of the kind. A page whose commands change the machine has a virtual one.

#[path = "docs/book.rs"]
mod book;
#[path = "docs/page.rs"]
mod page;
#[path = "docs/world.rs"]
mod world;

use e2e::stage::{self, Pass, Stage, Workspace};
use e2e::tauto;
use libtest_mimic::{Arguments, Failed, Trial};
use page::{End, Step, World, masked, matches};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use xtask::vm::{self, Cgroups, Vm};

/// What newcomers read first. `make test` executes it.
const FIRST: [&str; 2] = ["README.md", "docs/tutorial-judgement.md"];
/// Only reached by a page that hangs.
const PATIENCE: Duration = Duration::from_secs(300);
/// What the shell prints before each command.
const MARK: &str = "=== command ";
/// A server of two sockets with hyper-threads. One core each: measuring a slot takes a minute under emulation.
const SERVER: vm::Shape = vm::Shape { sockets: 2, cores: 1, threads: 2, nodes: 2 };
/// The authorities that Debian's programs trust.
const AUTHORITIES: &str = "/etc/ssl/certs/ca-certificates.crt";
/// `sudo` for whoever needs none.
const SUDO: &str = "sudo() { case $1 in --*) shift ;; esac; \"$@\"; }\n";

/// What a page's script begins with: commands that run until they have printed enough lines and then nothing for two seconds, a
/// minute at most, and are ended then or with the page.
const PRELUDE: &str = r#"
export -f sudo
staying=()
end() { # leader of a group of processes
    local turns=0
    kill -TERM -- -"$1" 2>/dev/null
    wait "$1"
    # What the leader has started may take longer.
    while kill -0 -- -"$1" 2>/dev/null && ((++turns < 300)); do sleep 0.1; done
}
trap 'for pid in "${staying[@]}"; do end "$pid"; done' EXIT
begin() { # script, lines
    : >"$1.said"
    setsid bash "$1" >>"$1.said" 2>&1 &
    begun=$!
    local before=none now turns=0 same=0
    while ((same < 10 && ++turns <= 300)); do
        sleep 0.2
        now=$(wc -l <"$1.said")
        if ((now >= $2)) && [[ $now == "$before" ]]; then ((++same)); else same=0; fi
        before=$now
    done
    cat "$1.said"
}
ended() {
    begin "$@"
    end "$begun"
}
stays() {
    begin "$@"
    staying+=("$begun")
}
joined() { # node
    for _ in {1..60}; do
        tauto node list | grep -q "$1" && break
        sleep 1
    done
}
"#;

/// What is there before a page of [`World::Fleet`] begins, made as docs/build-a-fleet.md says.
const FLEET: &str = r#"
pool=tls://pool_metal:CHANGE-ME-METAL@broker1,broker2,broker3
for command in 'tauto serve --no-worker' 'tauto pool add metal --kind strict' 'tauto pool add cloud --kind relaxed' \
    "TAUTO_NATS=$pool TAUTO_DATA_DIR=$PWD/judge1 tauto worker --slots none --node judge1 --pool metal" \
    "TAUTO_NATS=$pool TAUTO_DATA_DIR=$PWD/judge7 tauto worker --slots none --node judge7 --pool metal"; do
    printf '%s\n' "$command" >"$PWD/fleet.$((++part))"
    stays "$PWD/fleet.$part" 1
done
joined judge7
for _ in {1..60}; do
    curl --silent --fail --output /dev/null http://127.0.0.1:8080/api/v1/health/ready && break
    sleep 1
done
"#;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The script of a page's commands in their order.
fn script(steps: &[Step], file: &Path) -> Result<String, String> {
    let mut script = format!("{SUDO}{PRELUDE}");
    if steps.iter().any(|step| step.world == World::Fleet) {
        script += FLEET;
    }
    for (n, step) in steps.iter().enumerate() {
        let command = match step.end {
            End::Own => step.command.clone(),
            End::Ended | End::Page => {
                let alone = file.with_extension(n.to_string());
                fs::write(&alone, &step.command).map_err(|error| error.to_string())?;
                let lines = step.printed.iter().filter(|line| *line != "…").count();
                let how = if step.end == End::Page { "stays" } else { "ended" };
                // A reader types the next command after the node is listed; a script would be faster.
                let joins = step.command.contains(" worker --pool ");
                let node = step.command.split_once("--node ").map_or("judge7", |(_, node)| node.trim());
                let then = if joins { format!("\njoined '{node}'") } else { String::new() };
                format!("{how} '{}' {lines}{then}", alone.display())
            }
        };
        script += &format!("printf '\\n{MARK}%s\\n' {n}\n{command}\n");
    }
    Ok(script)
}

/// Carries out a page's commands here; what they print.
fn carry_out(stage: &Stage, place: &Workspace<'_>, steps: &[Step]) -> Result<String, String> {
    let own = place.path("page");
    stage.make_directory(&own)?;
    let copied = place.command(Path::new("cp")).arg("-r").arg(root().join("examples")).arg(&own).status();
    if !copied.is_ok_and(|status| status.success()) {
        return Err("examples were not copied".into());
    }
    let world = steps.iter().map(|step| step.world).max().unwrap_or(World::Alone);
    let running = if place.is_root() { Some(world::start(world, place)?) } else { None };
    let (file, hosts, configuration) =
        (place.path("script"), place.path("hosts"), place.path("tautochrone.toml"));
    let fail = |error: std::io::Error| error.to_string();
    fs::write(&file, script(steps, &file)?).map_err(fail)?;
    fs::write(&hosts, world::hosts()).map_err(fail)?;
    let mut shell = if place.is_root() {
        let mut unshare = place.command(Path::new("unshare"));
        let mut enter = "hostname judge7 && mount --bind \"$0\" /etc/hosts && ".to_string();
        if let Some(authority) = running.as_ref().and_then(|running| running.authority.as_ref()) {
            enter += &format!("mount --bind '{}' {AUTHORITIES} && ", authority.display());
        }
        enter += "exec \"$@\"";
        // Whatever a page has started ends with it, also where it is cut off: its shell is the first process of a PID namespace.
        unshare.args(["--pid", "--fork", "--kill-child", "--mount-proc", "--uts"]);
        unshare.args(["sh", "-c", &enter]).arg(&hosts).arg("/bin/bash");
        unshare
    } else {
        place.command(Path::new("/bin/bash"))
    };
    if matches!(world, World::Brokers | World::Fleet) {
        fs::write(&configuration, world::configuration()).map_err(fail)?;
        shell.env("TAUTO_CONFIG", &configuration);
    }
    for (name, value) in running.iter().flat_map(|running| &running.variables) {
        shell.env(name, value);
    }
    let directory = stage.path().display();
    shell.env("PATH", format!("{directory}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"));
    shell.current_dir(&own).args(["-c", "exec 2>&1; . \"$0\""]).arg(&file);
    let ended = tauto::run(&mut shell, false, PATIENCE)?;
    Ok(format!("{}{}", ended.stdout, ended.stderr))
}

/// The same in a virtual machine that has `tauto` and busybox.
fn carry_out_inside(steps: &[Step]) -> Result<String, String> {
    let _machine = stage::machine(&e2e::scratch!())?;
    // The guest's output is a terminal.
    let mut script = format!("export NO_COLOR=1\n{SUDO}exec 2>&1\n");
    for (n, step) in steps.iter().enumerate() {
        script += &format!("printf '\\n{MARK}%s\\n' {n}\n{}\n", step.command);
    }
    let machine = Vm {
        tauto: tauto::binary()?,
        files: vec![],
        cgroups: Cgroups::V2,
        shape: SERVER,
        disk: 0,
        append: String::new(),
        command: ["sh", "-c", &script].map(String::from).to_vec(),
        patience: PATIENCE,
    };
    let mut output = Vec::new();
    vm::boot(&machine, &mut output)?;
    Ok(String::from_utf8_lossy(&output).into_owned())
}

/// Where what was printed is not what a page says.
fn differences(name: &str, steps: &[Step], printed: &str) -> Vec<String> {
    let outputs = printed.split(MARK).skip(1).map(|output| output.split_once('\n').unwrap_or_default().1);
    let outputs: Vec<&str> = outputs.collect();
    let mut wrong = Vec::new();
    for (step, output) in steps.iter().zip(&outputs) {
        let lines = |text: &mut dyn Iterator<Item = &str>| -> Vec<String> {
            text.map(masked).filter(|line| !line.is_empty()).collect()
        };
        let expected = lines(&mut step.printed.iter().map(String::as_str));
        let printed = lines(&mut output.lines());
        // An ellipsis stands for no failure.
        let failed = |lines: &[String]| lines.iter().any(|line| line.starts_with("error: "));
        if !matches(&expected, &printed) || failed(&printed) && !failed(&expected) {
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
        wrong.push(format!("{name}: {} of {} commands were executed: {printed}", outputs.len(), steps.len()));
    }
    wrong
}

fn told(wrong: &[String]) -> Result<(), Failed> {
    if wrong.is_empty() { Ok(()) } else { Err(format!("\n{}", wrong.join("\n\n")).into()) }
}

fn happens_here(name: &str, steps: &[Step]) -> Result<(), Failed> {
    let _alone = stage::alone(&e2e::scratch!())?;
    let stage = Stage::new(Pass::possible()[0])?;
    let place = stage.place(&name.replace('.', "-"))?;
    let printed = carry_out(&stage, &place, steps)?;
    told(&differences(name, steps, &printed))
}

fn happens_inside(name: &str, steps: &[Step]) -> Result<(), Failed> {
    told(&differences(name, steps, &carry_out_inside(steps)?))
}

/// README.md and those of docs/, with their names.
fn pages() -> Vec<(String, String)> {
    let docs = fs::read_dir(root().join("docs")).expect("docs");
    let paths = docs.map(|entry| entry.expect("an entry of docs").path());
    let mut paths: Vec<PathBuf> = paths.chain([root().join("README.md")]).collect();
    paths.sort();
    let name = |path: &Path| path.strip_prefix(root()).expect("below the root").display().to_string();
    let chosen = paths.into_iter().filter(|path| path.extension().is_some_and(|end| end == "md"));
    chosen.map(|path| (name(&path), fs::read_to_string(&path).expect("a page"))).collect()
}

fn every_command_is_executed() {
    let exists = |file: &str| root().join(file).is_file();
    let unexecuted = pages().into_iter().flat_map(|(name, text)| {
        page::not_executed(&text, exists).into_iter().map(move |line| format!("{name}:{line}"))
    });
    let unexecuted: Vec<String> = unexecuted.collect();
    assert!(unexecuted.is_empty(), "nothing executes these:\n{}", unexecuted.join("\n"));
}

/// The trials of a page: for what happens by itself, beside other parts ([`World`]), and in a virtual machine.
fn trials(name: &str, text: &str) -> Vec<Trial> {
    let mut steps = match page::steps(text) {
        Ok(steps) => steps,
        Err(why) => return vec![Trial::test(name, move || Err(why.into()))],
    };
    let name = if FIRST.contains(&name) { format!("first: {name}") } else { name.to_string() };
    let mut trials = Vec::new();
    for world in [World::Alone, World::Service, World::Brokers, World::Fleet, World::Machine] {
        let chosen: Vec<Step> = steps.extract_if(.., |step| step.world == world).collect();
        if chosen.is_empty() {
            continue;
        }
        let (own, inside) = (name.clone(), world == World::Machine);
        let alone = chosen.iter().all(|step| step.world == World::Alone && step.end == End::Own);
        let lacks =
            if inside { vm::lacks() } else { (!alone && !stage::is_root()).then(|| "needs root".into()) };
        let test = move || if inside { happens_inside(&own, &chosen) } else { happens_here(&own, &chosen) };
        let trial = Trial::test(format!("{name}{}", world.words()), test);
        trials.push(match lacks {
            Some(reason) => trial.with_kind(format!("skipped: {reason}")).with_ignored_flag(true),
            None => trial,
        });
    }
    trials
}

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(1);
    let checks: [(&str, fn()); 6] = [
        ("first: blocks are understood", page::blocks_are_understood),
        ("first: commands that nothing executes are found", page::commands_that_nothing_executes_are_found),
        ("first: pages are compared by what does not vary", page::pages_are_compared_by_what_does_not_vary),
        ("first: every command is executed", every_command_is_executed),
        (
            "mdBook builds the documents, and their links lead somewhere",
            book::mdbook_builds_the_documents_and_their_links_lead_somewhere,
        ),
        ("links that lead nowhere are found", book::links_that_lead_nowhere_are_found),
    ];
    let check = |(name, check): (&str, fn())| {
        Trial::test(name, move || {
            check();
            Ok(())
        })
    };
    let pages = pages();
    let trials =
        checks.into_iter().map(check).chain(pages.iter().flat_map(|(name, text)| trials(name, text)));
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}
