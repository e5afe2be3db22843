//! Values that a file may write in several ways: a number as a string, pairs as a table or a list.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Unexpected, Visitor};

/// A whole number, or a string that is one.
pub(super) fn number<'de, D, T>(d: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: TryFrom<i64> + FromStr,
{
    struct Whole<T>(PhantomData<T>);
    impl<T: TryFrom<i64> + FromStr> Visitor<'_> for Whole<T> {
        type Value = T;
        fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
            f.write_str("a whole number that is not negative")
        }
        fn visit_i64<E: Error>(self, v: i64) -> Result<T, E> {
            T::try_from(v).map_err(|_| E::invalid_value(Unexpected::Signed(v), &self))
        }
        // JSON has no sign where none is needed.
        fn visit_u64<E: Error>(self, v: u64) -> Result<T, E> {
            let number = i64::try_from(v).ok().and_then(|v| T::try_from(v).ok());
            number.ok_or_else(|| E::invalid_value(Unexpected::Unsigned(v), &self))
        }
        fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
            let number = text.trim().parse();
            number.map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
        }
    }
    d.deserialize_any(Whole(PhantomData)).map(Some)
}

/// Inputs on which rounding is measured if nobody says how many.
pub(super) const SAMPLES: u64 = 48;

/// A number of inputs; `true` for the usual one, `false` for none.
pub(super) fn samples<'de, D: Deserializer<'de>>(d: D) -> Result<Option<u64>, D::Error> {
    struct Samples;
    impl Visitor<'_> for Samples {
        type Value = u64;
        fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
            f.write_str("true, false or a number of inputs")
        }
        fn visit_bool<E: Error>(self, v: bool) -> Result<u64, E> {
            Ok(if v { SAMPLES } else { 0 })
        }
        fn visit_i64<E: Error>(self, v: i64) -> Result<u64, E> {
            u64::try_from(v).map_err(|_| E::invalid_value(Unexpected::Signed(v), &self))
        }
        fn visit_u64<E: Error>(self, v: u64) -> Result<u64, E> {
            Ok(v)
        }
        fn visit_str<E: Error>(self, text: &str) -> Result<u64, E> {
            let number = text.trim().parse();
            number.map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
        }
    }
    d.deserialize_any(Samples).map(Some)
}

/// A number of seconds, or a string that is one.
pub(super) fn seconds<'de, D: Deserializer<'de>>(d: D) -> Result<Option<f64>, D::Error> {
    struct Seconds;
    impl Visitor<'_> for Seconds {
        type Value = f64;
        fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
            f.write_str("a number of seconds")
        }
        fn visit_i64<E: Error>(self, v: i64) -> Result<f64, E> {
            Ok(v as f64)
        }
        fn visit_u64<E: Error>(self, v: u64) -> Result<f64, E> {
            Ok(v as f64)
        }
        fn visit_f64<E: Error>(self, v: f64) -> Result<f64, E> {
            Ok(v)
        }
        fn visit_str<E: Error>(self, text: &str) -> Result<f64, E> {
            let number = text.trim().parse();
            number.map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
        }
    }
    d.deserialize_any(Seconds).map(Some)
}

/// Pairs: a table, or a list of `"A=B"`.
pub(super) fn pairs<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<(String, String)>, D::Error> {
    struct Pairs;
    impl<'de> Visitor<'de> for Pairs {
        type Value = Vec<(String, String)>;
        fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
            f.write_str("a table or a list of \"A=B\"")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut out = Vec::new();
            while let Some(pair) = map.next_entry()? {
                out.push(pair);
            }
            Ok(out)
        }
        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            let mut out = Vec::new();
            while let Some(text) = seq.next_element::<String>()? {
                let Some((a, b)) = text.split_once('=') else {
                    return Err(A::Error::invalid_value(Unexpected::Str(&text), &self));
                };
                out.push((a.trim().to_string(), b.trim().to_string()));
            }
            Ok(out)
        }
    }
    d.deserialize_any(Pairs)
}
