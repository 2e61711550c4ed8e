//! Second opinions of the reference clock on time verdicts that CPU time leaves open.

use crate::{Charge, Clock, Nanos};
use serde::{Deserialize, Serialize};

/// Results that the reference clock also judges. Its verdict is final. `open`: results that the settle rule leaves open, and passes
/// that only some of the runs support. `grey`: all results that one run did not decide. `never`: none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum SecondOpinions {
    /// None.
    Never,
    /// Results that the settle rule leaves open, and passes that only some of the runs support: at its usual time such a program might
    /// exceed the limit.
    #[default]
    Open,
    /// All results that one run did not decide.
    Grey,
}

impl SecondOpinions {
    /// All, as users name them.
    pub const ALL: [SecondOpinions; 3] = [SecondOpinions::Open, SecondOpinions::Grey, SecondOpinions::Never];

    /// As users name it.
    pub fn name(self) -> &'static str {
        match self {
            SecondOpinions::Never => "never",
            SecondOpinions::Open => "open",
            SecondOpinions::Grey => "grey",
        }
    }
}

/// Second opinion on a test, by the reference clock: `{"clock": "reference", "ns": 1, "limit_ns": 2, "passes": true}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct SecondOpinion {
    /// Clock: `reference`.
    pub clock: Clock,
    /// Minimum time of the runs. A run far above the limit is stopped; then this is its time until that moment.
    #[serde(rename = "ns")]
    pub time: Nanos,
    /// Limit.
    #[serde(rename = "limit_ns")]
    pub limit: Nanos,
    /// Whether the time is within the limit.
    pub passes: bool,
}

impl SecondOpinion {
    /// The time, with its clock.
    pub fn charge(&self) -> Charge {
        Charge::for_time(self.clock, self.time)
    }

    /// The limit, with its clock.
    pub fn limit(&self) -> Charge {
        Charge::for_time(self.clock, self.limit)
    }

    /// Time over limit.
    pub fn of_limit(&self) -> f64 {
        self.time.0 as f64 / self.limit.0.max(1) as f64
    }
}

/// Ratio of reference time to CPU time, from a jury submission that must pass. The limits of its language are multiplied by it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ReferenceScale {
    /// Id of the language that it applies to.
    pub language: String,
    /// The jury submission: one in that language if there is one, otherwise the slowest of all.
    pub submission: String,
    /// Slowest test of that submission.
    pub test: String,
    /// Minimum CPU time of several runs of that test.
    #[serde(rename = "cpu_ns")]
    pub cpu: Nanos,
    /// Reference time of that test.
    #[serde(rename = "reference_ns")]
    pub reference: Nanos,
    /// What counted it, with its version. Another version gives another scale.
    pub counted_by: String,
}

impl ReferenceScale {
    /// What a limit of CPU time is in reference time.
    pub fn limit(&self, limit: Nanos) -> Nanos {
        let scaled = u128::from(limit.0) * u128::from(self.reference.0) / u128::from(self.cpu.0.max(1));
        Nanos(u64::try_from(scaled).unwrap_or(u64::MAX))
    }
}

/// Scales of a package, from its jury submissions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct InferredScales {
    /// One scale for each language that has a jury submission which must pass and takes long enough.
    pub scales: Vec<ReferenceScale>,
    /// Languages without a scale, and why.
    pub warnings: Vec<String>,
}

impl InferredScales {
    /// The scale for a language: its own, else that of the slowest program, whichever language that is in.
    pub fn for_language<'a>(
        scales: impl IntoIterator<Item = &'a ReferenceScale>,
        language: &str,
    ) -> Option<&'a ReferenceScale> {
        scales.into_iter().max_by_key(|scale| (scale.language == language, scale.cpu))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wire_form_is_the_published_one() {
        let opinion =
            SecondOpinion { clock: Clock::Reference, time: Nanos(5), limit: Nanos(7), passes: true };
        let written = serde_json::to_string(&opinion).unwrap();
        assert_eq!(written, r#"{"clock":"reference","ns":5,"limit_ns":7,"passes":true}"#);
        assert_eq!(serde_json::from_str::<SecondOpinion>(&written).unwrap(), opinion);
        for opinions in SecondOpinions::ALL {
            assert_eq!(serde_json::to_value(opinions).unwrap(), opinions.name());
        }
    }

    #[test]
    fn limits_scale_as_the_jurys_program_does() {
        let scale = ReferenceScale {
            language: "c".into(),
            submission: "submissions/accepted/a.c".into(),
            test: "secret/1".into(),
            cpu: Nanos::from_millis(400),
            reference: Nanos::from_millis(300),
            counted_by: "x".into(),
        };
        assert_eq!(scale.limit(Nanos::from_secs(2)), Nanos::from_millis(1500));
        assert_eq!(scale.limit(Nanos(u64::MAX)), Nanos(13_835_058_055_282_163_711));
        let nothing = ReferenceScale { cpu: Nanos::ZERO, ..scale.clone() };
        assert_eq!(nothing.limit(Nanos(u64::MAX)), Nanos(u64::MAX));
        let python = ReferenceScale { language: "python3".into(), cpu: Nanos::from_secs(1), ..scale.clone() };
        let all = [scale, python];
        for (language, of) in [("c", "c"), ("python3", "python3"), ("java", "python3")] {
            assert_eq!(InferredScales::for_language(&all, language).unwrap().language, of);
        }
        assert_eq!(InferredScales::for_language([], "c"), None);
    }
}
