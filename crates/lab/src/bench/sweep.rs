//! Parameters: one command for each combination of their values.

use std::fmt;

/// Combinations there may be.
const MOST: usize = 10_000;
/// Decimals a step of a range may have.
const DECIMALS: usize = 9;

/// A parameter and its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// What stands in braces in the command.
    pub name: String,
    /// Values, in the order in which they are tried. Not empty.
    pub values: Vec<String>,
}

/// Why parameters cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterError(String);

impl fmt::Display for ParameterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ParameterError {}

fn bad(why: impl Into<String>) -> ParameterError {
    ParameterError(why.into())
}

/// `NAME=V1,V2,…` or `NAME=FROM..TO[:STEP]`, both ends included. What lies around `..` and is no number is a list of values.
///
/// # Errors
/// There is no name or no value, or a range is empty, too long or endless.
pub fn parse_parameter(text: &str) -> Result<Parameter, ParameterError> {
    let (name, values) =
        text.split_once('=').ok_or_else(|| bad("must be NAME=V1,V2 or NAME=FROM..TO:STEP"))?;
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.is_empty() || !name.chars().all(fits) {
        return Err(bad(format!("`{name}` is not a name\nhint: use letters, digits, `_` and `-`")));
    }
    let values = match range(values) {
        Some(values) => values?,
        None => values.split(',').map(String::from).collect(),
    };
    if values.iter().any(String::is_empty) {
        return Err(bad(format!("`{name}` has an empty value")));
    }
    Ok(Parameter { name: name.into(), values })
}

/// A decimal number as a whole one and the decimals it has.
fn decimal(text: &str) -> Option<(i64, usize)> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |s: &str| s.chars().all(|c| c.is_ascii_digit());
    let unsigned = whole.strip_prefix('-').unwrap_or(whole);
    let fits = !unsigned.is_empty() && digits(unsigned) && digits(part) && part.len() <= DECIMALS;
    if !fits || (part.is_empty() && text.contains('.')) {
        return None;
    }
    Some((format!("{whole}{part}").parse().ok()?, part.len()))
}

fn range(text: &str) -> Option<Result<Vec<String>, ParameterError>> {
    let (from, rest) = text.split_once("..")?;
    let (to, step) = rest.split_once(':').unwrap_or((rest, "1"));
    let parts = [decimal(from)?, decimal(to)?, decimal(step)?];
    let decimals = parts.iter().map(|(_, decimals)| *decimals).max().unwrap_or(0);
    let scaled = parts.map(|(n, own)| n.checked_mul(10_i64.pow((decimals - own) as u32)));
    let [Some(from), Some(to), Some(step)] = scaled else {
        return Some(Err(bad(format!("`{text}` has too many digits"))));
    };
    if step <= 0 || from > to {
        return Some(Err(bad(format!("`{text}` must run upwards, by a step above 0"))));
    }
    let count = (i128::from(to) - i128::from(from)) / i128::from(step) + 1;
    if count > MOST as i128 {
        return Some(Err(bad(format!("`{text}` has {count} values; {MOST} are allowed"))));
    }
    Some(Ok((0..count as i64).map(|n| shown(from + n * step, decimals)).collect()))
}

fn shown(scaled: i64, decimals: usize) -> String {
    if decimals == 0 {
        return scaled.to_string();
    }
    let digits = format!("{:0>width$}", scaled.unsigned_abs(), width = decimals + 1);
    let (whole, part) = digits.split_at(digits.len() - decimals);
    format!("{}{whole}.{part}", if scaled < 0 { "-" } else { "" })
}

/// Every combination of values, the last parameter changing fastest; one empty combination where there are no parameters.
///
/// # Errors
/// A name is given twice, or there are too many combinations.
pub fn sweep(parameters: &[Parameter]) -> Result<Vec<Vec<(String, String)>>, ParameterError> {
    let mut all: Vec<Vec<(String, String)>> = vec![vec![]];
    for (n, parameter) in parameters.iter().enumerate() {
        if parameters[..n].iter().any(|other| other.name == parameter.name) {
            return Err(bad(format!("`{}` is given twice", parameter.name)));
        }
        if all.len() * parameter.values.len() > MOST {
            return Err(bad(format!("more than {MOST} combinations")));
        }
        let with = |before: &Vec<(String, String)>| {
            let before = before.clone();
            parameter.values.iter().map(move |value| {
                let own = (parameter.name.clone(), value.clone());
                before.iter().cloned().chain([own]).collect()
            })
        };
        all = all.iter().flat_map(with).collect();
    }
    Ok(all)
}

/// A word of a command with `{NAME}` replaced by the value of each parameter. Values are not looked into again.
pub fn fill(word: &str, parameters: &[(String, String)]) -> String {
    let mut filled = String::new();
    let mut rest = word;
    while let Some(at) = rest.find('{') {
        let (before, from) = rest.split_at(at);
        filled.push_str(before);
        let known = parameters
            .iter()
            .find_map(|(name, value)| Some((value, from[1..].strip_prefix(&**name)?.strip_prefix('}')?)));
        match known {
            Some((value, after)) => {
                filled.push_str(value);
                rest = after;
            }
            None => {
                filled.push('{');
                rest = &from[1..];
            }
        }
    }
    filled + rest
}

/// Names that stand in braces in a word as parameters do: `{n}`, but neither `{}` nor a shell's `${n}`.
pub fn places(word: &str) -> impl Iterator<Item = &str> {
    word.match_indices('{').filter_map(move |(at, _)| {
        let name = &word[at + 1..at + 1 + word[at + 1..].find('}')?];
        let letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let is_name =
            name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && name.chars().all(letter);
        (is_name && !word[..at].ends_with('$')).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> String {
        match parse_parameter(text) {
            Ok(parameter) => format!("{}: {}", parameter.name, parameter.values.join(" ")),
            Err(why) => why.to_string(),
        }
    }

    #[test]
    fn lists_and_ranges() {
        for (text, expected) in [
            ("n=1,2,x y", "n: 1 2 x y"),
            ("n=1..4", "n: 1 2 3 4"),
            ("n=1..8:3", "n: 1 4 7"),
            ("t=-0.5..0.5:0.25", "t: -0.50 -0.25 0.00 0.25 0.50"),
            ("t=0..0.02:0.01", "t: 0.00 0.01 0.02"),
            ("file=a..b", "file: a..b"),
            ("n=5..5", "n: 5"),
            ("n", "must be NAME=V1,V2 or NAME=FROM..TO:STEP"),
            ("=1", "`` is not a name\nhint: use letters, digits, `_` and `-`"),
            ("a b=1", "`a b` is not a name\nhint: use letters, digits, `_` and `-`"),
            ("n=", "`n` has an empty value"),
            ("n=1,,2", "`n` has an empty value"),
            ("n=4..1", "`4..1` must run upwards, by a step above 0"),
            ("n=1..4:0", "`1..4:0` must run upwards, by a step above 0"),
            ("n=1..90000", "`1..90000` has 90000 values; 10000 are allowed"),
            (
                "n=-9223372036854775807..9223372036854775807",
                "`-9223372036854775807..9223372036854775807` has 18446744073709551615 values; 10000 are allowed",
            ),
            (
                "n=9223372036854775807..9223372036854775807:0.1",
                "`9223372036854775807..9223372036854775807:0.1` has too many digits",
            ),
        ] {
            assert_eq!(values(text), expected, "{text}");
        }
    }

    #[test]
    fn every_combination_in_order() {
        let parameters = [parse_parameter("a=1,2").unwrap(), parse_parameter("b=x,y").unwrap()];
        let shown: Vec<String> =
            sweep(&parameters).unwrap().iter().map(|values| fill("{a}{b}-{c}-{a", values)).collect();
        assert_eq!(shown, ["1x-{c}-{a", "1y-{c}-{a", "2x-{c}-{a", "2y-{c}-{a"]);
        assert_eq!(sweep(&[]).unwrap(), [[]]);
        assert_eq!(fill("{a}", &[("a".into(), "{b}".into()), ("b".into(), "1".into())]), "{b}");
        let twice = [parameters[0].clone(), parameters[0].clone()];
        assert_eq!(sweep(&twice).unwrap_err().to_string(), "`a` is given twice");
        let many: Vec<Parameter> =
            ["a", "b"].iter().map(|n| parse_parameter(&format!("{n}=1..101")).unwrap()).collect();
        assert_eq!(sweep(&many).unwrap_err().to_string(), "more than 10000 combinations");
    }

    #[test]
    fn places_look_like_parameters() {
        let found = |word| places(word).collect::<Vec<_>>();
        assert_eq!(found("--size={n}{m_2}"), ["n", "m_2"]);
        for none in ["", "{}", "{", "${n}", "{ print }", "{1}", "{a b}", "{\"a\":1}", "{n"] {
            assert!(found(none).is_empty(), "{none}");
        }
    }
}
