//! Functions of the CUDA library, recognised as what they compute.
//!
//! Problem: without `-use_fast_math` nvcc writes `logf`, `tanhf` and others as range reductions and
//! polynomials. A kernel that uses `lg2.approx` in the same place computes the same function in
//! intent. The whole function is recognised, with its exact constants, or nothing of it: the PTX
//! that nvcc makes of the function alone is run by the simulator, and the term that comes out is
//! the pattern. A comparison, sum or product of the argument with a constant tells where in a
//! pair the function may stand, and what its argument u is; the pattern is built there again
//! with u as argument, and only if that gives a term that the pair has already is it the function.
//!
//! Sound as an assumption only: each function that is recognised is listed. That each pattern is
//! the function, to a few units in the last place of binary32 and with the same domain, is
//! tested with the independent evaluator.
//!
//! Not claimed: a function of which a compiler folded a part, or that another version of the
//! library writes otherwise, is not recognised.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use num_rational::BigRational;
use num_traits::{One, Signed, Zero};
use rustc_hash::FxHashMap;

use crate::diag::Source;
use crate::sim::{self, Side};
use crate::spec::{self, KernelSpec, Limits, Which};
use crate::term::rebuild::rebuild;
use crate::term::{Fun, RCmp, Term, TermId, TermStore};
use crate::{kernel, ptx};

/// Operations between the anchor of a pattern and the argument.
const MAX_STEPS: usize = 3;

/// Places of a pair where one pattern is tried.
const MAX_TRIES: usize = 1 << 16;

/// A function and the PTX that nvcc makes of it.
struct Function {
    name: &'static str,
    text: &'static str,
    /// Its file; one that ends in `_positive` has a power of two as argument.
    file: &'static str,
    /// The function as terms that the normaliser knows.
    meaning: fn(&mut TermStore, TermId) -> TermId,
}

macro_rules! function {
    ($name:literal, $file:literal, $meaning:expr) => {
        Function {
            name: $name,
            text: include_str!(concat!("../../kernels/idioms/", $file, ".ptx")),
            file: $file,
            meaning: $meaning,
        }
    };
}

/// The second of a name is what is left of its code where the argument is known to be positive.
const FUNCTIONS: [Function; 32] = [
    function!("logf", "logf", logarithm),
    function!("logf", "logf_positive", logarithm),
    function!("logf", "logf_negated", |s, u| {
        let x = logarithm(s, u);
        s.neg(x)
    }),
    function!("logf", "logf_negated_positive", |s, u| {
        let x = logarithm(s, u);
        s.neg(x)
    }),
    function!("log2f", "log2f", |s, u| s.fun(Fun::Log2, u)),
    function!("log2f", "log2f_positive", |s, u| s.fun(Fun::Log2, u)),
    function!("log10f", "log10f", logarithm10),
    function!("log10f", "log10f_positive", logarithm10),
    function!("log1pf", "log1pf", logarithm_plus),
    function!("log1pf", "log1pf_positive", logarithm_plus),
    function!("log1pf", "log1pf_negated", |s, u| {
        let x = logarithm_plus(s, u);
        s.neg(x)
    }),
    function!("log1pf", "log1pf_negated_positive", |s, u| {
        let x = logarithm_plus(s, u);
        s.neg(x)
    }),
    function!("expm1f", "expm1f", exponential_minus),
    function!("tanhf", "tanhf", |s, u| s.fun(Fun::Tanh, u)),
    function!("sinhf", "sinhf", |s, u| hyperbolic(s, u, true)),
    function!("coshf", "coshf", |s, u| hyperbolic(s, u, false)),
    function!("sinf", "sinf", |s, u| s.fun(Fun::Sin, u)),
    function!("cosf", "cosf", |s, u| s.fun(Fun::Cos, u)),
    function!("erff", "erff", |s, u| s.fun(Fun::Erf, u)),
    function!("erfcf", "erfcf", |s, u| {
        let (one, x) = (s.integer(1), s.fun(Fun::Erf, u));
        s.sub(one, x)
    }),
    function!("normcdff", "normcdff", normal),
    function!("powf", "powf_2", |s, u| s.mul(u, u)),
    function!("powf", "powf_3", |s, u| {
        let x = s.mul(u, u);
        s.mul(x, u)
    }),
    function!("powf", "powf_4", |s, u| {
        let x = s.mul(u, u);
        s.mul(x, x)
    }),
    // As the bitcode library has them, which other compilers link.
    function!("erff", "libdevice_erf", |s, u| s.fun(Fun::Erf, u)),
    function!("erfcf", "libdevice_erfc", |s, u| {
        let (one, x) = (s.integer(1), s.fun(Fun::Erf, u));
        s.sub(one, x)
    }),
    function!("normcdff", "libdevice_normcdf", normal),
    function!("tanhf", "libdevice_tanh", |s, u| s.fun(Fun::Tanh, u)),
    function!("sinhf", "libdevice_sinh", |s, u| hyperbolic(s, u, true)),
    function!("expm1f", "libdevice_expm1", exponential_minus),
    function!("sinf", "libdevice_sin", |s, u| s.fun(Fun::Sin, u)),
    function!("cosf", "libdevice_cos", |s, u| s.fun(Fun::Cos, u)),
];

fn logarithm(s: &mut TermStore, u: TermId) -> TermId {
    let (x, e) = (s.fun(Fun::Log2, u), s.log2_e());
    s.div(x, e)
}

fn logarithm10(s: &mut TermStore, u: TermId) -> TermId {
    let ten = s.integer(10);
    let (x, y) = (s.fun(Fun::Log2, u), s.fun(Fun::Log2, ten));
    s.div(x, y)
}

fn logarithm_plus(s: &mut TermStore, u: TermId) -> TermId {
    let one = s.integer(1);
    let x = s.add(one, u);
    logarithm(s, x)
}

fn exponential(s: &mut TermStore, u: TermId) -> TermId {
    let e = s.log2_e();
    let x = s.mul(u, e);
    s.fun(Fun::Exp2, x)
}

fn exponential_minus(s: &mut TermStore, u: TermId) -> TermId {
    let one = s.integer(1);
    let x = exponential(s, u);
    s.sub(x, one)
}

fn normal(s: &mut TermStore, u: TermId) -> TermId {
    let (one, two) = (s.integer(1), s.integer(2));
    let root = s.fun(Fun::Sqrt, two);
    let x = s.div(u, root);
    let x = s.fun(Fun::Erf, x);
    let x = s.add(one, x);
    s.div(x, two)
}

fn hyperbolic(s: &mut TermStore, u: TermId, odd: bool) -> TermId {
    let minus = s.neg(u);
    let (x, y) = (exponential(s, u), exponential(s, minus));
    let x = if odd { s.sub(x, y) } else { s.add(x, y) };
    let two = s.integer(2);
    s.div(x, two)
}

/// One step from a comparison towards the argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Absolute,
    Negative,
}

/// What the argument meets a constant in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meets {
    /// A comparison, and whether the constant is its first operand.
    Compare(RCmp, bool),
    Sum,
    Product,
}

/// An operation on the argument, after some steps, and a constant.
#[derive(Clone, Debug)]
struct Anchor {
    meets: Meets,
    constant: BigRational,
    steps: Vec<Step>,
}

/// How a term brings a constant and another term together.
fn meets(store: &TermStore, t: TermId) -> Option<(Meets, TermId, TermId)> {
    let (a, b) = match store.get(t) {
        Term::RCmp(_, a, b) | Term::Add(a, b) | Term::Mul(a, b) => (a, b),
        _ => return None,
    };
    let first = match (store.is_rational(a), store.is_rational(b)) {
        (true, false) => true,
        (false, true) => false,
        _ => return None,
    };
    let how = match store.get(t) {
        Term::RCmp(op, ..) => Meets::Compare(op, first),
        Term::Add(..) => Meets::Sum,
        _ => Meets::Product,
    };
    Some(if first { (how, a, b) } else { (how, b, a) })
}

/// The term of a function.
struct Pattern {
    name: &'static str,
    store: TermStore,
    root: TermId,
    argument: TermId,
    anchor: Anchor,
    meaning: fn(&mut TermStore, TermId) -> TermId,
}

impl Pattern {
    fn of(f: &Function) -> Option<Pattern> {
        let source = Arc::new(Source::new(f.name, f.text).ok()?);
        let module = ptx::parse(&source).ok()?;
        let entry = kernel::select_entry(&module, None).ok()?;
        let kernel = kernel::lower(&module, &source, entry).ok()?.kernel;
        let mut spec = KernelSpec {
            alias: Vec::new(),
            which: Which::Kernel,
            file: PathBuf::new(),
            entry: None,
            launch: Default::default(),
            args: Vec::new(),
        };
        spec.launch.block = Some([1, 1, 1]);
        let setup = spec::resolve(&[(&kernel, &spec)], &[]).ok()?;
        let r = setup.kernels.first()?;
        let limits = Limits {
            deadline: None,
            memory: None,
        };
        let outcome = sim::run(
            &kernel,
            &r.launch,
            &r.bindings,
            &r.arrays,
            Side::Reference,
            &limits,
        );
        if !outcome.unknowns.is_empty() || !outcome.defects.is_empty() {
            return None;
        }
        let mut store = outcome.store;
        let written = *outcome.writes.values().next()?.values().next()?;
        let root = match store.get(written) {
            Term::OfReal { real, .. } => real,
            // A zero with a sign among numbers.
            Term::BitsSelect(..) => store.of_selected_bits(kernel::Fmt::F32, written),
            _ => return None,
        };
        let below = store.reachable(&[root]);
        // The argument is the product of two elements, or a power of it.
        let element = |t| matches!(store.get(t), Term::Elem { .. });
        let product = below.iter().copied().find(
            |&t| matches!(store.get(t), Term::Mul(a, b) if a != b && element(a) && element(b)),
        )?;
        let power = |&t: &TermId| store.get(t) == Term::Fun(Fun::Exp2, product);
        let positive = below.iter().copied().find(power);
        let argument = positive
            .filter(|_| f.file.ends_with("_positive"))
            .unwrap_or(product);
        let mut anchors: Vec<Anchor> = below
            .iter()
            .filter_map(|&t| anchor(&store, t, argument))
            .collect();
        // A constant other than 0 and 1 tells more, and so does a comparison; the first of equals.
        anchors.sort_by_key(|a| {
            let plain = a.constant.is_zero() || a.constant.abs().is_one();
            let compares = matches!(a.meets, Meets::Compare(..));
            (plain, !compares, a.steps.len())
        });
        let anchor = anchors.into_iter().next()?;
        Some(Pattern {
            name: f.name,
            root,
            argument,
            anchor,
            store,
            meaning: f.meaning,
        })
    }

    /// The argument at which a term of a pair may be the function.
    fn argument_at(&self, store: &TermStore, t: TermId) -> Option<TermId> {
        let (how, c, mut u) = meets(store, t)?;
        if how != self.anchor.meets || store.as_const(c) != Some(&self.anchor.constant) {
            return None;
        }
        for s in &self.anchor.steps {
            u = match (s, store.get(u)) {
                (Step::Absolute, Term::Fun(Fun::Abs, x)) | (Step::Negative, Term::Neg(x)) => x,
                // The magnitude of what is not negative is that itself.
                (Step::Absolute, _) if store.is_nonnegative(u) => u,
                _ => return None,
            };
        }
        Some(u)
    }

    /// The pattern with `u` as argument.
    fn instance(&self, into: &mut TermStore, u: TermId) -> TermId {
        rebuild(&self.store, &[self.root], into, |_, t, _| {
            (t == self.argument).then_some(u)
        })[0]
    }
}

/// The anchor that a term of a pattern is.
fn anchor(store: &TermStore, t: TermId, argument: TermId) -> Option<Anchor> {
    let (meets, c, mut u) = meets(store, t)?;
    let constant = store.as_const(c)?.clone();
    let mut steps = Vec::new();
    while u != argument {
        if steps.len() >= MAX_STEPS {
            return None;
        }
        let (step, x) = match store.get(u) {
            Term::Fun(Fun::Abs, x) => (Step::Absolute, x),
            Term::Neg(x) => (Step::Negative, x),
            _ => return None,
        };
        steps.push(step);
        u = x;
    }
    Some(Anchor {
        meets,
        constant,
        steps,
    })
}

fn patterns() -> &'static [Pattern] {
    static ALL: OnceLock<Vec<Pattern>> = OnceLock::new();
    ALL.get_or_init(|| FUNCTIONS.iter().filter_map(Pattern::of).collect())
}

/// The functions that stand below some terms.
#[derive(Debug, Default)]
pub(super) struct Idioms {
    /// Pattern and argument, by the term that is the function.
    map: FxHashMap<TermId, (usize, TermId)>,
}

/// True if one of the terms chooses between cases or makes a number of bits, as each expanded
/// function does.
fn may_expand(store: &TermStore, terms: &[TermId]) -> bool {
    let part = |&t: &TermId| {
        let t = store.get(t);
        matches!(
            t,
            Term::Select(..) | Term::OfBits { .. } | Term::OfInt { .. }
        )
    };
    terms.iter().any(part)
}

impl Idioms {
    /// Those below `roots`.
    pub(super) fn of(store: &TermStore, roots: &[TermId]) -> Idioms {
        let mut out = Idioms::default();
        let below = store.reachable(roots);
        if !may_expand(store, &below) {
            return out;
        }
        let meeting = |t: &&TermId| meets(store, **t).is_some();
        let meeting: Vec<TermId> = below.iter().filter(meeting).copied().collect();
        // Patterns are built in a copy: what is new there is not of the pair.
        let mut copy: Option<TermStore> = None;
        for (i, p) in patterns().iter().enumerate() {
            let mut tried = rustc_hash::FxHashSet::default();
            for u in meeting
                .iter()
                .filter_map(|&t| p.argument_at(store, t))
                .filter(|u| tried.insert(*u))
                .take(MAX_TRIES)
            {
                let copy = copy.get_or_insert_with(|| store.clone());
                let t = p.instance(copy, u);
                // A pattern that folded to something plain is none.
                let whole = matches!(
                    store_get(store, t),
                    Some(Term::Select(..) | Term::Mul(..) | Term::Add(..) | Term::Sum(_))
                );
                if whole && below.binary_search(&t).is_ok() {
                    out.map.insert(t, (i, u));
                }
            }
        }
        out
    }

    /// True if there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// The terms with the functions in place of their patterns.
    pub(super) fn apply(
        &self,
        from: &TermStore,
        roots: &[TermId],
        into: &mut TermStore,
    ) -> Vec<TermId> {
        let all = patterns();
        rebuild(from, roots, into, |s, t, done| {
            let &(i, u) = self.map.get(&t)?;
            let u = *done.get(&u)?;
            Some((all[i].meaning)(s, u))
        })
    }

    /// What was recognised, as sentences.
    pub(super) fn assumptions(&self) -> Vec<String> {
        let mut names: Vec<&str> = self.map.values().map(|v| patterns()[v.0].name).collect();
        names.sort_unstable();
        names.dedup();
        let sentence = |name: &str| {
            format!("the code of `{name}` of the CUDA library computes that function of the reals")
        };
        names.into_iter().map(sentence).collect()
    }
}

/// A term, if the store has it.
fn store_get(store: &TermStore, t: TermId) -> Option<Term<'_>> {
    ((t.0 as usize) < store.len()).then(|| store.get(t))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::term::ArrayId;
    use crate::term::eval::{Cone, Inputs};

    #[test]
    fn every_function_has_a_pattern() {
        let names: Vec<&str> = patterns().iter().map(|p| p.name).collect();
        assert_eq!(names, FUNCTIONS.map(|f| f.name));
    }

    #[test]
    fn every_pattern_may_be_an_expansion() {
        for p in patterns() {
            assert!(
                may_expand(&p.store, &p.store.reachable(&[p.root])),
                "{}",
                p.name
            );
        }
    }

    /// Both sides at many arguments: equal to a few units in the last place, undefined together.
    #[test]
    fn patterns_are_the_functions() {
        let mut xs: Vec<f32> = vec![0.0, 1.0, -1.0, 0.5, 2.0, 1e-30, 3e38, -3e38, 0.55, 0.6, 9.1];
        for i in 0..4000u32 {
            let h = i.wrapping_mul(2_654_435_761) ^ 0x5bd1_e995;
            let unit = (h >> 8) as f32 / (1 << 24) as f32;
            xs.extend([
                unit,
                unit * 20.0 - 10.0,
                unit * 2.0 - 1.0,
                unit * 160.0 - 80.0,
            ]);
            xs.push(f32::from_bits(h % 0x7f80_0000));
        }
        for p in patterns() {
            let mut s = TermStore::new();
            let u = s.elem(ArrayId(0), crate::kernel::Fmt::F32, 0);
            let t = p.instance(&mut s, u);
            let f = (p.meaning)(&mut s, u);
            let positive = matches!(p.store.get(p.argument), Term::Fun(Fun::Exp2, _));
            let cone = Cone::new(&s, &[t, f]);
            let constants = cone.constants(&s);
            let fit = |x: &&f32| x.is_finite() && (!positive || **x > 0.0);
            for &x in xs.iter().filter(fit) {
                let mut inputs = Inputs::default();
                inputs.set(ArrayId(0), 0, 4, x.to_bits() as u64);
                let v = cone.approximate(&s, &constants, &inputs, &mut Vec::new());
                let (y, z) = (v[0].f, v[1].f);
                let near = (y - z).abs() <= 1e-6 * z.abs().max(1e-7);
                // Beyond the largest float the pattern is infinite.
                let large = z.abs() > f32::MAX as f64 && y.abs() > f32::MAX as f64;
                let both = y.is_nan() && z.is_nan() || y == z || large;
                assert!(near || both, "{} at {x}: {y} and {z}", p.name);
            }
        }
    }
}
