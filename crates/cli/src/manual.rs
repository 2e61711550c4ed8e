//! What is made of the command line's own definitions: manual pages and shell completions.

use crate::help::{self, ENVIRONMENT, EXIT_STATUS, negative};
use crate::terminal::{Failure, print};
use crate::{Cli, Done};
use clap::{Args, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use std::io;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub(crate) struct ManualArgs {
    /// Directory to write the pages to
    directory: PathBuf,
}

#[derive(Args, Debug)]
pub(crate) struct CompletionsArgs {
    /// Shell to print completions for
    shell: Shell,
}

/// `tauto manual`: writes one page for each command.
pub(crate) fn manual(args: &ManualArgs) -> Result<Done, Failure> {
    let fail = |e: io::Error| Failure::usage(format!("{}: {e}", args.directory.display()));
    for (name, text) in pages().map_err(Failure::system)? {
        std::fs::write(args.directory.join(name), text).map_err(fail)?;
    }
    Ok(Done::Good)
}

/// `tauto completions`: prints what a shell reads to complete command lines.
pub(crate) fn completions(args: &CompletionsArgs) -> Result<Done, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut without_hidden(&Cli::command()), "tauto", &mut text);
    print(&String::from_utf8_lossy(&text));
    Ok(Done::Good)
}

/// The same command without the commands of it that are hidden: what writes completions knows nothing of hiding them, and clap cannot remove one.
fn without_hidden(command: &clap::Command) -> clap::Command {
    let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
    let mut same = clap::Command::new(command.get_name().to_string())
        .args(command.get_arguments().cloned())
        .groups(command.get_groups().cloned())
        .subcommands(shown.map(without_hidden));
    if let Some(about) = command.get_about() {
        same = same.about(about.clone());
    }
    match command.get_version() {
        Some(version) => same.version(version.to_string()),
        None => same,
    }
}

/// Name and text of every page: that of `tauto`, and one for each command, and command of a command, that is not hidden.
fn pages() -> io::Result<Vec<(String, String)>> {
    // Pages are committed, so they tell the release and not the build.
    let mut whole = help::command().version(env!("CARGO_PKG_VERSION")).disable_help_subcommand(true);
    whole.build();
    let mut commands = vec![&whole];
    let mut next = 0;
    while let Some(command) = commands.get(next) {
        commands.extend(command.get_subcommands().filter(|command| !command.is_hide_set()));
        next += 1;
    }
    commands.into_iter().map(page).collect()
}

/// What the writer of manual pages begins with.
const APOSTROPHE: &str = ".ie \\n(.g .ds Aq \\(aq\n.el .ds Aq '\n";

/// A page: what clap knows of the command, then examples, exit status and environment.
fn page(command: &clap::Command) -> io::Result<(String, String)> {
    let man = Man::new(command.clone()).source(concat!("tauto ", env!("CARGO_PKG_VERSION")));
    let mut text = Vec::new();
    man.render_title(&mut text)?;
    man.render_name_section(&mut text)?;
    man.render_synopsis_section(&mut text)?;
    man.render_description_section(&mut text)?;
    man.render_options_section(&mut text)?;
    if command.get_subcommands().any(|sub| !sub.is_hide_set()) {
        man.render_subcommands_section(&mut text)?;
    }
    sections(command).to_writer(&mut text)?;
    // Each part begins with the same definition of an apostrophe; once is enough.
    let text = String::from_utf8_lossy(&text);
    let rest = text.strip_prefix(APOSTROPHE).unwrap_or(&text).replace(APOSTROPHE, "");
    Ok((man.get_filename(), format!("{APOSTROPHE}{rest}")))
}

fn sections(command: &clap::Command) -> Roff {
    let mut roff = Roff::new();
    if let Some(examples) = command.get_after_help() {
        let examples = examples.to_string();
        roff.control("SH", ["EXAMPLES"]);
        for line in examples.lines().map(str::trim) {
            if let Some(what) = line.strip_prefix("# ") {
                roff.control("TP", []).text([roman(format!("{what}:"))]);
            } else if let Some(typed) = line.strip_prefix("$ ") {
                roff.text([bold(typed)]);
            }
        }
    }
    let path = command.get_bin_name().and_then(|name| name.split_once(' ')).map_or("", |(_, path)| path);
    roff.control("SH", ["EXIT STATUS"]);
    for (code, what) in EXIT_STATUS {
        let what = if code == "1" { negative(path).unwrap_or(what) } else { what };
        // A command of which nothing can be negative; `tauto` itself tells what the number is for.
        if code != "1" || path.is_empty() || negative(path).is_some() {
            roff.control("TP", []).text([bold(code)]).text([roman(what)]);
        }
    }
    roff.control("SH", ["ENVIRONMENT"]);
    for (name, what) in ENVIRONMENT {
        roff.control("TP", []).text([bold(name)]).text([roman(what)]);
    }
    roff
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::path::Path;

    #[test]
    fn the_committed_pages_are_up_to_date() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/man");
        let committed: BTreeMap<String, String> = std::fs::read_dir(&directory)
            .expect("docs/man")
            .map(|entry| {
                let entry = entry.expect("an entry of docs/man");
                let text = std::fs::read_to_string(entry.path()).expect("a page");
                (entry.file_name().to_string_lossy().into_owned(), text)
            })
            .collect();
        let wanted: BTreeMap<String, String> = pages().expect("pages").into_iter().collect();
        let stale: Vec<&String> = wanted
            .keys()
            .chain(committed.keys())
            .filter(|name| wanted.get(*name) != committed.get(*name))
            .collect();
        assert!(stale.is_empty(), "docs/man: {stale:?} differ from the command line; run `make manual`");
        assert!(
            wanted.contains_key("tauto.1") && wanted.contains_key("tauto-judge.1"),
            "{:?}",
            wanted.keys()
        );
    }

    #[test]
    fn help_lists_what_the_documents_name() {
        let command = Cli::command();
        let hidden = command.get_subcommands().filter(|command| command.is_hide_set());
        assert_eq!(
            hidden.map(clap::Command::get_name).collect::<Vec<_>>(),
            ["probe"],
            "only what tauto starts itself"
        );
    }

    #[test]
    fn every_command_can_be_completed() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut without_hidden(&Cli::command()), "tauto", &mut text);
            let text = String::from_utf8(text).expect("text");
            for word in ["verify", "all-tests", "cpu-time", "link-order", "completions"] {
                assert!(text.contains(word), "{shell}: {word}");
            }
            for hidden in ["__probe", "Run a fixed program of the noise floor"] {
                assert!(!text.contains(hidden), "{shell}: a hidden command");
            }
        }
    }
}
