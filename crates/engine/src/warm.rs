//! Compiling what languages have in common before the first program needs it.

use crate::Fault;
use crate::languages::Languages;
use crate::limits::MEMORY;
use crate::program::{Place, warmed};
use crate::recipe::{Part, Recipe, Sources, recipe};
use crate::shelf::{Shelf, name_of};
use crate::slot::Station;
use model::Layout;
use std::sync::atomic::AtomicBool;

/// What is not on the shelf yet, by language.
pub struct Cold(Vec<Recipe>);

impl Cold {
    /// Looks at every language that has something to compile once, and whose tools are here.
    pub fn of(languages: &Languages, shelf: &Shelf) -> Cold {
        let table = languages.table().languages().iter().filter(|language| language.warm_up.is_some());
        let recipes = table.filter_map(|language| {
            let usable = languages.usable(language).ok()?;
            let warm_up = usable.language.warm_up_plan(&usable.toolchain.paths).ok()??;
            let source =
                Part { name: warm_up.name.clone(), executable: false, content: warm_up.text.clone().into() };
            let sources = Sources { own: vec![source], added: Vec::new(), entry: None, options: &[] };
            let recipe = recipe("warming up", sources, usable.language, MEMORY, languages, false).ok()?;
            (!shelf.has(&name_of(&recipe, &warm_up))).then_some(recipe)
        });
        Cold(recipes.collect())
    }

    /// Nothing is to be compiled.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Compiles it at a station, which puts it on its shelf.
    pub fn warm(&self, station: &Station, cancel: &AtomicBool) -> Result<(), Fault> {
        let (placement, caches) = (&station.placement, &station.caches);
        let place = Place { runner: &*station.runner, placement, caches, layout: Layout::default(), cancel };
        self.0.iter().try_for_each(|recipe| warmed(place, recipe).map(drop))
    }
}
