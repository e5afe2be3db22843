//! Names of elements and texts of values for people.

use num_traits::ToPrimitive;

use super::types::Shown;
use crate::decide::refute::cells::Cell;
use crate::decide::refute::links::concrete;
use crate::spec::{Arrays, ElemTy, Origin};
use crate::term::dyadic::Interval;
use crate::term::eval::Value;
use crate::term::show::{self, Bounds};
use crate::term::{ArrayId, TermId, TermStore, gather};

/// Index of an element by dimension: empty for scalars, flat where the shape says nothing.
pub fn index(arrays: &Arrays, array: ArrayId, off: u64, bytes: u64) -> Vec<u64> {
    let flat = off / bytes.max(1);
    let Some(a) = arrays.0.get(array.0 as usize) else {
        return vec![flat];
    };
    if a.origin == Origin::Scalar {
        return Vec::new();
    }
    let fits = a.elem.is_none_or(|e| e.bytes() == bytes);
    if !fits || a.shape.len() < 2 || a.shape.contains(&0) {
        return vec![flat];
    }
    let mut rest = flat;
    let mut out: Vec<u64> = a
        .shape
        .iter()
        .skip(1)
        .rev()
        .map(|&d| {
            let i = rest % d;
            rest /= d;
            i
        })
        .collect();
    out.push(rest);
    out.reverse();
    out
}

/// The name of an array.
pub fn array_name(arrays: &Arrays, array: ArrayId) -> String {
    match arrays.0.get(array.0 as usize) {
        Some(a) => a.name.clone(),
        None => format!("array{}", array.0),
    }
}

/// `out[1,2]`, `alpha` for a scalar, `buf+3` for bytes between elements.
pub fn element(arrays: &Arrays, array: ArrayId, off: u64, bytes: u64) -> String {
    let name = array_name(arrays, array);
    if !off.is_multiple_of(bytes.max(1)) {
        return format!("{name}+{off}");
    }
    let i = index(arrays, array, off, bytes);
    if i.is_empty() {
        return name;
    }
    let i: Vec<String> = i.iter().map(u64::to_string).collect();
    format!("{name}[{}]", i.join(","))
}

/// Inputs that were found, in words.
pub(crate) fn inputs(store: &TermStore, found: &[(Cell, u64)], arrays: &Arrays) -> String {
    let all = concrete(store, found);
    let inputs: Vec<String> = all
        .iter()
        .take(4)
        .map(|(c, b)| {
            let name = element(arrays, c.array, c.off, c.bytes as u64);
            format!("{name} = {}", bits(*b, Some(c.ty)).text)
        })
        .collect();
    match (&inputs[..], all.len()) {
        ([], _) => "all inputs 0".to_string(),
        (list, n) if n > 4 => format!("{}, and {} more inputs", list.join(", "), n - 4),
        (list, _) => list.join(", "),
    }
}

/// A term with the names of the pair's arrays.
pub(crate) fn formula(store: &TermStore, arrays: &Arrays, t: TermId, bounds: Bounds) -> String {
    let plain = |a: ArrayId, off: u64, bytes: u64| element(arrays, a, off, bytes);
    let name = |a: ArrayId, off: u64, bytes: u64| {
        chosen(store, arrays, (a, off, bytes), &str::to_owned, bounds)
            .unwrap_or_else(|| plain(a, off, bytes))
    };
    show::show(store, t, &name, bounds)
}

/// An element at a place that data choose: `x[2016 + y[21]]`, with a flat index, or with a distance in bytes where that is
/// no whole number of elements, and with the names that others are written by; `None` for one at a known place.
pub(crate) fn chosen(
    store: &TermStore,
    arrays: &Arrays,
    (array, off, bytes): (ArrayId, u64, u64),
    written: &dyn Fn(&str) -> String,
    bounds: Bounds,
) -> Option<String> {
    let place = store.place_of(array)?;
    let distance = gather::distance(off);
    let size = i64::try_from(bytes).ok()?.max(1);
    let whole = distance % size == 0 && place.form.iter().all(|f| f.1 % size == 0);
    let name = |a: ArrayId, off: u64, bytes: u64| written(&element(arrays, a, off, bytes));
    let unit = if whole { size } else { 1 };
    let index = |&(t, k): &(TermId, i64)| {
        let index = show::show(store, t, &name, bounds);
        match k / unit {
            1 => index,
            k => format!("{k}*{index}"),
        }
    };
    let start = (distance != 0).then(|| (distance / unit).to_string());
    let terms: Vec<String> = start
        .into_iter()
        .chain(place.form.iter().map(index))
        .collect();
    let bytes = if whole { "" } else { "bytes " };
    let of = written(&array_name(arrays, place.array));
    Some(format!("{of}[{bytes}{}]", terms.join(" + ")))
}

/// The name of an element type.
pub fn type_name(ty: ElemTy) -> String {
    match ty {
        ElemTy::Float(f) => f.name().to_string(),
        ElemTy::Int { width, signed } => format!("{}{width}", if signed { "s" } else { "u" }),
    }
}

/// Decimal digits on which both ends agree.
fn digits(i: &Interval) -> String {
    let (lo, hi) = (i.lo.to_f64(), i.hi.to_f64());
    if lo == 0.0 && hi == 0.0 {
        return "0".to_string();
    }
    (0..=12)
        .rev()
        .find_map(|n| {
            let (a, b) = (format!("{lo:.n$e}"), format!("{hi:.n$e}"));
            (a == b).then_some(a)
        })
        .map(|s| match s.parse::<f64>() {
            Ok(v) if (1e-4..1e15).contains(&v.abs()) => format!("~{v}"),
            _ => format!("~{s}"),
        })
        .unwrap_or_else(|| format!("between {lo:e} and {hi:e}"))
}

/// A value of an element type; `None` for what has no value.
pub fn value(v: &Value, ty: Option<ElemTy>) -> Option<Shown> {
    let approx = v.approx();
    let text = match v {
        Value::Exact(q) => show::number(q),
        Value::Interval(i) => digits(i),
        Value::PosInf => "inf".to_string(),
        Value::NegInf => "-inf".to_string(),
        Value::Pole(Some(false)) => "inf".to_string(),
        Value::Pole(Some(true)) => "-inf".to_string(),
        Value::Pole(None) => "inf or -inf".to_string(),
        Value::Bool(b) => b.to_string(),
        Value::Encoded(_, x) => return value(x, ty),
        Value::Bits(b) => return Some(bits(*b, ty)),
        Value::Undefined | Value::NotFinite | Value::Undecided => return None,
    };
    Some(Shown {
        text,
        approx,
        bits: None,
    })
}

/// Bits as a value of an element type.
pub fn bits(b: u64, ty: Option<ElemTy>) -> Shown {
    match ty {
        Some(ElemTy::Float(f)) => match crate::term::decode(f, b) {
            Ok(q) => Shown {
                text: show::number(&q),
                approx: q.to_f64(),
                bits: Some(b),
            },
            Err(_) => Shown {
                text: format!("{b:#x}"),
                approx: None,
                bits: Some(b),
            },
        },
        Some(ElemTy::Int {
            width,
            signed: true,
        }) => {
            let s = 64 - width.clamp(1, 64) as u32;
            let v = ((b << s) as i64) >> s;
            Shown {
                text: v.to_string(),
                approx: Some(v as f64),
                bits: Some(b),
            }
        }
        _ => Shown {
            text: b.to_string(),
            approx: Some(b as f64),
            bits: Some(b),
        },
    }
}
