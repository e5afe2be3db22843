//! Canonical forms as text, for `dump --stage canon` and for reports.
//!
//! What is not claimed: long sums and deep nests are cut, with a mark where.

use super::CanonId;
use super::bits::{Node, NodeId};
use super::monomial::Mono;
use super::poly::{PTerm, PolyId};
use super::rat::Rat;
use super::ring::Atom;
use super::select::{Lit, Pred};
use super::sweep::Normalizer;
use crate::kernel::Fmt;
use crate::term::{ArrayId, Fun, Term};

/// Terms of one sum that are printed.
const MAX_TERMS: usize = 24;
/// Nesting that is printed.
const MAX_DEPTH: u32 = 8;

struct Printer<'a> {
    norm: &'a Normalizer<'a>,
    names: &'a dyn Fn(ArrayId, Fmt, u64) -> String,
    out: String,
}

impl Normalizer<'_> {
    /// A canonical form as a formula; `names` gives the name of an input element by array, format
    /// and byte offset.
    pub fn display(&self, c: CanonId, names: &dyn Fn(ArrayId, Fmt, u64) -> String) -> String {
        let mut p = Printer {
            norm: self,
            names,
            out: String::new(),
        };
        p.poly(PolyId(c.0), 0);
        p.out
    }
}

impl Printer<'_> {
    fn poly(&mut self, p: PolyId, depth: u32) {
        if p.is_infinite() {
            let text = if p == PolyId::NEG_INF { "-inf" } else { "inf" };
            self.out.push_str(text);
            return;
        }
        if depth > MAX_DEPTH {
            self.out.push_str("...");
            return;
        }
        let terms = self.norm.ring.polys.get(p);
        if terms.is_empty() {
            self.out.push('0');
        }
        for (i, t) in terms.iter().enumerate() {
            if i == MAX_TERMS {
                let rest = terms.len() - i;
                self.out.push_str(&format!(" + ... ({rest} more)"));
                break;
            }
            self.term(*t, i == 0, depth);
        }
    }

    fn term(&mut self, t: PTerm, first: bool, depth: u32) {
        let neg = self.norm.ring.coefs.is_negative(t.coef);
        self.out.push_str(match (first, neg) {
            (true, true) => "-",
            (true, false) => "",
            (false, true) => " - ",
            (false, false) => " + ",
        });
        let c = self.norm.ring.coefs.get(t.coef).abs();
        let mut factors = 0;
        if c != Rat::ONE || t.is_constant() {
            self.out.push_str(&number(&c));
            factors += 1;
        }
        if t.mono != Mono::ONE {
            for (a, p) in self.norm.ring.monos.powers(t.mono) {
                if factors > 0 {
                    self.out.push('*');
                }
                factors += 1;
                self.atom(a, depth);
                if p != 1 {
                    self.out.push_str(&format!("^{p}"));
                }
            }
        }
        let e = self.norm.ring.exps.poly(t.exp);
        if e != PolyId::ZERO {
            if factors > 0 {
                self.out.push('*');
            }
            self.out.push_str("2^(");
            self.poly(e, depth + 1);
            self.out.push(')');
        }
    }

    fn call(&mut self, name: &str, args: &[PolyId], depth: u32) {
        self.out.push_str(name);
        self.out.push('(');
        for (i, p) in args.iter().enumerate() {
            if i > 0 {
                self.out.push_str(", ");
            }
            if i == MAX_TERMS {
                let rest = args.len() - i;
                self.out.push_str(&format!("... ({rest} more)"));
                break;
            }
            self.poly(*p, depth + 1);
        }
        self.out.push(')');
    }

    fn atom(&mut self, a: u32, depth: u32) {
        let norm = self.norm;
        match norm.ring.atom(a) {
            Atom::Symbol(t) => {
                let name = match norm.store.get(*t) {
                    Term::Elem { array, fmt, off } => (self.names)(array, fmt, off),
                    _ => format!("t{}", t.0),
                };
                self.out.push_str(&name);
            }
            Atom::Log2E => self.out.push_str("log2(e)"),
            Atom::Let(p) => self.call("", &[*p], depth),
            Atom::Inv(p) => self.call("1/", &[*p], depth),
            Atom::Sqrt(p) => self.call("sqrt", &[*p], depth),
            Atom::Log2(p) => self.call("log2", &[*p], depth),
            Atom::Fun(f, p) => self.call(fun_name(*f), &[*p], depth),
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

    fn lit(&mut self, l: Lit, depth: u32) {
        let norm = self.norm;
        if depth > MAX_DEPTH {
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

    fn node(&mut self, n: NodeId, depth: u32) {
        let norm = self.norm;
        if depth > MAX_DEPTH {
            self.out.push_str("...");
            return;
        }
        match norm.ring.nodes.get(n) {
            Node::Const(_, v) => self.out.push_str(&format!("{v:#x}")),
            Node::Bytes(a, off, w) => {
                self.out
                    .push_str(&format!("array{}[{off}..+{}]", a.0, w / 8));
            }
            Node::Fresh(_, s) => self.out.push_str(&format!("fresh{s}")),
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
            Node::Op(op, a, b) => {
                self.out.push_str(&format!("{op:?}("));
                self.node(*a, depth + 1);
                self.out.push_str(", ");
                self.node(*b, depth + 1);
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

fn number(r: &Rat) -> String {
    match r {
        Rat::Small(n, 1) => n.to_string(),
        Rat::Small(n, d) => format!("{n}/{d}"),
        Rat::Big(b) => format!("({b})"),
    }
}

fn fun_name(f: Fun) -> &'static str {
    match f {
        Fun::Sqrt => "sqrt",
        Fun::Rsqrt => "rsqrt",
        Fun::Exp2 => "exp2",
        Fun::Log2 => "log2",
        Fun::Sin => "sin",
        Fun::Cos => "cos",
        Fun::Tanh => "tanh",
        Fun::Abs => "abs",
        Fun::Floor => "floor",
        Fun::Ceil => "ceil",
        Fun::Trunc => "trunc",
        Fun::RoundEven => "round",
    }
}
