use super::*;
use judge::language::Paths;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

/// A root directory with these files (executable), directories (ending in `/`) and links (`name -> target`).
fn tree(entries: &[&str]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for entry in entries {
        let (name, target) = entry.split_once(" -> ").map_or((*entry, None), |(n, t)| (n, Some(t)));
        let path = root.path().join(name.trim_start_matches('/'));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match target {
            Some(target) => symlink(target, &path).unwrap(),
            None if name.ends_with('/') => fs::create_dir_all(&path).unwrap(),
            None => {
                fs::write(&path, "").unwrap();
                fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            }
        }
    }
    root
}

fn host(root: &tempfile::TempDir) -> Host {
    Host {
        root: root.path().to_owned(),
        path: vec!["/shims".into(), "/usr/bin".into()],
        homes: vec!["/home/u".into()],
    }
}

fn table(keys: &str) -> Table {
    let toml = format!("[[language]]\nid = \"x\"\nname = \"X\"\nversion = [\"{{t}}\"]\n{keys}");
    Table::parse(&toml, "x.toml").unwrap()
}

/// Answers probes: commands beginning with `asked` print `answer`, others fail.
fn answers<'a>(asked: &'a str, answer: &'a str) -> impl Fn(&[String]) -> Result<String, String> + 'a {
    move |argv| if argv[0] == asked { Ok(answer.to_owned()) } else { Err(format!("{} fails", argv[0])) }
}

fn found(root: &tempfile::TempDir, keys: &str, ask: Ask<'_>) -> Result<Toolchain, String> {
    let table = table(keys);
    find_with(&host(root), &table.languages()[0], ask).map_err(|absent| absent.to_string())
}

fn mounts(view: &View) -> Vec<String> {
    let show = |m: &ViewMount| {
        if m.host == m.inside { m.host.clone() } else { format!("{} at {}", m.host, m.inside) }
    };
    view.mounts.iter().map(show).collect()
}

fn no_probe(argv: &[String]) -> Result<String, String> {
    Err(format!("{argv:?} was not to be asked"))
}

#[test]
fn a_tool_keeps_its_name_as_long_as_its_links_are_visible() {
    let keys = "tools = { t = [\"t\"] }\nrun = [\"{t}\"]";
    for (entries, path) in [
        (&["/usr/bin/t"][..], Ok("/usr/bin/t")),
        (
            &["/usr/bin/t -> /etc/alternatives/t", "/etc/alternatives/t -> /usr/bin/u", "/usr/bin/u"],
            Ok("/usr/bin/t"),
        ),
        (&["/usr/bin/t -> t-12", "/usr/bin/t-12"], Ok("/usr/bin/t")),
        (&["/usr/bin/t -> /srv/t", "/srv/t -> /usr/lib/x/t", "/usr/lib/x/t"], Ok("/usr/lib/x/t")),
        (
            &["/usr/bin/t -> /srv/t", "/srv/t -> /usr/bin/u", "/usr/bin/u -> v", "/usr/bin/v"],
            Ok("/usr/bin/u"),
        ),
        (&["/usr/bin/t -> /srv/t", "/srv/t"], Err("lies outside of what the language mounts")),
        (&["/usr/bin/t -> t"], Err("no `t` on PATH")),
        (&["/usr/bin/t -> gone"], Err("no `t` on PATH")),
        (&["/usr/bin/t/"], Err("no `t` on PATH")),
        (
            &["/usr/"],
            Err("no toolchain for X here: no `t` on PATH or in the usual places\n\
                 hint: install it, or name its place in a table (--languages)"),
        ),
    ] {
        let root = tree(entries);
        match (found(&root, keys, &no_probe), path) {
            (Ok(toolchain), Ok(path)) => assert_eq!(toolchain.paths["t"], path, "{entries:?}"),
            (Err(message), Err(part)) => assert!(message.contains(part), "{entries:?}: {message}"),
            (result, _) => panic!("{entries:?}: {result:?}"),
        }
    }
}

#[test]
fn a_shim_is_asked_for_its_real_directory() {
    let keys = "tools = { t = [\"t\"] }\nroots = { prefix = [\"{t}\", \"--print\"] }\n\
                compile = [[\"{prefix}/bin/t\"]]\ncompile_mounts = [\"{prefix}\"]\nrun = [\"{prefix}/bin/t\"]\n\
                run_mounts = [\"{prefix}\", \"/etc/t-*/conf?\"]";
    let entries = [
        "/usr/",
        "/shims/t",
        "/home/u/.rustup/toolchains/1.9/bin/t",
        "/home/u/.rustup/toolchains/1.10/bin/t",
        "/etc/t-3/conf/",
    ];
    let root = tree(&entries);
    let real = "/home/u/.rustup/toolchains/1.9";
    let toolchain = found(&root, keys, &answers("/shims/t", &format!("{real}\n"))).unwrap();
    assert_eq!(toolchain.paths["prefix"], real);
    assert_eq!(mounts(&toolchain.compile_view), [real]);
    assert_eq!(mounts(&toolchain.run_view), [real, "/etc/t-3/conf"]);
    // A shim that fails is passed over; the highest version outside PATH comes next.
    let newest = "/home/u/.rustup/toolchains/1.10";
    let asked = format!("{newest}/bin/t");
    assert_eq!(found(&root, keys, &answers(&asked, newest)).unwrap().paths["prefix"], newest);
    for (ask, message) in [
        (("/none", ""), "`/shims/t` is of no use: /shims/t fails"),
        (("/shims/t", "/nowhere"), "`/shims/t` is of no use: its prefix `/nowhere` is not a directory"),
        (("/shims/t", "usr"), "its prefix `usr` is not a directory"),
    ] {
        let error = found(&root, keys, &answers(ask.0, ask.1)).unwrap_err();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn a_root_may_be_told_from_where_the_tool_really_is() {
    let keys = "tools = { t = [\"t\"] }\nroots = { home = \"{t}/../..\" }\nrun = [\"{home}/bin/u\"]\n\
                run_mounts = [\"{home}\", \"/etc/x.cfg\", \"/lib/y\"]";
    let root = tree(&[
        "/usr/bin/t -> /opt/x/bin/t",
        "/opt/x -> /opt/x-2",
        "/opt/x-2/bin/t",
        "/etc/x.cfg -> /etc/alternatives/x.cfg",
        "/etc/alternatives/x.cfg -> /etc/x-2.cfg",
        "/etc/x-2.cfg",
        "/lib -> usr/lib",
        "/usr/lib/y -> /srv/y",
        "/srv/y/",
    ]);
    let toolchain = found(&root, keys, &no_probe).unwrap();
    assert_eq!(toolchain.paths["home"], "/opt/x-2");
    assert_eq!(mounts(&toolchain.run_view), ["/opt/x-2", "/etc/x-2.cfg at /etc/x.cfg", "/srv/y"]);
    // What every run sees is not mounted again.
    let root = tree(&["/usr/bin/t", "/lib -> usr/lib", "/usr/lib/y", "/etc/x.cfg"]);
    assert_eq!(mounts(&found(&root, keys, &no_probe).unwrap().run_view), ["/etc/x.cfg"]);
}

#[test]
fn what_a_language_needs_must_exist() {
    let toml =
        "[[language]]\nid = \"x\"\nname = \"X\"\nrun = [\"/usr/bin/x\"]\nrun_mounts = [\"/usr\", \"/etc/x\"]";
    let table = Table::parse(toml, "x.toml").unwrap();
    let root = tree(&["/usr/"]);
    let error = find_with(&host(&root), &table.languages()[0], &no_probe).unwrap_err();
    assert_eq!(error.why, "`/etc/x`, which it needs, does not exist");
}

#[test]
fn another_language_stands_in_and_says_so() {
    let toml = "[[language]]\nid = \"a\"\nname = \"A\"\nfallback = \"b\"\ntools = { t = [\"absent\"] }\nrun = [\"{t}\"]\n\
                [[language]]\nid = \"b\"\nname = \"B\"\ntools = { t = [\"t\"] }\nrun = [\"{t}\"]\nrun_mounts = [\"/usr\"]";
    let table = Table::parse(toml, "x.toml").unwrap();
    let root = tree(&["/usr/bin/t"]);
    let usable = find_usable(&host(&root), &Answers::default(), &table, table.get("a").unwrap()).unwrap();
    assert_eq!(usable.language.id, "b");
    let stands_in = usable.stands_in.unwrap();
    assert!(stands_in.starts_with("B stands in for A: no `absent` on PATH"), "{stands_in}");
    let absent = find_usable(&host(&tree(&["/usr/"])), &Answers::default(), &table, table.get("a").unwrap())
        .unwrap_err();
    assert_eq!(absent.language, "A");
}

#[test]
fn probes_are_bounded_and_their_faults_are_told() {
    let sh = |script: &str| ["/bin/sh", "-c", script].map(str::to_owned);
    assert_eq!(probe::first_line(&sh("echo; echo ' /a '; echo b")), Ok("/a".to_owned()));
    for (says, version) in [
        ("echo 1.2 >&2", "1.2"),
        // What a runtime says before the tool does.
        (
            "echo 'VM warning: Options were deprecated in JDK 13.0' >&2; echo 'info: kotlinc-jvm 1.3-SNAPSHOT (JRE 17)' >&2; echo 'error: 1.1' >&2",
            "kotlinc-jvm 1.3-SNAPSHOT (JRE 17)",
        ),
        (
            "echo 'Picked up JAVA_TOOL_OPTIONS: -Xmx1g' >&2; echo 'openjdk version \"17.0.15\"' >&2",
            "openjdk version \"17.0.15\"",
        ),
        ("echo; echo version 9; echo warning: 2.1", "version 9"),
        ("echo warning: 2.1", "warning: 2.1"),
    ] {
        assert_eq!(probe::version_line(&sh(says)), Ok(version.to_owned()), "{says}");
    }
    for (script, message) in [
        ("echo no >&2; exit 3", "fails: no"),
        ("exit 3", "fails: exit status: 3"),
        ("true", "prints nothing"),
    ] {
        let error = probe::first_line(&sh(script)).unwrap_err();
        assert!(error.ends_with(message), "{error}");
    }
    // More output than is wanted ends the reading, and the writer with SIGPIPE.
    assert!(probe::first_line(&sh("yes")).unwrap_err().contains("fails"));
    assert!(probe::first_line(&["/nonexistent".to_owned()]).unwrap_err().contains("cannot be started"));
}

#[test]
fn a_tool_that_is_being_written_is_waited_for() {
    let root = tempfile::tempdir().unwrap();
    let tool = root.path().join("tool");
    fs::write(&tool, "#!/bin/sh\necho 7\n").unwrap();
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
    let writer = fs::OpenOptions::new().append(true).open(&tool).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(std::time::Duration::from_millis(50));
            drop(writer);
        });
        assert_eq!(probe::first_line(&[text(&tool)]), Ok("7".to_owned()));
    });
}

#[test]
fn the_installed_gcc_is_found() {
    let table = Table::shipped();
    let c = table.get("c").unwrap();
    let (host, answers) = (Host::current(), Answers::default());
    let toolchain = find(&host, &answers, c).unwrap();
    assert!(toolchain.paths["cc"].ends_with("cc"), "{toolchain:?}");
    assert!(
        matches!(version(&host, &answers, c, &toolchain), Reading::Known(text) if text.contains("gcc") || text.contains("cc"))
    );
    let none = Toolchain { paths: Paths::new(), ..toolchain };
    assert_eq!(version(&host, &answers, c, &none).known(), None);
}
