//! Names in the message system: streams, buckets, subjects.

use super::WorkerId;
use crate::is_name;

/// The stream of tickets.
pub const JOBS: &str = "TAUTO_JOBS";
/// The bucket of workers that are there.
pub const WORKERS: &str = "tauto_workers";
/// The bucket that says whose cluster it is.
pub const SERVICE: &str = "tauto_service";
/// The object store of problem packages, by hash.
pub const PACKAGES: &str = "tauto_packages";
/// The object store of what is too large for a message, by hash.
pub const BODIES: &str = "tauto_bodies";
/// The group of servers of which one answers each question.
pub const SERVERS: &str = "servers";
/// All subjects of tickets.
pub const ALL_TICKETS: &str = "tauto.jobs.*";
/// All subjects of questions.
pub const ALL_QUESTIONS: &str = "tauto.ask.*.*.*";
/// All subjects of news of submissions.
pub const ALL_NEWS: &str = "tauto.live.*";

/// Characters of a node's name.
const MOST: usize = 63;

/// Where tickets for a pool are published.
pub fn tickets(pool: &str) -> String {
    format!("tauto.jobs.{pool}")
}

/// The consumer by which the nodes of a pool get tickets.
pub fn consumer(pool: &str) -> String {
    format!("pool_{pool}")
}

/// Where a worker asks.
pub fn questions(from: &WorkerId) -> String {
    format!("tauto.ask.{}.{}.{}", from.pool, from.node, from.slot)
}

/// Who asks on a subject; `None`: it is not one of questions.
pub fn asker(subject: &str) -> Option<WorkerId> {
    let parts: Vec<&str> = subject.split('.').collect();
    let ["tauto", "ask", pool, node, slot] = parts[..] else { return None };
    let slot = slot.parse().ok()?;
    (is_name(pool) && is_node(node)).then(|| WorkerId { pool: pool.into(), node: node.into(), slot })
}

/// Where news of a submission are told.
pub fn news(submission: i64) -> String {
    format!("tauto.live.{submission}")
}

/// Which submission a subject is about.
pub fn submission(subject: &str) -> Option<i64> {
    subject.strip_prefix("tauto.live.")?.parse().ok()
}

/// The key of a worker that is there.
pub fn presence(from: &WorkerId) -> String {
    format!("{}.{}.{}", from.pool, from.node, from.slot)
}

/// Whether a node may be called so: 1 to 63 of a–z, A–Z, 0–9, `-` and `_`, since it becomes part of a subject.
pub fn is_node(name: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    (1..=MOST).contains(&name.len()) && name.bytes().all(letter)
}

/// A node's name from a host's: what cannot be in a subject becomes `_`.
pub fn node_of_host(host: &str) -> String {
    let usable = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let name: String = host.chars().map(usable).take(MOST).collect();
    if name.is_empty() { "node".into() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_say_who_asks() {
        let from = WorkerId { pool: "metal".into(), node: "n-1_a".into(), slot: 3 };
        assert_eq!(asker(&questions(&from)), Some(from.clone()));
        assert_eq!(presence(&from), "metal.n-1_a.3");
        for wrong in [
            "tauto.ask.metal.n.x",
            "tauto.ask.metal.n",
            "tauto.ask.metal.n.1.2",
            "tauto.ask.METAL.n.1",
            "tauto.ask.metal.a b.1",
            "tauto.jobs.metal",
        ] {
            assert_eq!(asker(wrong), None, "{wrong}");
        }
        assert_eq!(submission(&news(42)), Some(42));
        assert_eq!(submission("tauto.live.x"), None);
    }

    #[test]
    fn hosts_become_nodes() {
        for (host, node) in [("judge1.example.org", "judge1_example_org"), ("a", "a"), ("", "node")] {
            assert_eq!(node_of_host(host), node);
            assert!(is_node(node));
        }
        assert!(is_node(&node_of_host(&"ü".repeat(200))));
        assert!(!is_node("a.b") && !is_node("") && !is_node("a>"));
    }
}
