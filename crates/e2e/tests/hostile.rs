//! Runs every hostile program in `tauto run`, as root and as an ordinary user, and looks at what came of it.

use e2e::bait::Bait;
use e2e::condition::{Context, limit_value};
use e2e::leftovers::{self, Snapshot};
use e2e::program::{self, Program, Streams};
use e2e::stage::{self, Pass, Place, Stage};
use e2e::{compile, tauto};
use libtest_mimic::{Arguments, Failed, Trial};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Beyond the wall limit of a run; only reached by a `tauto` that hangs.
const PATIENCE: Duration = Duration::from_secs(20);
/// For what ends with `tauto` to be gone.
const GONE_WITHIN: Duration = Duration::from_secs(2);

fn scratch() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("hostile")
}

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
fn command(place: &Place<'_>, program: &Program) -> Command {
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
    PATIENCE + Duration::from_secs_f64(2.0 * limit / 1e9)
}

fn invoke(
    place: &Place<'_>,
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
    let _alone = stage::alone(&scratch())?;
    let (stage, bait) = set(scene, pass)?;
    let executable = compile::executable(program, &scratch())?;
    let before = Snapshot::take();
    let place = stage.place(&program.name)?;
    let file = place.install(&executable, program.setuid)?;
    for arguments in &program.runs {
        let filled = arguments.iter().map(|argument| bait.fill(argument)).collect::<Result<Vec<_>, _>>()?;
        let ended = invoke(&place, program, &file, &filled);
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

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
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
        compile::compile_all(&programs, &scratch());
    }
    let scenes: Vec<(Pass, Scene)> =
        Pass::possible().into_iter().map(|pass| (pass, Scene::default())).collect();
    let mut trials = Vec::new();
    for (pass, scene) in &scenes {
        for program in &programs {
            let lacks = pass.lacks(&program.needs);
            let name = format!("{}::{}", pass.name(), program.name);
            let (pass, scene, program) = (*pass, Arc::clone(scene), program.clone());
            let trial = Trial::test(name, move || attempt(&scene, pass, &program));
            trials.push(match lacks {
                Some(reason) => trial.with_kind(format!("skipped: {reason}")).with_ignored_flag(true),
                None => trial,
            });
        }
    }
    // The scenes are held by the trials; `run` drops these, and with them the bait, before it returns.
    drop(scenes);
    libtest_mimic::run(&arguments, trials).exit_code()
}
