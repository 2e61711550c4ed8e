//! Compiling and linking: what the user's own tools do, on the host.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Directories below a project that are looked into, one in another.
const DEEP: usize = 8;
/// Lines of a tool's complaint that are told.
const LINES: usize = 12;

/// What is linked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inputs {
    /// Objects, archives and sources, or one directory with a project.
    pub paths: Vec<PathBuf>,
    /// The link command, with `{out}` and `{objects}` among its words; `None`: the compiler of the language.
    pub link: Option<Vec<String>>,
    /// Options for compiling sources.
    pub flags: Vec<String>,
}

/// Why there is nothing to run.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// What was given makes no program.
    #[error("{0}")]
    Input(String),
    /// A tool cannot be started.
    #[error("{tool}: {source}\nhint: install it, or name another with --link")]
    Tool {
        /// Which one.
        tool: String,
        /// Why.
        source: io::Error,
    },
    /// A tool complains.
    #[error("{what} failed:\n{said}")]
    Failed {
        /// Compiling what, or linking in which order.
        what: String,
        /// What it said.
        said: String,
    },
    /// A file cannot be read or written.
    #[error("{path}: {source}")]
    File {
        /// Which one.
        path: String,
        /// Why.
        source: io::Error,
    },
}

/// A word of a link command.
#[derive(Clone, Debug, PartialEq, Eq)]
enum LinkArgument {
    Text(OsString),
    /// The place of an object: which one stands there is what the orders differ in.
    Object,
    Out,
}

/// A link command with places for objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkPlan {
    words: Vec<LinkArgument>,
    objects: Vec<(String, PathBuf)>,
}

impl LinkPlan {
    /// Names of the objects, in the order in which they were given.
    pub fn names(&self) -> Vec<String> {
        self.objects.iter().map(|(name, _)| name.clone()).collect()
    }

    /// Links the objects in this order.
    ///
    /// # Errors
    /// The linker cannot be started or fails.
    pub fn link(&self, order: &[usize], out: &Path) -> Result<(), BuildError> {
        let mut places = order.iter();
        let word = |word: &LinkArgument| match word {
            LinkArgument::Text(text) => text.clone(),
            LinkArgument::Out => out.into(),
            // Orders have as many places as there are objects.
            LinkArgument::Object => {
                places.next().map_or_else(OsString::new, |n| self.objects[*n].1.clone().into())
            }
        };
        let words: Vec<OsString> = self.words.iter().map(word).collect();
        let names: Vec<&str> = order.iter().map(|n| &*self.objects[*n].0).collect();
        run(&words, &[], None, || format!("linking {}", names.join(" ")))
    }
}

/// Compiles what has to be compiled into `dir`, an empty directory, and says how it is linked.
///
/// # Errors
/// See [`BuildError`].
pub fn prepare(inputs: &Inputs, dir: &Path) -> Result<LinkPlan, BuildError> {
    let paths = match &inputs.paths[..] {
        [] => {
            return Err(BuildError::Input(
                "nothing to link\nhint: name objects, sources or a project's directory".into(),
            ));
        }
        [one] if one.is_dir() && one.join("Cargo.toml").is_file() => return rust(one, inputs, dir),
        [one] if one.extension().is_some_and(|e| e == "rs") => return rust(one, inputs, dir),
        [one] if one.is_dir() => sources(one, DEEP)?,
        several => several.to_vec(),
    };
    if paths.is_empty() {
        let at = inputs.paths[0].display();
        return Err(BuildError::Input(format!("{at}: no Cargo.toml and no C or C++ source below it")));
    }
    let plus = paths.iter().any(|path| language(path) == Some("c++"));
    let mut objects = Vec::new();
    for (n, path) in paths.iter().enumerate() {
        let name = path.display().to_string();
        if !path.is_file() {
            return Err(BuildError::Input(format!("{name}: no such file")));
        }
        objects.push((name, compiled(path, n, inputs, dir)?));
    }
    let usual = || [if plus { "c++" } else { "cc" }, "-o", "{out}", "{objects}"].map(String::from).to_vec();
    let words = template(&inputs.link.clone().unwrap_or_else(usual), objects.len())?;
    Ok(LinkPlan { words, objects })
}

fn template(words: &[String], objects: usize) -> Result<Vec<LinkArgument>, BuildError> {
    let has = |place: &str| words.iter().filter(|word| *word == place).count() == 1;
    if !has("{out}") || !has("{objects}") {
        let why = "--link: the command must have the words {out} and {objects}, each once";
        return Err(BuildError::Input(why.into()));
    }
    let word = |word: &String| match &**word {
        "{out}" => vec![LinkArgument::Out],
        "{objects}" => vec![LinkArgument::Object; objects],
        text => vec![LinkArgument::Text(text.into())],
    };
    Ok(words.iter().flat_map(word).collect())
}

/// The compiler of a source; `None`: it is one no more.
fn language(path: &Path) -> Option<&'static str> {
    match path.extension()?.to_str()? {
        "c" => Some("cc"),
        "cc" | "cpp" | "cxx" | "C" => Some("c++"),
        _ => None,
    }
}

/// The object of a path: the path itself, or what it is compiled to.
fn compiled(path: &Path, n: usize, inputs: &Inputs, dir: &Path) -> Result<PathBuf, BuildError> {
    let path = std::path::absolute(path).map_err(|source| at(path, source))?;
    let Some(compiler) = language(&path) else { return Ok(path) };
    let object = dir.join(format!("{n}.o"));
    let mut words: Vec<OsString> = vec![compiler.into()];
    match inputs.flags.is_empty() {
        true => words.push("-O2".into()),
        false => words.extend(inputs.flags.iter().map(OsString::from)),
    }
    words.extend(["-c".into(), path.clone().into(), "-o".into(), object.clone().into()]);
    run(&words, &[], None, || format!("compiling {}", path.display()))?;
    Ok(object)
}

/// C and C++ sources below a directory, in the order of their paths.
fn sources(dir: &Path, deep: usize) -> Result<Vec<PathBuf>, BuildError> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).map_err(|source| at(dir, source))? {
        let path = entry.map_err(|source| at(dir, source))?.path();
        let hidden = path.file_name().is_some_and(|name| name.as_bytes().starts_with(b"."));
        if !hidden && path.is_dir() && !path.is_symlink() && deep > 0 {
            found.extend(sources(&path, deep - 1)?);
        } else if language(&path).is_some() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// What stands in for the linker of a Rust build: keeps what it is asked for, then does it. `$0` lies in the directory that
/// is ours; the last one asked for is the program's own, since what it needs is linked before it.
const KEEPER: &str = r#"#!/bin/sh
set -e
kept="$(dirname "$0")/kept"
rm -rf "$kept"
mkdir "$kept"
n=0
for word in "$@"; do
    case "$word" in
    *.o) cp -- "$word" "$kept/$n.o" ;;
    esac
    printf '%s\0' "$word" >> "$kept/words"
    n=$((n + 1))
done
exec cc "$@"
"#;

/// A Rust source or project: built once by its own tools, and linked again from what its linker was given.
fn rust(path: &Path, inputs: &Inputs, dir: &Path) -> Result<LinkPlan, BuildError> {
    if inputs.link.is_some() {
        let why = "--link: a Rust program is linked as its compiler asks for\nhint: leave out --link";
        return Err(BuildError::Input(why.into()));
    }
    let path = std::path::absolute(path).map_err(|source| at(path, source))?;
    let keeper = dir.join("linker");
    fs::write(&keeper, KEEPER).map_err(|source| at(&keeper, source))?;
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(&keeper, mode).map_err(|source| at(&keeper, source))?;
    let linker = format!("linker={}", keeper.display());
    let what = || format!("building {}", path.display());
    if path.is_dir() {
        let flags = [vec!["-C".to_string(), linker], inputs.flags.clone()].concat().join("\u{1f}");
        let target = dir.join("target");
        let words = ["cargo", "build", "--release", "--target-dir"].map(OsString::from).to_vec();
        let words = [words, vec![target.into()]].concat();
        run(&words, &[("CARGO_ENCODED_RUSTFLAGS", &flags)], Some(&path), what)?;
    } else {
        let usual = ["-C", "opt-level=3", "-C", "codegen-units=16"].map(String::from).to_vec();
        let flags = if inputs.flags.is_empty() { usual } else { inputs.flags.clone() };
        let mut words: Vec<OsString> = ["rustc", "--edition=2024", "-C"].map(OsString::from).to_vec();
        words.push(linker.into());
        words.extend(flags.iter().map(OsString::from));
        words.extend(["-o".into(), dir.join("built").into(), path.clone().into()]);
        run(&words, &[], None, what)?;
    }
    kept(dir)
}

/// What the linker was asked for last, as a plan.
fn kept(dir: &Path) -> Result<LinkPlan, BuildError> {
    let kept = dir.join("kept");
    let text = fs::read(kept.join("words")).map_err(|_| {
        BuildError::Input(
            "nothing was linked: the project has no program, or its tools are configured for another linker"
                .into(),
        )
    })?;
    let (mut words, mut objects) = (vec![LinkArgument::Text("cc".into())], Vec::new());
    let mut out_follows = false;
    for (n, word) in text.split(|byte| *byte == 0).enumerate().filter(|(_, word)| !word.is_empty()) {
        let object = kept.join(format!("{n}.o"));
        if std::mem::take(&mut out_follows) {
            words.push(LinkArgument::Out);
        } else if object.is_file() {
            let name = Path::new(OsStr::from_bytes(word)).file_name().unwrap_or_default();
            objects.push((name.to_string_lossy().into_owned(), object));
            words.push(LinkArgument::Object);
        } else {
            out_follows = word == b"-o";
            words.push(LinkArgument::Text(OsString::from_vec(word.to_vec())));
        }
    }
    Ok(LinkPlan { words, objects })
}

fn run(
    words: &[OsString],
    env: &[(&str, &str)],
    dir: Option<&Path>,
    what: impl FnOnce() -> String,
) -> Result<(), BuildError> {
    let tool = words.first().map(|tool| tool.to_string_lossy().into_owned()).unwrap_or_default();
    let mut command = Command::new(&tool);
    command.args(&words[1..]).envs(env.iter().copied());
    dir.map(|dir| command.current_dir(dir));
    let done = command.output().map_err(|source| BuildError::Tool { tool, source })?;
    if done.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
    let lines: Vec<&str> = said.lines().take(LINES).collect();
    Err(BuildError::Failed { what: what(), said: lines.join("\n") })
}

fn at(path: &Path, source: io::Error) -> BuildError {
    BuildError::File { path: path.display().to_string(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs(paths: &[&Path], link: Option<&str>) -> Inputs {
        let link = link.map(|text| text.split(' ').map(String::from).collect());
        Inputs { paths: paths.iter().map(PathBuf::from).collect(), link, flags: vec![] }
    }

    fn said(program: &Path) -> String {
        String::from_utf8(Command::new(program).output().unwrap().stdout).unwrap()
    }

    #[test]
    fn a_project_in_c_is_linked_in_any_order() {
        let (project, dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let write = |name: &str, text: &str| fs::write(project.path().join(name), text).unwrap();
        write(
            "a.c",
            "int b(void); int c(void); int printf(const char *, ...); int main(void) { printf(\"%d\", b() + c()); }",
        );
        write("b.c", "int b(void) { return 40; }");
        write("c.c", "int c(void) { return 2; }");
        let plan = prepare(&inputs(&[project.path()], None), dir.path()).unwrap();
        assert_eq!(plan.names().len(), 3);
        let out = dir.path().join("out");
        let mut sizes = Vec::new();
        for order in [[0, 1, 2], [2, 0, 1]] {
            plan.link(&order, &out).unwrap();
            assert_eq!(said(&out), "42");
            sizes.push(fs::read(&out).unwrap());
        }
        assert_ne!(sizes[0], sizes[1], "the orders make different programs");
    }

    #[test]
    fn a_rust_source_is_linked_in_any_order() {
        let (project, dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let source = project.path().join("main.rs");
        let text = "mod a { #[inline(never)] pub fn f(x: u32) -> u32 { x + 1 } }\nmod b { #[inline(never)] pub fn g(x: u32) -> u32 { x * 2 } }\n\
                    fn main() { print!(\"{}\", a::f(b::g(std::env::args().count() as u32))); }";
        fs::write(&source, text).unwrap();
        let plan = prepare(&inputs(&[&source], None), dir.path()).unwrap();
        assert!(plan.names().len() >= 2, "{:?}", plan.names());
        let out = dir.path().join("out");
        let mut order: Vec<usize> = (0..plan.names().len()).collect();
        order.reverse();
        plan.link(&order, &out).unwrap();
        assert_eq!(said(&out), "3");
    }

    #[test]
    fn what_does_not_link_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let why = |inputs: &Inputs| match prepare(inputs, dir.path()) {
            Ok(plan) => plan.link(&[0], &dir.path().join("out")).unwrap_err().to_string(),
            Err(why) => why.to_string(),
        };
        let source = dir.path().join("x.c");
        fs::write(&source, "int main(void) { return nowhere(); }").unwrap();
        let told = why(&inputs(&[&source], None));
        assert!(told.contains("linking") && told.contains("nowhere"), "{told}");
        fs::write(&source, "int main(").unwrap();
        assert!(why(&inputs(&[&source], None)).starts_with("compiling "));
        fs::write(&source, "int x;").unwrap();
        for (link, part) in [
            ("cc {objects}", "{out}"),
            ("cc -o {out}", "{objects}"),
            ("no-such-linker -o {out} {objects}", "no-such-linker"),
        ] {
            let told = why(&inputs(&[&source], Some(link)));
            assert!(told.contains(part), "{told}");
        }
        assert!(why(&inputs(&[], None)).starts_with("nothing to link"));
        assert!(why(&inputs(&[Path::new("/no/such.o"), &source], None)).contains("/no/such.o: no such file"));
        let empty = tempfile::tempdir().unwrap();
        assert!(why(&inputs(&[empty.path()], None)).contains("no C or C++ source"));
    }
}
