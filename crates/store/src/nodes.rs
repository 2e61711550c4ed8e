//! Nodes: the machines that judge, what is known of them, and whether they get work; and what was measured on them over time.

use crate::db::{Row, values};
use crate::{Error, Result, Store, Timestamp, facts};
use model::NodeFacts;
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

    fn from_name(name: &str) -> std::result::Result<NodeState, String> {
        let found = NodeState::ALL.into_iter().find(|state| state.name() == name);
        found.ok_or_else(|| format!("`{name}` is not a state of a node"))
    }
}

/// A machine that judges.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Node {
    /// Its name; no other node has it.
    pub name: String,
    /// The pool it belongs to.
    pub pool: String,
    /// Whether it gets work, once it is admitted.
    pub state: NodeState,
    /// Why it is in this state, where somebody said so.
    pub reason: Option<String>,
    /// When it was first heard of.
    pub first_seen: Timestamp,
    /// When it was last heard of.
    pub last_seen: Timestamp,
    /// Why it is not admitted, as a list, which is empty until somebody has looked at it; `None`: it is admitted.
    pub waits: Option<Json>,
    /// What it stated of itself and its index, the last time.
    pub statement: Option<Json>,
    /// What it had stated when it was admitted.
    pub admitted: Option<Json>,
    /// What its tests have come to.
    pub health: Option<Json>,
    /// How often something of all this was changed but for `last_seen`.
    pub revision: u64,
    /// Since when what it judged is doubted.
    pub doubted_since: Option<Timestamp>,
}

impl Node {
    /// Whether it gets work.
    pub fn gets_work(&self) -> bool {
        self.state == NodeState::Active && self.waits.is_none()
    }
}

/// What a node is to be from now on.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeChange {
    /// Whether it gets work, once it is admitted.
    pub state: NodeState,
    /// Why.
    pub reason: Option<String>,
    /// Why it is not admitted; `None`: it is.
    pub waits: Option<Json>,
    /// What it had stated when it was admitted.
    pub admitted: Option<Json>,
    /// What its tests have come to.
    pub health: Option<Json>,
    /// Since when what it judged is doubted.
    pub doubted_since: Option<Timestamp>,
    /// What is to be told of this: a short name of its kind, words, and who did it where somebody did.
    pub event: Option<(String, String, Option<String>)>,
}

/// Columns of a [`Node`]. What it says of itself at length is read only where it is needed.
macro_rules! columns {
    () => {
        "name, pool, state, reason, first_seen, last_seen, waits, statement, admitted, health, revision, doubted_since"
    };
}

fn with_facts(row: &Row) -> Result<(Node, NodeFacts)> {
    Ok((node(row)?, row.parse("facts", facts::read)?))
}

impl NodeChange {
    /// No change.
    pub fn none(node: &Node) -> NodeChange {
        let Node { state, reason, waits, admitted, health, doubted_since, .. } = node.clone();
        NodeChange { state, reason, waits, admitted, health, doubted_since, event: None }
    }
}

/// Something that happened to a node.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct NodeEvent {
    /// When.
    pub at: Timestamp,
    /// A short name.
    pub kind: String,
    /// In words.
    pub text: String,
    /// Who did it, where somebody did.
    pub by: Option<String>,
}

/// Something that was measured on a node.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Sample {
    /// When.
    pub at: Timestamp,
    /// What.
    pub value: Json,
}

fn node(row: &Row) -> Result<Node> {
    let document = |name: &str| {
        let there = row.get::<Option<String>>(name)?.is_some();
        there.then(|| row.json(name)).transpose()
    };
    Ok(Node {
        name: row.get("name")?,
        pool: row.get("pool")?,
        state: row.parse("state", NodeState::from_name)?,
        reason: row.get("reason")?,
        first_seen: Timestamp(row.get("first_seen")?),
        last_seen: Timestamp(row.get("last_seen")?),
        waits: document("waits")?,
        statement: document("statement")?,
        admitted: document("admitted")?,
        health: document("health")?,
        revision: row.count("revision")?,
        doubted_since: row.get::<Option<i64>>("doubted_since")?.map(Timestamp),
    })
}

fn missing(name: &str) -> Error {
    Error::NotFound(format!("node {name}"))
}

impl Store {
    /// A node was heard of: keeps its pool and what it says of itself, and returns what is known of it. A node that is new is active;
    /// the state of one that is known stays.
    pub async fn note_node(&self, name: &str, pool: &str, facts: &NodeFacts, now: Timestamp) -> Result<Node> {
        let facts =
            facts::written(facts).map_err(|e| Error::Conflict(format!("facts of node {name}: {e}")))?;
        let mut tx = self.db.write().await?;
        let row = tx
            .one(
                "INSERT INTO nodes (name, pool, state, facts, first_seen, last_seen)
                 VALUES ($1, $2, 'active', $3, $4, $4)
                 ON CONFLICT (name) DO UPDATE SET pool = excluded.pool, facts = excluded.facts,
                     last_seen = excluded.last_seen,
                     revision = nodes.revision + CASE WHEN nodes.pool = excluded.pool THEN 0 ELSE 1 END
                 RETURNING *",
                values![name, pool, facts, now],
            )
            .await?;
        let known = node(&row)?;
        tx.commit().await?;
        Ok(known)
    }

    /// A node stated what it is: keeps its pool and the statement, and returns what is known of it. A node that is new, or comes for another
    /// pool than before, waits until somebody has looked at it; whether one that is known waits stays.
    pub async fn state_node(&self, name: &str, pool: &str, statement: &Json, now: Timestamp) -> Result<Node> {
        let mut tx = self.db.write().await?;
        let row = tx
            .one(
                "INSERT INTO nodes (name, pool, state, facts, first_seen, last_seen, waits, statement)
                 VALUES ($1, $2, 'active', '{}', $4, $4, '[]', $3)
                 ON CONFLICT (name) DO UPDATE SET pool = excluded.pool, statement = excluded.statement,
                     last_seen = excluded.last_seen,
                     waits = CASE WHEN nodes.pool = excluded.pool THEN nodes.waits ELSE excluded.waits END,
                     admitted = CASE WHEN nodes.pool = excluded.pool THEN nodes.admitted ELSE NULL END,
                     revision = nodes.revision + CASE WHEN nodes.pool = excluded.pool AND
                         COALESCE(nodes.statement, '') = excluded.statement THEN 0 ELSE 1 END
                 RETURNING *",
                values![name, pool, statement.to_string(), now],
            )
            .await?;
        let known = node(&row)?;
        tx.commit().await?;
        Ok(known)
    }

    /// Changes a node that was read before, and keeps the event; whether it did. `false`: somebody else has changed it since it was read; read it
    /// again, and decide again.
    pub async fn change_node(&self, read: &Node, change: &NodeChange, now: Timestamp) -> Result<bool> {
        let text = |document: &Option<Json>| document.as_ref().map(Json::to_string);
        let mut tx = self.db.write().await?;
        let changed = tx
            .run(
                "UPDATE nodes SET state = $3, reason = $4, waits = $5, admitted = $6, health = $7, doubted_since = $8,
                 revision = revision + 1 WHERE name = $1 AND revision = $2",
                values![
                    read.name.as_str(),
                    read.revision,
                    change.state.name(),
                    change.reason.as_deref(),
                    text(&change.waits),
                    text(&change.admitted),
                    text(&change.health),
                    change.doubted_since
                ],
            )
            .await?;
        if changed == 0 {
            return Ok(false);
        }
        if let Some((kind, text, by)) = &change.event {
            tx.run(
                "INSERT INTO node_events (node, at, kind, text, by_whom) VALUES ($1, $2, $3, $4, $5)",
                values![read.name.as_str(), now, kind.as_str(), text.as_str(), by.as_deref()],
            )
            .await?;
        }
        tx.commit().await?;
        Ok(true)
    }

    /// What happened to a node, newest first; at most so many.
    pub async fn node_events(&self, node: &str, limit: u32) -> Result<Vec<NodeEvent>> {
        let mut tx = self.db.read().await?;
        let events =
            "SELECT at, kind, text, by_whom FROM node_events WHERE node = $1 ORDER BY id DESC LIMIT $2";
        let rows = tx.rows(events, values![node, limit]).await?;
        let event = |row: &Row| {
            Ok(NodeEvent {
                at: Timestamp(row.get("at")?),
                kind: row.get("kind")?,
                text: row.get("text")?,
                by: row.get("by_whom")?,
            })
        };
        rows.iter().map(event).collect()
    }

    /// All nodes, by pool and name, with what each said of itself the last time.
    pub async fn nodes_with_facts(&self) -> Result<Vec<(Node, NodeFacts)>> {
        let mut tx = self.db.read().await?;
        tx.rows("SELECT * FROM nodes ORDER BY pool, name", []).await?.iter().map(with_facts).collect()
    }

    /// The nodes that get work, each with its pool.
    pub async fn working_nodes(&self) -> Result<Vec<(String, String)>> {
        let mut tx = self.db.read().await?;
        let working =
            "SELECT name, pool FROM nodes WHERE state = 'active' AND waits IS NULL ORDER BY pool, name";
        let rows = tx.rows(working, []).await?;
        rows.iter().map(|row| Ok((row.get("name")?, row.get("pool")?))).collect()
    }

    /// All nodes, by pool and name.
    pub async fn nodes(&self) -> Result<Vec<Node>> {
        let mut tx = self.db.read().await?;
        let nodes = concat!("SELECT ", columns!(), " FROM nodes ORDER BY pool, name");
        tx.rows(nodes, []).await?.iter().map(node).collect()
    }

    /// One node.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn node(&self, name: &str) -> Result<Node> {
        let mut tx = self.db.read().await?;
        let one = concat!("SELECT ", columns!(), " FROM nodes WHERE name = $1");
        let row = tx.row(one, values![name]).await?;
        node(&row.ok_or_else(|| missing(name))?)
    }

    /// One node, with what it said of itself the last time.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn node_with_facts(&self, name: &str) -> Result<(Node, NodeFacts)> {
        let mut tx = self.db.read().await?;
        let row = tx.row("SELECT * FROM nodes WHERE name = $1", values![name]).await?;
        with_facts(&row.ok_or_else(|| missing(name))?)
    }

    /// Says whether a node gets work, and why.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn set_node_state(&self, name: &str, state: NodeState, reason: Option<&str>) -> Result<()> {
        let mut tx = self.db.write().await?;
        let set = "UPDATE nodes SET state = $1, reason = $2, revision = revision + 1 WHERE name = $3";
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
    pub async fn samples(&self, node: &str, kind: &str, since: Timestamp, limit: u32) -> Result<Vec<Sample>> {
        let mut tx = self.db.read().await?;
        let rows = tx
            .rows(
                "SELECT at, value FROM node_samples WHERE node = $1 AND kind = $2 AND at >= $3
                 ORDER BY at DESC, id DESC LIMIT $4",
                values![node, kind, since, limit],
            )
            .await?;
        let sample = |row: &Row| Ok(Sample { at: Timestamp(row.get("at")?), value: row.json("value")? });
        rows.iter().map(sample).collect()
    }
}
