//! `tauto languages` for people.

use super::{Paint, Style, harmless};
use comfy_table::{ContentArrangement, Table, presets};
use model::{HostLanguage, HostLanguages, Reading};

/// A table of the configured languages. Ends with a line end.
pub fn languages_table(languages: &HostLanguages, style: Style) -> String {
    let languages = &languages.languages;
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    if let Some(width) = style.width {
        table.set_width(width);
    }
    table.set_header(["id", "language", "files", "tools found"]);
    for language in languages {
        let extensions: Vec<_> = language.extensions.iter().map(|e| format!(".{e}")).collect();
        table.add_row([language.id.clone(), language.name.clone(), extensions.join(" "), tools(language)]);
    }
    let found = languages.iter().filter(|l| l.available).count();
    let lines: Vec<_> = table.lines().map(|line| line.trim_end().to_string()).collect();
    let summary = format!("{found} of {} languages can be used here", languages.len());
    let paint = if found == languages.len() { Paint::Green } else { Paint::Yellow };
    format!("{}\n{}\n", lines.join("\n"), style.paint(paint, &summary))
}

fn tools(language: &HostLanguage) -> String {
    if let Some(why) = &language.missing {
        return format!("none: {}", harmless(why));
    }
    let version = |version: &Reading<String>| match version {
        Reading::Known(version) => harmless(version),
        Reading::Unknown(why) => format!("version unknown: {why}"),
    };
    let tools = language.tools.iter().map(|t| format!("{} ({})", t.path, version(&t.version)));
    tools.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn languages() {
        let table = |width| languages_table(&samples::languages(), Style { colour: false, width });
        insta::assert_snapshot!("languages_wide", table(None));
        insta::assert_snapshot!("languages_narrow", table(Some(60)));
    }
}
