use super::*;
use base64::engine::general_purpose::STANDARD as BASE64;
use model::ProgramKind;
use proptest::prelude::*;
use serde_json::json;

fn toolchains() -> Vec<Toolchain> {
    [("c", "gcc"), ("cpython3", "python3")]
        .map(|(id, tool)| Toolchain {
            id: id.into(),
            tool: tool.into(),
            version: Some("1.2".into()),
            compile: Vec::new(),
            run: Vec::new(),
        })
        .to_vec()
}

fn read_json(given: &Json, base64: bool) -> Result<Wanted, Faults> {
    let against =
        Against { edition: Edition::Ce, toolchains: &toolchains(), callbacks: &Allowed::default(), base64 };
    read(given.as_object().unwrap(), &against)
}

/// A zip archive with one stored file, made by hand (APPNOTE.TXT 4.3).
fn zipped(name: &str, content: &[u8]) -> String {
    let (n, c) = (name.as_bytes(), content);
    let crc = crc32(c).to_le_bytes();
    let size = u32::try_from(c.len()).unwrap().to_le_bytes();
    let length = u16::try_from(n.len()).unwrap().to_le_bytes();
    let common = [&[20, 0, 0, 0, 0, 0, 0, 0, 0x21, 0][..], &crc, &size, &size, &length, &[0, 0]].concat();
    let local = [&b"PK\x03\x04"[..], &common, n, c].concat();
    let central = [&b"PK\x01\x02\x14\x03"[..], &common, &[0; 14], n].concat();
    let (at, long) = (u32::try_from(local.len()).unwrap(), u32::try_from(central.len()).unwrap());
    let (at, long) = (at.to_le_bytes(), long.to_le_bytes());
    let end = [&b"PK\x05\x06\0\0\0\0\x01\0\x01\0"[..], &long, &at, &[0, 0]].concat();
    BASE64.encode([local, central, end].concat())
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(
            crc ^ u32::from(*byte),
            |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 },
        )
    })
}

#[test]
fn the_least_request_gets_the_usual_limits() {
    let wanted = read_json(&json!({"source_code": "print(1)", "language_id": 71}), false).unwrap();
    let execution = &wanted.execution;
    assert_eq!(execution.program, ProgramKind::Language("cpython3".into()));
    assert_eq!(
        (execution.files[0].name.as_str(), execution.files[0].content.text()),
        ("script.py", "print(1)".into())
    );
    assert_eq!(execution.entry.as_deref(), Some("script.py"));
    assert_eq!(execution.limits.cpu, Some(Nanos(5_000_000_000)));
    assert_eq!(execution.limits.memory, Some(Bytes(128_000 * 1024)));
    assert_eq!(execution.limits.processes, Some(60));
    assert_eq!((execution.runs, execution.keep_output), (1, Bytes(1 << 20)));
    assert_eq!((&execution.expected, wanted.face.language_id), (&None, 71));
}

#[test]
fn encodings_and_loose_types_are_taken_as_judge0_takes_them() {
    let given = json!({
        "source_code": "cHJp\nbnQoMSk", "language_id": "71", "stdin": "AP8=", "expected_output": "",
        "cpu_time_limit": "0.5", "memory_limit": 4096.7, "number_of_runs": "3", "redirect_stderr_to_stdout": "true",
        "command_line_arguments": "a 'b c'", "compiler_options": null, "max_file_size": 0,
    });
    let wanted = read_json(&given, true).unwrap();
    let execution = &wanted.execution;
    assert_eq!(execution.files[0].content.text(), "print(1)");
    assert_eq!(
        (execution.stdin.0.as_slice(), execution.expected.as_ref().map(Blob::text)),
        (&[0, 255][..], Some(String::new()))
    );
    assert_eq!(
        (execution.limits.cpu, execution.limits.memory),
        (Some(Nanos(500_000_000)), Some(Bytes(4096 * 1024)))
    );
    assert_eq!((execution.runs, execution.redirect_stderr), (3, true));
    assert_eq!(execution.args, ["a", "b c"]);
    assert_eq!(execution.limits.output, Some(Bytes(4096 * 1024)), "0 stands for the most");
}

#[test]
fn every_field_that_is_wrong_is_named() {
    let ok = json!({"source_code": "x", "language_id": 50});
    for (change, field, says) in [
        (json!({"source_code": " \n"}), "source_code", "can't be blank"),
        (json!({"language_id": null}), "language_id", "can't be blank"),
        (json!({"language_id": 60}), "language_id", "language with id 60 doesn't exist here"),
        (json!({"language_id": 50.5}), "language_id", "doesn't exist"),
        (json!({"language_id": "x"}), "language_id", "is not a number"),
        (json!({"language_id": 89}), "source_code", "must be blank"),
        (json!({"language_id": 89}), "additional_files", "can't be blank"),
        (json!({"cpu_time_limit": 15.1}), "cpu_time_limit", "less than or equal to 15.0"),
        (json!({"cpu_time_limit": -1}), "cpu_time_limit", "greater than or equal to 0.0"),
        (json!({"cpu_time_limit": "NaN"}), "cpu_time_limit", "is not a number"),
        (json!({"wall_time_limit": 0.5}), "wall_time_limit", "greater than or equal to 1.0"),
        (json!({"memory_limit": 2047}), "memory_limit", "greater than or equal to 2048"),
        (json!({"number_of_runs": 0}), "number_of_runs", "greater than or equal to 1"),
        (json!({"number_of_runs": 21}), "number_of_runs", "less than or equal to 20"),
        (json!({"max_processes_and_or_threads": 1e300}), "max_processes_and_or_threads", "less than"),
        (json!({"stdin": [1]}), "stdin", "is not text"),
        (json!({"compiler_options": "x".repeat(513)}), "compiler_options", "too long"),
        (json!({"command_line_arguments": "'"}), "command_line_arguments", "not closed"),
        (json!({"additional_files": "!"}), "additional_files", "is not base64"),
        (json!({"additional_files": "AAAA"}), "additional_files", "not a zip archive"),
        (json!({"additional_files": zipped("../x", b"")}), "additional_files", "leaves the archive"),
        (json!({"enable_network": true}), "enable_network", "not allowed"),
        (
            json!({"enable_per_process_and_thread_time_limit": "1"}),
            "enable_per_process_and_thread_time_limit",
            "cannot",
        ),
        (json!({"redirect_stderr_to_stdout": "maybe"}), "redirect_stderr_to_stdout", "neither"),
        (json!({"callback_url": "http://127.0.0.1/x"}), "callback_url", "127.0.0.1"),
        (json!({"callback_url": "file:///etc/passwd"}), "callback_url", "not an address for callbacks"),
    ] {
        let mut given = ok.clone();
        given.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let faults = read_json(&given, false).unwrap_err();
        let told = faults.get(field).unwrap_or_else(|| panic!("{change}: {faults:?}"));
        assert!(told[0].as_str().unwrap().contains(says), "{change}: {told}");
    }
    let both = read_json(&json!({"stack_limit": -1, "cpu_extra_time": 6}), false).unwrap_err();
    assert_eq!(both.len(), 4, "{both:?}");
}

#[test]
fn additional_files_join_the_source_but_do_not_replace_it() {
    let given = |id: u32, source: &str, name: &str| json!({"source_code": source, "language_id": id, "additional_files": zipped(name, b"added")});
    let names = |wanted: Wanted| -> Vec<(String, String)> {
        wanted.execution.files.into_iter().map(|file| (file.name, file.content.text())).collect()
    };
    let pair = |name: &str, content: &str| (name.to_owned(), content.to_owned());
    let header = read_json(&given(50, "own", "inc/a.h"), false).unwrap();
    assert!(header.archive.is_some());
    assert_eq!(names(header), [pair("main.c", "own"), pair("inc/a.h", "added")]);
    assert_eq!(names(read_json(&given(50, "own", "main.c"), false).unwrap()), [pair("main.c", "own")]);
    let project = read_json(&given(89, "", "run"), false).unwrap();
    assert_eq!(project.execution.program, ProgramKind::Scripts);
    assert_eq!(names(project), [pair("run", "added")]);
}

proptest! {
    #[test]
    fn whatever_is_sent_is_answered(
        fields in proptest::collection::btree_map(
            prop_oneof![Just("source_code"), Just("language_id"), Just("memory_limit"), Just("additional_files"), Just("callback_url")],
            prop_oneof![
                Just(json!(null)), Just(json!([])), Just(json!({})), Just(json!(true)),
                any::<f64>().prop_map(|x| json!(x)), any::<i64>().prop_map(|x| json!(x)), ".{0,20}".prop_map(|x| json!(x)),
            ],
            0..5,
        ),
        base64 in any::<bool>(),
    ) {
        let given = Json::Object(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect());
        match read_json(&given, base64) {
            Ok(wanted) => prop_assert!(!wanted.execution.files.is_empty()),
            Err(faults) => prop_assert!(!faults.is_empty()),
        }
    }
}
