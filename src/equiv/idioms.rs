//! Functions of the CUDA library, recognised as what they compute.
//!
//! Problem: without `-use_fast_math` nvcc writes `logf`, `tanhf` and others as range reductions and
//! polynomials. A kernel that uses `lg2.approx` in the same place computes the same function in
//! intent. The whole function is recognised, with its exact constants, or nothing of it: the PTX
//! that nvcc makes of the function alone is run by the simulator, and the term that comes out is
//! the pattern. A comparison in the pattern that holds a constant and the argument tells where
//! in a pair the function may stand, and what its argument u is; the pattern is built there again
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
use num_traits::Zero;
use rustc_hash::FxHashMap;

use crate::diag::Source;
use crate::sim::{self, Side};
use crate::spec::{self, KernelSpec, Limits, Which};
use crate::term::rebuild::rebuild;
use crate::term::{Fun, RCmp, Term, TermId, TermStore};
use crate::{kernel, ptx};

/// Operations between a comparison of a pattern and the argument.
const MAX_STEPS: usize = 3;

/// A function and the PTX that nvcc makes of it.
struct Function {
    name: &'static str,
    text: &'static str,
    /// The function as terms that the normaliser knows.
    meaning: fn(&mut TermStore, TermId) -> TermId,
}

macro_rules! function {
    ($name:literal, $meaning:expr) => {
        Function {
            name: $name,
            text: include_str!(concat!("../../kernels/idioms/", $name, ".ptx")),
            meaning: $meaning,
        }
    };
}

const FUNCTIONS: [Function; 9] = [
    function!("logf", logarithm),
    function!("log2f", |s, u| s.fun(Fun::Log2, u)),
    function!("log10f", |s, u| {
        let ten = s.integer(10);
        let (x, y) = (s.fun(Fun::Log2, u), s.fun(Fun::Log2, ten));
        s.div(x, y)
    }),
    function!("log1pf", |s, u| {
        let one = s.integer(1);
        let x = s.add(one, u);
        logarithm(s, x)
    }),
    function!("expm1f", |s, u| {
        let one = s.integer(1);
        let x = exponential(s, u);
        s.sub(x, one)
    }),
    function!("tanhf", |s, u| s.fun(Fun::Tanh, u)),
    function!("sinhf", |s, u| {
        let v = s.neg(u);
        let (x, y) = (exponential(s, u), exponential(s, v));
        let d = s.sub(x, y);
        half(s, d)
    }),
    function!("coshf", |s, u| {
        let v = s.neg(u);
        let (x, y) = (exponential(s, u), exponential(s, v));
        let d = s.add(x, y);
        half(s, d)
    }),
    function!("atanhf", |s, u| {
        let one = s.integer(1);
        let (x, y) = (s.add(one, u), s.sub(one, u));
        let q = s.div(x, y);
        let l = logarithm(s, q);
        half(s, l)
    }),
];

fn logarithm(s: &mut TermStore, u: TermId) -> TermId {
    let (x, e) = (s.fun(Fun::Log2, u), s.log2_e());
    s.div(x, e)
}

fn exponential(s: &mut TermStore, u: TermId) -> TermId {
    let e = s.log2_e();
    let x = s.mul(u, e);
    s.fun(Fun::Exp2, x)
}

fn half(s: &mut TermStore, u: TermId) -> TermId {
    let two = s.integer(2);
    s.div(u, two)
}

/// One step from a comparison towards the argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Absolute,
    Negative,
}

/// A comparison of the argument, after some steps, with a constant.
#[derive(Clone, Debug)]
struct Anchor {
    op: RCmp,
    constant: BigRational,
    /// True if the constant is the first operand.
    first: bool,
    steps: Vec<Step>,
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
        let store = outcome.store;
        let written = outcome.writes.values().next()?.values().next()?;
        let Term::OfReal { real: root, .. } = store.get(*written) else {
            return None;
        };
        let below = store.reachable(&[root]);
        let element = |t| matches!(store.get(t), Term::Elem { .. });
        let argument = below.iter().copied().find(
            |&t| matches!(store.get(t), Term::Mul(a, b) if a != b && element(a) && element(b)),
        )?;
        let mut anchors: Vec<Anchor> = below
            .iter()
            .filter_map(|&t| anchor(&store, t, argument))
            .collect();
        // A constant other than 0 tells more; the first of equals.
        anchors.sort_by_key(|a| (a.constant.is_zero(), a.steps.len()));
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
        let Term::RCmp(op, a, b) = store.get(t) else {
            return None;
        };
        let (c, mut u) = if self.anchor.first { (a, b) } else { (b, a) };
        if op != self.anchor.op || store.as_const(c) != Some(&self.anchor.constant) {
            return None;
        }
        for s in &self.anchor.steps {
            u = match (s, store.get(u)) {
                (Step::Absolute, Term::Fun(Fun::Abs, x)) | (Step::Negative, Term::Neg(x)) => x,
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
    let Term::RCmp(op, a, b) = store.get(t) else {
        return None;
    };
    let (constant, first, mut u) = match (store.as_const(a), store.as_const(b)) {
        (Some(c), None) => (c.clone(), true, b),
        (None, Some(c)) => (c.clone(), false, a),
        _ => return None,
    };
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
        op,
        constant,
        first,
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

impl Idioms {
    /// Those below `roots`.
    pub(super) fn of(store: &TermStore, roots: &[TermId]) -> Idioms {
        let mut out = Idioms::default();
        let below = store.reachable(roots);
        let compares = |t: &&TermId| matches!(store.get(**t), Term::RCmp(..));
        let compares: Vec<TermId> = below.iter().filter(compares).copied().collect();
        if compares.is_empty() {
            return out;
        }
        // Patterns are built in a copy: what is new there is not of the pair.
        let mut copy: Option<TermStore> = None;
        for (i, p) in patterns().iter().enumerate() {
            let mut tried = rustc_hash::FxHashSet::default();
            for u in compares
                .iter()
                .filter_map(|&t| p.argument_at(store, t))
                .filter(|u| tried.insert(*u))
            {
                let copy = copy.get_or_insert_with(|| store.clone());
                let t = p.instance(copy, u);
                // A pattern that folded to something plain is none.
                let whole = matches!(store_get(store, t), Some(Term::Select(..) | Term::Mul(..) | Term::Add(..) | Term::Sum(_)));
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
        let mut names: Vec<usize> = self.map.values().map(|v| v.0).collect();
        names.sort_unstable();
        names.dedup();
        let sentence = |i: usize| {
            let name = patterns()[i].name;
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

    /// Both sides at many arguments: equal to a few units in the last place, undefined together.
    #[test]
    fn patterns_are_the_functions() {
        let mut xs: Vec<f32> = vec![0.0, 1.0, -1.0, 0.5, 2.0, 1e-30, 3e38, -3e38, 0.55, 0.6, 9.1];
        for i in 0..4000u32 {
            let h = i.wrapping_mul(2_654_435_761) ^ 0x5bd1_e995;
            let unit = (h >> 8) as f32 / (1 << 24) as f32;
            xs.extend([unit, unit * 20.0 - 10.0, unit * 2.0 - 1.0, unit * 160.0 - 80.0]);
            xs.push(f32::from_bits(h % 0x7f80_0000));
        }
        for p in patterns() {
            let mut s = TermStore::new();
            let u = s.elem(ArrayId(0), crate::kernel::Fmt::F32, 0);
            let t = p.instance(&mut s, u);
            let f = (p.meaning)(&mut s, u);
            let cone = Cone::new(&s, &[t, f]);
            let constants = cone.constants(&s);
            for &x in xs.iter().filter(|x| x.is_finite()) {
                let mut inputs = Inputs::default();
                inputs.set(ArrayId(0), 0, 4, x.to_bits() as u64);
                let v = cone.approximate(&s, &constants, &inputs, &mut Vec::new());
                let (y, z) = (v[0].f, v[1].f);
                let near = (y - z).abs() <= 1e-6 * z.abs().max(1e-7);
                let both = y.is_nan() && z.is_nan() || y == z;
                assert!(near || both, "{} at {x}: {y} and {z}", p.name);
            }
        }
    }
}
