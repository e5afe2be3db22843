//! The notation of `norm/rules.rs`, read as terms.
//!
//! ```text
//! choice  = sum [("<=" | "<" | "=") sum "?" choice ":" choice]
//! sum     = ["-"] product {("+" | "-") product}
//! product = power {["*" | "/"] power}                          the sign may be left out before a name or "("
//! power   = "2^" ["-"] atom | atom ["^" number]
//! atom    = number | operand | function "(" choice ["," choice] ")" | "(" choice ")" | "|" choice "|"
//! ```
//!
//! All signs of one line bind to the left, and a minus in front of a product negates all of it. The text is that of
//! the crate, so an error in it is a failure of the test that reads it.

use super::eval;
use super::*;
use crate::norm::rules::{OPERANDS, Row};
use crate::term::RCmp;

const FUNCTIONS: [(&str, Fun); 11] = [
    ("sqrt", Fun::Sqrt),
    ("rsqrt", Fun::Rsqrt),
    ("log2", Fun::Log2),
    ("sin", Fun::Sin),
    ("cos", Fun::Cos),
    ("tanh", Fun::Tanh),
    ("erf", Fun::Erf),
    ("trunc", Fun::Trunc),
    ("floor", Fun::Floor),
    ("ceil", Fun::Ceil),
    ("round", Fun::RoundEven),
];

/// The terms that the names x, y and z stand for, and the integer n.
pub(super) struct Operands(pub(super) [TermId; 3], pub(super) i64);

impl Row {
    /// The pattern and the result over operands.
    pub(super) fn sides(&self, b: &mut Build, operands: &Operands) -> (TermId, TermId) {
        let [l, r] = [self.pattern, self.result].map(|text| term(b, operands, text));
        (l, r)
    }
}

/// The term of a text over operands.
fn term(b: &mut Build, operands: &Operands, text: &str) -> TermId {
    let mut reader = Reader {
        b,
        operands,
        rest: text,
    };
    let t = reader.choice();
    assert!(reader.rest.is_empty(), "{text}: what is {:?}?", reader.rest);
    t
}

/// A reader of a text, and where it stands: never before a blank.
struct Reader<'t> {
    b: &'t mut Build,
    operands: &'t Operands,
    rest: &'t str,
}

impl<'t> Reader<'t> {
    /// Goes past a sign, where it stands before one.
    fn takes(&mut self, sign: &str) -> bool {
        let rest = self.rest.strip_prefix(sign);
        self.rest = rest.map_or(self.rest, str::trim_start);
        rest.is_some()
    }

    fn expect(&mut self, sign: &str) {
        assert!(self.takes(sign), "no {sign:?} before {:?}", self.rest);
    }

    /// Goes past the characters that are of a kind.
    fn word(&mut self, is: fn(&char) -> bool) -> &'t str {
        let end = self.rest.find(|c| !is(&c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest.trim_start();
        word
    }

    fn number(&mut self) -> i64 {
        let digits = self.word(char::is_ascii_digit);
        digits
            .parse()
            .unwrap_or_else(|_| panic!("no number before {:?}", self.rest))
    }

    fn choice(&mut self) -> TermId {
        let x = self.sum();
        let signs = [("<=", RCmp::Le), ("<", RCmp::Lt), ("=", RCmp::Eq)];
        let Some((_, op)) = signs.into_iter().find(|(sign, _)| self.takes(sign)) else {
            return x;
        };
        let y = self.sum();
        self.expect("?");
        let a = self.choice();
        self.expect(":");
        let b = self.choice();
        let p = self.b.s.rcmp(op, x, y);
        self.b.s.select(p, a, b)
    }

    fn sum(&mut self) -> TermId {
        let negative = self.takes("-");
        let mut t = self.product();
        if negative {
            t = self.b.s.neg(t);
        }
        loop {
            if self.takes("+") {
                let u = self.product();
                t = self.b.add(t, u);
            } else if self.takes("-") {
                let u = self.product();
                t = self.b.sub(t, u);
            } else {
                return t;
            }
        }
    }

    fn product(&mut self) -> TermId {
        let mut t = self.power();
        loop {
            if self.takes("/") {
                let u = self.power();
                t = self.b.div(t, u);
            } else if self.takes("*")
                || self
                    .rest
                    .starts_with(|c: char| c.is_ascii_alphabetic() || c == '(')
            {
                let u = self.power();
                t = self.b.mul(t, u);
            } else {
                return t;
            }
        }
    }

    fn power(&mut self) -> TermId {
        if self.takes("2^") {
            let negative = self.takes("-");
            let t = self.atom();
            let t = if negative { self.b.s.neg(t) } else { t };
            return self.b.pow2(t);
        }
        let t = self.atom();
        if !self.takes("^") {
            return t;
        }
        let square = self.b.mul(t, t);
        match self.number() {
            2 => square,
            3 => self.b.mul(square, t),
            4 => self.b.mul(square, square),
            k => panic!("{k} is no exponent of a rule"),
        }
    }

    fn atom(&mut self) -> TermId {
        if self.takes("(") {
            let t = self.choice();
            self.expect(")");
            return t;
        }
        if self.takes("|") {
            let t = self.choice();
            self.expect("|");
            return self.b.fun(Fun::Abs, t);
        }
        if self.rest.starts_with(|c: char| c.is_ascii_digit()) {
            let k = self.number();
            return self.b.q(k, 1);
        }
        let name = self.word(char::is_ascii_alphanumeric);
        let Operands([x, y, z], n) = *self.operands;
        match name {
            "x" => x,
            "y" => y,
            "z" => z,
            "n" => self.b.q(n, 1),
            "max" | "min" => {
                self.expect("(");
                let x = self.choice();
                self.expect(",");
                let y = self.choice();
                self.expect(")");
                if name == "max" {
                    self.b.max(x, y)
                } else {
                    self.b.s.min(x, y)
                }
            }
            _ if let Some((_, text)) = OPERANDS.iter().find(|(o, _)| *o == name) => {
                term(self.b, self.operands, text)
            }
            _ => {
                let function = FUNCTIONS.iter().find(|(f, _)| *f == name);
                let (_, f) =
                    function.unwrap_or_else(|| panic!("no {name:?}, before {:?}", self.rest));
                self.expect("(");
                let x = self.choice();
                self.expect(")");
                self.b.fun(*f, x)
            }
        }
    }
}

/// What binds tighter does, and signs bind to the left.
#[test]
fn a_text_has_the_value_that_it_has_on_paper() {
    let mut b = Build::default();
    let operands = Operands([0, 1, 2].map(|i| b.x(0, i)), 5);
    // x = 3, y = 4, z = -2, n = 5.
    for (text, value) in [
        ("x - y - z + n", 6.0),
        ("-x y + n", -7.0),
        ("1/2 x y^2 / z", -12.0),
        ("2^x * 2^-x (x - z)", 5.0),
        ("|z| n - |x - 2 * |z||", 9.0),
        ("min(x, z) max(x, -z)^3 / x^4", -2.0 / 3.0),
        ("x + 1/2 <= y ? z = x ? 1 : 7 : 2", 7.0),
        ("y < x ? 0 : -(x < y ? y : n)", -4.0),
        ("u + p q - log2(k / k * 2^n)", 172.0),
    ] {
        let t = term(&mut b, &operands, text);
        let got = eval::term(&b.s, t, &|_, i| [3.0, 4.0, -2.0][i as usize]);
        assert!((got - value).abs() < 1e-12, "{text} is {got}");
    }
}
