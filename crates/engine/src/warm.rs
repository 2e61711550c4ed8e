//! Compiling what languages have in common before the first program needs it.

use crate::Fault;
use crate::artifact_cache::{ArtifactCache, name_of};
use crate::build_plan::{BuildPlan, LoadedFile, Sources, build_plan};
use crate::languages::Languages;
use crate::limits::MEMORY;
use crate::program::{RunContext, warmed};
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

    /// Compiles it at a station, which puts it into its artifact cache.
    pub fn warm(&self, station: &Station, cancel: &AtomicBool) -> Result<(), Fault> {
        let (placement, caches) = (&station.placement, &station.caches);
        let context =
            RunContext { runner: &*station.runner, placement, caches, layout: Layout::default(), cancel };
        self.0.iter().try_for_each(|build_plan| warmed(context, build_plan).map(drop))
    }
}
