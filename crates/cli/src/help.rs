//! What help and manual pages say beside the definitions: groups of commands, examples, exit status, environment.

mod examples;

use crate::Cli;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue};
use clap::{Command, CommandFactory, FromArgMatches};
use examples::EXAMPLES;
use std::ffi::OsString;
use std::fmt::Write;

/// The groups of commands in `tauto --help`, in order. A command belongs to one of them.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Judge", &["judge", "verify", "limits", "new", "convert", "languages"]),
    ("Measure", &["run", "bench", "lab", "index", "numa", "clocks", "load"]),
    ("Host", &["doctor", "audit", "tune", "slots", "config"]),
    (
        "Service and fleet",
        &["serve", "worker", "judgehost", "shadow", "export", "database", "pool", "node", "contest"],
    ),
    ("Help", &["manual", "completions", "help"]),
];

/// Exit codes of all commands.
pub(crate) const EXIT_STATUS: [(&str, &str); 5] = [
    ("0", "Success."),
    ("1", "A negative result."),
    ("2", "Wrong usage or bad input. The message names the option, or file, line and field."),
    ("3", "The system or a program of the package failed. This is never a verdict on a submission."),
    ("130", "Interrupted."),
];

/// What a negative result (exit code 1) is; other commands have none.
const NEGATIVE: [(&str, &str); 14] = [
    ("verify", "A submission got an unexpected verdict, or a package has no jury submission."),
    ("limits", "No time limit satisfies both sides of the package's rule."),
    ("bench", "The spread exceeds --max-spread."),
    ("audit", "The host has at least one source of timing noise."),
    ("tune apply", "A change was refused."),
    ("tune undo", "A previous value could not be restored."),
    ("index", "With --compare: at least one machine is an outlier."),
    ("numa decode", "The mask counts nothing."),
    ("numa encode", "The mask counts nothing."),
    ("numa trace", "The program reads too much memory of other NUMA nodes."),
    ("database check", "The database is damaged or inconsistent."),
    ("shadow", "The contest gave a submission a different verdict, or tauto could not judge it."),
    ("doctor", "This installation cannot judge."),
    ("config check", "The configuration is invalid."),
];

/// Variables that commands read.
pub(crate) const ENVIRONMENT: [(&str, &str); 7] = [
    (
        "TAUTO_DATA_DIR",
        "Directory for the database, packages, noise floors, experiment records, the tuning journal and locks [default: \
         /var/lib/tautochrone for root, else ~/.local/share/tautochrone].",
    ),
    (
        "TAUTO_CACHE_DIR",
        "Directory for paths and versions of language tools, compiled standard libraries and generated tests; may be deleted at any time \
         [default: /var/cache/tautochrone for root, else ~/.cache/tautochrone].",
    ),
    ("TAUTO_CONFIG", "The site's configuration file [default: /etc/tautochrone.toml]."),
    ("TAUTO_LANGUAGES", "Language table to merge over the built-in one."),
    ("TAUTO_NATS", "URLs of the NATS brokers; keeps a password in them out of the process list."),
    ("NO_COLOR", "Disables colour if set to any value."),
    ("TMPDIR", "Directory for unnamed temporary files, such as test data from archives [default: /tmp]."),
];

/// The command line with its help texts.
pub(crate) fn command() -> Command {
    let command = with_examples(Cli::command(), "");
    let template = template(&command);
    command.help_template(template)
}

/// The command line, from what was typed. Help texts are made only for those who read them: they cost more than the rest of a start.
///
/// # Errors
/// Of the parser, for a mistake and for help and version alike. It suggests no command that the help does not list.
pub(crate) fn parse<T: Into<OsString> + Clone>(
    typed: impl IntoIterator<Item = T>,
) -> Result<Cli, clap::Error> {
    let typed: Vec<OsString> = typed.into_iter().map(Into::into).collect();
    let parsed = |command: Command| {
        command.try_get_matches_from(&typed).and_then(|typed| Cli::from_arg_matches(&typed))
    };
    parsed(Cli::command()).or_else(|_| parsed(command())).map_err(|mut wrong| {
        let hidden = |name: &String| command().find_subcommand(name).is_some_and(Command::is_hide_set);
        match wrong.get(ContextKind::SuggestedSubcommand) {
            Some(ContextValue::Strings(names)) if names.iter().any(hidden) => {
                wrong.remove(ContextKind::SuggestedSubcommand);
            }
            _ => {}
        }
        wrong
    })
}

/// Examples below the options of every command. A command that brings its own keeps them.
fn with_examples(command: Command, path: &str) -> Command {
    let below = |name: &str| if path.is_empty() { name.to_string() } else { format!("{path} {name}") };
    let command = command.mut_subcommands(|sub| {
        let path = below(sub.get_name());
        with_examples(sub, &path)
    });
    match EXAMPLES.iter().find(|(of, _)| *of == path) {
        Some((_, examples)) if command.get_after_help().is_none() => {
            let lines = examples.iter().map(|(what, typed)| format!("\n  # {what}\n  $ {typed}"));
            command.after_help(format!("Examples:{}", lines.collect::<String>()))
        }
        _ => command,
    }
}

/// The help of `tauto` itself: commands by group.
fn template(command: &Command) -> StyledStr {
    let styles = command.get_styles();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let mut groups = String::new();
    // A build may lack the service and its group.
    let missing = |name: &&str| command.find_subcommand(name).is_some_and(Command::is_hide_set);
    for (group, names) in GROUPS.iter().filter(|(_, names)| !names.iter().any(missing)) {
        let _ = write!(groups, "\n{header}{group}:{header:#}\n");
        for name in *names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map_or("Print the help of a command".to_string(), ToString::to_string);
            let _ = writeln!(groups, "  {literal}{name:<12}{literal:#} {about}");
        }
    }
    format!("{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{groups}\n{header}Options:{header:#}\n{{options}}{{after-help}}").into()
}

/// What a negative result of a command is; `path` has its words.
pub(crate) fn negative(path: &str) -> Option<&'static str> {
    NEGATIVE.iter().find(|(of, _)| *of == path).map(|(_, what)| *what)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every command and command of a command that is not hidden, with its words.
    fn all(command: &Command, path: &str) -> Vec<(String, Command)> {
        let shown = command.get_subcommands().filter(|sub| !sub.is_hide_set());
        let deeper = shown.flat_map(|sub| all(sub, format!("{path} {}", sub.get_name()).trim()));
        [(path.to_string(), command.clone())].into_iter().chain(deeper).collect()
    }

    #[test]
    fn what_help_does_not_list_is_not_suggested() {
        let told = |typed: &str| match parse(["tauto", typed]) {
            Ok(_) => panic!("`{typed}` is a command"),
            Err(wrong) => wrong.render().to_string(),
        };
        assert!(told("jugde").contains("'judge'"), "{}", told("jugde"));
        assert!(!told("frob").contains("probe"), "{}", told("frob"));
    }

    #[test]
    fn every_command_belongs_to_one_group() {
        let command = command();
        let mut shown: Vec<&str> =
            command.get_subcommands().filter(|sub| !sub.is_hide_set()).map(Command::get_name).collect();
        shown.push("help");
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        shown.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(shown, grouped, "put each command into one group of crates/cli/src/help.rs");
    }

    #[test]
    fn every_command_has_two_examples_that_it_understands() {
        let commands = all(&command(), "");
        for (path, command) in &commands {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let count = help.lines().filter(|line| line.trim_start().starts_with("$ ")).count();
            assert_eq!(count, 2, "`tauto {path}`: {help}");
        }
        for (path, examples) in EXAMPLES {
            assert!(commands.iter().any(|(known, _)| known == path), "there is no `tauto {path}`");
            for (what, typed) in examples {
                let typed = typed.split(" >").next().unwrap_or(typed).trim_start_matches("sudo ");
                let words = crate::bench::words::split(typed).expect("words of a shell");
                let read = self::command().try_get_matches_from(words);
                assert!(read.is_ok(), "{typed}: {}", read.expect_err("an error"));
                assert!(what.chars().count() <= 72 && !what.ends_with('.'), "{what}");
                let of_it = path.is_empty() || typed.starts_with(&format!("tauto {path}"));
                assert!(of_it, "an example of `tauto {path}`: {typed}");
            }
        }
        for (path, _) in NEGATIVE {
            assert!(commands.iter().any(|(known, _)| known == path), "there is no `tauto {path}`");
        }
    }
}
