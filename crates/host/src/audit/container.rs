//! In which mode a container runs us, what it withholds, and which line of its manifest grants that.
//!
//! Modes are those of docs/containers.md: A privileged, B root with named capabilities, C rootless, D nothing granted.
//! Sources of the lines: docker-run(1), podman-run(1), the Kubernetes API's securityContext.

use super::{Judged, Seen, finding};
use crate::facts::Grants;
use model::{Finding, MachineKind, Reading, Remedy, Scope, Severity};

/// What a container may withhold: in words, and what grants it with Docker, with Podman and with Kubernetes.
struct Missing {
    what: String,
    docker: &'static str,
    podman: &'static str,
    kubernetes: &'static str,
}

/// The mode, and what is missing in it.
pub(super) fn container(seen: &Seen) -> Finding {
    let f = finding(
        "container",
        Severity::High,
        "the sandbox creates namespaces, mounts and control groups; if the container does not permit them, the sandbox is weaker or its limits are less exact",
    )
    .read_from("/proc/self/status, uid_map, mountinfo, attr/current");
    let platform = &seen.facts.platform;
    let Some(why) = platform.container.as_deref().filter(|_| seen.kind == MachineKind::Container) else {
        return f.not_applicable("no container is detected");
    };
    let grants = &seen.facts.grants;
    let mode = match mode(grants) {
        Reading::Known(mode) => mode,
        Reading::Unknown(why) => return f.unknown(why),
    };
    let missing = missing(grants, &mode);
    if missing.is_empty() {
        return f.ok(format!("{}: {why}", mode.words()));
    }
    let whats: Vec<&str> = missing.iter().map(|missing| &*missing.what).collect();
    let observed = format!("{}: {why}; missing: {}", mode.words(), whats.join("; "));
    let lines = |line: fn(&Missing) -> &'static str| missing.iter().map(line).collect::<Vec<_>>();
    let command = format!(
        "docker run {} | podman run {} | Kubernetes: {}; or --privileged on a dedicated host (docs/containers.md)",
        lines(|missing| missing.docker).join(" "),
        lines(|missing| missing.podman).join(" "),
        lines(|missing| missing.kubernetes).join(", "),
    );
    // Whoever starts the container decides, not root in it.
    let remedy = Remedy { command, scope: Scope::Process, root: false, reboot: false, reversible: true };
    f.bad(observed, Some(remedy))
}

#[derive(PartialEq)]
enum Mode {
    Privileged,
    Named,
    Rootless,
    Nothing,
}

impl Mode {
    fn words(&self) -> &'static str {
        match self {
            Mode::Privileged => "mode A, privileged",
            Mode::Named => "mode B, root with named capabilities",
            Mode::Rootless => "mode C, rootless",
            Mode::Nothing => "mode D, nothing granted",
        }
    }
}

/// The highest capability of every kernel since 5.9: CAP_CHECKPOINT_RESTORE.
const LAST: u32 = 40;

fn mode(grants: &Grants) -> Reading<Mode> {
    let all = (&grants.root, &grants.own_users, grants.administers(), grants.privileged(LAST));
    let (root, own_users, administers, privileged) = match all {
        (Reading::Known(r), Reading::Known(u), Reading::Known(a), Reading::Known(p)) => (*r, *u, a, p),
        (Reading::Unknown(why), ..) | (_, Reading::Unknown(why), ..) => return Reading::Unknown(why.clone()),
        (.., Reading::Unknown(why), _) | (.., Reading::Unknown(why)) => return Reading::Unknown(why),
    };
    Reading::Known(match (root && own_users, privileged, administers) {
        (true, true, _) => Mode::Privileged,
        (true, _, true) => Mode::Named,
        (true, ..) => Mode::Nothing,
        (false, ..) => Mode::Rootless,
    })
}

fn missing(grants: &Grants, mode: &Mode) -> Vec<Missing> {
    let mut missing = vec![];
    if *mode == Mode::Nothing {
        missing.push(Missing {
            what: "CAP_SYS_ADMIN, needed for namespaces and mounts".into(),
            docker: "--cap-add SYS_ADMIN --security-opt seccomp=seccomp.json",
            podman: "--cap-add SYS_ADMIN --security-opt seccomp=seccomp.json",
            kubernetes: "securityContext.capabilities.add: [SYS_ADMIN]",
        });
    }
    if let Some(profile) = &grants.apparmor {
        missing.push(Missing {
            what: format!("mounts, which AppArmor's profile {profile} refuses"),
            docker: "--security-opt apparmor=unconfined",
            podman: "--security-opt apparmor=unconfined",
            kubernetes: "securityContext.appArmorProfile.type: Unconfined",
        });
    }
    if grants.groups_writable != Reading::Known(true) {
        let what: String = match &grants.groups_writable {
            Reading::Unknown(why) => why.to_string(),
            Reading::Known(_) => "control groups: their mount is read-only".into(),
        };
        missing.push(Missing {
            what,
            docker: "--cgroupns=host --volume /sys/fs/cgroup:/sys/fs/cgroup:rw",
            podman: "--systemd=always",
            kubernetes: "a hostPath volume of /sys/fs/cgroup, writable",
        });
    }
    if let (Mode::Rootless, Some(first)) = (mode, grants.masked.first()) {
        missing.push(Missing {
            what: format!("a /proc of its own: {first} and others are masked"),
            docker: "--security-opt systempaths=unconfined",
            podman: "--security-opt unmask=ALL",
            kubernetes: "securityContext.procMount: Unmasked with hostUsers: false",
        });
    }
    missing
}

#[cfg(test)]
mod tests {
    use crate::audit::testing::{check, command};
    use model::FindingState::{Bad, NotApplicable, Ok, Unknown};

    const DOCKER: &str = "/run/systemd/container\n\tdocker\n";
    const OWN: &str = "/proc/self/uid_map\n\t0 0 4294967295\n";
    const MAPPED: &str = "/proc/self/uid_map\n\t0 100000 65536\n";

    fn status(uid: u32, capabilities: &str) -> String {
        format!("/proc/self/status\n\tUid:\t{uid}\t{uid}\t{uid}\t{uid}\n\tCapEff:\t{capabilities}\n")
    }

    fn groups(options: &str) -> String {
        format!("/proc/self/mountinfo\n\t30 23 0:27 / /sys/fs/cgroup {options} - cgroup2 cgroup rw\n")
    }

    #[test]
    fn modes() {
        let all = status(0, "000001ffffffffff");
        let named = status(0, "00000000a82425fb");
        let usual = status(0, "00000000a80425fb");
        let writable = groups("rw,nosuid");
        let apparmor = "/proc/self/attr/current\n\tdocker-default (enforce)\n";
        let masked = format!("{writable}\t31 23 0:5 / /proc/kcore rw - tmpfs tmpfs rw\n");
        check(
            "container",
            &[
                (&format!("{OWN}{all}{writable}"), NotApplicable, "no container"),
                (&format!("{DOCKER}{OWN}{all}{writable}"), Ok, "mode A"),
                // Some hosts keep CAP_SYS_RESOURCE.
                (&format!("{DOCKER}{OWN}{}{writable}", status(0, "000001fffeffffff")), Ok, "mode A"),
                (&format!("{DOCKER}{OWN}{named}{writable}"), Ok, "mode B"),
                (&format!("{DOCKER}{OWN}{named}{masked}"), Ok, "mode B"),
                (&format!("{DOCKER}{OWN}{named}{writable}{apparmor}"), Bad, "docker-default"),
                (&format!("{DOCKER}{OWN}{named}{}", groups("ro,nosuid")), Bad, "mode B"),
                (&format!("{DOCKER}{MAPPED}{all}{writable}"), Ok, "mode C"),
                (&format!("{DOCKER}{MAPPED}{all}{masked}"), Bad, "/proc/kcore"),
                (&format!("{DOCKER}{OWN}{}{writable}", status(1000, "0")), Ok, "mode C"),
                (&format!("{DOCKER}{OWN}{usual}{}", groups("ro")), Bad, "mode D"),
                (&format!("{DOCKER}{OWN}{writable}"), Unknown, "/proc/self/status"),
            ],
        );
    }

    #[test]
    fn each_engine_is_told_its_line() {
        let bare = format!("{DOCKER}{OWN}{}{}", status(0, "00000000a80425fb"), groups("ro"));
        let remedy = command("container", &bare);
        for line in
            ["--cap-add SYS_ADMIN", "--cgroupns=host", "--systemd=always", "capabilities.add: [SYS_ADMIN]"]
        {
            assert!(remedy.contains(line), "{line}: {remedy}");
        }
        assert!(!remedy.contains("on the host, not in this container"), "{remedy}");
    }
}
