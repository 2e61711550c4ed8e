use super::*;
use model::{Limits, Placement, Stdio, View};
fn spec() -> RunSpec {
    RunSpec {
        tally: None,
        count_instructions: false,
        argv: vec!["/program/main".into()],
        env: vec![],
        view: View::default(),
        boxes: vec![],
        files: vec![],
        cwd: "/w".into(),
        links: vec![],
        stdio: [Stdio::Null; 3],
        limits: Limits::default(),
        placement: Placement { cpus: vec![1, 65], mem_node: Some(0), sched: Sched::Fifo(7) },
        layout: Layout::default(),
    }
}

fn steps(spec: &RunSpec, privileged: bool) -> io::Result<Vec<u8>> {
    let null = std::fs::File::open("/dev/null")?;
    let inputs = PlanInputs {
        stdio: [null.as_fd(); 3],
        tally: None,
        uid: 1,
        gid: 1,
        privileged,
        mount_proc: true,
        landlock: Some(null.as_fd()),
        cpu_stat: Some(null.as_fd()),
        memory_by_group: false,
        processes_by_group: false,
    };
    Ok(Plan::new(spec, &inputs)?.ops.iter().map(|o| o.step).collect())
}

#[test]
fn privilege_is_given_up_in_order_and_exec_is_last() {
    let s = steps(&spec(), true).unwrap();
    assert!(s.is_sorted(), "{s:?}");
    assert_eq!(s.last(), Some(&(Step::Exec as u8)));
    for step in [Step::NoNewPrivileges, Step::Landlock, Step::Identity, Step::Capabilities] {
        assert!(s.contains(&(step as u8)), "{step:?}");
    }
}

#[test]
fn a_user_namespace_keeps_its_only_user() {
    assert!(!steps(&spec(), false).unwrap().contains(&(Step::Identity as u8)));
}

#[test]
fn zero_bytes_and_empty_commands_are_refused() {
    for argv in [vec![], vec!["a\0b".to_string()]] {
        assert!(steps(&RunSpec { argv, ..spec() }, true).is_err());
    }
}

#[test]
fn padding_takes_exactly_the_bytes_asked_for() {
    for n in [1, 2, 9, 10, 11, 12, 4096] {
        assert_eq!(padding(n).len() + 1, n as usize);
    }
}

#[test]
fn a_stack_is_moved_by_what_takes_exactly_the_bytes_asked_for() {
    assert_eq!(stack_padding(0).unwrap(), (0, vec![]));
    assert_eq!(stack_padding(2032).unwrap(), (2032, vec![]));
    for bytes in [2048, 2064, 4096, 65536] {
        let (slashes, variables) = stack_padding(bytes).unwrap();
        let text: usize = variables.iter().map(|text| text.len() + 1).sum();
        assert_eq!((slashes, variables.len(), text % 16), (bytes as usize % 2048, 2, 0), "{bytes}");
        assert_eq!(slashes + text + 8 * variables.len(), bytes as usize);
    }
    for bytes in [1, 15, 17, 4095] {
        assert!(stack_padding(bytes).unwrap_err().to_string().contains("a multiple of 16"), "{bytes}");
    }
}

#[test]
fn masks_reach_beyond_one_word() {
    assert_eq!(bitmask(&[1, 65]), vec![2, 2]);
}
