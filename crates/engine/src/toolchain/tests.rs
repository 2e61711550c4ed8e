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
    let toml = format!(
        "system = [\"/usr\", \"/lib?\", \"/lib64?\"]\n[[language]]\nid = \"x\"\nname = \"X\"\nversion = [\"{{t}}\"]\n{keys}"
    );
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
    let keys = "tools = { t = [\"t\"] }\nrun = [\"{t}\"]\nrun_mounts = [\"{system}\"]";
    for (entries, path) in [
        (&["/usr/bin/t"][..], Ok("/usr/bin/t")),
        (&["/usr/bin/t -> t-12", "/usr/bin/t-12"], Ok("/usr/bin/t")),
        (
            &[
                "/usr/bin/t -> /etc/alternatives/t",
                "/etc/alternatives/t -> /usr/lib/x/bin/t",
                "/usr/lib/x/bin/t",
            ],
            Ok("/usr/lib/x/bin/t"),
        ),
        (
            &[
                "/usr/bin/t -> /etc/alternatives/t",
                "/etc/alternatives/t -> /usr/bin/u",
                "/usr/bin/u -> v",
                "/usr/bin/v",
            ],
            Ok("/usr/bin/u"),
        ),
        (&["/usr/bin/t -> /srv/t", "/srv/t"], Err("lies outside of what the language mounts")),
        (&["/usr/bin/t -> t"], Err("no `t` on PATH")),
        (&["/usr/bin/t -> gone"], Err("no `t` on PATH")),
        (&["/usr/bin/t/"], Err("no `t` on PATH")),
        (&["/usr/"], Err("no toolchain for X here: no `t` on PATH or in the usual places; install it")),
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
                compile = [[\"{prefix}/bin/t\"]]\ncompile_mounts = [\"{system}\", \"{prefix}\"]\nrun = [\"{prefix}/bin/t\"]\n\
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
    assert_eq!(mounts(&toolchain.compile_view), ["/usr", real]);
    assert_eq!(mounts(&toolchain.run_view), [real, "/etc/t-3/conf"]);
    // A shim that fails is passed over; the highest version outside PATH comes next.
    let newest = "/home/u/.rustup/toolchains/1.10";
    let asked = format!("{newest}/bin/t");
    assert_eq!(found(&root, keys, &answers(&asked, newest)).unwrap().paths["prefix"], newest);
    for (ask, message) in [
        (("/none", ""), "`/shims/t` is of no use: /shims/t fails"),
        (("/shims/t", "/nowhere"), "`/shims/t` is of no use: its prefix `/nowhere` is no directory"),
        (("/shims/t", "usr"), "its prefix `usr` is no directory"),
    ] {
        let error = found(&root, keys, &answers(ask.0, ask.1)).unwrap_err();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn a_root_may_be_told_from_where_the_tool_really_is() {
    let keys = "tools = { t = [\"t\"] }\nroots = { home = \"{t}/../..\" }\nrun = [\"{home}/bin/u\"]\n\
                run_mounts = [\"{system}\", \"{home}\"]";
    let root = tree(&[
        "/usr/bin/t -> /opt/x/bin/t",
        "/opt/x -> /opt/x-2",
        "/opt/x-2/bin/t",
        "/lib64 -> usr/lib64",
        "/usr/lib64/",
    ]);
    let toolchain = found(&root, keys, &no_probe).unwrap();
    assert_eq!(toolchain.paths["home"], "/opt/x-2");
    assert_eq!(mounts(&toolchain.run_view), ["/usr", "/usr/lib64 at /lib64", "/opt/x-2"]);
    // What /usr shows already is not mounted again.
    let root = tree(&["/usr/bin/t", "/lib -> usr/lib", "/usr/lib/"]);
    assert_eq!(mounts(&found(&root, keys, &no_probe).unwrap().run_view), ["/usr", "/usr/lib at /lib"]);
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
    let usable = find_usable(&host(&root), &table, table.get("a").unwrap()).unwrap();
    assert_eq!(usable.language.id, "b");
    let stands_in = usable.stands_in.unwrap();
    assert!(stands_in.starts_with("B stands in for A: no `absent` on PATH"), "{stands_in}");
    let absent = find_usable(&host(&tree(&["/usr/"])), &table, table.get("a").unwrap()).unwrap_err();
    assert_eq!(absent.language, "A");
}

#[test]
fn probes_are_bounded_and_their_faults_are_told() {
    let sh = |script: &str| ["/bin/sh", "-c", script].map(str::to_owned);
    assert_eq!(probe::first_line(&sh("echo; echo ' /a '; echo b")), Ok("/a".to_owned()));
    assert_eq!(probe::any_line(&sh("echo 1.2 >&2")), Ok("1.2".to_owned()));
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
fn the_installed_gcc_is_found() {
    let table = Table::shipped();
    let c = table.get("c").unwrap();
    let toolchain = find(&Host::current(), c).unwrap();
    assert!(toolchain.paths["cc"].ends_with("cc"), "{toolchain:?}");
    assert!(mounts(&toolchain.compile_view).contains(&"/usr".to_owned()));
    assert!(
        matches!(version(c, &toolchain), Reading::Known(text) if text.contains("gcc") || text.contains("cc"))
    );
    assert_eq!(version(c, &Toolchain { paths: Paths::new(), ..toolchain }).known(), None);
}
