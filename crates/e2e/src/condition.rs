//! Conditions on the fields of the JSON document of a run: `time.cpu_ns <= 1.5*cpu-time`.

use serde_json::Value;

/// What a field is compared with.
#[derive(Clone, Debug, PartialEq)]
enum Bound {
    /// JSON's null.
    Null,
    /// A plain number.
    Number(f64),
    /// A multiple of a limit of the same run, in nanoseconds or bytes: times are only ever compared with limits.
    Limit(f64, String),
    /// The first argument of the program, as a number.
    Argument,
}

/// One condition.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    text: String,
    field: String,
    operator: String,
    bound: Bound,
}

/// The run a condition is about: its options and its first argument.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// Names and values of the options, names with their dashes.
    pub options: &'a [(String, String)],
    /// The first argument of the program.
    pub argument: Option<&'a str>,
    /// A reading that could not be taken is no failure.
    pub unknown_is_fine: bool,
}

/// The value of a limit option in the unit of the JSON fields: seconds in nanoseconds, sizes in bytes
/// (suffixes K, M and G are binary), counts as they are.
pub fn limit_value(name: &str, text: &str) -> Option<f64> {
    if name.ends_with("-time") {
        return text.parse::<f64>().ok().map(|seconds| seconds * 1e9);
    }
    let digits = text.trim_end_matches(['K', 'M', 'G']);
    let scale = match &text[digits.len()..] {
        "" => 1.0,
        "K" => 1024.0,
        "M" => 1024.0 * 1024.0,
        "G" => 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    digits.parse::<f64>().ok().map(|number| number * scale)
}

impl Condition {
    /// Reads `FIELD OPERATOR BOUND`; the bound is a number, `null`, `{arg}` or `FACTOR*LIMIT`.
    ///
    /// # Errors
    /// Text of another form, in words.
    pub fn parse(text: &str) -> Result<Condition, String> {
        let [field, operator, bound] = text.split_whitespace().collect::<Vec<_>>()[..] else {
            return Err(format!("condition `{text}` is not of the form FIELD OPERATOR BOUND"));
        };
        if !["<", "<=", ">", ">=", "==", "!="].contains(&operator) {
            return Err(format!("condition `{text}` has an unknown operator `{operator}`"));
        }
        let number =
            |text: &str| text.parse::<f64>().map_err(|_| format!("`{text}` is not a number in `{bound}`"));
        let bound = match bound.split_once('*') {
            _ if bound == "null" => Bound::Null,
            _ if bound == "{arg}" => Bound::Argument,
            Some((factor, limit)) => Bound::Limit(number(factor)?, format!("--{limit}")),
            None => Bound::Number(number(bound)?),
        };
        let [text, field, operator] = [text, field, operator].map(String::from);
        Ok(Condition { text, field, operator, bound })
    }

    /// Whether it holds for a document.
    ///
    /// # Errors
    /// What was found instead, in words.
    pub fn holds(&self, document: &Value, context: Context<'_>) -> Result<(), String> {
        let pointer = format!("/{}", self.field.replace('.', "/"));
        let found = document
            .pointer(&pointer)
            .ok_or_else(|| format!("no field {} (wanted {})", self.field, self.text))?;
        if let Some(why) = found.get("unknown") {
            let bad = format!("{} is unknown: {why} (wanted {})", self.field, self.text);
            return if context.unknown_is_fine { Ok(()) } else { Err(bad) };
        }
        let wanted = match &self.bound {
            Bound::Null => None,
            Bound::Number(number) => Some(*number),
            Bound::Argument => Some(
                context
                    .argument
                    .and_then(|text| text.parse().ok())
                    .ok_or("the first argument is not a number")?,
            ),
            Bound::Limit(factor, name) => {
                let (_, text) = context
                    .options
                    .iter()
                    .find(|(option, _)| option == name)
                    .ok_or_else(|| format!("no option {name} to compare with (wanted {})", self.text))?;
                Some(
                    factor
                        * limit_value(name, text).ok_or_else(|| format!("{name} {text} is not a limit"))?,
                )
            }
        };
        // Sampled memory is seen a little after it has passed a bound.
        let slack = if context.unknown_is_fine && self.field == "memory_peak_bytes" { 2.0 } else { 1.0 };
        let wanted =
            wanted.map(|number| if self.operator.starts_with('<') { number * slack } else { number });
        let good = match (found.as_f64(), wanted) {
            (None, None) => found.is_null() == (self.operator == "=="),
            (Some(_), None) => self.operator == "!=",
            (None, Some(_)) => false,
            (Some(found), Some(wanted)) => match self.operator.as_str() {
                "<" => found < wanted,
                "<=" => found <= wanted,
                ">" => found > wanted,
                ">=" => found >= wanted,
                "==" => found == wanted,
                _ => found != wanted,
            },
        };
        if good { Ok(()) } else { Err(format!("{} is {found} (wanted {})", self.field, self.text)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn holds(text: &str) -> bool {
        let options = [("--cpu-time".to_string(), "0.5".to_string()), ("--memory".into(), "64M".into())];
        let context = Context { options: &options, argument: Some("42"), unknown_is_fine: false };
        let document = json!({"time": {"cpu_ns": 500_000_000u64}, "peak": 67_108_864, "exit_code": 42, "signal": null,
            "output": {"unknown": "no quota"}});
        Condition::parse(text).expect("well formed").holds(&document, context).is_ok()
    }

    #[test]
    fn conditions_compare_fields_with_limits() {
        for good in [
            "time.cpu_ns >= 1*cpu-time",
            "time.cpu_ns <= 1*cpu-time",
            "time.cpu_ns < 1.5*cpu-time",
            "peak == 1*memory",
            "exit_code == {arg}",
            "signal == null",
            "exit_code != null",
            "peak > 1000",
        ] {
            assert!(holds(good), "{good}");
        }
        for bad in [
            "time.cpu_ns > 1*cpu-time",
            "peak != 1*memory",
            "signal == 11",
            "signal != null",
            "exit_code == null",
            "exit_code == 41",
            "absent == 1",
            "output <= 1",
            "peak < 1*stack",
        ] {
            assert!(!holds(bad), "{bad}");
        }
    }

    #[test]
    fn malformed_conditions_are_refused() {
        for bad in ["", "a", "a b", "a = 1", "a == b", "a == x*memory", "a == 1 2"] {
            assert!(Condition::parse(bad).is_err(), "{bad}");
        }
    }
}
