//! Runs every hostile program in `tauto run`, as root and as an ordinary user, and looks at what came of it.

use e2e::bait::Bait;
use e2e::condition::{Context, limit_value};
use e2e::kernel_memory::{self, Growth};
use e2e::leftovers::{self, Snapshot};
use e2e::program::{self, Program, Streams};
use e2e::stage::{self, Pass, Stage, Workspace};
use e2e::{compile, machine, marks, tauto};
use libtest_mimic::{Arguments, Failed, Trial};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Beyond the wall limit of a run; only reached by a `tauto` that hangs.
const PATIENCE: Duration = Duration::from_secs(60);
/// For what ends with `tauto` to be gone.
const GONE_WITHIN: Duration = Duration::from_secs(10);

/// Runs during which the machine's kernel memory may grow too far until that is the program's doing.
const ATTEMPTS: u32 = 3;

/// Time for a machine to boot.
const BOOTED_WITHIN: Duration = Duration::from_secs(120);

/// `hostile --machines […]`: each program once, in a virtual machine of its own.
const MACHINES: &str = "--machines";
/// The kernel of those machines.
static KERNEL: OnceLock<PathBuf> = OnceLock::new();

/// A test that is no program's.
type OnScene = Box<dyn FnOnce(&Scene) -> Result<(), Failed> + Send>;

/// One pass with its bait, set up when its first test is run.
type Scene = Arc<OnceLock<Result<(Stage, Bait), String>>>;

fn set(scene: &Scene, pass: Pass) -> Result<&(Stage, Bait), Failed> {
    let made = scene.get_or_init(|| {
        leftovers::adopt_orphans()?;
        let stage = Stage::new(pass)?;
        let bait = Bait::lay(&stage)?;
        Ok((stage, bait))
    });
    made.as_ref().map_err(Failed::from)
}

/// `tauto run --json`, with a shell before it that opens more descriptors where that is asked for.
fn command(place: &Workspace<'_>, program: &Program) -> Command {
    let mut command = if program.streams == Streams::Inherit {
        let mut shell = place.command(Path::new("/bin/sh"));
        let kept = place.path("kept");
        shell.args(["-c", "exec 3>>\"$0\" 7>>\"$0\" 9</; exec \"$@\""]).arg(kept);
        shell.arg(place.tauto().get_program());
        shell
    } else {
        place.tauto()
    };
    command.args(["run", "--json"]);
    if let Some(kernel) = KERNEL.get() {
        command.env(machine::KERNEL, kernel).args(["--isolation", "vm", "--vm-memory", "2G"]);
    }
    for (name, value) in &program.options {
        command.args([name, value]);
    }
    if matches!(program.streams, Streams::File | Streams::Inherit) {
        command.arg("--stdout").arg(place.path("out/stdout")).arg("--stderr").arg(place.path("out/stderr"));
    }
    command.arg("--");
    command
}

fn patience(program: &Program) -> Duration {
    let wall = program.options.iter().find(|(name, _)| name == "--wall-time");
    let limit = wall.and_then(|(name, value)| limit_value(name, value)).unwrap_or_default();
    let boot = if KERNEL.get().is_some() { BOOTED_WITHIN } else { Duration::ZERO };
    PATIENCE + boot + Duration::from_secs_f64(2.0 * limit / 1e9)
}

fn invoke(
    place: &Workspace<'_>,
    program: &Program,
    file: &Path,
    arguments: &[String],
) -> Result<tauto::Ended, String> {
    let mut command = command(place, program);
    command.arg(file).args(arguments);
    if program.streams != Streams::Unread {
        return tauto::run(&mut command, false, patience(program));
    }
    let (unread, writer) = std::io::pipe().map_err(|error| format!("pipe: {error}"))?;
    command.stderr(Stdio::from(writer));
    let ended = tauto::run(&mut command, true, patience(program));
    drop(unread);
    ended
}

/// Watches the machine's kernel memory where the program's head asks for that. Others use this machine too, so that growth
/// beyond the bound counts when it comes each time.
fn invoke_watched(
    pass: Pass,
    place: &Workspace<'_>,
    program: &Program,
    file: &Path,
    arguments: &[String],
) -> Result<tauto::Ended, String> {
    let Some(bound) = program.host_bound(pass.has_memory_group()) else {
        return invoke(place, program, file, arguments);
    };
    let mut least = u64::MAX;
    for _ in 0..ATTEMPTS {
        let growth = Growth::watch()?;
        let ended = invoke(place, program, file, arguments);
        least = least.min(growth.most()? << 10);
        if least <= bound {
            return ended;
        }
    }
    let [least, bound] = [least, bound].map(|bytes| bytes >> 20);
    Err(format!(
        "the kernel's memory grew by {least} MiB at least in each of {ATTEMPTS} runs, and may by {bound}"
    ))
}

fn judge(
    pass: Pass,
    program: &Program,
    arguments: &[String],
    ended: &tauto::Ended,
    errors: &str,
) -> Result<(), String> {
    let document = ended.document()?;
    let told = |what: String| {
        format!(
            "{what}\ndocument: {document:#}\nprogram's stderr: {errors}\ntauto's stderr: {}",
            ended.stderr
        )
    };
    let status = document["status"].as_str().unwrap_or_default().to_string();
    let grouped = pass.has_memory_group();
    let expected = program.expected(grouped);
    if !expected.contains(&status) {
        return Err(told(format!("status `{status}`, expected {}", expected.join(" or "))));
    }
    let code = ended.code()?;
    if (code == 3) != (status == "system_error") || ![0, 1, 3].contains(&code) {
        return Err(told(format!("exit code {code} of tauto beside status `{status}`")));
    }
    let argument = arguments.first().map(String::as_str);
    let context = Context { options: &program.options, argument, unknown_is_fine: !grouped };
    program.checks.iter().try_for_each(|check| check.holds(&document, context).map_err(told))
}

fn attempt(scene: &Scene, pass: Pass, program: &Program) -> Result<(), Failed> {
    let _alone = stage::alone(&e2e::scratch!())?;
    let (stage, bait) = set(scene, pass)?;
    let executable = compile::executable(program, &e2e::scratch!())?;
    let before = Snapshot::take();
    let place = stage.place(&program.name)?;
    let file = place.install(&executable, program.setuid)?;
    for arguments in &program.runs {
        let filled = arguments.iter().map(|argument| bait.fill(argument)).collect::<Result<Vec<_>, _>>()?;
        let ended = invoke_watched(pass, &place, program, &file, &filled);
        let clean = before.wait_until_clean(GONE_WITHIN, || place.temporaries());
        let taken = bait.taken();
        let errors = std::fs::read(place.path("out/stderr")).unwrap_or_default();
        let errors = String::from_utf8_lossy(&errors[..errors.len().min(2000)]).into_owned();
        judge(pass, program, &filled, &ended?, &errors)
            .map_err(|error| format!("arguments {filled:?}: {error}"))?;
        clean?;
        if !taken.is_empty() {
            return Err(taken.join("; ").into());
        }
    }
    match std::fs::read(place.path("kept")) {
        Ok(text) if !text.is_empty() => Err("a descriptor of the caller was written".into()),
        _ => Ok(()),
    }
}

/// How often each program of the group `kernel` is run by one launcher: 1, or the number in this variable.
const ROUNDS: &str = "TAUTO_E2E_ROUNDS";
/// Objects are freed with a delay, and others use this machine too.
const FREED_WITHIN: Duration = Duration::from_secs(30);

/// What hostile programs made the kernel allocate is gone when they are: all of the group `kernel` by one launcher, each cut
/// short, and the kernel's objects are back to within 1 % of what they were after a first round.
#[allow(clippy::print_stdout, reason = "the figures are wanted where many rounds were asked for")]
fn objects_are_freed(scene: &Scene, pass: Pass, programs: &[Program]) -> Result<(), Failed> {
    let _alone = stage::alone(&e2e::scratch!())?;
    let (stage, _) = set(scene, pass)?;
    let place = stage.place("objects-are-freed")?;
    let mut commands = Vec::new();
    for program in programs.iter().filter(|program| program.name.starts_with("kernel/")) {
        let file = place.install(&compile::executable(program, &e2e::scratch!())?, false)?;
        commands.extend(program.runs.iter().map(|run| format!("{} {}", file.display(), run.join(" "))));
    }
    let before = Snapshot::take();
    let rounds = |rounds: u32| -> Result<(), String> {
        let mut bench = place.tauto();
        bench.args(["bench", "--ignore-failure", "--runs", &rounds.to_string()]);
        bench.args(["--memory", "16M", "--processes", "32", "--wall-time", "0.1"]).args(&commands);
        let patience = PATIENCE + Duration::from_secs(1) * rounds * commands.len() as u32;
        let ended = tauto::run(&mut bench, false, patience)?;
        match ended.code()? {
            0 => Ok(()),
            code => Err(format!("bench ended with exit code {code}: {}", ended.stderr)),
        }
    };
    rounds(1)?;
    let was = kernel_memory::objects()?;
    rounds(std::env::var(ROUNDS).ok().and_then(|text| text.parse().ok()).unwrap_or(1))?;
    let begun = Instant::now();
    let mut least = u64::MAX;
    while least > was + was / 100 {
        if begun.elapsed() > FREED_WITHIN {
            return Err(format!("the kernel's objects took {was} KiB, and take {least} KiB at least").into());
        }
        std::thread::sleep(Duration::from_millis(50));
        least = least.min(kernel_memory::objects()?);
    }
    println!("the kernel's objects: {was} KiB before, {least} KiB after");
    before.wait_until_clean(GONE_WITHIN, || place.temporaries()).map_err(Failed::from)
}

/// Executed as another user for one case of [`marks`]: its name, and the means.
const MARKS: &str = "--marks";

/// One line; that nobody reads it is no fault of the test.
fn tell(stream: &mut impl Write, text: &str) {
    let _ = writeln!(stream, "{}", text.trim_end());
}

/// A case of marks, as the user of the pass, in a process of its own: that process starts a launcher.
fn marks_case(scene: &Scene, pass: Pass, case: &str) -> Result<(), Failed> {
    let _alone = stage::alone(&e2e::scratch!())?;
    let (stage, _) = set(scene, pass)?;
    let place = stage.place(&format!("marks-{case}"))?;
    let install = |name: &str| {
        let all = program::discover()?;
        let found = all.iter().find(|program| program.name == format!("marks/{name}"));
        let executable = compile::executable(found.ok_or("a program is missing")?, &e2e::scratch!())?;
        place.install(&executable, false)
    };
    let [observe, leave] = [install("observe")?, install("leave")?];
    let [children, circles] = [install("children")?, install("circles")?];
    let myself = place.install(&std::env::current_exe()?, false)?;
    let mut command = place.command(&myself);
    command.arg(MARKS).arg(case).args([observe, leave, children, circles, place.path("out")]);
    if let Ok(runs) = std::env::var(marks::RUNS) {
        command.env(marks::RUNS, runs);
    }
    let ended = tauto::run(&mut command, false, Duration::from_secs(1800))?;
    tell(&mut std::io::stdout(), &ended.stdout);
    if ended.code()? == 0 { Ok(()) } else { Err(ended.stderr.into()) }
}

/// The caller's limits are no verdicts: a soft one is lifted, a hard one too where that is allowed, else it is refused by its name.
fn ulimits(scene: &Scene, pass: Pass) -> Result<(), Failed> {
    let _alone = stage::alone(&e2e::scratch!())?;
    let (stage, _) = set(scene, pass)?;
    let place = stage.place("ulimits")?;
    let low = ["f 100", "t 1", "d 30000", "s 64", "v 3000000", "n 20"];
    for (limit, hard) in low.into_iter().flat_map(|limit| [(limit, false), (limit, true)]) {
        let [letter, kind] = [&limit[..1], if hard { "" } else { "S" }];
        let mut command = place.command(Path::new("/bin/bash"));
        command.args(["-c", &format!("ulimit -{kind}{limit} && exec \"$@\""), "bash"]);
        command.arg(place.tauto().get_program()).args(["run", "--json", "--", "/bin/true"]);
        let ended = tauto::run(&mut command, false, PATIENCE)?;
        let refused = ended.code()? == 2 && ended.stderr.contains(&format!("(ulimit -{letter})"));
        if !(ended.code()? == 0 && ended.document()?["status"] == "ok" || hard && refused) {
            return Err(format!("ulimit -{kind}{limit}: {}{}", ended.stdout, ended.stderr).into());
        }
    }
    Ok(())
}

/// Joins a session keyring of this name, if that is allowed, and becomes the command behind it: keyctl(2), KEYCTL_JOIN_SESSION_KEYRING.
const WITH_KEYRING: &str = "import ctypes, os, sys; ctypes.CDLL(None).syscall(250, 1, b'tauto-bait', 0, 0, 0); os.execv(sys.argv[1], sys.argv[1:])";

/// /proc does not show the keyrings of the caller's session, or how many processes hold them.
fn keyrings(scene: &Scene, pass: Pass) -> Result<(), Failed> {
    let _alone = stage::alone(&e2e::scratch!())?;
    let (stage, _) = set(scene, pass)?;
    let place = stage.place("keyrings")?;
    let seen = place.path("seen");
    let mut command = place.command(Path::new("/usr/bin/python3"));
    command.args(["-c", WITH_KEYRING]).arg(place.tauto().get_program());
    command.args(["run", "--json", "--stdout"]).arg(&seen).args([
        "--",
        "/bin/cat",
        "/proc/keys",
        "/proc/key-users",
    ]);
    let ended = tauto::run(&mut command, false, PATIENCE)?;
    let seen = std::fs::read_to_string(&seen)?;
    match ended.code()? == 0 && seen.is_empty() {
        true => Ok(()),
        false => Err(format!("{seen}{}{}", ended.stdout, ended.stderr).into()),
    }
}

fn as_another(words: &[String]) -> ExitCode {
    let [case, means @ ..] = words else { return ExitCode::from(2) };
    let means: Vec<PathBuf> = means.iter().map(PathBuf::from).collect();
    let Ok([observe, leave, children, circles, directory]) = <[PathBuf; 5]>::try_from(means) else {
        return ExitCode::from(2);
    };
    let means = marks::Programs { observe, leave, children, circles, directory };
    let ended = leftovers::adopt_orphans().and_then(|()| marks::case(case, &means));
    match ended {
        Ok(told) => {
            tell(&mut std::io::stdout(), &told);
            ExitCode::SUCCESS
        }
        Err(error) => {
            tell(&mut std::io::stderr(), &error);
            ExitCode::FAILURE
        }
    }
}

/// All programs, each in a virtual machine of its own: the outcome must be the same.
fn in_machines(arguments: &Arguments, programs: Vec<Program>) -> ExitCode {
    if KERNEL.get().is_none() {
        let missing = Trial::test("machines", || Ok(machine::kernel().map(drop)?));
        return libtest_mimic::run(arguments, vec![missing]).exit_code();
    }
    let pass = Pass::possible()[0];
    let scene = Scene::default();
    let trial = |program: Program| {
        let (scene, name) = (Arc::clone(&scene), format!("machine::{}", program.name));
        let not_here = program.needs.iter().any(|need| need == "sandbox");
        let lacks = pass.lacks(&program.needs).or(not_here.then(|| "not in a virtual machine".into()));
        let program = program.in_a_machine();
        let trial = Trial::test(name, move || attempt(&scene, pass, &program));
        match lacks {
            Some(reason) => trial.with_kind(format!("skipped: {reason}")).with_ignored_flag(true),
            None => trial,
        }
    };
    let trials = programs.into_iter().map(trial).collect();
    libtest_mimic::run(arguments, trials).exit_code()
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().collect();
    if words.first().is_some_and(|name| name == sandbox::ARGV0) {
        return ExitCode::from(sandbox::launcher_main());
    }
    if words.get(1).is_some_and(|word| word == MARKS) {
        return as_another(&words[2..]);
    }
    let machines = words.get(1).is_some_and(|word| word == MACHINES);
    if machines && let Ok(kernel) = machine::kernel() {
        KERNEL.get_or_init(|| kernel);
    }
    let mut arguments = Arguments::from_iter(words.into_iter().filter(|word| word != MACHINES));
    arguments.test_threads = Some(1);
    let programs = match program::discover() {
        Ok(programs) => programs,
        Err(error) => {
            let broken = Trial::test("heads", move || Err(error.into()));
            return libtest_mimic::run(&arguments, vec![broken]).exit_code();
        }
    };
    let programs: Vec<_> =
        programs.into_iter().filter(|program| !program.name.starts_with("interrupt/")).collect();
    if !arguments.list && !arguments.exact {
        compile::compile_all(&programs, &e2e::scratch!());
    }
    if machines {
        return in_machines(&arguments, programs);
    }
    let scenes: Vec<(Pass, Scene)> =
        Pass::possible().into_iter().map(|pass| (pass, Scene::default())).collect();
    let mut trials = Vec::new();
    for (pass, scene) in &scenes {
        for program in &programs {
            let lacks = pass.lacks(&program.needs);
            // What root alone can have is tested as root.
            let elsewhere =
                |(other, _): &(Pass, Scene)| other != pass && other.lacks(&program.needs).is_none();
            if lacks.is_some() && scenes.iter().any(elsewhere) {
                continue;
            }
            let name = format!("{}::{}", pass.name(), program.name);
            let (pass, scene, program) = (*pass, Arc::clone(scene), program.clone());
            let trial = Trial::test(name, move || attempt(&scene, pass, &program));
            trials.push(match lacks {
                Some(reason) => trial.with_kind(format!("skipped: {reason}")).with_ignored_flag(true),
                None => trial,
            });
        }
    }
    for (pass, scene) in &scenes {
        let pass = *pass;
        let mut trial = |what: &str, run: OnScene| {
            let scene = Arc::clone(scene);
            trials.push(Trial::test(format!("{}::{what}", pass.name()), move || run(&scene)));
        };
        let programs = programs.clone();
        trial("objects_are_freed", Box::new(move |scene| objects_are_freed(scene, pass, &programs)));
        for case in marks::CASES {
            trial(&format!("marks::{case}"), Box::new(move |scene| marks_case(scene, pass, case)));
        }
        trial("ulimits", Box::new(move |scene| ulimits(scene, pass)));
        trial("keyrings", Box::new(move |scene| keyrings(scene, pass)));
    }
    // The scenes are held by the trials; `run` drops these, and with them the bait, before it returns.
    drop(scenes);
    libtest_mimic::run(&arguments, trials).exit_code()
}
