//! The system call filter of submitted programs: a short deny-list for what namespaces do not cover.
//!
//! A deny-list, since an allow-list breaks one language runtime after another, and the kernel caches "always
//! allowed" per call number, so that allowed calls cost nothing (seccomp(2), since Linux 5.11).

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Len, SeccompCmpOp as Cmp, SeccompCondition as Condition,
    SeccompFilter, SeccompRule as Rule, TargetArch, sock_filter,
};
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
    // Where memory lies is part of what we measure.
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

const ALLOW: u32 = 0x7fff_0000; // SECCOMP_RET_ALLOW
const ERRNO: u32 = 0x0005_0000; // SECCOMP_RET_ERRNO
/// Numbers from here on belong to the x32 ABI, which shares the architecture of x86_64 (seccomp(2), "Caveats").
const X32: u32 = 0x4000_0000;

/// The filter. `pinned` also refuses sched_setaffinity, for runs that nothing but their affinity holds in place.
pub(crate) fn program(pinned: bool) -> BpfProgram {
    let refused = filter(refused_rules(pinned), libc::EPERM);
    // clone3 passes its flags in memory, out of a filter's sight. ENOSYS makes C libraries fall back to clone.
    let absent = filter(BTreeMap::from([(libc::SYS_clone3, vec![])]), libc::ENOSYS);
    chain(&[absent, refused])
}

fn refused_rules(pinned: bool) -> BTreeMap<i64, Vec<Rule>> {
    let rule = |conditions: Vec<Condition>| Rule::new(conditions).expect("a rule has conditions");
    let arg = |n, len, op, value| Condition::new(n, len, op, value).expect("there are six arguments");
    let mut rules: BTreeMap<i64, Vec<Rule>> = REFUSED.iter().map(|nr| (*nr, vec![])).collect();
    if pinned {
        rules.insert(libc::SYS_sched_setaffinity, vec![]);
    }
    // A set bit is found one by one: a masked comparison can only ask for all bits of a mask.
    let clones = (0..64).map(|b| 1u64 << b).filter(|bit| REFUSED_CLONES & bit != 0);
    rules.insert(
        libc::SYS_clone,
        clones.map(|bit| rule(vec![arg(0, Len::Qword, Cmp::MaskedEq(bit), bit)])).collect(),
    );
    // Local, internet and routing sockets live in the run's empty network namespace; others (vsock reaches the
    // hypervisor, AF_ALG the kernel's ciphers) do not.
    let families = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
    for nr in [libc::SYS_socket, libc::SYS_socketpair] {
        let foreign = families.iter().map(|f| arg(0, Len::Dword, Cmp::Ne, *f as u64)).collect();
        rules.insert(nr, vec![rule(foreign)]);
    }
    // Limits of others: in a user namespace init has the run's own uid.
    rules.insert(libc::SYS_prlimit64, vec![rule(vec![arg(0, Len::Dword, Cmp::Ne, 0)])]);
    // Characters pushed into the terminal would be read by the caller's shell.
    let typing = [libc::TIOCSTI, libc::TIOCLINUX];
    rules.insert(
        libc::SYS_ioctl,
        typing.iter().map(|r| rule(vec![arg(1, Len::Dword, Cmp::Eq, *r)])).collect(),
    );
    rules
}

fn filter(rules: BTreeMap<i64, Vec<Rule>>, errno: i32) -> BpfProgram {
    SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(errno as u32), TargetArch::x86_64)
        .and_then(BpfProgram::try_from)
        .expect("the rules are constant and compile")
}

/// One program out of several: where one allows, the next decides. x32 calls are refused before all of them.
fn chain(filters: &[BpfProgram]) -> BpfProgram {
    let ins = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    const LD_W_ABS: u16 = 0x20;
    const JGE_K: u16 = 0x35;
    const JA: u16 = 0x05;
    const RET_K: u16 = 0x06;
    let mut all: BpfProgram =
        vec![ins(LD_W_ABS, 0, 0, 0), ins(JGE_K, 0, 1, X32), ins(RET_K, 0, 0, ERRNO | libc::ENOSYS as u32)];
    for (n, filter) in filters.iter().enumerate() {
        let last = n + 1 == filters.len();
        let length = filter.len();
        all.extend(filter.iter().enumerate().map(|(i, f)| match f {
            // "Allowed" becomes a jump to the end, where the next filter begins.
            f if !last && f.code == RET_K && f.k == ALLOW => ins(JA, 0, 0, (length - i - 1) as u32),
            f => f.clone(),
        }));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_fits_the_kernel() {
        for pinned in [false, true] {
            let p = program(pinned);
            assert!(p.len() < 4096, "{} instructions", p.len());
        }
    }

    #[test]
    fn no_jump_leaves_the_program() {
        let p = program(true);
        for (i, f) in p.iter().enumerate() {
            let reach = match f.code {
                0x05 => f.k as usize,
                c if c & 0x07 == 0x05 => f.jt.max(f.jf) as usize,
                _ => continue,
            };
            assert!(i + 1 + reach < p.len(), "instruction {i}");
        }
    }
}
