use super::*;
use model::Bytes;

/// A small table: one compiled language, one interpreted.
const SMALL: &str = r#"
env = { PATH = "/usr/bin" }

[[language]]
id = "cpp"
name = "C++"
extensions = ["cpp"]
sources = ["cpp", "c"]
entry = "linked"
tools = { cxx = ["g++"] }
compile = [["{cxx}", "-o", "program", "{sources}"]]
run = ["{dir}/program"]

[[language]]
id = "c"
name = "C"
extensions = ["c"]
entry = "linked"
run = ["{dir}/program"]

[[language]]
id = "py"
name = "Python"
codes = ["python3"]
extensions = ["py"]
shebangs = ["python3", "python"]
entry_names = ["main.py"]
entry_markers = ["__main__"]
tools = { python = ["python3"] }
roots = { prefix = ["{python}", "-c", "print"] }
run = ["{prefix}/bin/python3", "{dir}/{entry}", "{memory_mib}"]
run_env = { PATH = "{prefix}/bin", SEED = "0" }
run_mounts = ["{prefix}", "/etc/x?"]

[[language]]
id = "py2"
name = "Python 2"
sources = ["py"]
shebangs = ["python2"]
run = ["/usr/bin/python2", "{dir}/{entry}"]
"#;

fn small() -> Table {
    Table::parse(SMALL, "small.toml").unwrap()
}

fn files<'a>(files: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a [u8])> {
    files.iter().map(|(name, text)| (*name, text.as_bytes())).collect()
}

#[test]
fn the_shipped_table_is_sound() {
    let table = Table::shipped();
    for code in [
        "c",
        "cpp",
        "csharp",
        "go",
        "haskell",
        "java",
        "javascript",
        "kotlin",
        "lua",
        "ocaml",
        "pascal",
        "perl",
        "php",
        "prolog",
        "bash",
        "python2",
        "python3",
        "ruby",
        "rust",
        "sqlite",
    ] {
        let language = table.named(code).unwrap();
        assert!(language.has_code(code), "{code}");
        assert!(!language.extensions.is_empty() && !language.version.is_empty(), "{code}");
    }
    let variants: Vec<&str> =
        table.languages().iter().filter(|l| l.extensions.is_empty()).map(|l| &*l.id).collect();
    assert_eq!(variants, ["cpp17", "cpp23", "cpython3"]);
    assert_eq!(table.get("python3").unwrap().fallback.as_deref(), Some("cpython3"));
}

#[test]
fn the_documentation_keeps_in_step() {
    let docs = include_str!("../../../../docs/languages.md");
    for key in parse::LANGUAGE_KEYS.iter().map(|k| k.to_string()).chain(ids(&SHIPPED)) {
        assert!(docs.contains(&format!("`{key}`")), "docs/languages.md does not explain `{key}`");
    }
    let example = docs.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let table = SHIPPED.with(example, "example").unwrap();
    assert!(table.get("nim").is_some() && table.get("java").unwrap().time_factor == 1.5);
}

fn ids(table: &Table) -> Vec<String> {
    table.languages().iter().map(|l| l.id.clone()).collect()
}

#[test]
fn what_is_wrong_with_a_table_is_told_with_its_place() {
    let language = |keys: &str| format!("[[language]]\nid = \"x\"\nname = \"X\"\nrun = [\"a\"]\n{keys}");
    for (toml, place, message) in [
        ("x = 1".to_owned(), 1, "unknown key `x`"),
        ("\nlanguages = []".to_owned(), 2, "did you mean `language`?"),
        (
            language("extension = [\"x\"]"),
            5,
            "unknown key `extension` of a language\nhint: did you mean `extensions`?",
        ),
        (language("extensions = 3"), 5, "invalid type"),
        (language("extensions = [\".x\"]"), 2, "write `.x` without its dot"),
        (language("entry = \"klass\""), 2, "`klass` is not one of linked, file, java, kotlin"),
        (
            language("compile = [[\"{cxx}\"]]\ntools = { cc = [\"gcc\"] }"),
            2,
            "compile: nothing is called `{cxx}` here",
        ),
        (language("run_env = { A = \"{sources}\" }"), 2, "run_env: nothing is called `{sources}` here"),
        (language("run_mounts = [\"usr\"]"), 2, "run_mounts: `usr` is not an absolute path"),
        (
            language("compile = [[\"-o{sources}\"]]"),
            2,
            "in `-o{sources}`, a list must be an argument of its own",
        ),
        (language("compile_env = { A = \"{others}\" }"), 2, "compile_env: nothing is called `{others}` here"),
        (language("compile = [[]]"), 2, "compile: a command is empty"),
        (language("time_factor = \"1\""), 5, "invalid type"),
        (language("time_factor = 0.0"), 2, "time_factor: 0 is not a positive number"),
        (language("compile_seconds = -1.0"), 2, "compile_seconds: -1"),
        (language("fallback = \"x\""), 2, "fallback: no other language `x`"),
        (language("like = \"y\""), 2, "like: no language `y` before this one"),
        (language("") + &language(""), 6, "language `x` is defined twice"),
        ("[[language]]\nid = \"X\"\nrun = [\"a\"]".to_owned(), 2, "id: must have only lower-case letters"),
        ("[[language]]\nid = \"x\"\nrun = [\"a\"]".to_owned(), 2, "name: is missing"),
        ("[[language]]\nid = \"x\"\nname = \"X\"".to_owned(), 2, "run: the command is missing"),
        ("[[language]]\nid = \"x\"\nid = \"x\"".to_owned(), 3, "duplicate key"),
        ("[[language]\n".to_owned(), 1, "array"),
    ] {
        let error = Table::parse(&toml, "my.toml").unwrap_err();
        assert!(error.message.contains(message), "{toml}\n{error}");
        assert_eq!((error.file.as_str(), error.line), ("my.toml", place), "{toml}\n{error}");
    }
}

#[test]
fn a_users_table_changes_single_keys_and_comes_first() {
    let user = r#"
        [[language]]
        id = "c"
        time_factor = 2.0
        [[language]]
        id = "cpp11"
        like = "cpp"
        name = "C++11"
        [[language]]
        id = "mypy"
        like = "py"
        name = "My Python"
        extensions = ["py"]
    "#;
    let table = small().with(user, "user.toml").unwrap();
    assert_eq!(ids(&table), ["cpp11", "mypy", "cpp", "c", "py", "py2"]);
    let c = table.get("c").unwrap();
    assert_eq!((c.time_factor, c.name.as_str()), (2.0, "C"));
    // A variant compiles the same files but claims none.
    let variant = table.get("cpp11").unwrap();
    assert_eq!((variant.extensions.len(), variant.sources.len()), (0, 2));
    assert_eq!(table.detect(&files(&[("a.py", "")]), None).unwrap().id, "mypy");
    assert_eq!(table.detect(&files(&[("a.cpp", "")]), None).unwrap().id, "cpp");
    // A code stays with the language that had it first in order.
    assert_eq!(table.named("cpp").unwrap().id, "cpp");

    let wrong = small().with("\n[[language]]\nid = \"py\"\nroots = {}", "user.toml").unwrap_err();
    assert!(wrong.to_string().starts_with("user.toml:3: language `py`: run"), "{wrong}");
}

#[test]
fn the_language_is_told_by_extension_shebang_and_hint() {
    let table = small();
    type Case<'a> = (&'a [(&'a str, &'a str)], Option<&'a str>, Result<&'a str, &'a str>);
    let cases: &[Case<'_>] = &[
        (&[("a.cpp", "")], None, Ok("cpp")),
        (&[("a.c", ""), ("a.h", "")], None, Ok("c")),
        (&[("a.c", ""), ("b.cpp", "")], None, Ok("cpp")),
        (&[("dir/a.py", ""), ("notes.txt", "")], None, Ok("py")),
        (&[("a.py", "#!/usr/bin/python2\n")], None, Ok("py2")),
        (&[("a.py", "#! /usr/bin/env -S PYTHONPATH=x python2 -O\n"), ("b.py", "")], None, Ok("py2")),
        (&[("script", "#!/usr/bin/env python3\r\n")], None, Ok("py")),
        (&[("a.py", "#![allow(x)]\n")], None, Ok("py")),
        (&[("a.py", "\u{feff}#!python2\n")], None, Ok("py")),
        (&[("a.CPP", "")], None, Err("no file of a known language among `a.CPP`")),
        (&[(".py", "")], None, Err("no file of a known language among `.py`")),
        (&[], None, Err("among no files")),
        (&[("a.cpp", ""), ("b.py", "")], None, Err("`a.cpp` is C++, `b.py` is Python")),
        (&[("a.py", ""), ("b", "#!python2\n")], None, Ok("py2")),
        (&[("a.cpp", ""), ("b", "#!python2\n")], None, Err("files of several languages")),
        (&[("a.txt", "")], Some("py"), Ok("py")),
        (&[("a.cpp", "")], Some("python3"), Ok("py")),
        (&[("a.cpp", "")], Some("pyhton3"), Err("unknown language `pyhton3`\nhint: did you mean `python3`?")),
        (&[("a.cpp", "")], Some("cobol"), Err("unknown language `cobol`")),
    ];
    for (given, hint, expected) in cases {
        let found = table.detect(&files(given), *hint);
        match (&found, expected) {
            (Ok(language), Ok(id)) => assert_eq!(language.id, *id, "{given:?}"),
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{given:?}: {error}"),
            _ => panic!("{given:?}: {found:?}"),
        }
    }
}

#[test]
fn extensions_that_other_judges_accept_are_known() {
    for (language, extensions) in [
        ("c", "c"),
        ("cpp", "cc cpp cxx c++ C cp CPP"),
        ("pascal", "pas pp p dpr lpr"),
        ("python3", "py py3"),
        ("python2", "py2"),
        ("haskell", "hs lhs"),
        ("kotlin", "kt"),
        ("javascript", "js mjs cjs"),
        ("prolog", "pro plg"),
        ("perl", "pl pm"),
        ("bash", "sh bash"),
    ] {
        for extension in extensions.split(' ') {
            let name = format!("a.{extension}");
            let found = SHIPPED.detect(&files(&[(&name, "")]), None).map(|l| l.id.as_str());
            assert_eq!(found, Ok(language), "{name}");
        }
    }
}

#[test]
fn languages_that_share_an_extension_are_told_by_a_text() {
    let detect = |content: &str| SHIPPED.detect(&files(&[("a.pl", content)]), None).unwrap().id.clone();
    assert_eq!(detect("use strict;\nprint $x ? 1:-1;\n"), "perl");
    assert_eq!(detect("main :-\n    write(hello).\n"), "prolog");
    assert_eq!(detect("#!/usr/bin/perl\nprint ':- ';\n"), "perl");
}

#[test]
fn commands_are_expanded() {
    let table = small();
    let cpp = table.get("cpp").unwrap();
    let plan =
        cpp.plan(&files(&[("b.c", ""), ("-a.cpp", ""), ("@h.cpp", ""), ("h.h", "")]), &[], None).unwrap();
    let paths = Paths::from([("cxx".to_owned(), "/usr/bin/g++".to_owned())]);
    let commands = cpp.compile_commands(&plan, &paths).unwrap();
    assert_eq!(commands.len(), 1);
    assert_eq!(commands[0].argv, ["/usr/bin/g++", "-o", "program", "./-a.cpp", "./@h.cpp", "b.c"]);
    assert_eq!(commands[0].env, [("PATH".to_owned(), "/usr/bin".to_owned())]);
    let missing = cpp.compile_commands(&plan, &Paths::new()).unwrap_err();
    assert_eq!(missing.to_string(), "language `cpp`: no path is known for `cxx`");

    let py = table.get("py").unwrap();
    let plan = py.plan(&files(&[("-x {memory_mib}.py", "")]), &[], None).unwrap();
    let paths = Paths::from([("prefix".to_owned(), "/opt/py".to_owned())]);
    let ocaml = Table::shipped().get("ocaml").unwrap().clone();
    let modules = ocaml.plan(&files(&[("a.ml", ""), ("main.ml", ""), ("z.ml", "")]), &[], None).unwrap();
    let compiler = Paths::from([("ocamlopt".to_owned(), "/o".to_owned())]);
    let link = ocaml.compile_commands(&modules, &compiler).unwrap().remove(0).argv;
    assert!(link.ends_with(&["a.ml", "z.ml", "main.ml"].map(str::to_owned)), "{link:?}");

    let run = py.run_command(&plan, &paths, Bytes::from_mib(256), false).unwrap();
    assert_eq!(run.argv, ["/opt/py/bin/python3", "/program/-x {memory_mib}.py", "256"]);
    assert_eq!(run.env, [("PATH", "/opt/py/bin"), ("SEED", "0")].map(|(k, v)| (k.to_owned(), v.to_owned())));
    // A limit so small that it says nothing, or that the runtime does not start with it.
    for small in [Bytes(0), Bytes(512 << 10), Bytes::from_mib(1), Bytes::from_mib(8)] {
        assert_eq!(py.run_command(&plan, &paths, small, false).unwrap().argv[2], "8");
    }
    let mounts: Vec<_> = py.run.mounts.iter().map(|m| (m.path.as_str(), m.optional)).collect();
    assert_eq!(mounts, [("{prefix}", false), ("/etc/x", true)]);
}

#[test]
fn a_warm_up_is_compiled_like_a_program() {
    let paths = Paths::from([("goroot".to_owned(), "/go".to_owned())]);
    let WarmUp { name, text, commands } = SHIPPED.get("go").unwrap().warm_up_plan(&paths).unwrap().unwrap();
    assert!(name == "warm_up.go" && text.starts_with("package main"));
    assert_eq!(commands[0].argv, ["/go/bin/go", "build", "-buildmode=exe", "-o", "program", "warm_up.go"]);
    assert!(commands[0].env.contains(&("GOCACHE".to_owned(), "/cache".to_owned())));
    assert_eq!(small().get("py").unwrap().warm_up_plan(&paths), Ok(None));
}

#[test]
fn the_entry_file_is_found() {
    let table = small();
    let py = table.get("py").unwrap();
    let marked = "if __name__ == '__main__':";
    type Case<'a> = (&'a [(&'a str, &'a str)], Option<&'a str>, Result<&'a str, &'a str>);
    let cases: &[Case<'_>] = &[
        (&[("only.py", ""), ("a.txt", "")], None, Ok("only.py")),
        (&[("+a.py", marked), ("b.py", "")], None, Ok("b.py")),
        (&[("+main.py", ""), ("b.py", marked)], None, Ok("main.py")),
        (&[("+a.py", "")], None, Ok("a.py")),
        (&[("+grader.py", "import z, cakes"), ("cakes.py", marked)], None, Ok("grader.py")),
        (&[("+grader.js", ""), ("+g.py", "from cakes2 import x"), ("cakes.py", "")], None, Ok("cakes.py")),
        (&[("no_extension", "")], None, Ok("no_extension")),
        (&[("z.py", ""), ("main.py", ""), ("a.py", marked)], None, Ok("main.py")),
        (&[("z.py", marked), ("a.py", "")], None, Ok("z.py")),
        (&[("z.py", marked), ("b.py", marked), ("a.py", "")], None, Ok("a.py")),
        (&[("z.py", ""), ("a.py", "")], Some("z.py"), Ok("z.py")),
        (&[("z.py", ""), ("a.py", "")], Some("z"), Ok("z.py")),
        (
            &[("z.py", ""), ("a.py", "")],
            Some("main.py"),
            Err("no entry point `main.py`\nhint: there is `a.py`, `z.py`"),
        ),
        (&[("a.txt", ""), ("b.txt", "")], None, Err("no Python source file\nhint: its extensions are .py")),
    ];
    for (given, wanted, expected) in cases {
        // `+` marks what the package includes.
        let plain: Vec<_> = given.iter().map(|(name, text)| (name.trim_start_matches('+'), *text)).collect();
        let added: Vec<_> = given.iter().filter_map(|(name, _)| name.strip_prefix('+')).collect();
        let plan = py.plan(&files(&plain), &added, *wanted);
        match (&plan, expected) {
            (Ok(plan), Ok(entry)) => assert_eq!(plan.entry, *entry, "{given:?}"),
            (Err(error), Err(text)) => assert_eq!(error.to_string(), *text, "{given:?}"),
            _ => panic!("{given:?}: {plan:?}"),
        }
    }
}

#[test]
fn java_and_kotlin_classes_are_found() {
    let table = Table::shipped();
    let main = "public static void main(String[] a) {} }";
    type Case<'a> = (&'a str, &'a [(&'a str, String)], Option<&'a str>, &'a str, &'a str);
    let cases: &[Case<'_>] = &[
        // language, files, wanted, entry, sources as placed
        ("java", &[("x.java", format!("public class Foo {{ {main}"))], None, "Foo", "Foo.java"),
        (
            "java",
            &[("x.java", format!("package a.b;\nfinal class Foo {{ {main}"))],
            None,
            "a.b.Foo",
            "x.java",
        ),
        (
            "java",
            &[("x.java", format!("class A {{ void main() {{}} }} class B {{ {main}"))],
            None,
            "B",
            "x.java",
        ),
        (
            "java",
            &[(
                "x.java",
                format!(
                    "// class C {{ {main}\n/* class D {{ */ class B {{ String s = \"}}\"; char c = '{{'; {main}"
                ),
            )],
            None,
            "B",
            "x.java",
        ),
        (
            "java",
            &[("A.java", format!("class A {{ {main}")), ("Main.java", format!("class Main {{ {main}"))],
            None,
            "Main",
            "A.java Main.java",
        ),
        (
            "java",
            &[("A.java", format!("class A {{ {main}")), ("Main.java", format!("class Main {{ {main}"))],
            Some("A"),
            "A",
            "A.java Main.java",
        ),
        (
            "java",
            &[("A.java", format!("package p; class Q {{ {main}")), ("M.java", String::new())],
            Some("A.java"),
            "p.Q",
            "A.java M.java",
        ),
        ("java", &[("A.java", "class A extends B { }".to_owned())], None, "A", "A.java"),
        (
            "java",
            &[(
                "A.java",
                "@interface X { }\n@SuppressWarnings({\"a\"}) enum E { P { static void main() {} } }"
                    .to_owned(),
            )],
            None,
            "X",
            "A.java",
        ),
        (
            "java",
            &[("a.java", "public class B {}".to_owned()), ("B.java", String::new())],
            None,
            "B",
            "B.java a.java",
        ),
        (
            "java",
            &[("src/p/x.java", format!("package p; public record R(int a) {{ {main}"))],
            None,
            "p.R",
            "src/p/R.java",
        ),
        ("java", &[("e.java", String::new())], None, "e", "e.java"),
        ("kotlin", &[("my-sol.kt", "fun main() {}".to_owned())], None, "My_solKt", "my-sol.kt"),
        (
            "kotlin",
            &[("1.kt", "package q\nsuspend fun main(a: Array<String>) = 1".to_owned())],
            None,
            "q._1Kt",
            "1.kt",
        ),
        ("kotlin", &[("a.kt", "@file:JvmName(\"Start\")\nfun main() {}".to_owned())], None, "Start", "a.kt"),
        (
            "kotlin",
            &[("a.kt", "object Sol { @JvmStatic fun main(a: Array<String>) {} }".to_owned())],
            None,
            "Sol",
            "a.kt",
        ),
        (
            "kotlin",
            &[(
                "a.kt",
                "class S { companion object { @JvmStatic\n fun main(a: Array<String>) {} } }".to_owned(),
            )],
            None,
            "S",
            "a.kt",
        ),
        (
            "kotlin",
            &[("a.kt", "fun main() {}".to_owned()), ("main.kt", "fun main() {}".to_owned())],
            None,
            "MainKt",
            "a.kt main.kt",
        ),
        (
            "kotlin",
            &[("a.kt", "fun main() {}".to_owned()), ("main.kt", "fun main() {}".to_owned())],
            Some("a.kt"),
            "AKt",
            "a.kt main.kt",
        ),
    ];
    for (id, given, wanted, entry, sources) in cases {
        let language = table.get(id).unwrap();
        let given: Vec<(&str, &[u8])> = given.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
        let plan = language.plan(&given, &[], *wanted).unwrap();
        assert_eq!((plan.entry.as_str(), plan.sources.join(" ").as_str()), (*entry, *sources), "{given:?}");
    }
}

static SHIPPED: std::sync::LazyLock<Table> = std::sync::LazyLock::new(Table::shipped);

proptest::proptest! {
    /// Whatever a file holds, reading it ends, and a plan names only files that were given.
    #[test]
    fn no_source_text_is_a_trap(text in "(class|fun|main|public|static|void|\"|'|\\\\|/\\*|\\*/|//|\\{|\\}|\\(|\\n|é| ){0,40}") {
        let table = &*SHIPPED;
        for id in ["java", "kotlin"] {
            let name = format!("a.{}", table.get(id).unwrap().extensions[0]);
            let plan = table.get(id).unwrap().plan(&[(name.as_str(), text.as_bytes())], &[], None).unwrap();
            proptest::prop_assert_eq!(plan.placed.len(), 1);
            proptest::prop_assert_eq!(&plan.sources[0], &plan.placed[0].1);
            proptest::prop_assert!(!plan.entry.is_empty());
        }
    }
}
