//! The system call filter of submitted programs: a deny-list for what namespaces and control groups do not cover.
//!
//! Every call of Linux up to 6.18 was judged by what it can make or leave (SECURITY.md, "Kernel objects"); calls of later
//! kernels are absent until they have been. A deny-list, since an allow-list breaks one language runtime after another, and the kernel caches "always
//! allowed" per call number, so that allowed calls cost nothing (seccomp(2), since Linux 5.11).
//!
//! It is installed once, in the launcher; programs inherit it. Installing and freeing one per run took 200 to 400 µs of
//! each run, more than starting a process, half of it charged to the program. The launcher itself needs some of
//! the refused calls: they pass with a secret of 64 bits in the sixth argument, which none of them uses. It is drawn
//! again by every launcher and known to no other process; without it a call is refused, and even with it a program, which
//! has no capabilities, could do no more than the kernel lets any ordinary user do.

use std::collections::BTreeMap;

/// The first call number that nobody has judged: Linux 6.18 ends with file_setattr, 469. C libraries do without a call
/// that is absent (ENOSYS). Numbers from 0x4000_0000 on, of the x32 ABI (seccomp(2), "Caveats"), are among these.
const FIRST_UNKNOWN: u32 = 470;

/// Calls that the libc crate does not name.
mod new {
    pub(super) const CACHESTAT: i64 = 451;
    pub(super) const STATMOUNT: i64 = 457;
    pub(super) const LISTMOUNT: i64 = 458;
    pub(super) const LSM_SET_SELF_ATTR: i64 = 460;
    pub(super) const OPEN_TREE_ATTR: i64 = 467;
    pub(super) const FILE_SETATTR: i64 = 469;
}

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
    libc::SYS_uselib,
    new::LSM_SET_SELF_ATTR,
    // Memory that no control group is charged for: a filter is kept thrice and charged once; the requests of
    // asynchronous I/O come from one pool of the whole machine (fs.aio-max-nr).
    libc::SYS_seccomp,
    libc::SYS_io_setup,
    // Rules without number, which only a control group would hold.
    libc::SYS_landlock_create_ruleset,
    libc::SYS_landlock_add_rule,
    libc::SYS_landlock_restrict_self,
    // Takes its pages out of the kernel's own map of memory, which stays in pieces afterwards.
    libc::SYS_memfd_secret,
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
    new::OPEN_TREE_ATTR,
    new::STATMOUNT,
    new::LISTMOUNT,
    libc::SYS_move_mount,
    libc::SYS_mount_setattr,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    // Marks on files of the host, and what others have read of them.
    new::FILE_SETATTR,
    new::CACHESTAT,
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
    libc::SYS_quotactl_fd,
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

/// Calls that are answered with success and do nothing: they would write back all the machine's disks, and nothing ends a
/// process that waits for that. A run's own files are in memory.
const IDLE: &[i64] = &[libc::SYS_sync, libc::SYS_syncfs];

/// Record locks (fcntl(2)), answered likewise: they are kernel memory that no control group is charged for, as many as a
/// program likes (no kernel heeds RLIMIT_LOCKS). Databases ask for them; nobody but the run itself could hold one on its
/// files. Not F_GETLK, which then says rightly that there is none.
const RECORD_LOCKS: &[i32] = &[libc::F_SETLK, libc::F_SETLKW, libc::F_OFD_SETLK, libc::F_OFD_SETLKW];

/// Commands of fcntl(2) that are refused: leases and write hints stay with a file, and hold up or tell others.
const FILE_COMMANDS: &[i32] = &[libc::F_SETLEASE, libc::F_NOTIFY, F_SET_RW_HINT, F_SET_FILE_RW_HINT];
const F_SET_RW_HINT: i32 = 1036;
const F_SET_FILE_RW_HINT: i32 = 1038;

/// Requests of ioctl(2) that are refused. Characters pushed into the terminal would be read by the caller's shell; keys of a
/// file system's encryption stay with it and can be asked for (include/uapi/linux/fscrypt.h).
const REQUESTS: &[i32] = &[
    libc::TIOCSTI as i32,
    libc::TIOCLINUX as i32,
    0x800c_6613_u32 as i32, // FS_IOC_SET_ENCRYPTION_POLICY
    FS_IOC_ADD_ENCRYPTION_KEY,
    0xc040_6618_u32 as i32, // FS_IOC_REMOVE_ENCRYPTION_KEY
    0xc040_6619_u32 as i32, // FS_IOC_REMOVE_ENCRYPTION_KEY_ALL_USERS
    0xc080_661a_u32 as i32, // FS_IOC_GET_ENCRYPTION_KEY_STATUS
    0x4010_6614,            // FS_IOC_GET_ENCRYPTION_PWSALT
];
const FS_IOC_ADD_ENCRYPTION_KEY: i32 = 0xc050_6617_u32 as i32;

/// Options of prctl(2) that are refused: filters, as seccomp(2); leaving the core's other half idle; and futex tables of
/// a size of one's choice, which nobody needs, and which only a control group could hold.
const PROCESS_OPTIONS: &[i32] = &[libc::PR_SET_SECCOMP, libc::PR_SCHED_CORE, PR_FUTEX_HASH];
const PR_FUTEX_HASH: i32 = 78;

/// Options of setsockopt(2) that are refused: programs for the kernel's interpreter, kept as filters of calls are.
const SOCKET_OPTIONS: &[i32] =
    &[libc::SO_ATTACH_FILTER, SO_ATTACH_BPF, libc::SO_ATTACH_REUSEPORT_CBPF, libc::SO_ATTACH_REUSEPORT_EBPF];
const SO_ATTACH_BPF: i32 = 50;

/// Advice of madvise(2) that is refused: pages that are merged with those of others are charged to one of them, and
/// writing to one takes long enough to tell that the other is there.
const ADVICE: &[i32] = &[libc::MADV_MERGEABLE];

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
/// Success without the call, as SECCOMP_RET_ERRNO with 0 is.
const DONE: Instruction = refuse(0);
const KILL: Instruction = ret(0x8000_0000); // SECCOMP_RET_KILL_PROCESS
const AUDIT_ARCH_X86_64: u32 = 0xc000_003e;
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
    program.extend([load(NR), if_at_least(FIRST_UNKNOWN, 0, 1), refuse(libc::ENOSYS)]);
    let rules: Vec<(u32, Vec<Instruction>)> = rules(secret).into_iter().collect();
    program.extend(tree(&rules));
    program
}

/// What to do with a call of these numbers; each block ends in a return.
fn rules(secret: u64) -> BTreeMap<u32, Vec<Instruction>> {
    let mut rules: BTreeMap<u32, Vec<Instruction>> =
        REFUSED.iter().map(|nr| (*nr as u32, unless(secret, libc::EPERM))).collect();
    let mut rule = |nr: i64, block: Vec<Instruction>| rules.insert(nr as u32, block);
    IDLE.iter().for_each(|nr| drop(rule(*nr, vec![DONE])));
    // clone3 passes its flags in memory, out of a filter's sight. ENOSYS makes C libraries fall back to clone.
    rule(libc::SYS_clone3, unless(secret, libc::ENOSYS));
    rule(libc::SYS_clone, without_bits(0, REFUSED_CLONES as u32));
    // Others reach the hypervisor (vsock), the kernel's ciphers (AF_ALG) or its events (netlink), and hardly any charges
    // its buffers to a group. The run's network has no interface that is up, so nothing is lost with IPv4 and IPv6.
    for nr in [libc::SYS_socket, libc::SYS_socketpair] {
        rule(nr, only(0, libc::AF_UNIX as u32, libc::EAFNOSUPPORT));
    }
    // Limits of others: in a user namespace init has the run's own uid.
    rule(libc::SYS_prlimit64, only(0, 0, libc::EPERM));
    let no = refuse(libc::EPERM);
    rule(libc::SYS_ioctl, without(1, &[(REQUESTS, no)]));
    rule(libc::SYS_fcntl, without(1, &[(RECORD_LOCKS, DONE), (FILE_COMMANDS, no)]));
    rule(libc::SYS_prctl, without(0, &[(PROCESS_OPTIONS, no)]));
    rule(libc::SYS_setsockopt, without(2, &[(SOCKET_OPTIONS, no)]));
    rule(libc::SYS_madvise, without(2, &[(ADVICE, no)]));
    // Huge pages that the administrator has set aside are a pool of the whole machine, charged to no group.
    rule(libc::SYS_mmap, without_bits(3, libc::MAP_HUGETLB as u32));
    rule(libc::SYS_memfd_create, without_bits(1, libc::MFD_HUGETLB));
    rules
}

/// Refuses unless the sixth argument is the secret.
fn unless(secret: u64, errno: i32) -> Vec<Instruction> {
    let at = ARGS + 8 * 5;
    let (low, high) = (secret as u32, (secret >> 32) as u32);
    vec![load(at), if_equal(low, 0, 2), load(at + 4), if_equal(high, 1, 0), refuse(errno), ALLOW]
}

/// Allows one value (32 bits) of an argument.
fn only(argument: u32, value: u32, errno: i32) -> Vec<Instruction> {
    vec![load(ARGS + 8 * argument), if_equal(value, 0, 1), ALLOW, refuse(errno)]
}

/// Gives listed values (32 bits) of an argument their answers.
fn without(argument: u32, lists: &[(&[i32], Instruction)]) -> Vec<Instruction> {
    let mut block = vec![load(ARGS + 8 * argument)];
    for (values, answer) in lists {
        block.extend(values.iter().flat_map(|value| [if_equal(*value as u32, 0, 1), *answer]));
    }
    block.push(ALLOW);
    block
}

/// Refuses an argument with any of these bits (of the lower 32).
fn without_bits(argument: u32, bits: u32) -> Vec<Instruction> {
    vec![load(ARGS + 8 * argument), if_any_bit(bits, 0, 1), refuse(libc::EPERM), ALLOW]
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
        let no_family = refuse(libc::EAFNOSUPPORT).k;
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
            (libc::SYS_socket, [libc::AF_VSOCK as u64, 0, 0, 0, 0, 0], no_family),
            (libc::SYS_socket, [libc::AF_NETLINK as u64, 0, 0, 0, 0, 0], no_family),
            (libc::SYS_socketpair, [libc::AF_INET as u64, 0, 0, 0, 0, 0], no_family),
            (libc::SYS_fcntl, [3, libc::F_SETLKW as u64, 0, 0, 0, 0], DONE.k),
            (libc::SYS_fcntl, [3, libc::F_OFD_SETLK as u64, 0, 0, 0, 0], DONE.k),
            (libc::SYS_fcntl, [3, libc::F_GETLK as u64, 0, 0, 0, 0], allow),
            (libc::SYS_fcntl, [3, libc::F_SETLEASE as u64, 0, 0, 0, 0], eperm),
            (libc::SYS_fcntl, [3, F_SET_RW_HINT as u64, 0, 0, 0, 0], eperm),
            (libc::SYS_fcntl, [3, libc::F_DUPFD as u64, 0, 0, 0, 0], allow),
            (libc::SYS_mmap, [0, 0, 0, libc::MAP_HUGETLB as u64, 0, 0], eperm),
            (libc::SYS_mmap, [0, 0, 0, libc::MAP_PRIVATE as u64, 0, 0], allow),
            (libc::SYS_prctl, [libc::PR_SET_SECCOMP as u64, 2, 0, 0, 0, 0], eperm),
            (libc::SYS_prctl, [libc::PR_SET_NAME as u64, 0, 0, 0, 0, 0], allow),
            (libc::SYS_ioctl, [0, FS_IOC_ADD_ENCRYPTION_KEY as u32 as u64, 0, 0, 0, 0], eperm),
            (libc::SYS_sync, [0; 6], DONE.k),
            (i64::from(FIRST_UNKNOWN), [0; 6], enosys),
            (0xffff_ffff, [0; 6], enosys),
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
