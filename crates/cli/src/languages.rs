//! `tauto languages`: the configured languages and the tools found for them.

use crate::Done;
use crate::judging::languages;
use crate::terminal::{self, Failure, print};
use clap::Args;
use engine::languages::Languages;
use engine::toolchain;
use judge::language::Language;
use model::{HostLanguage, HostLanguages, HostTool};
use report::json::to_text;
use report::text::languages_table;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub(crate) struct LanguagesArgs {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// Merge this language table over the built-in one
    #[arg(long, value_name = "FILE", env = "TAUTO_LANGUAGES")]
    languages: Option<PathBuf>,
}

pub(crate) fn main(args: LanguagesArgs) -> Result<Done, Failure> {
    let languages = languages(args.languages.as_ref())?;
    let all = found(&languages);
    match args.json {
        true => print(&to_text(&all)),
        false => print(&languages_table(&all, terminal::style())),
    }
    Ok(Done::Good)
}

/// The languages, and what of their tools is on this machine.
pub(crate) fn found(languages: &Languages) -> HostLanguages {
    let all = languages.table().languages().iter();
    HostLanguages { languages: all.map(|language| on_host(languages, language)).collect() }
}

fn on_host(languages: &Languages, language: &Language) -> HostLanguage {
    let found = languages.toolchain(language);
    let tools = |toolchain: toolchain::Toolchain| {
        // The version command asks one tool; it speaks for the toolchain.
        let version = languages.version(language, &toolchain);
        let named = toolchain.paths.iter().filter(|(name, _)| language.tools.contains_key(*name));
        let tool = |(name, path): (&String, &String)| HostTool {
            name: name.clone(),
            path: path.clone(),
            version: version.clone(),
        };
        named.map(tool).collect()
    };
    let (tools, missing) = match found {
        Ok(toolchain) => (tools(toolchain), None),
        Err(absent) => (Vec::new(), Some(model::hint::in_one_line(&absent.why))),
    };
    HostLanguage {
        id: language.id.clone(),
        name: language.name.clone(),
        extensions: language.extensions.clone(),
        available: missing.is_none(),
        missing,
        tools,
        compile: language.compile.steps.first().cloned(),
        run: language.run.steps.first().cloned().unwrap_or_default(),
    }
}
