//! What the user says of the data and of the launch (`--assume`).
//!
//! A fact about elements enters the store of facts ([`crate::term::facts`]), where comparisons, bounds, races and searches
//! for inputs ask it. A comparison of integers that are bound is true, or an input error; one that bounds an unbound
//! parameter is a fact about that. What contradicts the bindings, the contents or another fact is an input error.
//! Every fact is listed in the report.

use std::sync::Arc;

use crate::answer::{Assumption, AssumptionKind};
use crate::kernel::pure;
use crate::kernel::{Fmt, Kernel, ParamKind};
use crate::term::ArrayId;
use crate::term::facts::{Elements, Facts, Numbers};

use super::binding::Key;
use super::compare::{Comparison, ParameterValue};
use super::pairing::{find, list_params};
use super::variables::{list_variables, variable};
use super::{Array, ElemTy, Setup, SpecError, Value};

/// What is said.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact {
    /// What was written.
    text: String,
    what: What,
}

#[derive(Clone, Debug, PartialEq)]
enum What {
    /// Of each element of an array.
    Of(Key, Property),
    /// Of integers.
    Compare(Comparison),
    /// A function without a body touches no memory, and equal arguments give equal results.
    Pure(String),
    /// No float that depends on data overflows or is rounded across a test.
    NoOverflow,
}

#[derive(Clone, Debug, PartialEq)]
enum Property {
    /// Between two numbers.
    In(Ends),
    Distinct,
    Sorted,
    Pow2,
}

/// The ends of a range. Of integers the second is excluded, of floats it is included.
#[derive(Clone, Debug, PartialEq)]
struct Ends {
    /// As they were written.
    text: [String; 2],
    /// Where both are integers.
    integers: Option<(i64, i64)>,
    numbers: (f64, f64),
}

impl Ends {
    fn parse(text: &str) -> Result<Ends, String> {
        let Some((a, b)) = text.split_once("..") else {
            return Err(
                "a range is `A..B`, its end excluded for integers and included for floats".into(),
            );
        };
        let text = [a, b].map(|s| s.trim().to_string());
        let number = |s: &String| match s.parse::<f64>() {
            Ok(v) if !v.is_nan() => Ok(v),
            _ => Err(format!("`{s}` is no number")),
        };
        let numbers = (number(&text[0])?, number(&text[1])?);
        let integers = text[0].parse().ok().zip(text[1].parse().ok());
        let is_empty = integers.map_or(numbers.0 > numbers.1, |(a, b): (i64, i64)| a > b);
        match is_empty {
            true => Err("nothing lies in this range".into()),
            false => Ok(Ends {
                text,
                integers,
                numbers,
            }),
        }
    }

    /// The ends of a range of integers.
    fn integers(&self) -> Result<(i64, i64), String> {
        match self.integers {
            Some((a, b)) if a < b => Ok((a, b)),
            Some(_) => Err("nothing lies in this range".into()),
            None => {
                let is_integer = |s: &&String| s.parse::<i64>().is_err();
                let wrong = self.text.iter().find(is_integer);
                Err(format!("`{}` is no integer", wrong.map_or("", |s| s)))
            }
        }
    }
}

/// The forms that a fact may have.
const FORMS: &str = "a fact is `KEY in A..B`, `KEY distinct`, `KEY sorted`, `KEY pow2`, `pure FUNCTION`, `no-overflow`, \
                     or a comparison (`== != < <= > >=`) of integer expressions";

impl Fact {
    /// Reads a fact.
    pub fn parse(text: &str) -> Result<Fact, SpecError> {
        let what = read(text).map_err(|why| SpecError::BadFact {
            text: text.to_string(),
            why,
        })?;
        Ok(Fact {
            text: text.to_string(),
            what,
        })
    }

    /// The comparison that it is.
    pub fn comparison(&self) -> Option<&Comparison> {
        match &self.what {
            What::Compare(c) => Some(c),
            What::Of(..) | What::Pure(_) | What::NoOverflow => None,
        }
    }

    /// The function that it says is pure.
    pub fn pure(&self) -> Option<&str> {
        match &self.what {
            What::Pure(name) => Some(name),
            What::Of(..) | What::Compare(_) | What::NoOverflow => None,
        }
    }

    /// The same with every key spelled as `meant` says.
    pub(super) fn spell(&mut self, meant: impl Fn(&Key) -> Key) {
        if let What::Of(key, _) = &mut self.what {
            *key = meant(key);
        }
    }
}

fn read(text: &str) -> Result<What, String> {
    let text = text.trim();
    let of = |key: &str, p: Property| Ok(What::Of(Key::parse(key.trim())?, p));
    if let Some((key, range)) = text.split_once(" in ") {
        return of(key, Property::In(Ends::parse(range)?));
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    if let ["pure", name] = words[..] {
        return Ok(What::Pure(name.to_string()));
    }
    if let Some(c) = Comparison::parse(text)? {
        return Ok(What::Compare(c));
    }
    match text.rsplit_once(char::is_whitespace) {
        Some((key, "distinct")) => of(key, Property::Distinct),
        Some((key, "sorted")) => of(key, Property::Sorted),
        Some((key, "pow2")) => of(key, Property::Pow2),
        None if text == "no-overflow" => Ok(What::NoOverflow),
        _ => Err(FORMS.into()),
    }
}

/// The facts of a launch enter its bindings, with the sentences that list them.
pub(super) fn resolve(
    facts: &[Fact],
    kernels: &[&Kernel],
    setup: &mut Setup,
) -> Result<(), SpecError> {
    let mut out = Facts::default();
    let mut said = Vec::new();
    for f in facts {
        let found = match &f.what {
            What::Of(key, p) => of_elements(&mut out, (key, p), kernels, setup),
            What::Compare(c) => compared(&mut out, c, kernels, setup),
            What::Pure(name) => called(name, kernels),
            What::NoOverflow => {
                out.reals_decide = true;
                Ok(AssumptionKind::Fact.says(
                    "no float that depends on data overflows or is rounded across a test, as --assume says: the \
                     reals decide every test",
                ))
            }
        };
        said.push(found.map_err(|why| SpecError::BadFact {
            text: f.text.clone(),
            why,
        })?);
    }
    let known = Arc::new(out);
    for k in &mut setup.kernels {
        k.bindings.facts = known.clone();
    }
    setup.assumptions.extend(said);
    Ok(())
}

/// What is said of a function that some kernel calls.
fn called(name: &str, kernels: &[&Kernel]) -> Result<Assumption, String> {
    match kernels.iter().any(|k| pure::calls(k, name)) {
        true => Ok(AssumptionKind::Fact.says(format!(
            "{name} touches no memory, always ends, and gives equal results, finite ones where they are floats, for \
             arguments of equal bits, as --assume says of it"
        ))),
        false => Err("no kernel calls a function of this name that has no body".into()),
    }
}

/// Adds what is said of the elements of an array, or of a parameter that is not bound.
fn of_elements(
    out: &mut Facts,
    (key, property): (&Key, &Property),
    kernels: &[&Kernel],
    setup: &Setup,
) -> Result<Assumption, String> {
    let buffers = || (0..).zip(&setup.arrays.0).filter(|(_, a)| a.handed_on);
    let is_sequence = buffers().next().is_some();
    // Launches of a sequence have parameters of their own at the same place; buffers are of all of them.
    let named = buffers().find(|(_, a)| key.is(&a.name));
    let named = named.map(|(i, _)| Value::Pointer(ArrayId(i), 0));
    let mut sides = kernels.iter().enumerate().filter(|_| !is_sequence);
    let value = sides.find_map(|(i, k)| value_of(k, &setup.kernels[i].bindings.fields, key));
    let of = kernels.iter().zip(&setup.kernels);
    let variable = of.filter_map(|(k, r)| Some(r.bindings.globals[variable(k, key)?]));
    let variable = variable.map(|a| Value::Pointer(a, 0)).next();
    let Some(value) = named.or(value).or(variable) else {
        if is_sequence {
            let all: Vec<&str> = buffers().map(|(_, a)| a.name.as_str()).collect();
            let all = all.join(", ");
            return Err(format!(
                "KEY is no buffer of the sequence; the buffers are {all}"
            ));
        }
        let all = kernels.iter().map(|k| list_params(k) + &list_variables(k));
        let all: Vec<String> = all.collect();
        return Err(format!(
            "KEY is no array of the launch; the parameters are {}",
            all.join("; ")
        ));
    };
    let (array, of) = match value {
        Value::Pointer(a, _) | Value::Map(a, _) => (a, "each element of"),
        Value::Symbol(a) => (a, "the parameter"),
        Value::Bits(v) => {
            if let (Some(fmt), Property::In(ends)) = (float_of(kernels, key), property) {
                return bound_number((key, property), fmt, (ends, v));
            }
            // Nothing says whether the number of a parameter has a sign.
            let mut sides = kernels.iter().enumerate();
            let bytes =
                sides.find_map(|(i, k)| field_bytes(k, &setup.kernels[i].bindings.fields, key));
            let signed = crate::term::sext(v, 8 * bytes.unwrap_or(8));
            let either = holds(&[signed], property).or_else(|_| holds(&[v as i64], property));
            return either
                .map(|()| AssumptionKind::Fact.says(format!("{key}{}", sentence(property))))
                .map_err(|_| format!("it is bound to {signed}"));
        }
    };
    let info = &setup.arrays[array];
    let said = || {
        let name = &info.name;
        let says = sentence(property);
        AssumptionKind::Fact.says(format!(
            "{of} {name}{says}, as --assume says of it before the launch"
        ))
    };
    if let (Some(ElemTy::Float(fmt)), Property::In(ends)) = (info.elem, property) {
        of_numbers(out, (array, fmt), ends, info)?;
        return Ok(said());
    }
    let Some((width, signed)) = integers(info.elem, value, info.extent) else {
        let what = match property {
            Property::In(_) => "integers or floats",
            _ => "integers",
        };
        return Err(format!("{} is not bound as an array of {what}", info.name));
    };
    if let Some(known) = &info.initial {
        let bytes = usize::from(width / 8);
        let value = |e: &[u8]| {
            let bits = e.iter().rev().fold(0u64, |v, &b| v << 8 | u64::from(b));
            match signed {
                true => crate::term::sext(bits, width),
                false => i64::try_from(bits).unwrap_or(i64::MAX),
            }
        };
        let mut all: Vec<i64> = known.chunks(bytes).map(value).collect();
        // Zeros follow.
        let rest = info.extent.unwrap_or(0) / bytes as u64;
        all.extend((all.len() as u64..rest).take(2).map(|_| 0));
        holds(&all, property).map_err(|(i, v)| format!("{}[{i}] is {v}", info.name))?;
    }
    let count = info.extent.map(|e| e / u64::from(width / 8));
    let e = out.about(Elements::new(array, width, count));
    narrow(e, property, signed)?;
    Ok(said())
}

/// Adds a range of floats. Each end is read as the number of the format that is nearest to it.
fn of_numbers(
    out: &mut Facts,
    (array, fmt): (ArrayId, Fmt),
    ends: &Ends,
    info: &Array,
) -> Result<(), String> {
    let Some(new) = Numbers::new(array, fmt, ends.numbers) else {
        return Err(format!(
            "{} is not an array of numbers with a sign and a fraction",
            info.name
        ));
    };
    if let Some(known) = &info.initial {
        let bytes = fmt.bits() as usize / 8;
        let bits = |e: &[u8]| e.iter().rev().fold(0u64, |v, &b| v << 8 | u64::from(b));
        let mut all: Vec<u64> = known.chunks(bytes.max(1)).map(bits).collect();
        // Zeros follow.
        let rest = info.extent.unwrap_or(0) / bytes.max(1) as u64;
        all.extend((all.len() as u64..rest).take(1).map(|_| 0));
        if let Some(i) = all.iter().position(|&b| !new.allows(b)) {
            let v = crate::number::to_double(fmt, all[i]);
            return Err(format!("{}[{i}] is {v}", info.name));
        }
    }
    match out.add_numbers(new) {
        true => Ok(()),
        false => Err("it contradicts another fact".into()),
    }
}

/// The format of a parameter that is declared a float.
fn float_of(kernels: &[&Kernel], key: &Key) -> Option<Fmt> {
    kernels
        .iter()
        .find_map(|k| match k.params[find(k, key)?].kind {
            ParamKind::Float(fmt) => Some(fmt),
            ParamKind::Int { .. } | ParamKind::Bytes => None,
        })
}

/// A float that is bound lies in a range, or the fact is wrong.
fn bound_number(
    (key, property): (&Key, &Property),
    fmt: Fmt,
    (ends, bits): (&Ends, u64),
) -> Result<Assumption, String> {
    let range = Numbers::new(ArrayId(0), fmt, ends.numbers);
    match range.is_some_and(|n| n.allows(bits)) {
        true => Ok(AssumptionKind::Fact.says(format!("{key}{}", sentence(property)))),
        false => Err(format!(
            "it is bound to {}",
            crate::number::to_double(fmt, bits)
        )),
    }
}

/// The width of integers, and whether they are signed.
fn integers(elem: Option<ElemTy>, value: Value, extent: Option<u64>) -> Option<(u8, bool)> {
    match (elem, value, extent) {
        (Some(ElemTy::Int { width, signed }), _, _) => Some((width, signed)),
        (None, Value::Symbol(_), Some(bytes @ (1 | 2 | 4 | 8))) => Some((bytes as u8 * 8, true)),
        _ => None,
    }
}

fn sentence(p: &Property) -> String {
    match p {
        Property::In(e) => format!(" is in {}..{}", e.text[0], e.text[1]),
        Property::Distinct => " differs from those at other positions".into(),
        Property::Sorted => " is not below the one before it".into(),
        Property::Pow2 => " is a power of two".into(),
    }
}

/// Whether known integers are such; the first that is not, with its position.
fn holds(values: &[i64], p: &Property) -> Result<(), (usize, i64)> {
    let mut seen = std::collections::BTreeSet::new();
    let mut last = i64::MIN;
    for (i, &v) in values.iter().enumerate() {
        let ok = match p {
            Property::In(e) => e.integers.is_some_and(|(a, b)| a <= v && v < b),
            Property::Distinct => seen.insert(v),
            Property::Sorted => std::mem::replace(&mut last, v) <= v,
            Property::Pow2 => v > 0 && v & (v - 1) == 0,
        };
        if !ok {
            return Err((i, v));
        }
    }
    Ok(())
}

/// Adds a property to what is said of elements.
fn narrow(e: &mut Elements, p: &Property, signed: bool) -> Result<(), String> {
    let half = 1i128 << (e.width - 1);
    let contradicts = || Err("it contradicts another fact".to_string());
    match p {
        Property::In(ends) => {
            let (a, b) = ends.integers()?;
            let (a, b) = (i128::from(a), i128::from(b));
            let least = if signed { -half } else { 0 };
            if b <= least || least + 2 * half <= a {
                return Err("no element of this type is in this range".into());
            }
            // Integers are compared as two's complement below.
            if b > half {
                return Err(format!(
                    "the range has to end at or below {half} for an array of this type"
                ));
            }
            (e.lo, e.hi) = (e.lo.max(a.max(least)), e.hi.min(b - 1));
        }
        Property::Distinct => e.distinct = true,
        Property::Sorted if !signed && e.lo < 0 => {
            return Err(format!(
                "of unsigned integers, say first that they lie below {half}: `KEY in 0..{half}`"
            ));
        }
        Property::Sorted => e.sorted = true,
        Property::Pow2 => {
            e.pow2 = true;
            e.lo = e.lo.max(1);
        }
    }
    if e.lo > e.hi {
        return contradicts();
    }
    let values = match e.pow2 {
        true => (0..e.width - 1)
            .filter(|&k| (e.lo..=e.hi).contains(&(1i128 << k)))
            .count() as i128,
        false => e.hi - e.lo + 1,
    };
    let needed = if e.distinct { e.count.unwrap_or(1) } else { 1 };
    match values < i128::from(needed) {
        true => contradicts(),
        false => Ok(()),
    }
}

/// Settles a comparison: of known integers it holds; one of a parameter that is not bound narrows that.
fn compared(
    out: &mut Facts,
    c: &Comparison,
    kernels: &[&Kernel],
    setup: &Setup,
) -> Result<Assumption, String> {
    if setup.arrays.0.iter().any(|a| a.handed_on) {
        return Err(
            "a comparison is about one launch; of a sequence say facts about buffers".into(),
        );
    }
    let value = |side: usize, key: &Key| {
        let fields = &setup.kernels.get(side)?.bindings.fields;
        let value = value_of(kernels.get(side)?, fields, key)?;
        match value {
            Value::Bits(v) => {
                let bytes = field_bytes(kernels[side], fields, key)?;
                Some(ParameterValue::Number(crate::term::sext(v, bytes * 8)))
            }
            Value::Symbol(a) => Some(ParameterValue::Symbol(a)),
            Value::Pointer(..) | Value::Map(..) => None,
        }
    };
    let said = || AssumptionKind::Fact.says(format!("{c}, as --assume says"));
    let launches: Vec<_> = setup.kernels.iter().map(|k| &k.launch).collect();
    let Some((array, lo, hi)) = c.settle(&launches, value)? else {
        return Ok(said());
    };
    let info = &setup.arrays[array];
    let (width, signed) = integers(info.elem, Value::Symbol(array), info.extent)
        .ok_or_else(|| format!("{} is no integer", info.name))?;
    let e = out.about(Elements::new(array, width, Some(1)));
    let half = 1i128 << (width - 1);
    let least = if signed { -half } else { 0 };
    if hi >= half && !signed {
        return Err(format!(
            "say also that {} is below {half}: integers are compared as signed ones",
            info.name
        ));
    }
    (e.lo, e.hi) = (e.lo.max(lo).max(least), e.hi.min(hi));
    match e.lo > e.hi {
        true => Err("it contradicts another fact".into()),
        false => Ok(said()),
    }
}

/// What a parameter is bound to.
fn value_of(kernel: &Kernel, fields: &[super::Field], key: &Key) -> Option<Value> {
    Some(field_of(kernel, fields, key)?.value)
}

fn field_bytes(kernel: &Kernel, fields: &[super::Field], key: &Key) -> Option<u8> {
    u8::try_from(field_of(kernel, fields, key)?.bytes)
        .ok()
        .filter(|b| *b <= 8)
}

fn field_of<'f>(
    kernel: &Kernel,
    fields: &'f [super::Field],
    key: &Key,
) -> Option<&'f super::Field> {
    let param = find(kernel, key)?;
    let at = kernel.params[param].offset + key.offset.unwrap_or(0);
    let mut all = fields.iter();
    all.find(|f| f.param as usize == param && f.offset == at)
}
