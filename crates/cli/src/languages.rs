//! `tauto languages`: the configured languages and the tools found for them.

use crate::Done;
use crate::judging::languages;
use crate::terminal::{self, Failure, print};
use clap::Args;
use engine::languages::Languages;
use engine::toolchain;
use judge::language::Language;
use report::json::{LanguagesDocument, to_text};
use report::text::languages_table;
use report::{LanguageStatus, ToolStatus};
use std::path::PathBuf;

#[derive(Args, Debug)]
pub(crate) struct LanguagesArgs {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// Languages of your own: a table laid over the shipped one
    #[arg(long, value_name = "FILE", env = "TAUTO_LANGUAGES")]
    languages: Option<PathBuf>,
}

pub(crate) fn main(args: LanguagesArgs) -> Result<Done, Failure> {
    let languages = languages(args.languages.as_ref())?;
    let all = statuses(&languages);
    match args.json {
        true => print(&to_text(&LanguagesDocument::new(&all))),
        false => print(&languages_table(&all, terminal::style())),
    }
    Ok(Done::Good)
}

/// Each language, with what was found for it here.
pub(crate) fn statuses(languages: &Languages) -> Vec<LanguageStatus> {
    languages.table().languages().iter().map(|language| status(languages, language)).collect()
}

/// What the command prints with `--json`, as a value.
pub(crate) fn document(languages: &Languages) -> serde_json::Value {
    serde_json::to_value(LanguagesDocument::new(&statuses(languages))).unwrap_or_default()
}

fn status(languages: &Languages, language: &Language) -> LanguageStatus {
    let found = languages.toolchain(language);
    let tools = |toolchain: toolchain::Toolchain| {
        // The version command asks one tool; it speaks for the toolchain.
        let version = languages.version(language, &toolchain);
        let named = toolchain.paths.iter().filter(|(name, _)| language.tools.contains_key(*name));
        let tool = |(name, path): (&String, &String)| ToolStatus {
            name: name.clone(),
            path: path.clone(),
            version: version.clone(),
        };
        named.map(tool).collect()
    };
    LanguageStatus {
        id: language.id.clone(),
        name: language.name.clone(),
        extensions: language.extensions.clone(),
        compile: language.compile.steps.first().cloned(),
        run: language.run.steps.first().cloned().unwrap_or_default(),
        toolchain: found.map(tools).map_err(|absent| absent.why),
    }
}
