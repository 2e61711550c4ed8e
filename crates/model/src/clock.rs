//! The clocks, and charges in their units.

use crate::{Limits, Nanos, Observation, Reading, grouped};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Clock of a time limit. `cpu`: CPU time. `instructions`: instructions in user space; 1,000,000,000 stand for a second. `reference`:
/// time on the reference machine. The last two are equal on every machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// CPU time of the process tree: user plus system, as measured by the kernel.
    #[default]
    Cpu,
    /// Instructions of the process tree in user space. 1,000,000,000 stand for a second.
    Instructions,
    /// Time on the reference machine.
    Reference,
}

impl Clock {
    /// All clocks.
    pub const ALL: [Clock; 3] = [Clock::Cpu, Clock::Instructions, Clock::Reference];

    /// Its name on the command line and on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Clock::Cpu => "cpu",
            Clock::Instructions => "instructions",
            Clock::Reference => "reference",
        }
    }

    /// What it counts, in words.
    pub fn label(self) -> &'static str {
        match self {
            Clock::Cpu => "CPU time",
            Clock::Instructions => "instruction count",
            Clock::Reference => "reference time",
        }
    }

    /// The unit of its charges.
    pub fn unit(self) -> &'static str {
        match self {
            Clock::Cpu | Clock::Reference => "ns",
            Clock::Instructions => "instructions",
        }
    }

    /// The unit in which charges up to this one are readable in a table or at an axis, and how many of the clock's own it has.
    pub fn scale(self, most: u64) -> (&'static str, f64) {
        let units = match self {
            Clock::Cpu | Clock::Reference => ["µs", "ms", "s"],
            Clock::Instructions => ["thousand", "million", "thousand million"],
        };
        match most {
            0..1_000_000 => (units[0], 1e3),
            1_000_000..10_000_000_000 => (units[1], 1e6),
            _ => (units[2], 1e9),
        }
    }

    /// Whether its charges are times.
    pub fn is_time(self) -> bool {
        self.unit() == "ns"
    }

    /// Whether its charges vary from run to run, so that disturbances can add to them. Those of a counting clock do not.
    pub fn varies(self) -> bool {
        self == Clock::Cpu
    }
}

/// What counts of a run or a test, by the clock that is in force. What was seen is in [`Observation`].
///
/// Charges are compared with those of the same clock. On the wire: `{"clock": "instructions", "unit": "instructions", "amount": 118}`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "Wire")]
pub struct Charge {
    /// Clock.
    pub clock: Clock,
    /// How much, in the clock's unit ([`Clock::unit`]).
    pub amount: u64,
}

/// An amount by a clock. The unit follows from the clock.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = Charge))]
struct Wire {
    /// Clock.
    clock: Clock,
    /// Unit: `ns` or `instructions`.
    unit: &'static str,
    /// Amount in that unit.
    amount: u64,
}

impl From<Charge> for Wire {
    fn from(Charge { clock, amount }: Charge) -> Wire {
        Wire { clock, unit: clock.unit(), amount }
    }
}

#[cfg(feature = "schema")]
mod schema {
    use super::{Charge, Wire};
    use utoipa::openapi::{RefOr, Schema};
    use utoipa::{PartialSchema, ToSchema};

    impl PartialSchema for Charge {
        fn schema() -> RefOr<Schema> {
            Wire::schema()
        }
    }

    impl ToSchema for Charge {
        fn name() -> std::borrow::Cow<'static, str> {
            Wire::name()
        }

        fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
            Wire::schemas(schemas);
        }
    }
}

impl Charge {
    /// CPU time.
    pub fn cpu(time: Nanos) -> Charge {
        Charge::for_time(Clock::Cpu, time)
    }

    /// The charge that a time limit stands for under `clock`: 1 000 000 000 instructions count as a second.
    pub fn for_time(clock: Clock, time: Nanos) -> Charge {
        Charge { clock, amount: time.0 }
    }

    /// The time it stands for: the inverse of [`Charge::for_time`].
    pub fn as_time(self) -> Nanos {
        Nanos(self.amount)
    }

    /// The charge of a run by `clock`; unknown if that clock was not read.
    pub fn measured(clock: Clock, run: &Observation) -> Reading<Charge> {
        let amount = match clock {
            Clock::Cpu => Reading::Known(run.time.cpu.0),
            Clock::Instructions => run.instructions.clone(),
            Clock::Reference => run.reference.clone().map(|time| time.0),
        };
        amount.map(|amount| Charge { clock, amount })
    }

    /// The most that `clock` may charge under these limits.
    pub fn limit(clock: Clock, limits: &Limits) -> Option<Charge> {
        let amount = match clock {
            Clock::Cpu => limits.cpu.map(|time| time.0),
            Clock::Instructions => limits.instructions,
            Clock::Reference => limits.reference.map(|time| time.0),
        };
        amount.map(|amount| Charge { clock, amount })
    }

    /// The limits with this charge as the most of its clock.
    pub fn limiting(self, limits: Limits) -> Limits {
        let time = Some(self.as_time());
        match self.clock {
            Clock::Cpu => Limits { cpu: time, ..limits },
            Clock::Instructions => Limits { instructions: Some(self.amount), ..limits },
            Clock::Reference => Limits { reference: time, ..limits },
        }
    }
}

/// For people, with its unit: `12.3 ms`, `12.35 M instr.`; `{:#}` has digits enough to tell runs apart.
impl fmt::Display for Charge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&match (self.clock, self.amount) {
            (Clock::Cpu | Clock::Reference, _) if f.alternate() => format!("{:#}", self.as_time()),
            (Clock::Cpu | Clock::Reference, _) => self.as_time().to_string(),
            (Clock::Instructions, n) if f.alternate() => format!("{} instr.", grouped(n)),
            (Clock::Instructions, n @ 0..1_000_000) => format!("{n} instr."),
            (Clock::Instructions, n @ 1_000_000..1_000_000_000) => format!("{:.2} M instr.", n as f64 / 1e6),
            (Clock::Instructions, n) => format!("{:.3} G instr.", n as f64 / 1e9),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Exit;

    fn charge(clock: Clock, amount: u64) -> Charge {
        Charge { clock, amount }
    }

    #[test]
    fn each_clock_charges_its_own_reading() {
        let mut run = Observation::unread(Exit::Code(0), Nanos(7), "not read");
        let of = |run: &Observation| {
            Clock::ALL.map(|clock| Charge::measured(clock, run).known().map(|c| c.amount))
        };
        assert_eq!(of(&run), [Some(7), None, None]);
        (run.instructions, run.reference) = (Reading::Known(8), Reading::Known(Nanos(9)));
        assert_eq!(of(&run), [Some(7), Some(8), Some(9)]);
    }

    #[test]
    fn each_clock_has_a_limit_of_its_own() {
        for clock in Clock::ALL {
            let limits = charge(clock, 5).limiting(Limits::default());
            let found = Clock::ALL.map(|other| Charge::limit(other, &limits));
            let expected = Clock::ALL.map(|other| (other == clock).then_some(charge(clock, 5)));
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_charge_tells_its_unit() {
        let shown = [
            (charge(Clock::Cpu, 12_345_678), "12.3 ms"),
            (charge(Clock::Reference, 12_345_678), "12.3 ms"),
            (charge(Clock::Instructions, 999_999), "999999 instr."),
            (charge(Clock::Instructions, 12_345_678), "12.35 M instr."),
            (charge(Clock::Instructions, 2_000_000_000), "2.000 G instr."),
        ];
        for (charge, text) in shown {
            assert_eq!(charge.to_string(), text);
        }
        let exact = [Clock::Cpu, Clock::Instructions].map(|clock| format!("{:#}", charge(clock, 12_345_678)));
        assert_eq!(exact, ["12.35 ms", "12\u{202f}345\u{202f}678 instr."]);
        let written = serde_json::to_string(&charge(Clock::Instructions, 118)).unwrap();
        assert_eq!(written, r#"{"clock":"instructions","unit":"instructions","amount":118}"#);
        assert_eq!(serde_json::from_str::<Charge>(&written).unwrap(), charge(Clock::Instructions, 118));
    }
}
