//! The system call filter of submitted programs: a short deny-list for what namespaces do not cover.
//!
//! A deny-list, since an allow-list breaks one language runtime after another, and the kernel caches "always
//! allowed" per call number, so that allowed calls cost nothing (seccomp(2), since Linux 5.11).
//!
//! It is installed once, in the launcher; programs inherit it. Installing and freeing one per run took 200 to 400 µs of
//! each run, more than starting a process, half of it charged to the program. The launcher itself needs some of
//! the refused calls: they pass with a secret of 64 bits in the sixth argument, which none of them uses. It is drawn
//! anew by every launcher and known to no other process; without it a call is refused, and even with it a program, which
//! has no capabilities, could do no more than the kernel lets any ordinary user do.

use std::collections::BTreeMap;

/// Calls that are refused whatever their arguments, with EPERM.
const REFUSED: &[i64] = &[
    // Kernel attack surface that is not bound by any namespace of ours.
    libc::SYS_bpf,
    libc::SYS_userfaultfd,
    libc::SYS_perf_event_open,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_fanotify_init,
    libc::SYS_modify_ldt,
    libc::SYS_iopl,
    libc::SYS_ioperm,
    // Keyrings belong to the uid, not to a namespace, and outlive a run.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // Looking into or steering other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // New namespaces and mounts.
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_mount_setattr,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    // System V and POSIX message objects outlive their maker within the slot's IPC namespace: a later run
    // could read them, and their memory would stay charged.
    libc::SYS_shmget,
    libc::SYS_semget,
    libc::SYS_msgget,
    libc::SYS_mq_open,
    // Administration.
    libc::SYS_acct,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_syslog,
    libc::SYS_quotactl,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_vhangup,
    // Where a run and its memory lie is part of what we measure.
    libc::SYS_sched_setaffinity,
    libc::SYS_mbind,
    libc::SYS_set_mempolicy,
    libc::SYS_set_mempolicy_home_node,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
];

/// Bits of a clone flag word (clone(2)) that make a namespace, or a child of the launcher's: one that it does not know
/// of, so that the run's namespace would never be found empty.
const REFUSED_CLONES: u64 = (libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_PARENT) as u64;

/// One instruction of classic BPF, `struct sock_filter`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Instruction {
    code: u16,
    jt: u8,
    jf: u8,
    k: u32,
}

const ALLOW: Instruction = ret(0x7fff_0000); // SECCOMP_RET_ALLOW
const KILL: Instruction = ret(0x8000_0000); // SECCOMP_RET_KILL_PROCESS
const AUDIT_ARCH_X86_64: u32 = 0xc000_003e;
/// Numbers from here on belong to the x32 ABI, which shares the architecture of x86_64 (seccomp(2), "Caveats").
const X32: u32 = 0x4000_0000;
/// Offsets in `struct seccomp_data`.
const NR: u32 = 0;
const ARCH: u32 = 4;
const ARGS: u32 = 16;

const fn ret(k: u32) -> Instruction {
    Instruction { code: 0x06, jt: 0, jf: 0, k }
}

const fn refuse(errno: i32) -> Instruction {
    ret(0x0005_0000 | errno as u32) // SECCOMP_RET_ERRNO
}

const fn load(offset: u32) -> Instruction {
    Instruction { code: 0x20, jt: 0, jf: 0, k: offset }
}

const fn jump(by: usize) -> Instruction {
    Instruction { code: 0x05, jt: 0, jf: 0, k: by as u32 }
}

const fn if_equal(k: u32, jt: u8, jf: u8) -> Instruction {
    Instruction { code: 0x15, jt, jf, k }
}

const fn if_at_least(k: u32, jt: u8, jf: u8) -> Instruction {
    Instruction { code: 0x35, jt, jf, k }
}

const fn if_any_bit(k: u32, jt: u8, jf: u8) -> Instruction {
    Instruction { code: 0x45, jt, jf, k }
}

/// The filter for a launcher with this secret and its children.
pub(crate) fn program(secret: u64) -> Vec<Instruction> {
    let mut program = vec![load(ARCH), if_equal(AUDIT_ARCH_X86_64, 1, 0), KILL];
    program.extend([load(NR), if_at_least(X32, 0, 1), refuse(libc::ENOSYS)]);
    let rules: Vec<(u32, Vec<Instruction>)> = rules(secret).into_iter().collect();
    program.extend(tree(&rules));
    program
}

/// What to do with a call of these numbers; each block ends in a return.
fn rules(secret: u64) -> BTreeMap<u32, Vec<Instruction>> {
    let mut rules: BTreeMap<u32, Vec<Instruction>> =
        REFUSED.iter().map(|nr| (*nr as u32, unless(secret, libc::EPERM))).collect();
    let mut rule = |nr: i64, block: Vec<Instruction>| rules.insert(nr as u32, block);
    // clone3 passes its flags in memory, out of a filter's sight. ENOSYS makes C libraries fall back to clone.
    rule(libc::SYS_clone3, unless(secret, libc::ENOSYS));
    rule(
        libc::SYS_clone,
        vec![load(ARGS), if_any_bit(REFUSED_CLONES as u32, 0, 1), refuse(libc::EPERM), ALLOW],
    );
    // Local, internet and routing sockets live in the run's empty network namespace; others (vsock reaches the
    // hypervisor, AF_ALG the kernel's ciphers) do not.
    let families = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
    for nr in [libc::SYS_socket, libc::SYS_socketpair] {
        rule(nr, only(0, &families.map(|f| f as u32)));
    }
    // Limits of others: in a user namespace init has the run's own uid.
    rule(libc::SYS_prlimit64, only(0, &[0]));
    // Characters pushed into the terminal would be read by the caller's shell.
    let typing = [libc::TIOCSTI as u32, libc::TIOCLINUX as u32];
    rule(libc::SYS_ioctl, without(1, &typing));
    rules
}

/// Refuses unless the sixth argument is the secret.
fn unless(secret: u64, errno: i32) -> Vec<Instruction> {
    let at = ARGS + 8 * 5;
    let (low, high) = (secret as u32, (secret >> 32) as u32);
    vec![load(at), if_equal(low, 0, 2), load(at + 4), if_equal(high, 1, 0), refuse(errno), ALLOW]
}

/// Allows the listed values (32 bits) of an argument.
fn only(argument: u32, values: &[u32]) -> Vec<Instruction> {
    let mut block = vec![load(ARGS + 8 * argument)];
    block.extend(values.iter().flat_map(|v| [if_equal(*v, 0, 1), ALLOW]));
    block.push(refuse(libc::EPERM));
    block
}

/// Refuses the listed values (32 bits) of an argument.
fn without(argument: u32, values: &[u32]) -> Vec<Instruction> {
    let mut block = vec![load(ARGS + 8 * argument)];
    block.extend(values.iter().flat_map(|v| [if_equal(*v, 0, 1), refuse(libc::EPERM)]));
    block.push(ALLOW);
    block
}

/// A search tree over rules ordered by call number; calls without a rule are allowed. The number is in the accumulator.
fn tree(rules: &[(u32, Vec<Instruction>)]) -> Vec<Instruction> {
    match rules {
        [] => vec![ALLOW],
        [(nr, block)] => [&[if_equal(*nr, 1, 0), ALLOW][..], block].concat(),
        _ => {
            let (low, high) = rules.split_at(rules.len() / 2);
            let low = tree(low);
            // A conditional jump reaches 255 instructions only.
            let mut all = vec![if_at_least(high[0].0, 0, 1), jump(low.len())];
            all.extend(low);
            all.extend(tree(high));
            all
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: u64 = 0x0123_4567_89ab_cdef;

    /// Interprets the filter for one call, and counts the steps.
    fn verdict(program: &[Instruction], nr: i64, args: [u64; 6]) -> (u32, usize) {
        let (mut at, mut accumulator, mut steps) = (0usize, 0u32, 0);
        loop {
            let i = program[at];
            steps += 1;
            at += 1;
            let jump = |yes: bool| if yes { i.jt as usize } else { i.jf as usize };
            match i.code {
                0x06 => return (i.k, steps),
                0x20 => {
                    accumulator = match i.k {
                        NR => nr as u32,
                        ARCH => AUDIT_ARCH_X86_64,
                        k => (args[((k - ARGS) / 8) as usize] >> ((k - ARGS) % 8 * 8)) as u32,
                    }
                }
                0x05 => at += i.k as usize,
                0x15 => at += jump(accumulator == i.k),
                0x35 => at += jump(accumulator >= i.k),
                0x45 => at += jump(accumulator & i.k != 0),
                other => panic!("instruction {other:#x}"),
            }
        }
    }

    #[test]
    fn calls_are_judged_one_by_one() {
        let (allow, eperm, enosys) = (ALLOW.k, refuse(libc::EPERM).k, refuse(libc::ENOSYS).k);
        let thread = libc::CLONE_VM | libc::CLONE_THREAD | libc::CLONE_SIGHAND;
        let cases: &[(i64, [u64; 6], u32)] = &[
            (libc::SYS_read, [0; 6], allow),
            (libc::SYS_execve, [0; 6], allow),
            (libc::SYS_bpf, [0; 6], eperm),
            (libc::SYS_clone3, [0; 6], enosys),
            (libc::SYS_clone, [thread as u64, 0, 0, 0, 0, 0], allow),
            (libc::SYS_clone, [libc::CLONE_NEWUSER as u64, 0, 0, 0, 0, 0], eperm),
            (libc::SYS_clone, [libc::CLONE_PARENT as u64, 0, 0, 0, 0, 0], eperm),
            (libc::SYS_socket, [libc::AF_UNIX as u64, 0, 0, 0, 0, 0], allow),
            (libc::SYS_socket, [libc::AF_VSOCK as u64, 0, 0, 0, 0, 0], eperm),
            (libc::SYS_ioctl, [0, libc::TIOCSTI, 0, 0, 0, 0], eperm),
            (libc::SYS_ioctl, [0, libc::TCGETS, 0, 0, 0, 0], allow),
            (libc::SYS_prlimit64, [0, 1, 0, 0, 0, 0], allow),
            (libc::SYS_prlimit64, [1, 1, 0, 0, 0, 0], eperm),
            (libc::SYS_mount, [0, 0, 0, 0, 0, SECRET], allow),
            (libc::SYS_mount, [0, 0, 0, 0, 0, SECRET ^ 1], eperm),
            (libc::SYS_mount, [0, 0, 0, 0, 0, SECRET ^ (1 << 32)], eperm),
            (libc::SYS_clone3, [0, 0, 0, 0, 0, SECRET], allow),
            (0x4000_0000, [0; 6], enosys),
        ];
        for (nr, args, wanted) in cases {
            assert_eq!(verdict(&program(SECRET), *nr, *args).0, *wanted, "call {nr} {args:?}");
        }
        REFUSED
            .iter()
            .for_each(|nr| assert_eq!(verdict(&program(SECRET), *nr, [0; 6]).0, eperm, "call {nr}"));
    }

    #[test]
    fn no_call_takes_many_steps() {
        let program = program(SECRET);
        assert!(program.len() < 4096, "BPF_MAXINSNS");
        let steps = (0..512).map(|nr| verdict(&program, nr, [0; 6]).1).max();
        assert!(steps < Some(32), "{steps:?}");
    }
}
