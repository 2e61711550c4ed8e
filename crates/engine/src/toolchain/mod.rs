//! Finds the tools of a language on this host, and the paths that its compiler and its programs must see.
//!
//! A sandbox shows the system directories and those that a language names, nothing else, each at its own path. So a tool
//! that is only a shim (rustup, pyenv) is of no use there: the table says how to ask it for its real directory.
//! Every process looks for the tools itself; what they answer is kept ([`Answers`]).

mod answers;
mod paths;
mod probe;
#[cfg(test)]
mod tests;

pub use answers::Answers;

use judge::language::{Language, Mount, Paths, Root, Stage, Table};
use model::{Reading, View, ViewMount};
use paths::{expand_pattern, resolve, version_order};
use std::path::{Path, PathBuf};

/// Where tools are looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// The root directory; `/` except in tests.
    pub root: PathBuf,
    /// Directories of `PATH`, in order.
    pub path: Vec<PathBuf>,
    /// Home directories that are searched for toolchains.
    pub homes: Vec<PathBuf>,
}

/// What the sandbox shows to every run without being asked.
const SYSTEM: [&str; 9] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc/ld.so.cache", "/etc/alternatives"];

/// Directories outside `PATH` in which toolchains are installed; `~` is each home, `*` any name. Where several
/// match, the highest version comes first.
const ODD_PLACES: &[&str] = &[
    "/usr/local/bin",
    "/usr/bin",
    "/bin",
    "/usr/local/go/bin",
    "/usr/lib/go-*/bin",
    "~/go/bin",
    "~/sdk/go*/bin",
    "~/.cargo/bin",
    "~/.rustup/toolchains/*/bin",
    "/usr/local/cargo/bin",
    "/usr/local/rustup/toolchains/*/bin",
    "~/.pyenv/versions/*/bin",
    "/opt/pyenv/versions/*/bin",
    "/usr/lib/jvm/*/bin",
    "~/.sdkman/candidates/*/current/bin",
    "~/.nvm/versions/node/*/bin",
    "/usr/local/lib/nodejs/*/bin",
    "~/.ghcup/bin",
    "~/.opam/*/bin",
    "/usr/lib/llvm-*/bin",
    "/usr/local/*/bin",
    "/opt/*/bin",
    "/opt/*/*/bin",
    "~/.local/bin",
    "~/bin",
];

/// A language's tools on this host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toolchain {
    /// Id of the language.
    pub language: String,
    /// Every tool and root of the language, as it is called inside the sandbox.
    pub paths: Paths,
    /// What the compiler sees of the host.
    pub compile_view: View,
    /// What a program sees of the host.
    pub run_view: View,
}

/// Why a language cannot be used here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no toolchain for {language} here: {why}")]
pub struct Absent {
    /// Name of the language.
    pub language: String,
    /// What is missing, with the remedy.
    pub why: String,
}

/// A language that can be used here.
#[derive(Clone, Debug)]
pub struct Usable<'a> {
    /// The language that is used.
    pub language: &'a Language,
    /// Its tools.
    pub toolchain: Toolchain,
    /// Why it stands in for the requested language, if it does. Show it, since it changes times.
    pub stands_in: Option<String>,
}

impl Host {
    /// This host as the process sees it: `PATH`, `HOME`, and the home of the user who called sudo.
    pub fn current() -> Host {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let sudo_home = std::env::var("SUDO_USER").ok().map(|user| Path::new("/home").join(user));
        let homes = std::env::var_os("HOME").map(PathBuf::from).into_iter().chain(sudo_home);
        Host {
            root: PathBuf::from("/"),
            path: std::env::split_paths(&path).filter(|p| p.is_absolute()).collect(),
            homes: homes.filter(|h| h.is_absolute()).collect(),
        }
    }

    /// Every executable that could serve as a tool, best first: the candidates in their order, each on `PATH`
    /// before odd places. A candidate that is an absolute path stands for itself.
    fn executables(&self, candidates: &[String]) -> Vec<PathBuf> {
        let mut found: Vec<PathBuf> = Vec::new();
        for candidate in candidates {
            let places = if candidate.starts_with('/') { vec![PathBuf::new()] } else { self.places() };
            for path in places.iter().map(|place| place.join(candidate)) {
                if !found.contains(&path) && paths::is_executable(&self.root, &path) {
                    found.push(path);
                }
            }
        }
        found
    }

    fn places(&self) -> Vec<PathBuf> {
        let mut places = self.path.clone();
        for pattern in ODD_PLACES {
            let patterns: Vec<PathBuf> = match pattern.strip_prefix("~/") {
                Some(below) => self.homes.iter().map(|h| h.join(below)).collect(),
                None => vec![PathBuf::from(pattern)],
            };
            for pattern in patterns {
                let mut matches = expand_pattern(&self.root, &pattern);
                matches.sort_by(|a, b| version_order(b, a));
                places.extend(matches);
            }
        }
        places
    }
}

/// The tools of a language, or why they are missing. Runs the tools themselves (see [`Root::Probe`]), each for at most 10 s,
/// unless the answer is cached.
pub fn find(host: &Host, answers: &Answers, language: &Language) -> Result<Toolchain, Absent> {
    find_with(host, language, &|argv| answers.get(host, "first", argv, probe::first_line))
}

/// Like [`find`] for `language`, else for the language that may stand in for it.
pub fn find_usable<'a>(
    host: &Host,
    answers: &Answers,
    table: &'a Table,
    language: &'a Language,
) -> Result<Usable<'a>, Absent> {
    let absent = match find(host, answers, language) {
        Ok(toolchain) => return Ok(Usable { language, toolchain, stands_in: None }),
        Err(absent) => absent,
    };
    let Some(other) = language.fallback.as_deref().and_then(|id| table.get(id)) else { return Err(absent) };
    match find(host, answers, other) {
        Ok(toolchain) => {
            let why = format!("{} stands in for {}: {}", other.name, language.name, absent.why);
            Ok(Usable { language: other, toolchain, stands_in: Some(why) })
        }
        Err(_) => Err(absent),
    }
}

/// The version that a toolchain reports of itself: one line. Runs its tool on the host, for at most 10 s, where the answer is
/// not known.
pub fn version(
    host: &Host,
    answers: &Answers,
    language: &Language,
    toolchain: &Toolchain,
) -> Reading<String> {
    match language.version_command(&toolchain.paths) {
        Ok(Some(argv)) => Reading::from_result(answers.get(host, "version", &argv, probe::version_line)),
        Ok(None) => Reading::unknown("the language has no version command"),
        Err(missing) => Reading::unknown(missing.to_string()),
    }
}

/// Answers a root probe: the first line of standard output, or why there is none.
type Ask<'a> = &'a dyn Fn(&[String]) -> Result<String, String>;

fn find_with(host: &Host, language: &Language, ask: Ask<'_>) -> Result<Toolchain, Absent> {
    let absent = |why: String| Absent { language: language.name.clone(), why };
    // As on the host; then as seen inside.
    let mut paths = Paths::new();
    let mut roots = Paths::new();
    for (tool, candidates) in &language.tools {
        let (path, found_roots) = find_tool(host, language, tool, candidates, ask).map_err(absent)?;
        paths.insert(tool.clone(), path);
        roots.extend(found_roots);
    }
    paths.extend(roots);
    let compile_view = view(host, language, &language.compile, &paths).map_err(absent)?;
    let run_view = view(host, language, &language.run, &paths).map_err(absent)?;
    for tool in language.tools.keys() {
        let views: Vec<&View> = [(&language.compile, &compile_view), (&language.run, &run_view)]
            .into_iter()
            .filter(|(stage, _)| names(stage, tool))
            .map(|(_, view)| view)
            .collect();
        let inside = paths::visible(&host.root, Path::new(&paths[tool]), &views).ok_or_else(|| {
            absent(format!(
                "`{}` lies outside of what the language mounts\n\
                 hint: add its directory to compile_mounts and run_mounts of the language",
                paths[tool]
            ))
        })?;
        paths.insert(tool.clone(), text(&inside));
    }
    Ok(Toolchain { language: language.id.clone(), paths, compile_view, run_view })
}

/// The first executable whose roots can be found too, with these.
fn find_tool(
    host: &Host,
    language: &Language,
    tool: &str,
    candidates: &[String],
    ask: Ask<'_>,
) -> Result<(String, Paths), String> {
    let mut refused = None;
    for executable in host.executables(candidates) {
        let path = text(&executable);
        match find_roots(host, language, tool, &path, ask) {
            Ok(roots) => return Ok((path, roots)),
            Err(why) => refused = refused.or(Some(format!("`{path}` is of no use: {why}"))),
        }
    }
    let wanted = candidates.iter().map(|c| format!("`{c}`")).collect::<Vec<_>>().join(" or ");
    Err(refused.unwrap_or_else(|| {
        format!(
            "no {wanted} on PATH or in the usual places\n\
             hint: install it, or name its place in a table (--languages)"
        )
    }))
}

fn find_roots(
    host: &Host,
    language: &Language,
    tool: &str,
    path: &str,
    ask: Ask<'_>,
) -> Result<Paths, String> {
    let mut roots = Paths::new();
    let expand = |template: &str, path: &str| {
        let only = Paths::from([(tool.to_owned(), path.to_owned())]);
        language.expand_path(template, &only).map_err(|e| e.to_string())
    };
    let mentions = |template: &String| template.contains(&format!("{{{tool}}}"));
    for (name, root) in &language.roots {
        let directory = match root {
            Root::Path(template) if mentions(template) => {
                let real =
                    resolve(&host.root, Path::new(path)).ok_or_else(|| "it is a broken link".to_owned())?;
                paths::normal(Path::new(&expand(template, &text(&real))?))
            }
            Root::Probe(argv) if argv.iter().any(mentions) => {
                let argv = argv.iter().map(|t| expand(t, path)).collect::<Result<Vec<_>, _>>()?;
                PathBuf::from(ask(&argv)?.trim())
            }
            _ => continue,
        };
        let real =
            resolve(&host.root, &directory).filter(|d| directory.is_absolute() && host.inside(d).is_dir());
        let real = real.ok_or_else(|| format!("its {name} `{}` is not a directory", directory.display()))?;
        roots.insert(name.clone(), text(&real));
    }
    Ok(roots)
}

impl Host {
    /// A path of the host as this process can open it.
    fn inside(&self, path: &Path) -> PathBuf {
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }
}

/// Whether a stage uses a tool or root.
fn names(stage: &Stage, name: &str) -> bool {
    let placeholder = format!("{{{name}}}");
    stage.steps.iter().flatten().chain(stage.env.iter().map(|(_, v)| v)).any(|t| t.contains(&placeholder))
}

/// What a stage sees of the host.
fn view(host: &Host, language: &Language, stage: &Stage, paths: &Paths) -> Result<View, String> {
    let mut view = View::default();
    for Mount { path, optional } in &stage.mounts {
        let path = language.expand_path(path, paths).map_err(|e| e.to_string())?;
        if !show(host, &mut view, &path) && !optional {
            return Err(format!("`{path}`, which it needs, does not exist"));
        }
    }
    Ok(view)
}

/// Adds everything that matches `pattern` to a view, unless it is there already. False when nothing matches.
fn show(host: &Host, view: &mut View, pattern: &str) -> bool {
    let matches = expand_pattern(&host.root, Path::new(pattern));
    for path in &matches {
        // Links are followed here, since the sandbox follows none.
        let Some(real) = resolve(&host.root, path) else { continue };
        // Nothing can be mounted over a link in a system directory; the link itself leads to the real place.
        let inside = if paths::in_system(path) { &real } else { path };
        if real != *inside || !paths::shown(view, &real) {
            view.mounts.push(ViewMount { host: text(&real), inside: text(inside), optional: false });
        }
    }
    !matches.is_empty()
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
