//! `tauto languages --json`.

use crate::LanguageStatus;
use model::Reading;
use serde::Serialize;

/// The configured languages.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = NodeLanguages))]
pub struct LanguagesDocument {
    /// Each language, in the table's order.
    pub languages: Vec<LanguageDocument>,
}

/// A language.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = NodeLanguage))]
pub struct LanguageDocument {
    /// Its id.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// File name extensions, without the dot.
    pub extensions: Vec<String>,
    /// It can be used here.
    pub available: bool,
    /// Why it cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// Its tools as found.
    pub tools: Vec<ToolDocument>,
    /// The compile command as configured; null where nothing is compiled.
    pub compile: Option<Vec<String>>,
    /// The run command as configured.
    pub run: Vec<String>,
}

/// A tool that was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = Tool))]
pub struct ToolDocument {
    /// Name by which the table calls it.
    pub name: String,
    /// Where it is.
    pub path: String,
    /// What it says of itself.
    pub version: Reading<String>,
}

impl LanguagesDocument {
    /// From the table and what was found.
    pub fn new(languages: &[LanguageStatus]) -> LanguagesDocument {
        LanguagesDocument { languages: languages.iter().map(LanguageDocument::new).collect() }
    }
}

impl LanguageDocument {
    fn new(language: &LanguageStatus) -> LanguageDocument {
        let tools = language.toolchain.as_deref().unwrap_or_default().iter();
        let tool = |t: &crate::ToolStatus| ToolDocument {
            name: t.name.clone(),
            path: t.path.clone(),
            version: t.version.clone(),
        };
        LanguageDocument {
            id: language.id.clone(),
            name: language.name.clone(),
            extensions: language.extensions.clone(),
            available: language.toolchain.is_ok(),
            missing: language.toolchain.as_ref().err().cloned(),
            tools: tools.map(tool).collect(),
            compile: language.compile.clone(),
            run: language.run.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::to_text;
    use crate::samples;

    #[test]
    fn languages() {
        insta::assert_snapshot!("languages", to_text(&LanguagesDocument::new(&samples::languages())));
    }
}
