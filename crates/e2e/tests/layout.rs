//! Padding moves what it says, by exactly as much as it says, and a program sees nothing else change.

use e2e::stage::{self, Pass, Stage, Workspace};
use e2e::tauto;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);

/// Tells where a local variable, the table of arguments and the text of argv[0] lie, and its length and end, and how many
/// variables there are.
const SOURCE: &str = r#"
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv, char **environment) {
    volatile char local = 0;
    int variables = 0;
    while (environment[variables]) variables++;
    printf("%lu %lu %lu %zu %d %s", (unsigned long)&local, (unsigned long)argv, (unsigned long)argv[0],
           strlen(argv[0]), variables, argv[0]);
    return local;
}
"#;

/// What the program tells.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    /// Addresses: of a local variable, of the table of arguments, of the text of argv[0].
    local: u64,
    table: u64,
    text: u64,
    /// Bytes of argv[0].
    length: u64,
    variables: u64,
    /// argv[0] without its leading slashes.
    name: String,
}

impl Seen {
    fn of(output: &str) -> Seen {
        let words: Vec<&str> = output.split(' ').collect();
        let [local, table, text, length, variables] =
            [0, 1, 2, 3, 4].map(|n| words[n].parse().expect("a number"));
        let name = words[5].trim_start_matches('/').to_string();
        Seen { local, table, text, length, variables, name }
    }

    /// How far down variables and table have moved since, and how far the text.
    fn below(&self, before: &Seen) -> [u64; 3] {
        [before.local - self.local, before.table - self.table, before.text - self.text]
    }
}

/// Compiles the program and gives the body a function that runs it with these options.
fn with_program(body: impl Fn(&dyn Fn(&str) -> Seen)) {
    let scratch = e2e::scratch!();
    let _alone = stage::alone(&scratch).expect("lock");
    let directory = tempfile::tempdir().expect("directory");
    let (source, program) = (directory.path().join("where.c"), directory.path().join("where"));
    std::fs::write(&source, SOURCE).expect("source");
    let compiler = Command::new("cc").args(["-O2", "-static", "-o"]).arg(&program).arg(&source).status();
    assert!(compiler.expect("cc").success());
    for pass in Pass::possible() {
        let stage = Stage::new(pass).expect("stage");
        let place = stage.place("layout").expect("place");
        let program = place.install(&program, false).expect("program");
        body(&|options| run(&place, &program, options));
    }
}

fn run(place: &Workspace<'_>, program: &PathBuf, options: &str) -> Seen {
    let mut tauto = place.tauto();
    tauto.arg("run").args(options.split_whitespace()).arg("--").arg(program);
    let ended = tauto::run(&mut tauto, false, PATIENCE).expect(options);
    assert_eq!(ended.code(), Ok(0), "{options}: {}", ended.stderr);
    Seen::of(&ended.stdout)
}

#[test]
fn argv0_grows_and_still_names_the_program() {
    with_program(|seen| {
        let before = seen("");
        for bytes in [1, 5, 16, 4000] {
            let after = seen(&format!("--argv0-padding {bytes}"));
            assert_eq!(after.length, before.length + bytes);
            assert_eq!((&after.name, after.variables), (&before.name, before.variables));
            let [local, table, text] = after.below(&before);
            assert_eq!(text, bytes);
            assert!(local == table && table % 16 == 0 && table.abs_diff(bytes) < 16, "{after:?}");
        }
    });
}

#[test]
fn the_stack_moves_by_exactly_the_bytes_asked_for() {
    with_program(|seen| {
        // Whatever else lies on the stack.
        for also in ["", "--env-padding 9", "--argv0-padding 3", "--env A=b"] {
            let before = seen(also);
            for bytes in [16, 32, 2032, 2048, 4080, 4096, 65536] {
                let after = seen(&format!("{also} --stack-padding {bytes}"));
                assert_eq!(after.below(&before)[..2], [bytes, bytes], "{also}");
                assert_eq!((&after.name, after.length), (&before.name, before.length));
                let added = if bytes < 2048 { 0 } else { 2 };
                assert_eq!(after.variables, before.variables + added);
            }
        }
    });
}

#[test]
fn the_environment_grows_byte_by_byte() {
    with_program(|seen| {
        let (none, one) = (seen(""), seen("--env-padding 1"));
        assert_eq!((one.below(&none)[2], one.variables), (1, none.variables + 1));
        let mut last = one.clone();
        for bytes in (2..=18).chain([100, 4096, 4097, 65536]) {
            let after = seen(&format!("--env-padding {bytes}"));
            let [local, table, text] = after.below(&one);
            assert_eq!((text, after.variables), (bytes - 1, one.variables));
            assert!(local == table && table % 16 == 0 && table.abs_diff(bytes - 1) < 16, "{after:?}");
            assert_ne!(after, last);
            last = after;
        }
    });
}
