//! What the elements of an array are before the launch: the text after `=` in `in:s32[4]=[3,1,0,2]`.
//!
//! Source: "CONTENTS" in the section "Bindings" of the command-line contract. The text is kept as it
//! was written until the whole command is known, since only `run` draws numbers and a file is named
//! relative to its manifest; [`Contents::load`] turns it into the bytes of memory.
//!
//! Zeros are kept as no bytes at all, so that a large array of them takes no memory.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::binding::{ArgValue, ArrayDecl, MapDecl};
use super::draw::{Draw, Law};
use super::{ElemTy, Role, npy};
use crate::kernel::Fmt;

/// Most bytes of contents that are no zeros.
const LARGEST: u64 = 1 << 30;

/// The contents of an array.
#[derive(Clone, PartialEq, Eq)]
pub struct Contents {
    /// As they were written.
    pub text: String,
    /// The bytes of the array from its first one, zeros after them; none before they are loaded.
    bytes: Option<Arc<[u8]>>,
}

/// Reads a file that contents name.
pub type Reader<'a> = &'a dyn Fn(&Path) -> Result<Arc<[u8]>, String>;

/// Where contents come from that are not written down.
#[derive(Clone, Copy)]
pub struct Sources<'a> {
    /// Files.
    pub read: Reader<'a>,
    /// The seed of what is drawn, for a command that draws.
    pub seed: Option<u64>,
}

impl fmt::Debug for Contents {
    /// The bytes by their hash: results are kept under this text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hash = self.bytes.as_ref().map(Sha256::digest);
        f.debug_tuple("Contents")
            .field(&self.text)
            .field(&hash)
            .finish()
    }
}

impl Contents {
    /// Contents that are still to be loaded.
    pub fn new(text: &str) -> Contents {
        Contents {
            text: text.trim().to_string(),
            bytes: None,
        }
    }

    /// The bytes, once they are loaded.
    pub fn bytes(&self) -> Option<&Arc<[u8]>> {
        self.bytes.as_ref()
    }

    /// Finds the bytes of the contents of an array; `stream` tells arrays apart whose contents are drawn.
    pub fn load(&mut self, decl: &ArrayDecl, stream: u64, from: Sources) -> Result<(), String> {
        if decl.role == Some(Role::Out) {
            return Err(
                "an `out:` array has no content before the launch; bind it as `inout:`".into(),
            );
        }
        let flat = self.flat(decl, stream, from)?;
        let bytes = match &decl.map {
            Some(map) if !flat.is_empty() => spread(map, &flat)?,
            _ => flat,
        };
        self.bytes = Some(bytes.into());
        Ok(())
    }

    /// The bytes of the elements in order, or nothing where all are zeros.
    fn flat(&self, decl: &ArrayDecl, stream: u64, from: Sources) -> Result<Vec<u8>, String> {
        let count: u64 = decl.shape.iter().product();
        let (elem, text) = (decl.elem, self.text.as_str());
        let size = elem.bytes();
        let room = || match count.checked_mul(size).is_some_and(|n| n <= LARGEST) {
            true => Ok(()),
            false => Err(format!(
                "contents of more than {LARGEST} bytes can only be zeros"
            )),
        };
        let append = |out: &mut Vec<u8>, bits: u64| {
            out.extend_from_slice(&bits.to_le_bytes()[..size as usize]);
        };
        let mut out = Vec::new();
        if let Some(path) = text.strip_prefix('@') {
            room()?;
            let file = (from.read)(Path::new(path.trim()))?;
            return npy::read(&file, elem, &decl.shape).map_err(|why| format!("{path}: {why}"));
        }
        if let Some(list) = text.strip_prefix('[') {
            let list = list
                .strip_suffix(']')
                .ok_or("the list does not end with `]`")?;
            let mut items: Vec<&str> = list.split(',').map(str::trim).collect();
            // A comma may end the list, and an array without elements has an empty one.
            if items.last() == Some(&"") {
                items.pop();
            }
            if items.len() as u64 != count {
                return Err(format!(
                    "the list has {} numbers, and the array {count} elements",
                    items.len()
                ));
            }
            for item in items {
                append(&mut out, bits_of(elem, item)?);
            }
            return Ok(out);
        }
        if text == "iota" {
            room()?;
            for i in 0..count {
                append(&mut out, bits_of(elem, &i.to_string())?);
            }
            return Ok(out);
        }
        if let Some(law) = Law::parse(text) {
            let seed = from.seed.ok_or(
                "only `run` draws numbers; write them down, or name a file with @FILE.npy",
            )?;
            let ElemTy::Float(fmt) = elem else {
                return Err(format!("{} are not drawn, only floats", elem.name()));
            };
            room()?;
            let mut draw = Draw::new(seed, stream);
            for _ in 0..count {
                let v = draw.next(law);
                append(&mut out, bits_of(ElemTy::Float(fmt), &format!("{v:?}"))?);
            }
            return Ok(out);
        }
        let bits = bits_of(elem, text)?;
        if bits != 0 {
            room()?;
            (0..count).for_each(|_| append(&mut out, bits));
        }
        Ok(out)
    }
}

/// The bytes of a tensor whose rows may lie apart, with zeros between them.
fn spread(map: &MapDecl, flat: &[u8]) -> Result<Vec<u8>, String> {
    let size = map.elem.bytes() as usize;
    let extent = map.extent();
    if extent > LARGEST {
        return Err(format!(
            "contents of more than {LARGEST} bytes can only be zeros"
        ));
    }
    let mut out = vec![0; extent as usize];
    for (i, element) in flat.chunks_exact(size).enumerate() {
        let mut rest = i as u64;
        let mut at = 0;
        for (extent, stride) in map.shape.iter().zip(&map.strides).rev() {
            at += rest % extent * stride;
            rest /= extent;
        }
        let at = at as usize * size;
        out[at..at + size].copy_from_slice(element);
    }
    Ok(out)
}

/// The bits of a number as an element.
fn bits_of(elem: ElemTy, text: &str) -> Result<u64, String> {
    if let ElemTy::Float(fmt) = elem {
        let digits = text.strip_prefix('-');
        let sign = u64::from(digits.is_some()) << (fmt.bits() - 1);
        if digits.unwrap_or(text).eq_ignore_ascii_case("nan") {
            return nan(fmt)
                .map(|bits| bits | sign)
                .ok_or_else(|| format!("{} has no NaN", fmt.name()));
        }
        // A zero that is read as an integer would lose its sign.
        if let (Some(digits), true) = (digits, matches!(ArgValue::number(text)?, ArgValue::Int(0)))
            && !digits.is_empty()
        {
            return Ok(sign);
        }
    }
    let number = ArgValue::number(text)?;
    let bits = match elem {
        ElemTy::Float(fmt) => number.float_bits(fmt),
        ElemTy::Int { width, signed } => number.exact_bits(width.into(), signed),
    };
    bits.ok_or_else(|| format!("{} cannot hold `{text}`", elem.name()))
}

/// A quiet NaN.
fn nan(fmt: Fmt) -> Option<u64> {
    match fmt {
        Fmt::F16 => Some(0x7e00),
        Fmt::Bf16 => Some(0x7fc0),
        Fmt::F32 | Fmt::Tf32 => Some(0x7fc0_0000),
        Fmt::F64 => Some(0x7ff8_0000_0000_0000),
        Fmt::E4m3 => Some(0x7f),
        Fmt::E5m2 => Some(0x7e),
        Fmt::Ue8m0 => Some(0xff),
        Fmt::E2m3 | Fmt::E3m2 | Fmt::E2m1 => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str) -> Result<Vec<u8>, String> {
        let ArgValue::Array(decl) = ArgValue::parse(text)? else {
            panic!("{text} is no array");
        };
        let mut contents = decl.contents.clone().expect("contents");
        let none = |_: &Path| Err("no file".to_string());
        let from = Sources {
            read: &none,
            seed: None,
        };
        contents.load(&decl, 0, from)?;
        Ok(contents.bytes().expect("loaded").to_vec())
    }

    #[test]
    fn numbers_lists_and_counts() {
        assert_eq!(
            load("s32[2]=[-1, 0x10]"),
            Ok(vec![255, 255, 255, 255, 16, 0, 0, 0])
        );
        assert_eq!(load("in:u16[3]=iota"), Ok(vec![0, 0, 1, 0, 2, 0]));
        assert_eq!(load("inout:s64[99999999]=0"), Ok(Vec::new()));
        assert_eq!(load("f16[2]=0.5"), Ok(vec![0, 0x38, 0, 0x38]));
        assert_eq!(load("f16[2]=[-0,-0.0]"), Ok(vec![0, 0x80, 0, 0x80]));
        assert_eq!(load("f32[1]=[nan]"), Ok(vec![0, 0, 0xc0, 0x7f]));
        assert_eq!(load("e5m2[2]=[-inf,1]"), Ok(vec![0xfc, 0x3c]));
        for bad in [
            "u8[1]=300",
            "u8[1]=-1",
            "s8[1]=[128]",
            "s32[1]=1.5",
            "f16[1]=70000",
            "e4m3[1]=inf",
            "s32[2]=[1]",
            "s32[2]=[1,2,3]",
            "s32[2]=[1,2",
            "s32[2]=",
            "s32[2]=x",
            "u8[257]=iota",
            "s32[1]=nan",
            "out:f32[1]=0",
            "f32[4]=normal",
            "f32[1]=@a.npy",
            "f32[999999999]=1",
        ] {
            assert!(load(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn rows_of_a_tensor_may_lie_apart() {
        let bytes = load("u8[2,2]/box[2,2]/strides[4,1]=[1,2,3,4]");
        assert_eq!(bytes, Ok(vec![1, 2, 0, 0, 3, 4]));
    }
}
