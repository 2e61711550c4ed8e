//! Nodes: the machines that judge, what is known of them, and whether they get work; and what was measured on them over time.

use crate::db::{Row, values};
use crate::{Error, Moment, Result, Store};
use serde_json::Value as Json;

/// Whether a node gets work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeState {
    /// It does.
    Active,
    /// It ends what it has and gets no more.
    Draining,
    /// It has nothing and gets nothing.
    Drained,
}

impl NodeState {
    const ALL: [NodeState; 3] = [NodeState::Active, NodeState::Draining, NodeState::Drained];

    const fn name(self) -> &'static str {
        match self {
            NodeState::Active => "active",
            NodeState::Draining => "draining",
            NodeState::Drained => "drained",
        }
    }

    fn of(name: &str) -> std::result::Result<NodeState, String> {
        let found = NodeState::ALL.into_iter().find(|state| state.name() == name);
        found.ok_or_else(|| format!("`{name}` is no state of a node"))
    }
}

/// A machine that judges.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Node {
    /// Its name; no other node has it.
    pub name: String,
    /// The pool it belongs to.
    pub pool: String,
    /// Whether it gets work.
    pub state: NodeState,
    /// Why it is in this state, where somebody said so.
    pub reason: Option<String>,
    /// What it said of itself the last time.
    pub facts: Json,
    /// When it was first heard of.
    pub first_seen: Moment,
    /// When it was last heard of.
    pub last_seen: Moment,
}

/// Something that was measured on a node.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Sample {
    /// When.
    pub at: Moment,
    /// What.
    pub value: Json,
}

fn node(row: &Row) -> Result<Node> {
    Ok(Node {
        name: row.get("name")?,
        pool: row.get("pool")?,
        state: row.parse("state", NodeState::of)?,
        reason: row.get("reason")?,
        facts: row.json("facts")?,
        first_seen: Moment(row.get("first_seen")?),
        last_seen: Moment(row.get("last_seen")?),
    })
}

fn missing(name: &str) -> Error {
    Error::NotFound(format!("node {name}"))
}

impl Store {
    /// A node was heard of: keeps its pool and what it says of itself, and returns what is known of it. A node that is new is active;
    /// the state of one that is known stays.
    pub async fn note_node(&self, name: &str, pool: &str, facts: &Json, now: Moment) -> Result<Node> {
        let mut tx = self.db.write().await?;
        let row = tx
            .one(
                "INSERT INTO nodes (name, pool, state, facts, first_seen, last_seen)
                 VALUES ($1, $2, 'active', $3, $4, $4)
                 ON CONFLICT (name) DO UPDATE SET pool = excluded.pool, facts = excluded.facts,
                     last_seen = excluded.last_seen
                 RETURNING name, pool, state, reason, facts, first_seen, last_seen",
                values![name, pool, facts.to_string(), now],
            )
            .await?;
        let known = node(&row)?;
        tx.commit().await?;
        Ok(known)
    }

    /// All nodes, by pool and name.
    pub async fn nodes(&self) -> Result<Vec<Node>> {
        let mut tx = self.db.read().await?;
        tx.rows("SELECT * FROM nodes ORDER BY pool, name", []).await?.iter().map(node).collect()
    }

    /// One node.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn node(&self, name: &str) -> Result<Node> {
        let mut tx = self.db.read().await?;
        let row = tx.row("SELECT * FROM nodes WHERE name = $1", values![name]).await?;
        node(&row.ok_or_else(|| missing(name))?)
    }

    /// Says whether a node gets work, and why.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn set_node_state(&self, name: &str, state: NodeState, reason: Option<&str>) -> Result<()> {
        let mut tx = self.db.write().await?;
        let set = "UPDATE nodes SET state = $1, reason = $2 WHERE name = $3";
        if tx.run(set, values![state.name(), reason, name]).await? == 0 {
            return Err(missing(name));
        }
        tx.commit().await
    }

    /// Keeps something that was measured on a node.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn add_sample(&self, node: &str, kind: &str, sample: &Sample) -> Result<()> {
        let mut tx = self.db.write().await?;
        tx.run(
            "INSERT INTO node_samples (node, at, kind, value) VALUES ($1, $2, $3, $4)",
            values![node, sample.at, kind, sample.value.to_string()],
        )
        .await
        .map_err(|e| e.in_words(|| format!("a sample of node {node}"), || format!("node {node}")))?;
        tx.commit().await
    }

    /// What was measured on a node, of one kind, at `since` or later, newest first; at most so many.
    pub async fn samples(&self, node: &str, kind: &str, since: Moment, limit: u32) -> Result<Vec<Sample>> {
        let mut tx = self.db.read().await?;
        let rows = tx
            .rows(
                "SELECT at, value FROM node_samples WHERE node = $1 AND kind = $2 AND at >= $3
                 ORDER BY at DESC, id DESC LIMIT $4",
                values![node, kind, since, limit],
            )
            .await?;
        let sample = |row: &Row| Ok(Sample { at: Moment(row.get("at")?), value: row.json("value")? });
        rows.iter().map(sample).collect()
    }
}
