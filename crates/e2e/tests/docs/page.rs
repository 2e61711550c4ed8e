//! Command blocks of a page: what they execute, and whether the output is as the page says.

/// What runs beside commands. Those of a page with the same beside them share one shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum World {
    /// Nothing.
    Alone,
    /// A service at its usual address. `TOKEN` is an admin's.
    Service,
    /// The brokers of a fleet and its database, by the names that documents use.
    Brokers,
    /// The same with a service, the pools `metal` and `cloud`, and the nodes `judge1` and `judge7`.
    Fleet,
    /// A virtual machine of its own.
    Machine,
}

impl World {
    /// In words, behind the name of a page.
    pub(crate) fn words(self) -> &'static str {
        match self {
            World::Alone => "",
            World::Service => " with a service",
            World::Brokers => " with brokers",
            World::Fleet => " with a fleet",
            World::Machine => " in a virtual machine",
        }
    }
}

/// When a command ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// By itself.
    Own,
    /// It is ended once it has printed what the page shows.
    Ended,
    /// With the page.
    Page,
}

/// A command of a page, and what it is to print.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// Line of the page, from 1.
    pub(crate) line: usize,
    pub(crate) command: String,
    pub(crate) printed: Vec<String>,
    pub(crate) world: World,
    pub(crate) end: End,
}

/// A line of a block, and the words after its fence; none: the block is indented.
struct Line<'a> {
    number: usize,
    info: Option<&'a str>,
    text: &'a str,
}

fn lines(page: &str) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    let mut fence: Option<(usize, &str)> = None;
    for (n, line) in page.lines().enumerate() {
        let bare = line.trim_start();
        match (fence, bare.strip_prefix("```")) {
            (None, Some(info)) => fence = Some((line.len() - bare.len(), info)),
            (Some(_), Some("")) => fence = None,
            (Some((indent, info)), _) => {
                let text = line.get(indent..).unwrap_or(bare);
                lines.push(Line { number: n + 1, info: Some(info), text });
            }
            (None, None) if line.starts_with("    ") => {
                lines.push(Line { number: n + 1, info: None, text: bare });
            }
            (None, None) => {}
        }
    }
    lines
}

/// How a block is executed, by the words after its fence: `console` and, after commas, where and until when. `by=FILE` names a file
/// of the repository that executes it instead.
///
/// # Errors
/// A word that nobody knows.
fn manner(info: &str) -> Result<Option<(World, End)>, String> {
    let mut words = info.split(',');
    if words.next() != Some("console") {
        return Ok(None);
    }
    let (mut world, mut end) = (World::Alone, End::Own);
    for word in words {
        match word {
            "service" => world = World::Service,
            "brokers" => world = World::Brokers,
            "fleet" => world = World::Fleet,
            "machine" => world = World::Machine,
            "running" => end = End::Ended,
            "background" => end = End::Page,
            by if by.starts_with("by=") => return Ok(None),
            other => return Err(format!("unknown word `{other}` after `console`")),
        }
    }
    Ok(Some((world, end)))
}

/// The commands of a page that are executed.
///
/// # Errors
/// A block that is not understood.
pub(crate) fn steps(page: &str) -> Result<Vec<Step>, String> {
    let mut steps: Vec<Step> = Vec::new();
    for Line { number, info, text } in lines(page) {
        let at = |why: &str| format!("line {number}: {why}");
        let manner = info.map_or(Ok(None), manner).map_err(|why| at(&why))?;
        let Some((world, end)) = manner else { continue };
        match (text.strip_prefix("$ "), text.strip_prefix("> "), steps.last_mut()) {
            (Some(command), ..) => {
                steps.push(Step { line: number, command: command.into(), printed: vec![], world, end });
            }
            (None, Some(more), Some(step)) if step.printed.is_empty() => {
                step.command += &format!("\n{more}");
            }
            (None, _, Some(step)) => step.printed.push(text.into()),
            (None, _, None) => return Err(at("output before the first command")),
        }
    }
    Ok(steps)
}

/// Programs that documents have people run.
const PROGRAMS: [&str; 14] = [
    "tauto",
    "sudo",
    "curl",
    "systemctl",
    "docker",
    "podman",
    "kubectl",
    "apt",
    "apt-get",
    "make",
    "cargo",
    "install",
    "nats-server",
    "journalctl",
];

/// Whether a line is a command. A synopsis, with optional or capital words, is none.
fn is_command(text: &str) -> bool {
    if text.starts_with("$ ") {
        return true;
    }
    let capital = |word: &str| {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        bare.len() > 2 && bare.chars().all(|c| c.is_ascii_uppercase())
    };
    let variable =
        |name: &str| name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    let assigned = |word: &&str| word.split_once('=').is_some_and(|(name, _)| variable(name));
    let mut words = text.split_whitespace().skip_while(assigned);
    let program = words.next().unwrap_or_default();
    let synopsis = |word: &str| word.starts_with('[') || capital(word);
    (PROGRAMS.contains(&program) || program.starts_with("scripts/")) && !words.any(synopsis)
}

/// Commands of a page that nothing executes, and files that do and are not there (`exists`).
pub(crate) fn not_executed(page: &str, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let wrong = |line: &Line<'_>| {
        let words = line.info.unwrap_or_default().split(',');
        match words.clone().find_map(|word| word.strip_prefix("by=")) {
            Some(file) => !exists(file),
            None => words.clone().next() != Some("console") && is_command(line.text),
        }
    };
    let wrong = lines(page).into_iter().filter(wrong);
    wrong.map(|line| format!("{}: {}", line.number, line.text)).collect()
}

/// A word whose number has lost its sign.
fn unsigned(word: &str) -> String {
    let bare = word.replace(['+', '−'], "").replace("[-#", "[#");
    bare.strip_prefix("-#").map(|rest| format!("#{rest}")).unwrap_or(bare)
}

/// A line without what varies from run to run: numbers with their units, plots, and the width of columns.
pub(crate) fn masked(line: &str) -> String {
    let mut text = String::new();
    let mut digits = false;
    for c in line.chars() {
        let part = c.is_ascii_digit() || (digits && c == '.');
        if part && !digits {
            text.push('#');
        }
        digits = part;
        if !part && !"▁▂▃▄▅▆▇█▲»".contains(c) {
            text.push(c);
        }
    }
    let units = ["ns", "µs", "ms", "s", "B", "KiB", "MiB", "GiB", "%"];
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let bare = word.trim_end_matches([',', ';', ')']);
        match words.last_mut() {
            Some(last) if last.ends_with('#') && units.contains(&bare) => *last += &word[bare.len()..],
            _ => words.push(unsigned(word).replace("#,", "# ,").replace(" ,", ",")),
        }
    }
    words.join(" ")
}

/// Whether lines are as they are to be.
pub(crate) fn matches(expected: &[String], printed: &[String]) -> bool {
    match (expected.split_first(), printed.split_first()) {
        (None, None) => true,
        (Some((first, rest)), _) if first == "…" => {
            (0..=printed.len()).any(|skipped| matches(rest, &printed[skipped..]))
        }
        (Some((first, rest)), Some((line, others))) => line_matches(first, line) && matches(rest, others),
        _ => false,
    }
}

fn line_matches(expected: &str, line: &str) -> bool {
    let mut parts = expected.split('…').map(str::trim);
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = line.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, between)) = parts.split_last() else { return rest.is_empty() };
    for part in between {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

pub(crate) fn blocks_are_understood() {
    let page = "text\n```console\n$ a <<E\n> x\n> E\nout\n$ b\n```\n```text\n$ c\n```\n   ```console,brokers,running\n   $ d\n     e\n   ```\n\
                ```console,by=make\n$ f\n```\n";
    let found = steps(page).expect("steps");
    let commands: Vec<_> =
        found.iter().map(|step| (step.command.as_str(), step.printed.len(), step.world, step.end)).collect();
    let alone = (World::Alone, End::Own);
    assert_eq!(
        commands,
        [
            ("a <<E\nx\nE", 1, alone.0, alone.1),
            ("b", 0, alone.0, alone.1),
            ("d", 1, World::Brokers, End::Ended)
        ]
    );
    assert_eq!(found[2].printed, ["  e"]);
    assert!(steps("```console,elsewhere\n$ a\n```\n").is_err());
    assert!(steps("```console\nout\n```\n").is_err());
}

pub(crate) fn commands_that_nothing_executes_are_found() {
    let page = "    tauto verify [--json] PACKAGE\n    TAUTO_A=b tauto audit\n```text\n$ c\nx\n```\n```console\n$ d\n```\n\
                ```console,by=there\n$ e\n```\n```console,by=nowhere\n$ f\n```\n    curl -X POST $API\n    sudo x\n";
    let found = not_executed(page, |file| file == "there");
    assert_eq!(found, ["2: TAUTO_A=b tauto audit", "4: $ c", "14: $ f", "17: sudo x"]);
}

pub(crate) fn pages_are_compared_by_what_does_not_vary() {
    assert_eq!(masked("AC  secret/1   29.1 ms   19.1 MiB"), masked("AC secret/2 1.03 s 900 KiB"));
    assert_ne!(masked("AC  secret/1"), masked("WA  secret/1"));
    assert_eq!(masked("  ▂▂ ▂    ▆ "), "");
    assert_eq!(masked("a -2.0 % [-1.0, +3.4] b-1"), masked("a +1.1 % [+0.5, +2.2] b-2"));
    let lines = |text: &str| text.lines().map(str::to_string).collect::<Vec<_>>();
    for (expected, printed, same) in [
        ("a\n…\nd", "a\nb\nc\nd", true),
        ("a\n…", "a", true),
        ("a\n…\nd", "a\nb", false),
        ("a … c", "a b c", true),
        ("a … c", "a b d", false),
        ("a", "a\nb", false),
    ] {
        assert_eq!(matches(&lines(expected), &lines(printed)), same, "{expected} {printed}");
    }
}
