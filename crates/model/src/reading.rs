//! A reading that was taken, or the reason why it could not be.

use crate::hint;
use serde::de::value::MapAccessDeserializer;
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor,
};
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// A value that was read, or why it is not known. Never zero in place of "not known".
///
/// On the wire: the value itself, or `{"unknown": "why"}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reading<T> {
    /// What was read.
    Known(T),
    /// Why nothing could be read: lower case, no full stop.
    Unknown(Cow<'static, str>),
}

/// The wire form, for the API's document.
#[cfg(feature = "schema")]
mod schema {
    use super::Reading;
    use utoipa::__dev::ComposeSchema;
    use utoipa::openapi::schema::Schema;
    use utoipa::openapi::{Ref, RefOr};
    use utoipa::{PartialSchema, ToSchema};

    /// A value that is not known.
    #[derive(ToSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Unknown {
        /// Why it is not known.
        unknown: String,
    }

    /// A value, or why it is not known.
    #[derive(ToSchema)]
    #[serde(untagged)]
    #[expect(dead_code, reason = "only its schema is used")]
    enum Wire<T> {
        Known(T),
        Unknown(Unknown),
    }

    /// A structure has a name of its own in the document: generators of clients lose structures that stand within others.
    fn is_named(schema: &RefOr<Schema>) -> bool {
        matches!(schema, RefOr::T(Schema::Object(object)) if !object.properties.is_empty())
    }

    // What is derived for types with a `Reading` in them asks for this trait, which has no other way in.
    impl<T: ToSchema + ComposeSchema> ComposeSchema for Reading<T> {
        fn compose(generics: Vec<RefOr<Schema>>) -> RefOr<Schema> {
            let name = |schema| match is_named(&schema) {
                true => RefOr::Ref(Ref::from_schema_name(T::name())),
                false => schema,
            };
            // Of one that is asked for by itself nothing is given.
            let given = if generics.is_empty() { vec![T::compose(Vec::new())] } else { generics };
            Wire::<T>::compose(given.into_iter().map(name).collect())
        }
    }

    impl<T: ToSchema + ComposeSchema> ToSchema for Reading<T>
    where
        Wire<T>: PartialSchema,
    {
        fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
            let schema = T::compose(Vec::new());
            if is_named(&schema) {
                schemas.push((T::name().into_owned(), schema));
            }
            Wire::<T>::schemas(schemas);
        }
    }
}

impl<T> Reading<T> {
    /// An unknown reading, with the reason. An error with a hint becomes one line, because tables and sentences show it.
    pub fn unknown(why: impl Into<Cow<'static, str>>) -> Reading<T> {
        let why = why.into();
        Reading::Unknown(if why.contains('\n') { hint::in_one_line(&why).into() } else { why })
    }

    /// The value, if it is known.
    pub fn known(&self) -> Option<&T> {
        match self {
            Reading::Known(v) => Some(v),
            Reading::Unknown(_) => None,
        }
    }

    /// A reading that borrows the value.
    pub fn as_ref(&self) -> Reading<&T> {
        match self {
            Reading::Known(v) => Reading::Known(v),
            Reading::Unknown(why) => Reading::Unknown(why.clone()),
        }
    }

    /// Applies `f` to a known value.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Reading<U> {
        match self {
            Reading::Known(v) => Reading::Known(f(v)),
            Reading::Unknown(why) => Reading::Unknown(why),
        }
    }

    /// Applies `f`, which may give an unknown reading, to a known value.
    pub fn and_then<U>(self, f: impl FnOnce(T) -> Reading<U>) -> Reading<U> {
        match self {
            Reading::Known(v) => f(v),
            Reading::Unknown(why) => Reading::Unknown(why),
        }
    }

    /// A reading from an optional value, with the reason for its absence.
    pub fn from_option(value: Option<T>, why: impl FnOnce() -> String) -> Reading<T> {
        value.map_or_else(|| Reading::unknown(why()), Reading::Known)
    }

    /// A reading from something that may fail, whose error is the reason.
    pub fn from_result<E: fmt::Display>(r: Result<T, E>) -> Reading<T> {
        match r {
            Ok(v) => Reading::Known(v),
            Err(e) => Reading::unknown(e.to_string()),
        }
    }
}

impl<T: Serialize> Serialize for Reading<T> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Reading::Known(v) => v.serialize(s),
            Reading::Unknown(why) => {
                let mut m = s.serialize_map(Some(1))?;
                m.serialize_entry("unknown", why)?;
                m.end()
            }
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Reading<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct V<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for V<T> {
            type Value = Reading<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, text, a truth value or a list, or a map with the key `unknown`")
            }
            fn visit_bool<E: serde::de::Error>(self, v: bool) -> Result<Self::Value, E> {
                T::deserialize(serde::de::value::BoolDeserializer::new(v)).map(Reading::Known)
            }
            fn visit_u64<E: serde::de::Error>(self, v: u64) -> Result<Self::Value, E> {
                T::deserialize(serde::de::value::U64Deserializer::new(v)).map(Reading::Known)
            }
            fn visit_i64<E: serde::de::Error>(self, v: i64) -> Result<Self::Value, E> {
                T::deserialize(serde::de::value::I64Deserializer::new(v)).map(Reading::Known)
            }
            fn visit_f64<E: serde::de::Error>(self, v: f64) -> Result<Self::Value, E> {
                T::deserialize(serde::de::value::F64Deserializer::new(v)).map(Reading::Known)
            }
            fn visit_str<E: serde::de::Error>(self, v: &str) -> Result<Self::Value, E> {
                T::deserialize(serde::de::value::StrDeserializer::new(v)).map(Reading::Known)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, s: A) -> Result<Self::Value, A::Error> {
                T::deserialize(serde::de::value::SeqAccessDeserializer::new(s)).map(Reading::Known)
            }
            fn visit_map<A: MapAccess<'de>>(self, mut m: A) -> Result<Self::Value, A::Error> {
                match m.next_key::<String>()? {
                    Some(key) if key == "unknown" => m.next_value().map(Reading::Unknown),
                    first => T::deserialize(MapAccessDeserializer::new(Again { first, rest: m }))
                        .map(Reading::Known),
                }
            }
        }
        d.deserialize_any(V(PhantomData))
    }
}

/// Deserializes a reading that another version of this program wrote. A missing value, or one in an unknown form, becomes an
/// unknown reading. Use it together with `default = "model::not_told"`.
///
/// # Errors
/// Only those of `d` itself, such as malformed JSON.
pub fn told<'de, T: Deserialize<'de>, D: Deserializer<'de>>(d: D) -> Result<Reading<T>, D::Error> {
    #[derive(serde::Deserialize)]
    #[serde(untagged)]
    enum Told<T> {
        Here(Reading<T>),
        Null(()),
        Other(serde::de::IgnoredAny),
    }
    Ok(match Told::deserialize(d)? {
        Told::Here(reading) => reading,
        Told::Null(()) => not_told(),
        Told::Other(_) => Reading::unknown("reported in a form that this version does not know"),
    })
}

/// The unknown reading for a value that another version of this program does not write.
pub fn not_told<T>() -> Reading<T> {
    Reading::unknown("not reported")
}

/// A map whose first key was read already.
struct Again<A> {
    first: Option<String>,
    rest: A,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Again<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        match self.first.take() {
            Some(key) => seed.deserialize(key.into_deserializer()).map(Some),
            None => self.rest.next_key_seed(seed),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.rest.next_value_seed(seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Nanos, Policy};

    #[test]
    fn unknown_is_a_map_and_known_is_the_number() {
        for r in [Reading::Known(Nanos(0)), Reading::unknown("no counter")] {
            let json = serde_json::to_string(&r).unwrap();
            assert_eq!(json, if r.known().is_some() { "0" } else { r#"{"unknown":"no counter"}"# });
            assert_eq!(serde_json::from_str::<Reading<Nanos>>(&json).unwrap(), r);
        }
        for held in [Reading::Known(true), Reading::unknown("no cpufreq")] {
            let json = serde_json::to_string(&held).unwrap();
            assert_eq!(serde_json::from_str::<Reading<bool>>(&json).unwrap(), held);
        }
        let name: Reading<String> = serde_json::from_str("\"a name\"").unwrap();
        assert_eq!(name, Reading::Known("a name".into()));
        for policy in [Reading::Known(Policy::PUBLISHED), Reading::unknown("not recorded then")] {
            let json = serde_json::to_string(&policy).unwrap();
            assert_eq!(serde_json::from_str::<Reading<Policy>>(&json).unwrap(), policy);
        }
        assert!(serde_json::from_str::<Reading<Nanos>>("{}").is_err());
    }
}
