//! Second opinions of the reference clock on time verdicts that CPU time leaves open.

use crate::{Charge, Clock, Nanos};
use serde::{Deserialize, Serialize};

/// Which results the reference clock judges as well. Its verdict is final.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum SecondOpinions {
    /// None.
    Never,
    /// Those the settle rule leaves open, and passes that came of some runs alone: at its usual time the program might not keep the limit.
    #[default]
    Open,
    /// All that one run did not decide.
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

/// What a test came to by the second clock. On the wire: `{"clock": "reference", "ns": 1, "limit_ns": 2, "passes": true}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct SecondOpinion {
    /// The clock: `reference`.
    pub clock: Clock,
    /// The least time of its runs. A run that is far above the limit is stopped, and has taken so much until then.
    #[serde(rename = "ns")]
    pub time: Nanos,
    /// The most that it may be.
    #[serde(rename = "limit_ns")]
    pub limit: Nanos,
    /// It is not more.
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

/// What CPU time is in reference time, by a jury program that must pass: what limits of its language are multiplied by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ReferenceScale {
    /// Id of the language whose limits it is for.
    pub language: String,
    /// The jury program: of that language where there is one, else the slowest of all.
    pub submission: String,
    /// Its slowest test.
    pub test: String,
    /// The least CPU time of several runs of it there.
    #[serde(rename = "cpu_ns")]
    pub cpu: Nanos,
    /// Its reference time there.
    #[serde(rename = "reference_ns")]
    pub reference: Nanos,
    /// What counted it, and in which version. By another version the scale is another.
    pub counted_by: String,
}

impl ReferenceScale {
    /// What a limit of CPU time is in reference time.
    pub fn limit(&self, limit: Nanos) -> Nanos {
        let scaled = u128::from(limit.0) * u128::from(self.reference.0) / u128::from(self.cpu.0.max(1));
        Nanos(u64::try_from(scaled).unwrap_or(u64::MAX))
    }
}

/// The scales of a package, as they were found with its jury's programs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct InferredScales {
    /// One for each language in which the jury has a program that must pass and takes long enough.
    pub scales: Vec<ReferenceScale>,
    /// What is to be known of them: languages without a scale, and why.
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
