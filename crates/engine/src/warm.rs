//! Compiling what languages have in common before the first program needs it.

use crate::Fault;
use crate::artifact_cache::{ArtifactCache, name_of};
use crate::build_plan::{BuildPlan, LoadedFile, Sources, build_plan};
use crate::languages::Languages;
use crate::limits::MEMORY;
use crate::program::{RunContext, Warmed, warmed};
use crate::slot::Station;
use model::Layout;
use std::sync::atomic::AtomicBool;

/// What the artifact cache does not have yet, by language.
pub struct PendingWarmUps(Vec<BuildPlan>);

impl PendingWarmUps {
    /// Finds the languages whose tools are installed and whose warm-up is not in the artifact cache.
    pub fn find(languages: &Languages, artifacts: &ArtifactCache) -> PendingWarmUps {
        let table = languages.table().languages().iter().filter(|language| language.warm_up.is_some());
        let build_plans = table.filter_map(|language| {
            let usable = languages.usable(language).ok()?;
            let warm_up = usable.language.warm_up_plan(&usable.toolchain.paths).ok()??;
            let source = LoadedFile {
                name: warm_up.name.clone(),
                executable: false,
                content: warm_up.text.clone().into(),
            };
            let sources = Sources { own: vec![source], added: Vec::new(), entry: None, options: &[] };
            let build_plan =
                build_plan("warming up", sources, usable.language, MEMORY, languages, false).ok()?;
            (!artifacts.has(&name_of(&build_plan, &warm_up))).then_some(build_plan)
        });
        PendingWarmUps(build_plans.collect())
    }

    /// Whether nothing has to be compiled.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Compiles it at a station, which puts it into its artifact cache. Returns the languages for which it does not compile.
    pub fn warm(&self, station: &Station, cancel: &AtomicBool) -> Result<Vec<String>, Fault> {
        let (placement, caches) = (&station.placement, &station.caches);
        let context =
            RunContext { runner: &*station.runner, placement, caches, layout: Layout::default(), cancel };
        let failed = |build_plan: &BuildPlan| {
            let failed = matches!(warmed(context, build_plan)?, Warmed::Failed);
            Ok(failed.then(|| build_plan.language.clone()))
        };
        self.0.iter().filter_map(|build_plan| failed(build_plan).transpose()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files;
    use crate::languages::SCRIPT_LIMITS;
    use crate::limits::Allowance;
    use crate::program::{CompileBounds, compile_to};
    use crate::simulated::{Simulated, observation};
    use crate::slot::Caches;
    use judge::language::{CACHE_DIR, Command, WarmUp};
    use model::{Exit, Nanos, Placement, View};
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    fn build_plan_with_warm_up() -> BuildPlan {
        let command = |word: &str| Command { argv: vec![word.into()], env: Vec::new() };
        BuildPlan {
            language: "go".into(),
            stands_in: None,
            refused: None,
            parts: Vec::new(),
            compile: vec![command("compile")],
            warm_up: Some(WarmUp {
                name: "warm_up.go".into(),
                text: "package main".into(),
                commands: vec![command("warm up")],
            }),
            compile_view: View::default(),
            compile_limits: SCRIPT_LIMITS,
            run: command("run"),
            run_view: View::default(),
            allowance: Allowance::NONE,
        }
    }

    /// Long enough for another process to begin meanwhile.
    const LONG: Duration = Duration::from_millis(300);

    /// What a compilation found in the cache, whether it could write there, how often the warm-up was compiled, and the boxes that are left
    /// without the program.
    type Seen = (Option<Vec<u8>>, bool, usize, usize);

    fn compiled(in_a_machine: bool, artifacts: &Arc<ArtifactCache>) -> Seen {
        let found = Arc::new(Mutex::new(None));
        let note = found.clone();
        let runner = Simulated::new(move |stage| {
            let [shared, own] = ["shared", "own"].map(|name| format!("{CACHE_DIR}/{name}"));
            match &*stage.spec().argv[0] {
                "warm up" => {
                    std::thread::sleep(LONG);
                    assert!(stage.put(&shared, b"compiled"));
                }
                "compile" => *note.lock().unwrap() = Some((stage.file(&shared), stage.put(&own, b""))),
                _ => {}
            }
            Ok(observation(Exit::Code(0), Nanos::from_millis(1)))
        });
        let runner = if in_a_machine { runner.thrown_away() } else { runner };
        let caches = Caches { artifacts: Some(artifacts.clone()), ..Caches::default() };
        let (placement, cancel) = (Placement::default(), AtomicBool::new(false));
        let context = RunContext {
            runner: &runner,
            placement: &placement,
            caches: &caches,
            layout: Layout::default(),
            cancel: &cancel,
        };
        let build_plan = build_plan_with_warm_up();
        let printed = files::in_memory("output").unwrap();
        let bounds = CompileBounds { limits: build_plan.compile_limits, wall: None };
        let compilation = compile_to(context, &build_plan, bounds, &[], [&printed; 2]).unwrap();
        assert!(compilation.program.is_ok());
        drop(compilation);
        let warm_ups = runner.specs().iter().filter(|spec| spec.argv[0] == "warm up").count();
        let (shared, writable) = found.lock().unwrap().take().unwrap();
        (shared, writable, warm_ups, runner.boxes())
    }

    #[test]
    fn machines_get_a_copy_of_what_was_compiled_outside() {
        let top = tempfile::tempdir().unwrap();
        let artifacts = Arc::new(ArtifactCache::new(top.path().join("compiled")));
        let shared = Some(b"compiled".to_vec());
        assert_eq!(compiled(true, &artifacts), (None, true, 0, 0), "an empty cache of its own");
        assert_eq!(compiled(false, &artifacts), (shared.clone(), false, 1, 1), "kept for the next program");
        assert_eq!(compiled(true, &artifacts), (shared, false, 0, 0), "a copy that goes with the machine");
    }

    #[test]
    fn what_does_not_compile_is_named() {
        for (code, failed) in [(0, vec![]), (1, vec!["go"])] {
            let runner = Simulated::new(move |_| Ok(observation(Exit::Code(code), Nanos::from_millis(1))));
            let station = Station::new(Box::new(runner), Placement::default());
            let pending = PendingWarmUps(vec![build_plan_with_warm_up()]);
            assert_eq!(pending.warm(&station, &AtomicBool::new(false)).unwrap(), failed);
        }
    }

    #[test]
    fn what_starts_together_compiles_it_once() {
        let top = tempfile::tempdir().unwrap();
        let artifacts = Arc::new(ArtifactCache::new(top.path().join("compiled")));
        let warm_ups = std::thread::scope(|scope| {
            let all = [(); 3].map(|()| scope.spawn(|| compiled(false, &artifacts)));
            all.map(|one| one.join().unwrap()).map(|(shared, _, warm_ups, _)| {
                assert_eq!(shared.as_deref(), Some(&b"compiled"[..]));
                warm_ups
            })
        });
        assert_eq!(warm_ups.iter().sum::<usize>(), 1, "{warm_ups:?}");
    }
}
