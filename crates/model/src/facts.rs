//! What a node reports about itself: sent by the worker, stored, and served by the API.

use crate::{Audit, HostLanguage, HostLanguages, Index, MeasuredSlots, Reading, Tuning};
use crate::{not_told, told};
use serde::{Deserialize, Serialize};

/// The parts, each with what makes it tolerant of other versions: said once.
macro_rules! node_facts {
    ($($(#[$what:meta])+ $part:ident: $type:ty,)+) => {
        /// Facts that a node last reported. Each document has the form that the command of its name prints with `--json`. A part that is
        /// missing or cannot be read, for example because another version of tauto wrote it, is unknown.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
        pub struct NodeFacts {
            $(
                $(#[$what])+
                #[serde(default = "not_told", deserialize_with = "told")]
                #[cfg_attr(feature = "schema", schema(required = true))]
                pub $part: Reading<$type>,
            )+
        }

        impl NodeFacts {
            /// Of which nothing is known, for this reason.
            pub fn unknown(why: &str) -> NodeFacts {
                NodeFacts { $($part: Reading::unknown(why.to_owned()),)+ }
            }
        }
    };
}

node_facts! {
    /// Version of tauto on the node.
    version: String,
    /// Languages.
    languages: HostLanguages,
    /// Slots.
    slots: MeasuredSlots,
    /// Audit of its sources of timing noise.
    audit: Audit,
    /// Changes of its settings against timing noise.
    tuning: Tuning,
    /// Newest power index.
    index: Index,
    /// Fingerprint: 16 hexadecimal digits. Equal machines have equal fingerprints.
    fingerprint: String,
    /// Release of the kernel.
    kernel: String,
    /// Memory size in bytes.
    memory_bytes: u64,
}

impl NodeFacts {
    /// Its languages; none where it did not tell them.
    pub fn languages(&self) -> &[HostLanguage] {
        self.languages.known().map_or(&[][..], |all| &all.languages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::IndexPart;
    use serde_json::{Value, json};

    /// As a worker told them before they had a type.
    fn older() -> Value {
        serde_json::from_str(include_str!("../../store/tests/forms/facts-1.json")).unwrap()
    }

    fn read(told: &Value) -> NodeFacts {
        serde_json::from_value(told.clone()).unwrap()
    }

    #[test]
    fn an_older_worker_is_understood() {
        let whole = read(&older());
        assert_eq!(serde_json::to_value(&whole).unwrap(), older(), "every part is read, and nothing is lost");
        let mut bare = older();
        for part in ["index", "slots", "audit", "tuning", "fingerprint", "kernel", "memory_bytes"] {
            bare[part] = Value::Null;
        }
        bare.as_object_mut().unwrap().remove("version");
        let expected = NodeFacts { languages: whole.languages, ..NodeFacts::unknown("not reported") };
        assert_eq!(read(&bare), expected);
        assert_eq!(read(&json!({})), NodeFacts::unknown("not reported"));
    }

    #[test]
    fn a_newer_worker_is_understood() {
        let mut newer = older();
        let more = json!({"unknown to us": [1, {"deep": null}]});
        newer["weather"] = more.clone();
        for place in [
            "/languages",
            "/languages/languages/0",
            "/languages/languages/0/tools/0",
            "/slots",
            "/slots/slots/0",
            "/slots/slots/0/noise_floor",
            "/audit",
            "/audit/machine",
            "/audit/findings/0",
            "/audit/findings/3/remedy",
            "/tuning",
            "/tuning/changes/0",
            "/index",
            "/index/armour",
            "/index/rounds_per_second",
            "/index/parts/l1_ns",
        ] {
            let at = newer.pointer_mut(place).and_then(Value::as_object_mut);
            at.unwrap_or_else(|| panic!("{place} is not an object")).insert("more".into(), more.clone());
        }
        newer["index"]["parts"]["warp_ns"] = newer["index"]["parts"]["l1_ns"].clone();
        assert_eq!(read(&newer), read(&older()));
        let index = read(&newer).index.known().unwrap().clone();
        assert_eq!(index.figures().map(|(part, _)| part).collect::<Vec<_>>(), IndexPart::ALL);
    }

    #[test]
    fn what_cannot_be_read_is_unknown_and_spoils_nothing_else() {
        let mut strange = older();
        strange["audit"]["findings"][0]["state"] = json!("haunted");
        strange["kernel"] = json!(["6.18"]);
        strange["tuning"] = json!({"unknown": "the journal is root's"});
        let strange = read(&strange);
        let why = "reported in a form that this version does not know";
        assert_eq!((strange.audit, strange.kernel), (Reading::unknown(why), Reading::unknown(why)));
        assert_eq!(strange.tuning, Reading::unknown("the journal is root's"));
        assert_eq!((strange.index, strange.slots), (read(&older()).index, read(&older()).slots));
    }
}
