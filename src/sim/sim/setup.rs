//! Memory and values before the first instruction of a run.

use rustc_hash::FxHashMap;

use crate::kernel::{Kernel, SymbolRef};
use crate::spec::{Bindings, Domain, Field, Origin, Value};
use crate::term::ArrayId;

use super::address::provenance::Provenances;
use super::cta::Inputs;
use super::memory::{Initial, Region, RegionKind};
use super::region::{RegionId, base, region_of};
use super::val::Val;
use super::value::Values;

/// Values in the domain of a run.
pub(super) fn values(inputs: &Inputs) -> Values {
    let Inputs { mode, bindings, .. } = *inputs;
    let mut values = Values::default();
    values.store.facts = bindings.facts.clone();
    if let Some(premises) = &bindings.premises {
        values.store.import_below(premises, &[]);
    }
    match mode.domain {
        Domain::Reals { made_by } => values.trees = made_by,
        Domain::Words { numbered, unfolded } => {
            values.numbers = true;
            let words = super::words::Words::new(inputs.kernel, numbered, unfolded);
            values.words = Some(Box::new(words));
        }
        Domain::Numbers { wobbling } => {
            values.numbers = true;
            values.wobble = wobbling.map(super::wobble::Wobble::new);
        }
    }
    values.store.as_written = mode.as_written;
    values.unset_site = u32::MAX;
    values
}

/// Memory before the launch, with what is known of the arrays.
pub(super) fn regions(inputs: &Inputs) -> Vec<Region> {
    let Inputs {
        kernel,
        launch,
        bindings,
        ..
    } = *inputs;
    let shared_extent = match (kernel.dynamic_shared, launch.dynamic_shared) {
        (Some(base), Some(n)) => Some(base as u64 + n),
        (Some(_), None) => None,
        (None, Some(n)) => Some(kernel.shared_bytes as u64 + n),
        (None, None) => Some(kernel.shared_bytes as u64),
    };
    let param_extent = Some(kernel.param_bytes as u64);
    let unset = |kind, extent| Region::new(kind, Initial::Unset, extent);
    let mut regions = vec![
        unset(RegionKind::Shared, shared_extent),
        unset(RegionKind::Local, None),
        unset(RegionKind::Param, param_extent),
    ];
    for (i, a) in inputs.arrays.0.iter().enumerate() {
        let id = ArrayId(i as u32);
        let contents = a.initial.as_ref();
        let initial = match contents {
            _ if a.begins_unset() => Initial::Unset,
            Some(_) => Initial::Known,
            None => Initial::Symbols(id),
        };
        let mut r = Region::new(RegionKind::Array(id), initial, a.extent);
        r.known = contents.cloned().unwrap_or_default();
        r.read_only = a.origin == Origin::Const;
        r.left = bindings.left.clone().filter(|left| left.has(id));
        regions.push(r);
    }
    regions
}

/// Bytes of arrays that are given, by array and place.
pub(super) type GivenBytes = FxHashMap<(ArrayId, u64), u8>;

/// Presets what is given of arrays.
pub(super) fn given(bindings: &Bindings, regions: &mut [Region]) -> GivenBytes {
    let mut known = GivenBytes::default();
    for g in &bindings.given {
        let bytes = g.value.to_le_bytes();
        let bytes = &bytes[..(g.bytes as usize).min(8)];
        if let Some(r) = regions.get_mut(region_of(g.array).0 as usize) {
            r.preset(g.off, bytes);
        }
        known.extend(bytes.iter().zip(g.off..).map(|(b, at)| ((g.array, at), *b)));
    }
    known
}

/// The given value of some bytes of an array, those that are not given being 0; `None` if none is.
fn given_value(given: &GivenBytes, a: ArrayId, off: u64, n: u32) -> Option<Val> {
    let bytes = (0..n as u64).map(|i| given.get(&(a, off + i)));
    let some = bytes.clone().any(|b| b.is_some());
    let bits = bytes.rev().fold(0, |v, b| v << 8 | *b.unwrap_or(&0) as u64);
    some.then_some(Val::Conc(bits))
}

/// Puts what a field is bound to into the parameters. Tensor maps are put there when the machine is made.
pub(super) fn put_field(
    f: &Field,
    param: &mut Region,
    (values, prov): (&mut Values, &mut Provenances),
    given: &GivenBytes,
) {
    let v = match f.value {
        Value::Bits(b) => Val::Conc(b),
        Value::Pointer(a, at) => Val::Conc(base(region_of(a)).wrapping_add(at)),
        Value::Map(..) => return,
        Value::Symbol(a) => {
            let n = f.bytes.min(8);
            let t = values.store.bytes(a, 0, (n * 8) as u8);
            given_value(given, a, 0, n).unwrap_or(Val::Bits(t))
        }
    };
    // No aligned load reads the bytes together of what lies anywhere else.
    let pointer = matches!(f.value, Value::Pointer(..));
    let whole = pointer || f.offset.is_multiple_of(f.bytes);
    match (f.value, f.bytes) {
        (Value::Bits(b), n) if !whole => {
            for (at, byte) in (u64::from(f.offset)..).zip(&b.to_le_bytes()[..n as usize]) {
                param.preset_value(values, at, 1, Val::Conc(u64::from(*byte)));
            }
        }
        (_, 1 | 2 | 4 | 8) if f.offset.is_multiple_of(f.bytes) => {
            param.preset_value(values, f.offset as u64, f.bytes, v)
        }
        (Value::Symbol(a), n) => {
            // A by-value structure without bindings: symbols byte by byte.
            for i in 0..n as u64 {
                let t = values.store.bytes(a, i, 8);
                let v = given_value(given, a, i, 1).unwrap_or(Val::Bits(t));
                param.preset_value(values, f.offset as u64 + i, 1, v);
            }
        }
        _ => {}
    }
    if let (Value::Pointer(a, at), 8) = (f.value, f.bytes) {
        let p = prov.of_array(region_of(a));
        let number = base(region_of(a)).wrapping_add(at);
        let halves = prov.halves(p, Some(number));
        for (word, p) in (u64::from(f.offset) / 4..).zip(halves) {
            param.set_prov(word, p, None);
        }
    }
}

/// Puts the addresses into variables of the module that their initialisers name.
pub(super) fn put_globals(
    kernel: &Kernel,
    at: &[RegionId],
    regions: &mut [Region],
    prov: &mut Provenances,
) {
    for (var, &own) in kernel.globals.iter().zip(at) {
        let region = &mut regions[own.0 as usize];
        if !var.relocs.is_empty() {
            region.initial = Initial::Known;
            region.known = var.init.as_slice().into();
        }
        for (off, symbol, add) in &var.relocs {
            let (t, generic) = match symbol {
                SymbolRef::Global(t) => (t, false),
                SymbolRef::Generic(t) => (t, true),
            };
            let named = at[t.0 as usize];
            let a = base(named).wrapping_add_signed(*add);
            let of = prov.of_module(named, generic);
            region.preset(*off, &a.to_le_bytes());
            for (word, p) in (*off / 4..).zip(prov.halves(of, Some(a))) {
                region.set_prov(word, p, None);
            }
        }
    }
}
