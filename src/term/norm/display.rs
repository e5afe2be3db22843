//! Canonical forms as text, for `dump --stage canon` and for reports.
//!
//! Exponentials whose exponents hold log2(e) everywhere are written with `exp`, inverses as
//! divisions. What is not claimed: long sums and deep nests are cut, with a mark where.

use super::CanonId;
use super::bits::{Node, NodeId};
use super::joint::Joint;
use super::monomial::Mono;
use super::poly::{PTerm, PolyId};
use super::rat::Rat;
use super::ring::Atom;
use super::select::{Lit, Pred};
use super::sweep::Normalizer;
use crate::term::{ArrayId, BitsOp, Term, show};

/// An operation on bits, as formulas and sentences have it.
pub(super) fn op_name(op: BitsOp) -> &'static str {
    match op {
        BitsOp::Add => "+",
        BitsOp::Mul => "*",
        BitsOp::And => "&",
        BitsOp::Or => "|",
        BitsOp::Xor => "^",
        BitsOp::Shl => "<<",
        BitsOp::LShr => ">> (logical)",
        BitsOp::AShr => ">> (arithmetic)",
        BitsOp::UDiv => "/ (unsigned)",
        BitsOp::SDiv => "/ (signed)",
        BitsOp::URem => "% (unsigned)",
        BitsOp::SRem => "% (signed)",
    }
}

/// Terms of one sum that are printed.
const MAX_TERMS: usize = 24;
/// Nesting that is printed.
const MAX_DEPTH: u32 = 8;

/// Names the bytes of an array from an offset on: array, offset, number of bytes.
pub(super) type Names<'n> = dyn Fn(ArrayId, u64, u64) -> String + 'n;

/// How much of a form is printed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Summands of one sum.
    pub terms: usize,
    /// Characters, roughly.
    pub chars: usize,
}

/// What `dump` prints of a form.
const WHOLE: Bounds = Bounds {
    terms: MAX_TERMS,
    chars: 1 << 20,
};

pub(super) struct Printer<'a, 's> {
    norm: &'a Normalizer<'s>,
    names: &'a Names<'a>,
    bounds: Bounds,
    /// The next sum is an exponent of `exp`: its factors log2(e) are not printed.
    natural: bool,
    pub(super) out: String,
}

impl Normalizer<'_> {
    /// A canonical form as a formula.
    pub fn display(&self, c: CanonId, names: &Names<'_>) -> String {
        let mut p = Printer::new(self, names, WHOLE);
        p.poly(PolyId(c.0), 0);
        p.out
    }
}

impl<'a, 's> Printer<'a, 's> {
    pub(super) fn new(norm: &'a Normalizer<'s>, names: &'a Names<'a>, bounds: Bounds) -> Self {
        Printer {
            norm,
            names,
            bounds,
            natural: false,
            out: String::new(),
        }
    }

    fn is_cut(&self, depth: u32) -> bool {
        depth > MAX_DEPTH || self.out.len() >= self.bounds.chars
    }

    pub(super) fn poly(&mut self, p: PolyId, depth: u32) {
        if p.is_infinite() {
            let text = if p == PolyId::NEG_INF { "-inf" } else { "inf" };
            self.out.push_str(text);
            return;
        }
        if self.is_cut(depth) {
            self.out.push_str("...");
            return;
        }
        let natural = std::mem::take(&mut self.natural);
        let terms = self.norm.ring.polys.get(p);
        if terms.is_empty() {
            self.out.push('0');
        }
        for (i, t) in terms.iter().enumerate() {
            if i > 0 && (i == self.bounds.terms || self.out.len() >= self.bounds.chars) {
                let rest = terms.len() - i;
                self.out.push_str(&format!(" + ... ({rest} more)"));
                break;
            }
            self.summand(*t, i == 0, depth, natural);
        }
    }

    /// A term after others, or the first of a sum.
    pub(super) fn term(&mut self, t: PTerm, first: bool, depth: u32) {
        self.summand(t, first, depth, false);
    }

    fn summand(&mut self, t: PTerm, first: bool, depth: u32, natural: bool) {
        let neg = self.norm.ring.coefs.is_negative(t.coef);
        self.out.push_str(match (first, neg) {
            (true, true) => "-",
            (true, false) => "",
            (false, true) => " - ",
            (false, false) => " + ",
        });
        let c = self.norm.ring.coefs.get(t.coef).abs();
        let powers = match t.mono == Mono::ONE {
            true => Default::default(),
            false => self.norm.ring.monos.powers(t.mono),
        };
        let divides = |a: u32, p: i32| p < 0 || matches!(self.norm.ring.atom(a), Atom::Inv(_));
        let shown = |&(a, _): &(u32, i32)| !natural || *self.norm.ring.atom(a) != Atom::Log2E;
        let (below, above): (Vec<_>, Vec<_>) = powers
            .into_iter()
            .filter(shown)
            .partition(|&(a, p)| divides(a, p));
        let e = self.norm.ring.exps.poly(t.exp);
        let mut factors = 0;
        if c != Rat::ONE || above.is_empty() && e == PolyId::ZERO {
            self.out.push_str(&number(&c));
            factors += 1;
        }
        for (a, p) in above {
            if factors > 0 {
                self.out.push('*');
            }
            factors += 1;
            self.power(a, p, depth);
        }
        if e != PolyId::ZERO {
            if factors > 0 {
                self.out.push('*');
            }
            self.exponential(e, depth);
        }
        for (a, p) in below {
            self.out.push('/');
            match *self.norm.ring.atom(a) {
                // An inverse to a positive power; negative ones do not occur.
                Atom::Inv(d) if p > 0 => {
                    self.call("", &[d], depth);
                    if p != 1 {
                        self.out.push_str(&format!("^{p}"));
                    }
                }
                _ => self.power(a, -p, depth),
            }
        }
    }

    fn power(&mut self, a: u32, p: i32, depth: u32) {
        self.atom(a, depth);
        if p != 1 {
            self.out.push_str(&format!("^{p}"));
        }
    }

    /// 2^e, written with the base that makes the exponent simple.
    fn exponential(&mut self, e: PolyId, depth: u32) {
        let ring = &self.norm.ring;
        let natural = |t: &PTerm| {
            let powers = ring.monos.powers(t.mono);
            powers
                .iter()
                .any(|&(a, p)| p == 1 && *ring.atom(a) == Atom::Log2E)
        };
        if !ring.polys.get(e).iter().all(natural) {
            self.out.push_str("2^(");
            self.poly(e, depth + 1);
            self.out.push(')');
            return;
        }
        self.out.push_str("exp(");
        self.natural = true;
        self.poly(e, depth + 1);
        self.natural = false;
        self.out.push(')');
    }

    fn call(&mut self, name: &str, args: &[PolyId], depth: u32) {
        self.out.push_str(name);
        self.out.push('(');
        for (i, p) in args.iter().enumerate() {
            if i > 0 {
                self.out.push_str(", ");
            }
            if i > 0 && (i == self.bounds.terms || self.out.len() >= self.bounds.chars) {
                let rest = args.len() - i;
                self.out.push_str(&format!("... ({rest} more)"));
                break;
            }
            self.poly(*p, depth + 1);
        }
        self.out.push(')');
    }

    pub(super) fn atom(&mut self, a: u32, depth: u32) {
        let norm = self.norm;
        match norm.ring.atom(a) {
            Atom::Symbol(t) => {
                let name = match norm.store.get(*t) {
                    Term::Elem { array, fmt, off } => {
                        (self.names)(array, off, fmt.bits() as u64 / 8)
                    }
                    _ => format!("t{}", t.0),
                };
                self.out.push_str(&name);
            }
            Atom::Log2E => self.out.push_str("log2(e)"),
            Atom::Let(p) => self.call("", &[*p], depth),
            Atom::Inv(p) => self.call("1/", &[*p], depth),
            Atom::Sqrt(p) => self.call("sqrt", &[*p], depth),
            Atom::Log2(p) => self.call("log2", &[*p], depth),
            Atom::Fun(f, p) => self.call(show::function(*f), &[*p], depth),
            Atom::Max(s) => self.call("max", s, depth),
            Atom::Select(c, a, b) => {
                self.out.push('(');
                self.lit(*c, depth + 1);
                self.out.push_str(" ? ");
                self.poly(*a, depth + 1);
                self.out.push_str(" : ");
                self.poly(*b, depth + 1);
                self.out.push(')');
            }
            Atom::OfInt(signed, n) => {
                self.out.push_str(if *signed { "int(" } else { "uint(" });
                self.node(*n, depth + 1);
                self.out.push(')');
            }
            Atom::OfBits(f, n) => {
                self.out.push_str(&format!("{f:?}("));
                self.node(*n, depth + 1);
                self.out.push(')');
            }
        }
    }

    pub(super) fn lit(&mut self, l: Lit, depth: u32) {
        let norm = self.norm;
        if self.is_cut(depth) {
            self.out.push_str("...");
            return;
        }
        if l.is_negated() {
            self.out.push('!');
        }
        self.out.push('(');
        match norm.ring.preds.get(l) {
            Pred::True => self.out.push_str("true"),
            Pred::Negative(p) => {
                self.poly(*p, depth + 1);
                self.out.push_str(" < 0");
            }
            Pred::Zero(p) => {
                self.poly(*p, depth + 1);
                self.out.push_str(" = 0");
            }
            Pred::Bits(op, a, b) => {
                self.node(*a, depth + 1);
                self.out.push_str(&format!(" {op:?} "));
                self.node(*b, depth + 1);
            }
            Pred::All(s) => {
                for (i, l) in s.iter().enumerate() {
                    if i > 0 {
                        self.out.push_str(" and ");
                    }
                    self.lit(*l, depth + 1);
                }
            }
            Pred::Xor(a, b) => {
                self.lit(*a, depth + 1);
                self.out.push_str(" xor ");
                self.lit(*b, depth + 1);
            }
        }
        self.out.push(')');
    }

    pub(super) fn node(&mut self, n: NodeId, depth: u32) {
        let norm = self.norm;
        if self.is_cut(depth) {
            self.out.push_str("...");
            return;
        }
        match norm.ring.nodes.get(n) {
            Node::Const(_, v) => match *v < 1 << 16 {
                true => self.out.push_str(&v.to_string()),
                false => self.out.push_str(&format!("{v:#x}")),
            },
            Node::Bytes(a, off, w) => {
                let name = (self.names)(*a, *off, *w as u64 / 8);
                self.out.push_str(&name);
            }
            Node::Fresh(_, s) => self.out.push_str(&format!("fresh{s}")),
            Node::Made(f, _) => self.out.push_str(&format!("bits_{f:?}(...)")),
            Node::OfReal(f, p) => self.call(&format!("bits_{f:?}"), &[*p], depth),
            Node::Concat(list) => {
                self.out.push('{');
                for (i, c) in list.iter().enumerate() {
                    if i > 0 {
                        self.out.push_str(", ");
                    }
                    self.node(*c, depth + 1);
                }
                self.out.push('}');
            }
            Node::Extract(c, low, w) => {
                self.node(*c, depth + 1);
                self.out.push_str(&format!("[{low}..+{w}]"));
            }
            Node::Sum(_, list) => {
                self.out.push('(');
                for (i, (n, c)) in list.iter().enumerate() {
                    if i > 0 {
                        self.out.push_str(" + ");
                    }
                    if self.is_cut(depth + 1) {
                        self.out.push_str("...");
                        break;
                    }
                    match (norm.ring.nodes.get(*n), c) {
                        (Node::Const(..), c) => self.out.push_str(&c.to_string()),
                        (_, 1) => self.node(*n, depth + 1),
                        (_, c) => {
                            self.out.push_str(&format!("{c} * "));
                            self.node(*n, depth + 1);
                        }
                    }
                }
                self.out.push(')');
            }
            Node::Op(op, a, b) => {
                self.out.push('(');
                self.node(*a, depth + 1);
                self.out.push_str(&format!(" {} ", op_name(*op)));
                self.node(*b, depth + 1);
                self.out.push(')');
            }
            Node::Set(op, _, list) => {
                let infix = matches!(op, Joint::And | Joint::Or | Joint::Xor);
                if !infix {
                    self.out.push_str(op.name());
                }
                self.out.push('(');
                for (i, c) in list.iter().enumerate() {
                    match (i, infix) {
                        (0, _) => {}
                        (_, true) => self.out.push_str(&format!(" {} ", op.name())),
                        (_, false) => self.out.push_str(", "),
                    }
                    self.node(*c, depth + 1);
                    if self.out.len() >= self.bounds.chars {
                        self.out.push_str(", ...");
                        break;
                    }
                }
                self.out.push(')');
            }
            Node::Select(c, a, b) => {
                self.out.push('(');
                self.lit(*c, depth + 1);
                self.out.push_str(" ? ");
                self.node(*a, depth + 1);
                self.out.push_str(" : ");
                self.node(*b, depth + 1);
                self.out.push(')');
            }
            Node::OfBool(_, l) => self.lit(*l, depth + 1),
            Node::Clamp(w, signed, p) => {
                let kind = if *signed { 's' } else { 'u' };
                self.call(&format!("to_{kind}{w}"), &[*p], depth);
            }
        }
    }
}

/// A rational as people write it.
pub(super) fn number(r: &Rat) -> String {
    show::number(&r.to_big())
}
