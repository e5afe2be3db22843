//! What the names of a formula can mean: the parameters and variables of the kernel, as they are bound.

use num_bigint::BigInt;
use num_rational::BigRational;

use crate::kernel::{Fmt, Kernel};
use crate::spec::binding::MapDecl;
use crate::spec::{Array, ElemTy, Resolved, Sizes, Value};
use crate::term::{ArrayId, NotFinite, decode, sext};

/// An array that a formula may name.
#[derive(Clone, Debug)]
pub(super) struct ArraySymbol {
    pub name: String,
    /// The PTX name of the parameter that it is.
    symbol: Option<String>,
    pub id: ArrayId,
    /// What is known of it.
    pub array: Array,
    /// Elements between neighbours of each dimension, where they are not those of a dense array.
    pub strides: Option<Vec<u64>>,
}

/// A scalar that a formula may name.
#[derive(Clone, Debug)]
pub(super) struct ScalarSymbol {
    pub name: String,
    /// The PTX name of the parameter that it is.
    symbol: Option<String>,
    pub value: Scalar,
}

/// What a scalar is.
#[derive(Clone, Debug)]
pub(super) enum Scalar {
    /// A bound integer.
    Int(i64),
    /// A bound float.
    Float(BigRational),
    /// A bound infinity; true for minus infinity.
    Infinity(bool),
    /// A bound NaN.
    Nan,
    /// A float without a value: element 0 of an array.
    FloatSymbol(ArrayId, Fmt),
    /// An integer without a value.
    IntSymbol(ArrayId, u8, bool),
}

impl Scalar {
    /// The bits of a type.
    fn of_bits(ty: ElemTy, bits: u64) -> Scalar {
        match ty {
            ElemTy::Int { width, signed } => {
                let value = match signed {
                    true => Some(sext(bits, width)),
                    false => i64::try_from(bits).ok(),
                };
                let large = || Scalar::Float(BigRational::from_integer(BigInt::from(bits)));
                value.map_or_else(large, Scalar::Int)
            }
            ElemTy::Float(fmt) => match decode(fmt, bits) {
                Ok(value) => Scalar::Float(value),
                Err(NotFinite::PosInf) => Scalar::Infinity(false),
                Err(NotFinite::NegInf) => Scalar::Infinity(true),
                Err(NotFinite::Nan) => Scalar::Nan,
            },
        }
    }
}

/// All names.
#[derive(Clone, Debug, Default)]
pub(super) struct Symbols {
    pub arrays: Vec<ArraySymbol>,
    pub scalars: Vec<ScalarSymbol>,
}

/// The strides of a tensor map of an array, where they are not those of its shape.
fn strides(map: &MapDecl, array: &Array) -> Option<Vec<u64>> {
    let dense = dense_strides(&array.shape);
    (map.shape == array.shape && map.strides != dense).then(|| map.strides.clone())
}

/// Elements between neighbours of each dimension of a row-major array.
pub(super) fn dense_strides(shape: &[u64]) -> Vec<u64> {
    let mut out = vec![1u64; shape.len()];
    for i in (1..shape.len()).rev() {
        out[i - 1] = out[i].saturating_mul(shape[i]);
    }
    out
}

impl Symbols {
    /// The sizes of an instance, and the names of launches as they are bound. A name of several parameters means none.
    pub(super) fn of(launches: &[(&Kernel, &Resolved)], sizes: &Sizes) -> Symbols {
        let mut out = Symbols::default();
        let of_size = |(name, value): (&String, &i64)| ScalarSymbol {
            name: name.clone(),
            symbol: None,
            value: Scalar::Int(*value),
        };
        out.scalars.extend(sizes.0.iter().map(of_size));
        for &(kernel, resolved) in launches {
            out.add(kernel, resolved);
        }
        if launches.len() > 1 {
            let names: Vec<String> = out.scalars.iter().map(|s| s.name.clone()).collect();
            let once = |s: &ScalarSymbol| names.iter().filter(|n| **n == s.name).count() == 1;
            out.scalars.retain(once);
        }
        out
    }

    /// Adds the names of one launch.
    fn add(&mut self, kernel: &Kernel, resolved: &Resolved) {
        let out = self;
        let bindings = &resolved.bindings;
        for field in &bindings.fields {
            let Some(param) = kernel.params.get(field.param as usize) else {
                continue;
            };
            let at = field.offset - param.offset;
            let symbol = (at == 0).then(|| param.symbol.clone());
            let elem = |id: ArrayId| resolved.arrays[id].elem;
            let (name, value) = match field.value {
                Value::Pointer(id, _) => {
                    out.array(id, symbol, resolved, None);
                    continue;
                }
                Value::Map(id, map) => {
                    let map = bindings.maps.get(map as usize);
                    let strides = map.and_then(|m| strides(m, &resolved.arrays[id]));
                    out.array(id, symbol, resolved, strides);
                    continue;
                }
                Value::Bits(bits) => {
                    let mut numbers = resolved.numbers.iter();
                    let number = numbers.find(|n| (n.position, n.offset) == (field.param, at));
                    match number {
                        Some(n) => (n.label.clone(), Scalar::of_bits(n.ty, bits)),
                        None => continue,
                    }
                }
                Value::Symbol(id) => {
                    let value = match elem(id) {
                        Some(ElemTy::Float(fmt)) => Scalar::FloatSymbol(id, fmt),
                        Some(ElemTy::Int { width, signed }) => Scalar::IntSymbol(id, width, signed),
                        None => continue,
                    };
                    (resolved.arrays[id].name.clone(), value)
                }
            };
            out.scalars.push(ScalarSymbol {
                name,
                symbol,
                value,
            });
        }
        for &id in &bindings.globals {
            out.array(id, None, resolved, None);
        }
    }

    /// An array by the name that reports have for it, once.
    fn array(
        &mut self,
        id: ArrayId,
        symbol: Option<String>,
        from: &Resolved,
        strides: Option<Vec<u64>>,
    ) {
        if self.arrays.iter().any(|a| a.id == id) {
            return;
        }
        let mut array = from.arrays[id].clone();
        if let (true, Some(elem), Some(extent)) = (array.shape.is_empty(), array.elem, array.extent)
        {
            // A variable of the module has a size but no dimensions.
            array.shape = vec![extent / elem.bytes().max(1)];
        }
        let pointers = array.pointers.clone();
        self.arrays.push(ArraySymbol {
            name: array.name.clone(),
            symbol,
            id,
            array,
            strides,
        });
        // A kernel reaches the arrays that another one points to, and so does a formula, by their names.
        for &(_, target) in pointers.iter().flat_map(|p| p.iter()) {
            let Some((target, _)) = target else { continue };
            self.array(target, None, from, None);
        }
    }

    pub(super) fn find_array(&self, name: &str) -> Option<usize> {
        let all = || self.arrays.iter();
        let by_symbol = || all().position(|a| a.symbol.as_deref() == Some(name));
        all().position(|a| a.name == name).or_else(by_symbol)
    }

    pub(super) fn find_scalar(&self, name: &str) -> Option<usize> {
        let all = || self.scalars.iter();
        let by_symbol = || all().position(|s| s.symbol.as_deref() == Some(name));
        all().position(|s| s.name == name).or_else(by_symbol)
    }
}
