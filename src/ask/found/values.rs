//! What a kernel left in its arrays, as bits and as the numbers of the report.

use serde_json::{Value, json};

use crate::answer::Written;
use crate::number::{self, Decoded as Number};
use crate::spec::ElemTy;

/// Integers beyond this are no numbers of JSON for many readers.
const EXACT: u64 = 1 << 53;

/// One array after a run.
#[derive(Clone, Debug)]
pub struct Values {
    /// Its name.
    pub name: String,
    /// Type of its elements.
    pub elem: ElemTy,
    /// Dimensions, slowest first.
    pub shape: Vec<u64>,
    /// The bits of each element; none of one that nothing was written to.
    pub elements: Vec<Option<u64>>,
}

/// One element as JSON.
fn value(elem: ElemTy, bits: u64) -> Value {
    match elem {
        ElemTy::Float(fmt) => {
            let x = number::decode(fmt, bits);
            match (x.value, x.negative) {
                (Number::Nan, _) => json!("NaN"),
                (Number::Infinite, false) => json!("inf"),
                (Number::Infinite, true) => json!("-inf"),
                // Every format but double precision is a part of it.
                _ => {
                    let rnd = crate::kernel::Rnd::Rn;
                    let wide = x.encode(crate::kernel::Fmt::F64, rnd).unwrap_or(0);
                    json!(f64::from_bits(wide))
                }
            }
        }
        ElemTy::Int { width, signed } => {
            let unused = 64 - u32::from(width);
            let (text, magnitude) = match signed {
                true => {
                    let v = (bits << unused) as i64 >> unused;
                    (v.to_string(), v.unsigned_abs())
                }
                false => (bits.to_string(), bits),
            };
            match text.parse::<i64>() {
                Ok(v) if magnitude <= EXACT => json!(v),
                _ => json!(text),
            }
        }
    }
}

impl Values {
    /// The array in the JSON report.
    pub fn written(&self) -> Written {
        let values = self.elements.iter();
        let values = values.map(|e| e.map_or(Value::Null, |bits| value(self.elem, bits)));
        Written {
            name: self.name.clone(),
            r#type: self.elem.name().to_string(),
            shape: self.shape.clone(),
            values: values.collect(),
        }
    }

    /// The bytes of all elements, and how many have no value: these are NaN, or 0 in integers.
    pub fn bytes(&self) -> (Vec<u8>, usize) {
        let none = match self.elem {
            ElemTy::Float(fmt) => number::nan(fmt),
            ElemTy::Int { .. } => 0,
        };
        let size = self.elem.bytes() as usize;
        let mut out = Vec::with_capacity(self.elements.len() * size);
        for e in &self.elements {
            out.extend_from_slice(&e.unwrap_or(none).to_le_bytes()[..size]);
        }
        let without = self.elements.iter().filter(|e| e.is_none()).count();
        (out, without)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_as_json() {
        let of = |ty: &str, bits| value(ElemTy::parse(ty).expect("a type"), bits);
        assert_eq!(of("f32", 0x3dcc_cccd), json!(0.1f32 as f64));
        assert_eq!(of("f16", 0x8000).to_string(), "-0.0");
        assert_eq!(of("e4m3", 0x7f), json!("NaN"));
        assert_eq!(of("bf16", 0xff80), json!("-inf"));
        assert_eq!(of("s8", 0xff), json!(-1));
        assert_eq!(of("u64", u64::MAX), json!("18446744073709551615"));
        assert_eq!(of("s64", 1 << 53), json!(1u64 << 53));
        assert_eq!(of("s64", (1 << 53) + 1), json!("9007199254740993"));
    }
}
