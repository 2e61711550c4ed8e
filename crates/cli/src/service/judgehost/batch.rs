//! Doing what was handed out: judging, preparing, and telling the jury more.

use super::bundles::{Kind, part};
use super::host::Host;
use super::words;
use engine::Fault;
use engine::bundle::{Case, Executable, Made, Program, ScriptLimits, Tested};
use judge::domjudge::{RunResult, overshoot};
use judgehost::journal::Entry;
use judgehost::report::{self, Form, InternalError, Passed, base64, cut};
use judgehost::server::{Config, NotDone};
use judgehost::task::{Dialect, Number, Task};
use model::{Bytes, Nanos, Observation};
use std::fmt;
use std::io::{self, Read};
use std::rc::Rc;
use std::time::{SystemTime, UNIX_EPOCH};

/// A task that was begun so often without a result ends whoever judges it.
const BEGUN: u32 = 10;
/// Most of an output that is sent where the site has set no bound, and of a debug package.
const MOST: u64 = 64 << 20;

/// Why a batch is not done.
#[derive(Debug)]
pub(super) enum Stop {
    /// The server is to be told of this.
    Told { error: InternalError, task: Option<u64> },
    /// A fault of this machine.
    Machine(String),
    /// The server cannot be asked.
    Server(NotDone),
    /// This process is to end at once.
    Cancelled,
    /// The journal cannot be written.
    Journal(io::Error),
}

impl Stop {
    pub(super) fn told(error: InternalError) -> Stop {
        Stop::Told { error, task: None }
    }

    /// The same, seen at a task.
    fn at(self, task: &Task) -> Stop {
        match self {
            Stop::Told { error, task: None } => Stop::Told { error, task: Some(task.id) },
            other => other,
        }
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stop::Told { error, .. } => f.write_str(&error.description),
            Stop::Machine(why) => f.write_str(why),
            Stop::Server(why) => why.fmt(f),
            Stop::Cancelled => f.write_str("interrupted"),
            Stop::Journal(why) => why.fmt(f),
        }
    }
}

impl From<NotDone> for Stop {
    fn from(not_done: NotDone) -> Stop {
        Stop::Server(not_done)
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Stop {
        Stop::Journal(error)
    }
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Stop {
        match fault {
            Fault::Cancelled => Stop::Cancelled,
            other => Stop::Machine(other.to_string()),
        }
    }
}

/// What compares or talks, and what starts the submission.
type Jury = (Rc<Executable<'static>>, Option<Rc<Executable<'static>>>);

/// What all tests of a judging have in common, compiled once for all its batches.
pub(super) struct Judging {
    /// Its number, and its UUID: numbers begin again where a database is created again.
    name: (String, String),
    program: Program<'static>,
    jury: Rc<Executable<'static>>,
    /// The site's own script that starts the submission.
    start: Option<Rc<Executable<'static>>>,
    config: Config,
}

impl Host {
    /// Does tasks of one kind. False: the server may have some of them back.
    pub(super) fn perform(&mut self, tasks: &[Task]) -> Result<bool, Stop> {
        let Some(first) = tasks.first() else { return Ok(true) };
        match first.kind.as_str() {
            "judging_run" => self.judge(tasks),
            "prefetch" => self.prefetch(tasks),
            "debug_info" => self.debug(tasks),
            other => {
                tracing::warn!(kind = other, "tasks of an unknown kind are left out");
                Ok(true)
            }
        }
    }

    fn judge(&mut self, tasks: &[Task]) -> Result<bool, Stop> {
        let done = self.judge_each(tasks);
        // Before anything else is told: with it the server may give back what has no result yet.
        let wanted = self.flush()?;
        Ok(done? && wanted)
    }

    fn judge_each(&mut self, tasks: &[Task]) -> Result<bool, Stop> {
        for task in tasks {
            let body = match self.journal.state().results.get(&task.id) {
                // It may have arrived: sent again it must be the same.
                Some(body) => body.clone(),
                None => {
                    if !self.prepare(task).map_err(|stop| stop.at(task))? {
                        return Ok(true);
                    }
                    self.begin(task)?;
                    let tested = self.test(task).map_err(|stop| stop.at(task))?;
                    let body = report::encode(&tested);
                    self.journal.note(Entry::Result { task: task.id, body: body.clone() })?;
                    body
                }
            };
            // One at a time, so that the server hears of them in their order.
            if !self.flush()? {
                return Ok(false);
            }
            self.report_sender.send(task.id, body.clone());
            // Only a result that decides nothing is not waited for, as DOMjudge's own judgehost does.
            if !report::is_correct(&body) && !self.flush()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Waits for the report that is on its way. False: no more of this judging is wanted.
    fn flush(&mut self) -> Result<bool, Stop> {
        let Some((task, told)) = self.report_sender.wait() else { return Ok(true) };
        let wanted = told?;
        self.journal.note(Entry::Done { task })?;
        Ok(wanted)
    }

    /// Notes that a task is begun, unless that has ended this process too often.
    fn begin(&mut self, task: &Task) -> Result<(), Stop> {
        self.journal.note(Entry::Begun { task: task.id })?;
        match self.journal.state().begun.1 {
            ..=BEGUN => Ok(()),
            times => Err(Stop::Machine(format!(
                "judging task {} was started {times} times without a result",
                task.id
            ))),
        }
    }

    /// Compiles, and gets what else the tests need. False: it does not compile, and the server knows.
    fn prepare(&mut self, task: &Task) -> Result<bool, Stop> {
        let name = (task.job.clone(), task.uuid.clone());
        if self.judging.as_ref().is_some_and(|judging| judging.name == name) {
            return Ok(true);
        }
        // Its boxes make room for those of the next.
        self.judging = None;
        let config = self.server.config()?;
        if !self.versions(task)? {
            return Ok(false);
        }
        let compile = &task.compile_config;
        let limits = script(
            [compile.script_timelimit, compile.script_memory_limit, compile.script_filesize_limit],
            &config,
        );
        let id = (task.compile_script_id.as_str(), compile.hash.as_str());
        let compiler = self.bundles.get((&self.server, &self.runner), Kind::Compile, id, &limits)?;
        let (jury, start) = self.jury(task, &config)?;
        let sources = self.server.files_at(&task.sources())?;
        // Of two files of one name the last one holds, here as in the box.
        let given: Vec<(String, Vec<u8>)> = sources
            .iter()
            .filter(|file| !file.name.contains('/') && !matches!(file.name.as_str(), "" | "." | ".."))
            .map(|file| (format!("compile/{}", file.name), file.content.clone()))
            .collect();
        let passed = |name: &str| {
            !compile.filter_compiler_files
                || compile.language_extensions.iter().any(|end| name.ends_with(end.as_str()))
        };
        let names = sources.iter().map(|file| file.name.clone()).filter(|name| passed(name));
        let memory = task.run_config.memory_limit.0 as u64;
        let args: Vec<String> = [memory.to_string()].into_iter().chain(names).collect();
        let entry = task.run_config.entry_point.clone();
        let env: Vec<(String, String)> =
            [("ENTRY_POINT".to_owned(), entry)].into_iter().filter(|(_, entry)| !entry.is_empty()).collect();
        let made = if args.len() == 1 {
            let ends = compile.language_extensions.join(", ");
            let why = format!("No source file has one of the extensions of the language: {ends}.\n");
            Made { made: Err(why), printed: Vec::new(), run: None }
        } else {
            let sources = sources.into_iter().map(part).collect();
            self.runner.compile(&compiler, sources, args, &env, &limits)?
        };
        if made.made.is_err() && report::says_internal_error(&made.printed) {
            return Err(Stop::told(InternalError {
                description: format!(
                    "compile executable {} reports an internal error",
                    task.compile_script_id
                ),
                log: String::from_utf8_lossy(&made.printed).into_owned(),
                disabled: Kind::Compile.disabled(&task.compile_script_id),
            }));
        }
        if self.journal.state().compiled != task.job {
            let (form, told) = compilation(&made, &limits, &config, &self.name);
            let sources = given.iter().map(|(name, content)| (name.as_str(), content.as_slice()));
            let told = told.iter().map(|(name, content)| (*name, content.as_slice()));
            self.workdirs.begin(task, &sources.chain(told).collect::<Vec<_>>());
            self.server.compiled(task.id, &form)?;
            self.journal.note(Entry::Compiled { job: task.job.clone() })?;
        }
        self.judging = made.made.ok().map(|program| Rc::new(Judging { name, program, jury, start, config }));
        Ok(self.judging.is_some())
    }

    /// Tells the versions of compiler and runner, where the site asks for them. False: they are not the site's.
    fn versions(&mut self, task: &Task) -> Result<bool, Stop> {
        let commands = match self.server.version_commands(task.id) {
            Ok(commands) => commands,
            // A server that does not ask.
            Err(NotDone::Refused(_)) => return Ok(true),
            Err(other) => return Err(other.into()),
        };
        if commands.iter().all(Option::is_none) {
            return Ok(true);
        }
        let mut told = [None, None];
        for (told, command) in told.iter_mut().zip(commands) {
            let Some(command) = command else { continue };
            *told = Some(match self.versions.get(&command) {
                Some(known) => known.clone(),
                None => {
                    let text = match command.starts_with("#!") {
                        true => command.clone(),
                        false => format!("#!/bin/sh\n{command}\n"),
                    };
                    let limits = ScriptLimits {
                        wall: Nanos::from_secs(30),
                        memory: Bytes::from_mib(2048),
                        files: Bytes::from_mib(16),
                    };
                    let said = self.runner.script(text.as_bytes(), &limits)?;
                    self.versions.insert(command, said.clone());
                    said
                }
            });
        }
        match self.server.versions(task.id, told) {
            Ok(()) => Ok(true),
            Err(NotDone::Refused(why)) => {
                tracing::error!(why, "the site wants other versions");
                Ok(false)
            }
            Err(other) => Err(other.into()),
        }
    }

    /// What compares outputs, or talks to the submission; and what starts it, where that is more than the usual script.
    fn jury(&mut self, task: &Task, config: &Config) -> Result<Jury, Stop> {
        let compare = &task.compare_config;
        let limits = script(
            [compare.script_timelimit, compare.script_memory_limit, compare.script_filesize_limit],
            config,
        );
        let run = (task.run_script_id.as_str(), task.run_config.hash.as_str());
        if compare.combined_run_compare {
            let jury = self.bundles.get((&self.server, &self.runner), Kind::Run, run, &limits)?;
            return Ok((jury, None));
        }
        let start = self.bundles.start((&self.server, &self.runner), run.0, run.1, &limits)?;
        let id = (task.compare_script_id.as_str(), compare.hash.as_str());
        let jury = self.bundles.get((&self.server, &self.runner), Kind::Compare, id, &limits)?;
        Ok((jury, start))
    }

    /// Judges a test: the form of its report.
    fn test(&mut self, task: &Task) -> Result<Form, Stop> {
        let nothing = || Stop::Machine("nothing is compiled".to_owned());
        let judging = self.judging.clone().ok_or_else(nothing)?;
        let [input, answer] = self.tests.get(&self.server, &task.testcase_id, &task.testcase_hash)?;
        let (run, compare) = (&task.run_config, &task.compare_config);
        let interactive = compare.combined_run_compare;
        let limit = run.time_limit.seconds();
        let beyond = overshoot(limit, &judging.config.overshoot).map_err(Stop::Machine)?;
        let hard = limit + beyond + run.overshoot.unwrap_or_default().seconds();
        let args: Vec<String> = compare.compare_args.split_whitespace().map(str::to_owned).collect();
        let case = Case {
            input: &input,
            answer: &answer,
            args: &args,
            limit,
            hard,
            // Both sides wait for each other.
            wall: if interactive { hard.scale(2.0) } else { hard },
            memory: run.memory_limit.kib(),
            output: run.output_limit.kib(),
            processes: run.process_limit.count().max(1),
            script: script(
                [compare.script_timelimit, compare.script_memory_limit, compare.script_filesize_limit],
                &judging.config,
            ),
            passes: run.pass_limit.map_or(1, Number::count).max(1),
            interactive,
            memory_verdict: self.memory,
            wrapper: judging.start.as_deref(),
        };
        let begun = now();
        let tested = self.runner.judge(&judging.program, &judging.jury, &case)?;
        let moments = [begun, now()];
        if tested.result == RunResult::CompareError {
            let (kind, id) = match interactive {
                true => (Kind::Run, &task.run_script_id),
                false => (Kind::Compare, &task.compare_script_id),
            };
            let said = tested.last.compared.as_ref().map(|compared| compared.message.clone());
            return Err(Stop::told(InternalError {
                description: format!(
                    "{} executable {id} failed at test {}: {}",
                    label(kind),
                    task.testcase_id,
                    tested.why
                ),
                log: said.unwrap_or_default(),
                disabled: kind.disabled(id),
            }));
        }
        self.report(task, &case, &tested, moments, judging.config.output_storage)
    }

    fn report(
        &mut self,
        task: &Task,
        case: &Case,
        tested: &Tested,
        [begun, ended]: [String; 2],
        storage: Option<usize>,
    ) -> Result<Form, Stop> {
        let fault = |e: io::Error| Stop::Machine(format!("reading what a program printed: {e}"));
        let last = &tested.last;
        let printed = last.output.metadata().map_err(fault)?.len();
        // One byte more than is stored tells that there is more.
        let most = storage.map_or(MOST, |limit| limit as u64 + 1);
        let mut output = Vec::new();
        let opened = engine::files::reopen(&last.output).map_err(fault)?;
        opened.take(most).read_to_end(&mut output).map_err(fault)?;
        let compared = last.compared.as_ref();
        let message = compared.map(|compared| compared.message.clone()).unwrap_or_default();
        let read = case.input.metadata().map_err(fault)?.len();
        let causes: Vec<&str> = words::causes(tested).into_iter().map(model::Disturbance::name).collect();
        let run = &last.run;
        let passed = Passed {
            soft: run.time.cpu > case.limit || run.wall_exceeded,
            hard: run.time.cpu > case.hard || run.wall_exceeded || run.time.wall > case.wall,
            output: tested.result == RunResult::OutputLimit,
        };
        let facts = report::metadata(run, tested.time, passed, read, [printed, last.errors.len() as u64]);
        let facts = facts + &report::own_metadata(tested.time, &tested.settled, &causes);
        let system = words::system(tested, &self.name);
        let comparison = compared.map(|compared| comparison(compared, case.interactive)).unwrap_or_default();
        let team = compared.map(|compared| compared.team_message.as_str()).unwrap_or_default();
        self.workdirs.test(
            task,
            tested.passes,
            &last.output,
            &[
                ("program.err", &last.errors),
                ("program.meta", facts.as_bytes()),
                ("system.out", system.as_bytes()),
                ("compare.meta", comparison.as_bytes()),
                ("feedback/judgemessage.txt", message.as_bytes()),
                ("feedback/teammessage.txt", team.as_bytes()),
            ],
        );
        let stored = |bytes: &[u8]| base64(&cut(bytes, storage));
        let mut form = vec![
            ("runresult", tested.result.name().to_owned()),
            ("runtime", report::seconds(tested.time)),
            ("output_run", stored(&output)),
            ("output_diff", stored(message.as_bytes())),
            ("output_error", stored(&last.errors)),
            ("output_system", stored(system.as_bytes())),
            ("start_time", begun),
            ("end_time", ended),
            ("metadata", base64(facts.as_bytes())),
            ("testcasedir", format!("tauto:{}/{}", self.name, task.id)),
            ("hostname", self.name.clone()),
        ];
        if let Some(compared) = compared {
            form.push(("compare_metadata", base64(comparison.as_bytes())));
            form.push(("team_message", base64(team.as_bytes())));
            if task.compare_config.is_scoring_problem
                && let Some(score) = compared.score
            {
                // Written out, since the server takes no exponent.
                form.push(("score", base64(format!("{score}").as_bytes())));
            }
        }
        if task.dialect() == Dialect::Main {
            form.push(("pass", tested.passes.to_string()));
        }
        Ok(form)
    }

    /// Gets ready what will be needed. Nobody waits for an answer.
    fn prefetch(&mut self, tasks: &[Task]) -> Result<bool, Stop> {
        let config = self.server.config()?;
        for task in tasks.iter().take_while(|_| !self.ending.load(std::sync::atomic::Ordering::SeqCst)) {
            match self.get_ready(task, &config) {
                // Told when it is really needed.
                Err(Stop::Told { error, .. }) => tracing::warn!(error.description, "a prefetch"),
                Err(Stop::Server(NotDone::Refused(why))) => tracing::warn!(why, "a prefetch"),
                done => done?,
            }
            self.journal.note(Entry::Done { task: task.id })?;
        }
        Ok(true)
    }

    fn get_ready(&mut self, task: &Task, config: &Config) -> Result<(), Stop> {
        let limits = script(Default::default(), config);
        let both = (&self.server, &self.runner);
        let (compile, run) = (&task.compile_config.hash, &task.run_config.hash);
        if !task.compile_script_id.is_empty() {
            self.bundles.get(both, Kind::Compile, (&task.compile_script_id, compile), &limits)?;
        }
        if !task.run_script_id.is_empty() && !task.compare_config.combined_run_compare {
            drop(self.bundles.start(both, &task.run_script_id, run, &limits)?);
        }
        if !task.compare_script_id.is_empty() {
            let id = (task.compare_script_id.as_str(), task.compare_config.hash.as_str());
            self.bundles.get(both, Kind::Compare, id, &limits)?;
        }
        if !task.testcase_id.is_empty() {
            self.tests.get(&self.server, &task.testcase_id, &task.testcase_hash)?;
        }
        Ok(())
    }

    /// Answers a jury that asks for more.
    fn debug(&mut self, tasks: &[Task]) -> Result<bool, Stop> {
        for task in tasks {
            let (kind, content) = if task.run_script_id.is_empty() {
                let none = || b"This output is no longer kept; rejudge the submission.\n".to_vec();
                ("output_run", self.workdirs.output(task).unwrap_or_else(none))
            } else {
                // The jury reads why there is none where it looks for it. An internal error would take the judging back.
                let told = match self.package(task) {
                    Err(Stop::Told { error, .. }) => Err(format!("{}\n{}", error.description, error.log)),
                    Err(Stop::Server(NotDone::Refused(why))) => Err(why),
                    done => done?,
                };
                ("full_debug", told.unwrap_or_else(String::into_bytes))
            };
            self.server.debug_info(task.id, kind, &content)?;
            self.journal.note(Entry::Done { task: task.id })?;
        }
        Ok(true)
    }

    /// A debug package of a judging's work directory, by the site's script, or why there is none.
    fn package(&mut self, task: &Task) -> Result<Result<Vec<u8>, String>, Stop> {
        let Some(name) = self.workdirs.name(task) else {
            return Ok(Err("This judging is no longer kept; rejudge the submission.\n".to_owned()));
        };
        let limits = script(Default::default(), &self.server.config()?);
        let id = (task.run_script_id.as_str(), task.run_config.hash.as_str());
        let debug = self.bundles.get((&self.server, &self.runner), Kind::Debug, id, &limits)?;
        let made = self.runner.package(&debug, self.workdirs.directory(), &name, MOST, &limits)?;
        Ok(made.made.map_err(|why| {
            let said = String::from_utf8_lossy(&made.printed);
            format!("The debug script {} made no package: {why}\n{said}", task.run_script_id)
        }))
    }
}

fn label(kind: Kind) -> &'static str {
    match kind {
        Kind::Compile => "compile",
        Kind::Run | Kind::Start => "run",
        Kind::Compare => "compare",
        Kind::Debug => "debug",
    }
}

/// Limits of a script: seconds, KiB of memory and of files; those of the site where there are none.
fn script(stated: [Number; 3], config: &Config) -> ScriptLimits {
    let [wall, memory, files] = stated;
    let [usual_wall, usual_memory, usual_files] = config.script.map(|usual| Number(usual as f64));
    let or = |stated: Number, usual: Number| if stated.0 > 0.0 { stated } else { usual };
    ScriptLimits {
        wall: or(wall, usual_wall).seconds(),
        memory: or(memory, usual_memory).kib(),
        files: or(files, usual_files).kib(),
    }
}

/// What came of compiling: as it is told, and as files of the work directory.
fn compilation(
    made: &Made<Program<'_>>,
    limits: &ScriptLimits,
    config: &Config,
    host: &str,
) -> (Form, [(&'static str, Vec<u8>); 2]) {
    let (entry, mut output) = report::entry_point(&made.printed);
    if let Err(why) = &made.made {
        let seconds = limits.wall.0 / 1_000_000_000;
        let late = made.run.as_ref().is_some_and(|run| run.wall_exceeded);
        let why = if late { format!("Compiling aborted after {seconds} seconds") } else { why.clone() };
        output.extend_from_slice(format!("\nCompiling failed: {why}\n").as_bytes());
    }
    output.extend_from_slice(format!("\nCompiled by {host} (tauto).\n").as_bytes());
    let facts = made.run.as_ref().map(|run| plain_metadata(run, made.printed.len())).unwrap_or_default();
    let facts = match &entry {
        Some(entry) => format!("{facts}entry_point: {entry}\n"),
        None => facts,
    };
    let mut form = vec![
        ("compile_success", if made.made.is_ok() { "1" } else { "0" }.to_owned()),
        ("output_compile", base64(&cut(&output, config.output_storage))),
        ("compile_metadata", base64(facts.as_bytes())),
    ];
    form.extend(entry.map(|entry| ("entry_point", entry)));
    (form, [("compile.out", output), ("compile.meta", facts.into_bytes())])
}

/// Facts about a script's run.
fn plain_metadata(run: &Observation, printed: usize) -> String {
    let passed = Passed { soft: run.wall_exceeded, hard: run.wall_exceeded, output: false };
    report::metadata(run, run.time.cpu, passed, 0, [printed as u64, 0])
}

fn comparison(compared: &engine::bundle::Compared, interactive: bool) -> String {
    let facts = plain_metadata(&compared.run, compared.message.len());
    match interactive {
        false => facts,
        true => format!(
            "{facts}total-duration-us: {}\nvalidator-exited-first: {}\n",
            compared.run.time.wall.0 / 1000,
            compared.first
        ),
    }
}

/// The time of day as the server takes it.
fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{}.{:06}", since.as_secs(), since.subsec_micros())
}
