//! `KEY=VALUE`: what a user says that a parameter is.
//!
//! Source: the section "Bindings" of the command-line contract. A value is read here without
//! knowledge of the kernel; `pair` fits it to the parameter's type.

use std::fmt;

use crate::kernel::Fmt;
use crate::term::{decode, encode_exact};

use super::contents::Contents;
use super::{ElemTy, Role, pointers};

/// A binding as it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Arg {
    /// Which parameter.
    pub key: Key,
    /// What it is.
    pub value: ArgValue,
    /// The text of the binding, for messages.
    pub text: String,
    /// Bindings of a higher layer replace those of lower ones; two of one layer clash.
    pub layer: usize,
    /// True for `--ref-arg`, `--opt-arg` and a table of one side: the key must exist there. A
    /// binding for both kernels must exist in one of them.
    pub own: bool,
    /// True for a binding of `[defaults]`, which is not for entries whose kernels lack its key.
    pub optional: bool,
}

/// `KEY` or `KEY+BYTES`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Position or name.
    pub param: ParamKey,
    /// Byte offset of a field.
    pub offset: Option<u32>,
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.param {
            ParamKey::Position(n) => write!(f, "{n}")?,
            ParamKey::Name(name) => f.write_str(name)?,
        }
        match self.offset {
            Some(bytes) => write!(f, "+{bytes}"),
            None => Ok(()),
        }
    }
}

/// Which parameter is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParamKey {
    /// 0-based position.
    Position(u32),
    /// PTX name.
    Name(String),
}

/// The right side of a binding.
#[derive(Clone, Debug, PartialEq)]
pub enum ArgValue {
    /// An integer.
    Int(i128),
    /// A decimal float, kept as text so that it is rounded once, to the parameter's format.
    Decimal(String),
    /// The bits of an `0f` or `0d` literal.
    FloatBits(Fmt, u64),
    /// The bits of a number with a suffix, `1.5:f32`.
    Typed(ElemTy, u64),
    /// An array.
    Array(ArrayDecl),
    /// A buffer from some byte on.
    View(View),
}

/// `$NAME` or `$NAME+BYTES`: a buffer as a launch sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// The buffer.
    pub buffer: String,
    /// The byte at which the view begins.
    pub offset: u64,
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "${}", self.buffer)?;
        match self.offset {
            0 => Ok(()),
            bytes => write!(f, "+{bytes}"),
        }
    }
}

/// `[in:|out:|inout:|scratch:]TYPE[D0,D1,...][=CONTENTS]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayDecl {
    /// Role, if given.
    pub role: Option<Role>,
    /// Element type.
    pub elem: ElemTy,
    /// Dimensions, slowest first.
    pub shape: Vec<u64>,
    /// Extent in bytes.
    pub extent: u64,
    /// The tensor map that the parameter is, where it is no pointer.
    pub map: Option<MapDecl>,
    /// Its first byte is at a multiple of this, where that was said.
    pub align: Option<u32>,
    /// Where its elements point to, in an array of pointers.
    pub targets: Option<Vec<pointers::Entry>>,
    /// The elements before the launch, where they are known.
    pub contents: Option<Contents>,
}

/// `/box[B0,B1,...]{/swizzle32|64|128}{/strides[S0,S1,...]}`: what a tensor map that the host makes says
/// beside type and shape. Dimensions stand slowest first, as in the shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapDecl {
    /// Element type of the tensor.
    pub elem: ElemTy,
    /// Extents of the tensor, slowest dimension first.
    pub shape: Vec<u64>,
    /// Extents of the box.
    pub bounds: Vec<u64>,
    /// Elements between neighbours of each dimension; that of the fastest is 1.
    pub strides: Vec<u64>,
    /// Bytes of the swizzle: 0, 32, 64 or 128.
    pub swizzle: u64,
}

impl Key {
    /// Reads a key.
    pub fn parse(text: &str) -> Result<Key, String> {
        let (param, offset) = match text.rsplit_once('+') {
            Some((param, offset)) => {
                let offset = offset
                    .parse()
                    .map_err(|_| format!("`{offset}` in the key `{text}` is not a byte offset"))?;
                (param, Some(offset))
            }
            None => (text, None),
        };
        if param.is_empty() {
            return Err("a binding needs a parameter: its position or its PTX name".into());
        }
        let param = if param.bytes().all(|b| b.is_ascii_digit()) {
            let position = param
                .parse()
                .map_err(|_| format!("`{param}` is not the position of a parameter"))?;
            ParamKey::Position(position)
        } else {
            ParamKey::Name(param.to_string())
        };
        Ok(Key { param, offset })
    }
}

impl Key {
    /// True if the key is a name alone.
    pub fn is(&self, name: &str) -> bool {
        self.offset.is_none() && matches!(&self.param, ParamKey::Name(n) if n == name)
    }

    /// True if the key names a parameter by its position or one of its names.
    pub fn names(&self, position: u32, names: &[&str]) -> bool {
        match &self.param {
            ParamKey::Position(p) => *p == position,
            ParamKey::Name(n) => names.contains(&n.as_str()),
        }
    }

    /// A number for what is drawn of this parameter, apart from that of others.
    pub(super) fn stream(&self) -> u64 {
        let param = match &self.param {
            ParamKey::Position(p) => u64::from(*p),
            ParamKey::Name(n) => stream_of(n),
        };
        param ^ u64::from(self.offset.unwrap_or(0)) << 32
    }

    /// The key as it is written.
    pub fn show(&self) -> String {
        let param = match &self.param {
            ParamKey::Position(p) => p.to_string(),
            ParamKey::Name(n) => n.clone(),
        };
        self.offset
            .map_or(param.clone(), |o| format!("{param}+{o}"))
    }
}

/// A number for what is drawn under a name, the same everywhere (FNV-1a).
pub(super) fn stream_of(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| {
        (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3)
    })
}

/// Splits `KEY=VALUE` and reads both.
pub fn parse_arg(text: &str) -> Result<(Key, ArgValue), String> {
    let (key, value) = text
        .split_once('=')
        .ok_or_else(|| format!("`{text}` is not KEY=VALUE, e.g. 0=in:f32[128] or 2=64"))?;
    Ok((Key::parse(key.trim())?, ArgValue::parse(value.trim())?))
}

/// Splits `REF=OPT` of `--map`.
pub fn parse_map(text: &str) -> Result<(Key, Key), String> {
    let (a, b) = text
        .split_once('=')
        .ok_or_else(|| format!("`{text}` is not REF=OPT, e.g. 1=2"))?;
    Ok((Key::parse(a.trim())?, Key::parse(b.trim())?))
}

impl ArgValue {
    /// Reads a value.
    pub fn parse(text: &str) -> Result<ArgValue, String> {
        if let Some(pointers) = pointers::parse(text) {
            return pointers.map(ArgValue::Array);
        }
        if text.starts_with('$') {
            return pointers::view(text).map(ArgValue::View);
        }
        if let Some((number, suffix)) = text.rsplit_once(':')
            && let (Ok(number), Ok(ty)) =
                (Self::number(number.trim()), ElemTy::parse(suffix.trim()))
        {
            let bits = match ty {
                ElemTy::Float(fmt) => number.float_bits(fmt),
                ElemTy::Int { width, signed } => number.exact_bits(width.into(), signed),
            };
            return bits
                .map(|bits| ArgValue::Typed(ty, bits))
                .ok_or_else(|| format!("{} cannot hold that value", ty.name()));
        }
        if text.contains(['[', ':', '=']) {
            return ArrayDecl::parse(text).map(ArgValue::Array);
        }
        Self::number(text)
    }

    /// Reads a number without a suffix.
    pub(super) fn number(text: &str) -> Result<ArgValue, String> {
        let (negative, digits) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let lower = digits.to_ascii_lowercase();
        let number = |hex: &str, radix| {
            i128::from_str_radix(hex, radix)
                .ok()
                .filter(|_| !hex.starts_with(['+', '-']))
                .map(|v| ArgValue::Int(if negative { -v } else { v }))
        };
        for (prefix, fmt, len) in [("0f", Fmt::F32, 8), ("0d", Fmt::F64, 16)] {
            if let Some(hex) = lower.strip_prefix(prefix) {
                return match u64::from_str_radix(hex, 16) {
                    Ok(bits) if hex.len() == len && !hex.starts_with('+') => {
                        let sign = (negative as u64) << (4 * len - 1);
                        Ok(ArgValue::FloatBits(fmt, bits ^ sign))
                    }
                    _ => Err(format!("`{text}` needs {len} hexadecimal digits")),
                };
            }
        }
        let value = match (lower.strip_prefix("0x"), lower.strip_prefix("0b")) {
            (Some(hex), _) => number(hex, 16),
            (_, Some(bits)) => number(bits, 2),
            _ if lower.bytes().all(|b| b.is_ascii_digit()) => number(&lower, 10),
            _ if lower == "inf" => Some(ArgValue::Decimal(text.to_string())),
            _ => {
                let decimal = lower
                    .bytes()
                    .all(|b| b.is_ascii_digit() || b".e+-".contains(&b));
                let finite = text.parse::<f64>().is_ok_and(f64::is_finite);
                (decimal && finite).then(|| ArgValue::Decimal(text.to_string()))
            }
        };
        value.ok_or_else(|| {
            format!(
                "`{text}` is neither an integer, nor a float (0.5, 0f3F000000, inf), \
                 nor either with its type (1.5:f32), nor an array such as in:f32[128]"
            )
        })
    }

    /// The bits of this value as a float of the format, a decimal rounded to the nearest; `None`
    /// if the format cannot hold it.
    pub fn float_bits(&self, fmt: Fmt) -> Option<u64> {
        let text = match self {
            ArgValue::FloatBits(f, bits) if *f == fmt => return Some(*bits),
            ArgValue::FloatBits(f, bits) => {
                return encode_exact(fmt, &decode(*f, *bits).ok()?);
            }
            ArgValue::Int(v) => v.to_string(),
            ArgValue::Decimal(text) => text.to_ascii_lowercase(),
            ArgValue::Typed(..) | ArgValue::Array(_) | ArgValue::View(_) => return None,
        };
        let infinite = text.ends_with("inf");
        match fmt {
            Fmt::F64 => {
                let v: f64 = text.parse().ok()?;
                (v.is_finite() || infinite).then(|| v.to_bits())
            }
            Fmt::F32 => {
                let v: f32 = text.parse().ok()?;
                (v.is_finite() || infinite).then(|| v.to_bits() as u64)
            }
            _ => narrow_bits(fmt, text.parse().ok()?),
        }
    }

    /// The bits of this value as an integer of `width` bits; `None` if it does not fit.
    pub fn int_bits(&self, width: u32, signed: bool) -> Option<u64> {
        let ArgValue::Int(v) = *self else {
            return None;
        };
        let low = -(1i128 << (width - 1));
        let high = if signed {
            (1i128 << (width - 1)) - 1
        } else {
            (1i128 << width) - 1
        };
        // Compilers declare `int` parameters as `.u32`, so a negative value fits either sign.
        (low..=high)
            .contains(&v)
            .then(|| (v as u128 & ((1u128 << width) - 1)) as u64)
    }

    /// The bits of this value as an integer of exactly this type: that of a suffix says the sign.
    pub(super) fn exact_bits(&self, width: u32, signed: bool) -> Option<u64> {
        match self {
            ArgValue::Int(v) if *v < 0 && !signed => None,
            value => value.int_bits(width, signed),
        }
    }
}

/// The bits of a number in a format narrower than single precision, rounded to the nearest, ties to
/// even; `None` for what is too large, and for an infinity that the format does not have.
fn narrow_bits(fmt: Fmt, v: f64) -> Option<u64> {
    let (least, digits, infinity) = match fmt {
        Fmt::F16 => (-14, 10, Some(0x7c00)),
        Fmt::Bf16 => (-126, 7, Some(0x7f80)),
        Fmt::E5m2 => (-14, 2, Some(0x7c)),
        Fmt::E4m3 => (-6, 3, None),
        _ => return None,
    };
    let sign = u64::from(v.is_sign_negative()) << (fmt.bits() - 1);
    if v.is_infinite() {
        return infinity.map(|bits: u64| bits | sign);
    }
    let exponent = ((v.to_bits() >> 52 & 0x7ff) as i32 - 1023).max(least);
    let quantum = 2f64.powi(exponent - digits);
    // Both factors are powers of two beside the digits of `v`, so that only the rounding rounds.
    let rounded = (v / quantum).round_ties_even() * quantum;
    if rounded == 0.0 {
        return Some(sign);
    }
    encode_exact(fmt, &decode(Fmt::F64, rounded.to_bits()).ok()?)
}

impl ArrayDecl {
    /// Reads an array; its contents are kept as they were written.
    pub fn parse(text: &str) -> Result<ArrayDecl, String> {
        let (text, contents) = match text.split_once('=') {
            Some((text, contents)) => (text.trim_end(), Some(Contents::new(contents))),
            None => (text, None),
        };
        let (role, rest) = match text.split_once(':') {
            None => (None, text),
            Some((role, rest)) => {
                let role = match role.trim() {
                    "in" => Role::In,
                    "out" => Role::Out,
                    "inout" => Role::InOut,
                    "scratch" => Role::Scratch,
                    other => {
                        return Err(format!(
                            "`{other}` is not a role; use in, out, inout or scratch"
                        ));
                    }
                };
                (Some(role), rest)
            }
        };
        let shape = |dims: &str| -> Option<Vec<u64>> {
            dims.split(',').map(|d| d.trim().parse().ok()).collect()
        };
        let (rest, parts) = match rest.split_once('/') {
            Some((rest, parts)) => (rest, parts.split('/').collect()),
            None => (rest, Vec::new()),
        };
        let (aligns, parts): (Vec<&str>, Vec<&str>) =
            parts.iter().partition(|p| p.trim().starts_with("align"));
        let align = alignment(&aligns)?;
        let map = (!parts.is_empty()).then(|| parts.join("/"));
        let (ty, dims) = rest
            .trim()
            .strip_suffix(']')
            .and_then(|r| r.split_once('['))
            .ok_or_else(|| format!("`{text}` is not TYPE[D0,D1,...], e.g. f32[64,64]"))?;
        let elem = ElemTy::parse(ty.trim())?;
        let shape = shape(dims).ok_or_else(|| format!("`[{dims}]` is not a list of dimensions"))?;
        let extent = shape
            .iter()
            .try_fold(elem.bytes(), |a, &d| a.checked_mul(d))
            .filter(|&e| e < 1 << 48)
            .ok_or_else(|| format!("`{text}` is larger than a device's memory"))?;
        let map = match map {
            Some(_) if extent == 0 => {
                return Err("a tensor map is of positive dimensions".into());
            }
            Some(_) if align.is_some_and(|n| n < MAP_ALIGN) => {
                return Err(format!(
                    "the array of a tensor map is aligned to {MAP_ALIGN} bytes"
                ));
            }
            Some(text) => Some(MapDecl::parse(&text, elem, &shape)?),
            None => None,
        };
        let extent = map.as_ref().map_or(extent, MapDecl::extent);
        Ok(ArrayDecl {
            role,
            elem,
            shape,
            extent,
            map,
            align,
            targets: None,
            contents,
        })
    }
}

/// What the array of a tensor map is aligned to at least, in bytes.
const MAP_ALIGN: u32 = 16;

/// Most that an array can be said to be aligned to, in bytes.
const MOST_ALIGN: u32 = 1 << 20;

/// Reads `alignN`, which stands once at most.
fn alignment(parts: &[&str]) -> Result<Option<u32>, String> {
    let [part] = parts else {
        return match parts {
            [] => Ok(None),
            _ => Err("the alignment is given twice".into()),
        };
    };
    let number = part
        .trim()
        .strip_prefix("align")
        .and_then(|n| n.parse().ok());
    let valid = number.filter(|n: &u32| n.is_power_of_two() && *n <= MOST_ALIGN);
    let what = "is no alignment: use align1, align2, align4 and so on, a power of two in bytes";
    valid
        .map(Some)
        .ok_or_else(|| format!("`{}` {what}", part.trim()))
}

impl MapDecl {
    fn parse(text: &str, elem: ElemTy, shape: &[u64]) -> Result<MapDecl, String> {
        let rank = shape.len();
        if rank > 5 {
            return Err("a tensor map has at most 5 dimensions".into());
        }
        let list = |part: &str, rest: &str| -> Result<Vec<u64>, String> {
            let dims = rest.strip_suffix(']').map(|r| r.split(','));
            let dims: Option<Vec<u64>> = dims.and_then(|dims| {
                dims.map(|d| d.trim().parse().ok().filter(|d| *d > 0))
                    .collect()
            });
            dims.filter(|d| d.len() == rank).ok_or_else(|| {
                format!(
                    "`{part}` needs {rank} positive numbers, as many as the tensor has dimensions"
                )
            })
        };
        let mut map = MapDecl {
            elem,
            shape: shape.to_vec(),
            bounds: Vec::new(),
            strides: vec![1; rank],
            swizzle: 0,
        };
        for k in (0..rank - 1).rev() {
            map.strides[k] = map.strides[k + 1].saturating_mul(shape[k + 1]);
        }
        for part in text.split('/') {
            let part = part.trim();
            if let Some(rest) = part.strip_prefix("box[") {
                map.bounds = list(part, rest)?;
            } else if let Some(rest) = part.strip_prefix("strides[") {
                map.strides = list(part, rest)?;
            } else if let Some(bytes @ ("0" | "32" | "64" | "128")) = part.strip_prefix("swizzle") {
                map.swizzle = bytes.parse().unwrap_or(0);
            } else {
                return Err(format!(
                    "`{part}` is no part of a tensor map: use box[B0,B1,...], swizzle32, swizzle64, \
                     swizzle128, strides[S0,S1,...]"
                ));
            }
        }
        if map.bounds.is_empty() {
            return Err("a tensor map needs the extents of its box, e.g. /box[64,64]".into());
        }
        if map.strides[rank - 1] != 1 {
            return Err("the stride of the last dimension of a tensor map is 1".into());
        }
        if map.bytes().is_none_or(|n| n >= 1 << 48) {
            return Err(format!("`{text}` is larger than a device's memory"));
        }
        Ok(map)
    }

    fn bytes(&self) -> Option<u64> {
        let mut last = 0u64;
        for (n, s) in self.shape.iter().zip(&self.strides) {
            last = last.checked_add((n - 1).checked_mul(*s)?)?;
        }
        last.checked_add(1)?.checked_mul(self.elem.bytes())
    }

    /// Bytes from the first element to the end of the last.
    pub fn extent(&self) -> u64 {
        self.bytes().unwrap_or(0)
    }
}

impl ElemTy {
    /// All element types of the command line, with their names.
    pub const NAMES: [(&'static str, ElemTy); 14] = [
        ("f16", ElemTy::Float(Fmt::F16)),
        ("bf16", ElemTy::Float(Fmt::Bf16)),
        ("f32", ElemTy::Float(Fmt::F32)),
        ("f64", ElemTy::Float(Fmt::F64)),
        ("e4m3", ElemTy::Float(Fmt::E4m3)),
        ("e5m2", ElemTy::Float(Fmt::E5m2)),
        ("s8", ElemTy::int(8, true)),
        ("u8", ElemTy::int(8, false)),
        ("s16", ElemTy::int(16, true)),
        ("u16", ElemTy::int(16, false)),
        ("s32", ElemTy::int(32, true)),
        ("u32", ElemTy::int(32, false)),
        ("s64", ElemTy::int(64, true)),
        ("u64", ElemTy::int(64, false)),
    ];

    /// Other names of signed integers.
    const ALIASES: [(&'static str, ElemTy); 4] = [
        ("i8", ElemTy::int(8, true)),
        ("i16", ElemTy::int(16, true)),
        ("i32", ElemTy::int(32, true)),
        ("i64", ElemTy::int(64, true)),
    ];

    const fn int(width: u8, signed: bool) -> ElemTy {
        ElemTy::Int { width, signed }
    }

    /// Reads the name of an element type.
    pub fn parse(text: &str) -> Result<ElemTy, String> {
        let mut all = Self::NAMES.iter().chain(&Self::ALIASES);
        let known = all.find(|(name, _)| *name == text);
        known.map(|&(_, ty)| ty).ok_or_else(|| {
            let names: Vec<&str> = Self::NAMES.iter().map(|(name, _)| *name).collect();
            format!(
                "`{text}` is not an element type; use one of {}",
                names.join(" ")
            )
        })
    }

    /// The name of the type on the command line.
    pub fn name(self) -> String {
        match self {
            ElemTy::Float(f) => f.name().to_string(),
            ElemTy::Int { width, signed } => format!("{}{width}", if signed { 's' } else { 'u' }),
        }
    }
}

#[cfg(test)]
mod tests;
