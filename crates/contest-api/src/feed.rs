//! A line of the feed, and the values in it. What a server tells is read as far as it can be: numbers as text, times in both forms.

use model::Nanos;
use serde_json::Value;

/// What changed.
#[derive(Clone, Debug, PartialEq)]
pub struct Notice {
    /// Of which kind, such as `submissions`.
    pub kind: String,
    /// Which one; `None`: all of this kind, or the only one.
    pub id: Option<String>,
    /// What it is now; null: it is gone.
    pub data: Value,
    /// From where to go on after this one.
    pub token: Option<String>,
}

impl Notice {
    /// Reads a line of the feed. `Ok(None)`: an empty one, which keeps the connection alive.
    ///
    /// # Errors
    /// It is no notification, or one of a version before 2021-11.
    pub fn read(line: &[u8]) -> Result<Option<Notice>, String> {
        if line.trim_ascii().is_empty() {
            return Ok(None);
        }
        let value: Value = serde_json::from_slice(line).map_err(|e| format!("no JSON: {e}"))?;
        if value.get("op").is_some() {
            return Err(
                "a notification with `op`, as before version 2021-11\nhint: ask for the feed of 2023-06"
                    .into(),
            );
        }
        let kind = text(&value["type"]).ok_or("a notification without `type`")?;
        let token = text(&value["token"]);
        Ok(Some(Notice { kind, id: text(&value["id"]), data: value["data"].clone(), token }))
    }

    /// The objects it tells of, each with its id, and without a value where it is gone.
    pub fn objects(&self) -> Vec<(String, Option<&Value>)> {
        match (&self.id, &self.data) {
            (Some(id), Value::Null) => vec![(id.clone(), None)],
            (Some(id), data) => vec![(id.clone(), Some(data))],
            (None, Value::Array(all)) => {
                all.iter().filter_map(|one| Some((text(&one["id"])?, Some(one)))).collect()
            }
            (None, data) => text(&data["id"]).map(|id| (id, Some(data))).into_iter().collect(),
        }
    }

    /// Whether it tells of all objects of its kind: what it does not name is gone.
    pub fn is_whole(&self) -> bool {
        self.id.is_none() && self.data.is_array()
    }
}

/// Text, or a number as text: ids come as both.
pub fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// A duration: seconds as a number, or `h:mm:ss.sss`. Not negative.
pub fn duration(value: &Value) -> Option<Nanos> {
    match value {
        Value::Number(seconds) => Nanos::from_secs_f64(seconds.as_f64()?),
        Value::String(text) => u64::try_from(reltime(text)?).ok().map(Nanos::from_millis),
        _ => None,
    }
}

/// Milliseconds of a relative time `-h:mm:ss.sss`, in which the fraction may be missing.
pub fn reltime(text: &str) -> Option<i64> {
    let (sign, rest) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
    let mut parts = rest.split(':');
    let (hours, minutes, seconds) = (parts.next()?, parts.next()?, parts.next()?);
    let (whole, fraction) = seconds.split_once('.').unwrap_or((seconds, ""));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let known = parts.next().is_none()
        && [hours, minutes, whole].into_iter().all(digits)
        && (fraction.is_empty() || digits(fraction));
    if !known || hours.len() > 9 {
        return None;
    }
    let number = |text: &str| text.parse::<i64>().ok();
    let (minutes, whole) = (number(minutes)?, number(whole)?);
    if minutes > 59 || whole > 60 {
        return None;
    }
    let millis: String = fraction.chars().chain("000".chars()).take(3).collect();
    Some(sign * (((number(hours)? * 60 + minutes) * 60 + whole) * 1000 + number(&millis)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(line: &str) -> Option<Notice> {
        Notice::read(line.as_bytes()).unwrap()
    }

    #[test]
    fn lines_of_both_versions() {
        let one = read(r#"{"type":"teams","id":11,"data":{"id":"11"},"token":7}"#).unwrap();
        assert_eq!(
            (one.kind.as_str(), one.id.as_deref(), one.token.as_deref()),
            ("teams", Some("11"), Some("7"))
        );
        let gone = read(r#"{"type":"teams","id":"11","data":null}"#).unwrap();
        assert_eq!(gone.objects(), [("11".to_owned(), None)]);
        let all = read(r#"{"type":"problems","id":null,"data":[{"id":"a"},{"id":"b"},{}]}"#).unwrap();
        assert!(all.is_whole());
        assert_eq!(all.objects().iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        let state = read(r#"{"type":"state","id":null,"data":{"started":null}}"#).unwrap();
        assert!(!state.is_whole() && state.objects().is_empty());
        assert_eq!((read(""), read(" \r")), (None, None));
        for wrong in ["{", "[]", "{\"id\":1}", r#"{"id":"1","type":"teams","op":"create","data":{}}"#] {
            assert!(Notice::read(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times_in_both_forms() {
        for (text, millis) in [
            ("0:03:38.749", Some(218_749)),
            ("5:00:00", Some(18_000_000)),
            ("-0:00:01.5", Some(-1500)),
            ("100:00:00.000", Some(360_000_000)),
            ("1:60:00", None),
            ("1:00", None),
            ("1:00:00:00", None),
            ("1:-1:00", None),
            ("x", None),
            ("9999999999:00:00", None),
        ] {
            assert_eq!(reltime(text), millis, "{text}");
        }
        assert_eq!(duration(&json!(1.25)), Some(Nanos::from_millis(1250)));
        assert_eq!(duration(&json!("0:00:01.250")), Some(Nanos::from_millis(1250)));
        assert_eq!(
            (duration(&json!(-1)), duration(&json!("-0:00:01")), duration(&json!(null))),
            (None, None, None)
        );
    }
}
