//! Expressions as the text that `--formula` reads.

use num_bigint::BigInt;
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::{One, Pow, Signed};

use super::expr::{Bounds, Expr, Fold};
use super::linear::{Divisor, Feature, Linear, Wrap};
use super::tree::{Call, Q};
use crate::formula;

/// Digits of a decimal; a fraction with more is written as a quotient.
const DIGITS: usize = 20;

/// What the names are.
#[derive(Clone, Debug, Default)]
pub(super) struct PrintNames {
    /// Of arrays, by number.
    pub arrays: Vec<String>,
    /// Of variables, by place in the scope; those beyond have names of their own.
    pub vars: Vec<String>,
    /// Names that are taken.
    pub taken: Vec<String>,
    /// Constants of the kernel, by number.
    pub constants: Vec<Q>,
    /// Arrays that are scalars.
    pub scalars: Vec<bool>,
    /// Extents of each array.
    pub extents: Vec<Vec<Linear>>,
}

/// How tight an operator binds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// A condition of a choice, the body of a reduction.
    Open,
    /// An operand of a sum.
    Summand,
    /// An operand of a product.
    Factor,
    /// The base of a power.
    Base,
}

/// A name as formulas have it.
pub(super) fn name(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    let plain = first && chars.all(|c| c.is_ascii_alphanumeric() || c == '_');
    match plain && !formula::is_keyword(text) {
        true => text.to_string(),
        false => format!("`{text}`"),
    }
}

/// A positive number: its text, and the divisor that follows it, if it is no decimal.
fn number(q: &Q) -> (String, Option<String>) {
    if q.is_integer() {
        return (q.to_integer().to_string(), None);
    }
    let ten = BigInt::from(10);
    let mut places = 0usize;
    let mut d = q.denom().clone();
    for p in [2u32, 5] {
        let mut count = 0;
        while d.is_multiple_of(&BigInt::from(p)) {
            d /= p;
            count += 1;
        }
        places = places.max(count);
    }
    if !d.is_one() || places > 60 {
        return (q.numer().to_string(), Some(q.denom().to_string()));
    }
    let digits = (q * BigRational::from_integer(Pow::pow(&ten, places)))
        .to_integer()
        .to_string();
    if digits.len() > DIGITS && q.denom().bits() < 40 {
        return (q.numer().to_string(), Some(q.denom().to_string()));
    }
    let small = places >= digits.len() + 4;
    if small {
        let (first, rest) = digits.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        let exponent = places + 1 - digits.len();
        return (format!("{first}{point}{rest}e-{exponent}"), None);
    }
    let digits = format!("{digits:0>width$}", width = places + 1);
    let (whole, part) = digits.split_at(digits.len() - places);
    (format!("{whole}.{part}"), None)
}

impl PrintNames {
    /// The name of a variable.
    pub(super) fn var(&self, v: usize) -> String {
        if let Some(n) = self.vars.get(v) {
            return name(n);
        }
        let letters = ["k", "l", "m", "n", "p", "q", "r", "s", "t", "u", "v", "w"];
        let free = letters
            .iter()
            .map(|l| l.to_string())
            .chain((0..).map(|i| format!("k{i}")));
        let mut free = free.filter(|l| !self.taken.contains(l) && !self.vars.contains(l));
        free.nth(v - self.vars.len()).unwrap_or_default()
    }

    /// The left side of a definition, with the bounds that hold of the elements that are defined.
    pub(super) fn head(&self, output: &str, indices: &[usize], bounds: &[Bounds]) -> String {
        let indices: Vec<String> = indices.iter().map(|&v| self.var(v)).collect();
        let cond = match bounds.is_empty() {
            true => String::new(),
            false => format!(" if {}", self.all_bounds(bounds)),
        };
        format!("{}[{}{cond}]", name(output), indices.join(","))
    }

    /// The definition of an output.
    pub(super) fn definition(&self, head: &str, value: &Expr) -> String {
        let value = self.text(value, self.vars.len(), Level::Open);
        format!("{head} = {value}")
    }

    /// Definitions of an output as the place of an extremum of a body over a range: the first or the last place of the
    /// largest or the least.
    pub(super) fn indices_of_extrema(
        &self,
        head: &str,
        range: &(Linear, Linear),
        body: &Expr,
    ) -> Vec<String> {
        let scope = self.vars.len();
        let inner = self.var(scope);
        let mut outer = self.clone();
        outer.taken.push(inner.clone());
        let place = outer.var(scope);
        let (lo, hi) = (self.index(&range.0), self.index(&range.1));
        let [element, other] = [&outer, self].map(|n| n.text(body, scope + 1, Level::Summand));
        let both = |which: &str, of: &str| {
            format!(
                "{head} = {which}({place} in {lo}..{hi} if {element} = {of}({inner} in {lo}..{hi}: {other}): {place})"
            )
        };
        let ways = [
            ("min", "max"),
            ("min", "min"),
            ("max", "max"),
            ("max", "min"),
        ];
        ways.map(|(which, of)| both(which, of)).into()
    }

    fn divisor(&self, d: Divisor) -> String {
        match d {
            Divisor::Number(n) => n.to_string(),
            Divisor::Var(v) => self.var(v),
        }
    }

    /// An index expression; as a value a quotient is rounded down by name.
    fn linear(&self, l: &Linear, is_value: bool) -> (String, Level) {
        let feature = |f: &Feature| match f {
            Feature::Var(v) => self.var(*v),
            Feature::Div(v, d) if is_value => {
                format!("floor({}/{})", self.var(*v), self.divisor(*d))
            }
            Feature::Div(v, d) => format!("{}/{}", self.var(*v), self.divisor(*d)),
            Feature::Mod(v, d) => format!("{} % {}", self.var(*v), self.divisor(*d)),
            Feature::Times(v, w) => format!("{}*{}", self.var(*v), self.var(*w)),
            Feature::Digit(v, d, m) => format!("{}/{d} % {m}", self.var(*v)),
        };
        let mut parts: Vec<(bool, String)> = Vec::new();
        for (k, f) in &l.terms {
            let text = feature(f);
            let text = match (k.abs(), f) {
                (1, _) => text,
                (n, Feature::Var(_) | Feature::Times(..)) => format!("{n}*{text}"),
                (n, Feature::Div(..) | Feature::Mod(..) | Feature::Digit(..)) => {
                    format!("{n}*({text})")
                }
            };
            parts.push((*k < 0, text));
        }
        if l.constant != 0 || parts.is_empty() {
            parts.push((l.constant < 0, l.constant.unsigned_abs().to_string()));
        }
        parts.sort_by_key(|p| p.0);
        let level = match (parts.as_slice(), l.terms.as_slice()) {
            ([(false, _)], [] | [(1, Feature::Var(_))]) => Level::Base,
            ([(false, _)], _) => Level::Factor,
            _ => Level::Summand,
        };
        let sum = joined(&parts);
        match l.wrap {
            Wrap::None => (sum, level),
            Wrap::Modulo(m) if level < Level::Base => (format!("({sum}) % {m}"), Level::Factor),
            Wrap::Modulo(m) => (format!("{sum} % {m}"), Level::Factor),
            Wrap::Between(lo, hi) => (format!("min(max({sum}, {lo}), {hi})"), Level::Base),
        }
    }

    fn index(&self, l: &Linear) -> String {
        self.linear(l, false).0
    }

    /// A subscript that data choose.
    fn chosen(&self, (own, parts): &(Linear, Vec<(i64, Expr)>), scope: usize) -> String {
        let part = |(k, e): &(i64, Expr)| {
            let text = self.text(e, scope, Level::Factor);
            let text = match k.abs() {
                1 => text,
                n => format!("{n}*{text}"),
            };
            (*k < 0, text)
        };
        let mut all: Vec<(bool, String)> = parts.iter().map(part).collect();
        if all.is_empty() {
            return self.index(own);
        }
        if *own != Linear::number(0) {
            all.push((false, self.index(own)));
        }
        joined(&all).replace("+ -", "- ")
    }

    fn bounds(&self, b: &Bounds) -> String {
        let index = self.index(&b.index);
        match (&b.first, &b.end) {
            (Some(lo), Some(hi)) if lo.as_number().is_some() && is_next(lo, hi) => {
                format!("{index} = {}", self.index(lo))
            }
            (Some(lo), None) => format!("{index} >= {}", self.index(lo)),
            (lo, hi) => {
                let lo = lo
                    .as_ref()
                    .map_or(String::new(), |lo| format!("{} <= ", self.index(lo)));
                let hi = hi
                    .as_ref()
                    .map_or(String::new(), |hi| format!(" < {}", self.index(hi)));
                format!("{lo}{index}{hi}")
            }
        }
    }

    fn all_bounds(&self, list: &[Bounds]) -> String {
        let list: Vec<String> = list.iter().map(|b| self.bounds(b)).collect();
        list.join(" and ")
    }

    /// An expression under a scope of so many variables.
    pub(super) fn text(&self, e: &Expr, scope: usize, at: Level) -> String {
        let (text, level) = self.write(e, scope);
        match level < at {
            true => format!("({text})"),
            false => text,
        }
    }

    fn write(&self, e: &Expr, scope: usize) -> (String, Level) {
        let list = |l: &[Expr]| -> String {
            let all: Vec<String> = l.iter().map(|e| self.text(e, scope, Level::Open)).collect();
            all.join(", ")
        };
        let call = |f: &str, e: &Expr| {
            (
                format!("{f}({})", self.text(e, scope, Level::Open)),
                Level::Base,
            )
        };
        match e {
            Expr::Number(_) => self.sum(&[(Q::one(), e.clone())], scope),
            Expr::Constant(_) => self.sum(&[(Q::one(), e.clone())], scope),
            Expr::Infinity(neg) => match neg {
                true => ("-inf".into(), Level::Summand),
                false => ("inf".into(), Level::Base),
            },
            Expr::Index(l) => self.linear(l, true),
            Expr::Read(array, at) => {
                let at: Vec<String> = at.iter().map(|l| self.index(l)).collect();
                let is_scalar = self.scalars[*array as usize];
                let array = name(&self.arrays[*array as usize]);
                if is_scalar {
                    return (array, Level::Base);
                }
                (format!("{array}[{}]", at.join(",")), Level::Base)
            }
            Expr::Gather(array, at) => {
                let at: Vec<String> = at.iter().map(|s| self.chosen(s, scope)).collect();
                let array = name(&self.arrays[*array as usize]);
                (format!("{array}[{}]", at.join(",")), Level::Base)
            }
            Expr::Sum(l) => self.sum(l, scope),
            Expr::Product(_) => self.sum(&[(Q::one(), e.clone())], scope),
            Expr::Call(Call::Below | Call::Zero | Call::Not | Call::IsNan, _) | Expr::All(_) => {
                (self.condition(e, scope, false), Level::Open)
            }
            Expr::Call(f, x) => call(function(*f), x),
            Expr::Relu(x) => call("relu", x),
            Expr::Sigmoid(x) => call("sigmoid", x),
            Expr::Max(l) => (format!("max({})", list(l)), Level::Base),
            Expr::Min(l) => (format!("min({})", list(l)), Level::Base),
            Expr::Reduce { .. } => (self.reduction(e, scope), Level::Base),
            Expr::Guard(bounds, a, b) => {
                let c = self.all_bounds(bounds);
                let [a, b] = [a, b].map(|e| self.text(e, scope, Level::Open));
                (format!("if {c} then {a} else {b}"), Level::Open)
            }
            Expr::Choose(c, a, b) => {
                let c = self.condition(c, scope, false);
                let [a, b] = [a, b].map(|e| self.text(e, scope, Level::Open));
                (format!("if {c} then {a} else {b}"), Level::Open)
            }
        }
    }

    fn reduction(&self, e: &Expr, scope: usize) -> String {
        let Expr::Reduce {
            fold,
            ranges,
            bounds,
            body,
        } = e
        else {
            return String::new();
        };
        let fold = match fold {
            Fold::Sum => "sum",
            Fold::Mean => "mean",
            Fold::Product => "prod",
            Fold::Max => "max",
            Fold::Min => "min",
        };
        let var = |(d, (lo, hi)): (usize, &(Linear, Linear))| {
            let v = scope + d;
            match self.follows(body, v, hi) && *lo == Linear::number(0) {
                true => self.var(v),
                false => format!("{} in {}..{}", self.var(v), self.index(lo), self.index(hi)),
            }
        };
        let vars: Vec<String> = ranges.iter().enumerate().map(var).collect();
        let cond = match bounds.is_empty() {
            true => String::new(),
            false => format!(" if {}", self.all_bounds(bounds)),
        };
        let body = self.text(body, scope + ranges.len(), Level::Open);
        format!("{fold}({}{cond}: {body})", vars.join(", "))
    }

    /// True if the range of a variable up to `end` follows from what it subscripts.
    fn follows(&self, body: &Expr, v: usize, end: &Linear) -> bool {
        let found = self.direct(body, v);
        !found.is_empty() && found.iter().all(|e| e == end)
    }

    /// The extents where an expression subscripts an array with a variable itself.
    fn direct(&self, e: &Expr, v: usize) -> Vec<Linear> {
        let mut out = Vec::new();
        if let Expr::Read(array, at) = e {
            let extents = &self.extents[*array as usize];
            let own = at
                .iter()
                .zip(extents)
                .filter(|(i, _)| i.as_var() == Some(v));
            out.extend(own.map(|(_, extent)| extent.clone()));
        }
        e.children(&mut |c| out.extend(self.direct(c, v)));
        out
    }

    fn sum(&self, list: &[(Q, Expr)], scope: usize) -> (String, Level) {
        let mut sorted: Vec<&(Q, Expr)> = list.iter().collect();
        // Numbers stand last, as people write them.
        let is_number = |e: &Expr| match e {
            Expr::Product(l) => l.iter().all(|f| matches!(f.0, Expr::Constant(_))),
            e => matches!(e, Expr::Constant(_)),
        };
        sorted.sort_by_key(|(q, e)| (q.is_negative(), is_number(e)));
        let part = |(q, e): &&(Q, Expr)| (q.is_negative(), self.summand(&q.abs(), e, scope));
        let parts: Vec<(bool, String)> = sorted.iter().map(part).collect();
        let level = match (list, parts.as_slice()) {
            ([(q, Expr::Product(l))], [(false, _)]) if l.is_empty() && q.is_integer() => {
                Level::Base
            }
            ([(_, Expr::Constant(_))], [(false, t)]) if t.parse::<f64>().is_ok() => Level::Base,
            (_, [(false, _)]) => Level::Factor,
            _ => Level::Summand,
        };
        (joined(&parts), level)
    }

    /// A multiple without its sign.
    fn summand(&self, q: &Q, e: &Expr, scope: usize) -> String {
        let factors = match e {
            Expr::Product(l) => l.clone(),
            Expr::Number(n) => return self.summand(&(n * q), &Expr::Product(Vec::new()), scope),
            e => vec![(e.clone(), 1)],
        };
        let mut factors = factors;
        factors.sort_by_key(|(e, _)| match e {
            Expr::Read(array, _) => (0, *array),
            Expr::Index(_) => (1, 0),
            _ => (2, 0),
        });
        let (mut constants, mut above, mut below) = (Vec::new(), Vec::new(), Vec::new());
        let (n, d) = number(q);
        if n != "1" || !factors.iter().any(|f| f.1 > 0) {
            constants.push(n);
        }
        below.extend(d);
        for (e, p) in &factors {
            let power = p.abs();
            let text = match e {
                Expr::Constant(c) => match number(&self.constants[*c as usize]) {
                    (n, Some(d)) => format!("({n}/{d})"),
                    (n, None) => n,
                },
                e => {
                    let (text, level) = self.write(e, scope);
                    let is_compound = matches!(e, Expr::Sum(_) | Expr::Product(_))
                        || matches!(e, Expr::Index(_)) && level < Level::Base;
                    let at = if power == 1 {
                        Level::Factor
                    } else {
                        Level::Base
                    };
                    match level < at || is_compound {
                        true => format!("({text})"),
                        false => text,
                    }
                }
            };
            let text = match power {
                1 => text,
                n => format!("{text}^{n}"),
            };
            match (*p > 0, e) {
                (true, Expr::Constant(_)) => constants.push(text),
                (true, _) => above.push(text),
                (false, _) => below.push(text),
            }
        }
        let below: Vec<String> = below.into_iter().map(|b| format!("/{b}")).collect();
        format!("{}{}", nested(constants, &above.join("*")), below.concat())
    }

    /// A condition, or its negation.
    fn condition(&self, e: &Expr, scope: usize, negated: bool) -> String {
        let compare = |x: &Expr, signs: [&str; 2]| {
            let (mut left, mut right) = (Vec::new(), Vec::new());
            let list = match x {
                Expr::Sum(l) => l.clone(),
                e => vec![(Q::one(), e.clone())],
            };
            let is_number = |e: &Expr| matches!(e, Expr::Product(l) if l.is_empty());
            let lead = list.iter().find(|(_, e)| !is_number(e));
            let lead = lead.map_or(Q::one(), |(q, _)| q.abs());
            for (q, e) in list {
                let (q, e) = positive(q / &lead, e);
                match q.is_negative() {
                    true => right.push((-q, e)),
                    false => left.push((q, e)),
                }
            }
            let turn = left.iter().all(|(_, e)| is_number(e)) && !right.is_empty();
            let [l, r] = [left, right].map(|l| self.text(&Expr::sum(l), scope, Level::Summand));
            let sign = signs[usize::from(negated)];
            let turned = match sign {
                "<" => ">",
                ">=" => "<=",
                same => same,
            };
            match turn {
                true => format!("{r} {turned} {l}"),
                false => format!("{l} {sign} {r}"),
            }
        };
        match e {
            Expr::Call(Call::Below, x) => compare(x, ["<", ">="]),
            Expr::Call(Call::Zero, x) => compare(x, ["=", "!="]),
            Expr::Call(Call::Not, x) => self.condition(x, scope, !negated),
            Expr::Call(Call::IsNan, x) => {
                let x = self.text(x, scope, Level::Open);
                format!("{}isnan({x})", if negated { "not " } else { "" })
            }
            Expr::All(l) => {
                let word = if negated { " or " } else { " and " };
                let all: Vec<String> = l
                    .iter()
                    .map(|c| self.condition(c, scope, negated))
                    .collect();
                match l.len() {
                    0 if negated => "0 = 1".into(),
                    0 => "0 = 0".into(),
                    _ => format!("({})", all.join(word)),
                }
            }
            e => self.text(e, scope, Level::Open),
        }
    }
}

/// Constants in front of a product, each multiplied with all that follows it: no two of them become one number.
fn nested(constants: Vec<String>, product: &str) -> String {
    let mut out = product.to_string();
    for (i, c) in constants.into_iter().rev().enumerate() {
        out = match (out.as_str(), i) {
            ("", _) => c,
            (rest, 0) => format!("{c}*{rest}"),
            (rest, _) => format!("{c}*({rest})"),
        };
    }
    if out.is_empty() {
        out.push('1');
    }
    out
}

fn joined(parts: &[(bool, String)]) -> String {
    let mut out = String::new();
    for (i, (neg, text)) in parts.iter().enumerate() {
        out.push_str(match (i, neg) {
            (0, true) => "-",
            (0, false) => "",
            (_, true) => " - ",
            (_, false) => " + ",
        });
        out.push_str(text);
    }
    out
}

/// A multiple of an index expression with no sign inside, where that can be.
fn positive(q: Q, e: Expr) -> (Q, Expr) {
    match e {
        Expr::Index(l)
            if l.wrap == Wrap::None && l.constant <= 0 && l.terms.iter().all(|t| t.0 < 0) =>
        {
            let terms = l.terms.iter().map(|&(k, f)| (-k, f)).collect();
            let turned = Linear {
                constant: -l.constant,
                terms,
                wrap: Wrap::None,
            };
            (-q, Expr::Index(turned))
        }
        e => (q, e),
    }
}

fn is_next(lo: &Linear, hi: &Linear) -> bool {
    lo.terms == hi.terms && hi.constant == lo.constant + 1
}

fn function(f: Call) -> &'static str {
    match f {
        Call::Exp => "exp",
        Call::Log => "log",
        Call::Sqrt => "sqrt",
        Call::Sin => "sin",
        Call::Cos => "cos",
        Call::Tanh => "tanh",
        Call::Erf => "erf",
        Call::Abs => "abs",
        Call::Floor => "floor",
        Call::Ceil => "ceil",
        Call::Trunc => "trunc",
        Call::Rint => "rint",
        Call::IsNan => "isnan",
        Call::Below | Call::Zero | Call::Not => "",
    }
}

/// True for a number that is written as it is: an integer of a word, a fraction of few bits, few bits over a power of 2.
pub(super) fn is_plain(q: &Q) -> bool {
    const BITS: u64 = 12;
    const WORD: u64 = 32;
    let over_power = q.denom().trailing_zeros() == Some(q.denom().bits() - 1);
    q.numer().bits() <= BITS && (q.denom().bits() <= BITS || over_power)
        || q.is_integer() && q.numer().bits() <= WORD
}
