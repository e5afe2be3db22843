//! The rules of the normaliser, as data: what each rewrites, under which condition, and why.
//!
//! A rule has an id, by which the code asks for it where it is about to rewrite ([`rule`], [`require`](super::ring::require)), and rows that
//! say what it does. Rows of one id are cases of one algorithm. A row holds wherever its left side has a value: the
//! right side has one there, and it is the same. Both sides are written in the notation that `tests/notation.rs` reads,
//! so that this text is what the tests try.
//!
//! To ask is to count: `work` adds the counts up as it does units, so they are the same for any number of threads. In
//! debug builds the variable `VOLTA_WITHOUT_RULE` names a rule that is not applied, which tells what rests on it.
//!
//! Soundness: a term to which a rule is not applied is another form of the same function, or none. So less is claimed
//! without it, and nothing else.

use indexmap::IndexMap;

use crate::work;

/// What a rule does, with both sides in the notation.
pub struct Row {
    /// A name of its own.
    pub name: &'static str,
    /// The side that is rewritten.
    pub pattern: &'static str,
    /// The side that it is rewritten to.
    pub result: &'static str,
    /// Empty for what holds for all reals.
    pub condition: &'static str,
    /// A reason that a reader can check.
    pub because: &'static str,
}

/// Operands that are terms over others: those of which a rule demands more than that they are reals. The others are
/// x, y and z, which are any terms, and the integer n.
#[cfg(test)]
pub(super) const OPERANDS: &[(&str, &str)] = &[
    ("p", "x^2 + 1"),
    ("q", "2^y"),
    ("u", "y^2 + 1"),
    ("v", "z^2 + 1"),
    ("w", "x^2 + y^2"),
    ("a", "16760439 / 16777216"),
    ("k", "50000003 / 1073741824"),
    ("variance", "(x^2 + y^2 + z^2) / 3 - ((x + y + z) / 3)^2"),
];

/// Ids `Id { rows }` with one row at least: `name: pattern => result, if condition, because reason;`, where a row that
/// holds for all reals has no `if`.
macro_rules! rules {
    ($($id:ident { $(
        $name:literal: $pattern:literal => $result:literal, $(if $condition:literal,)? because $because:literal;
    )+ })*) => {
        /// The id of a rule.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Rule {
            $(#[doc = concat!($($name, "; "),+)] $id,)*
        }

        impl Rule {
            /// All rules.
            pub const ALL: &[Rule] = &[$(Rule::$id),*];

            /// The id as a word.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Rule::$id => stringify!($id),)*
                }
            }

            /// What it does, case by case.
            pub const fn rows(self) -> &'static [Row] {
                match self {
                    $(Rule::$id => &[$(Row {
                        name: $name,
                        pattern: $pattern,
                        result: $result,
                        condition: concat!($($condition)?),
                        because: $because,
                    }),+],)*
                }
            }
        }
    };
}

const _: () = assert!(Rule::ALL.len() <= work::RULES);

/// Whether a rule is applied, asked where all its conditions hold: counts that it is.
#[inline]
pub(super) fn rule(rule: Rule) -> bool {
    #[cfg(debug_assertions)]
    if left_out::is(rule) {
        return false;
    }
    work::apply(rule as usize);
    true
}

/// How often rules were applied, by the names of those that were.
pub fn counts(applied: &work::Applied) -> IndexMap<String, u64> {
    let count = |r: &Rule| (r.name().to_string(), applied.of(*r as usize));
    Rule::ALL.iter().map(count).filter(|c| c.1 > 0).collect()
}

/// The rule that a debug build does not apply.
#[cfg(debug_assertions)]
mod left_out {
    use std::cell::Cell;
    use std::sync::LazyLock;

    use super::Rule;

    /// The rule that the environment names. A name of none is an error, not a run with all of them.
    static NAMED: LazyLock<Option<Rule>> = LazyLock::new(|| {
        let name = std::env::var("VOLTA_WITHOUT_RULE").ok()?;
        let found = Rule::ALL.iter().find(|r| r.name() == name);
        Some(*found.unwrap_or_else(|| panic!("VOLTA_WITHOUT_RULE names no rule: {name:?}")))
    });

    thread_local! {
        static LEFT_OUT: Cell<Option<Rule>> = Cell::new(*NAMED);
    }

    pub(super) fn is(rule: Rule) -> bool {
        LEFT_OUT.get() == Some(rule)
    }

    /// Does something without a rule on this thread.
    #[cfg(test)]
    pub(in super::super) fn without<T>(rule: Rule, work: impl FnOnce() -> T) -> T {
        let outer = LEFT_OUT.replace(Some(rule));
        let done = work();
        LEFT_OUT.set(outer);
        done
    }
}

#[cfg(all(test, debug_assertions))]
pub(super) use left_out::without;

rules! {
    // Powers, roots, logarithms, sines and fractions.
    ProductOfPowers {
        "product of powers": "2^x * 2^y" => "2^(x + y)", because "exponents of one base add up";
        "power and its inverse": "2^x * 2^-x" => "1", because "2^x is never 0";
        "power of a power": "((2^x)^2)^2" => "2^(4 x)", because "exponents multiply";
    }
    PowerOfPower {
        "quotient of powers": "2^y / 2^x" => "2^(y - x)", because "2^x is never 0";
        "root of a power": "sqrt(2^x)" => "2^(x / 2)", because "neither is negative, and their squares are one";
    }
    WholePartOfExponent {
        "power with a whole part": "2^(x + n)" => "2^x * 2^n",
            if "n is an integer", because "exponents of one base add up";
    }
    PowerOfLogarithm {
        "power of a logarithm": "2^log2(p)" => "p",
            if "p is positive", because "the logarithm is the inverse of the power";
        "power of three halves of a logarithm": "2^(3/2 * log2(p))" => "p * sqrt(p)",
            if "p is positive", because "exponents of one base add up";
        "power of a sum with a logarithm": "2^(x - log2(p))" => "2^x / p",
            if "p is positive", because "exponents of one base add up";
    }
    EvenPowerOfMagnitude {
        "power of the logarithm of a square": "2^(3/2 log2(x^2))" => "x^2 * |x|",
            if "x is not 0", because "an even power of a size is that of the number";
    }
    SquareOfRoot {
        "square of a root": "sqrt(p) * sqrt(p)" => "p", if "p is not negative", because "that is what a root is";
        "root and its inverse": "sqrt(p) * rsqrt(p)" => "1", if "p is positive", because "rsqrt(p) is 1 / sqrt(p)";
        "square of an inverse root": "rsqrt(p) * rsqrt(p)" => "1 / p",
            if "p is positive", because "rsqrt(p) is 1 / sqrt(p)";
        "square of a quotient of roots": "(sqrt(p) * rsqrt(q))^2" => "p / q",
            if "p and q are positive", because "squares of roots are what is under them";
    }
    RootOfProduct {
        "root of a product": "sqrt(p * q)" => "sqrt(p) * sqrt(q)",
            if "p and q are positive", because "the square of both is p * q, and neither is negative";
        "root of an inverse": "sqrt(1 / p)" => "rsqrt(p)",
            if "p is positive", because "both are the inverse of sqrt(p)";
        "roots of products and quotients of sums":
            "sqrt(p * u) + sqrt(u / v)" => "sqrt(p) * sqrt(u) + sqrt(u) / sqrt(v)",
            if "p, u and v are positive",
            because "roots of products are products of roots where no factor is negative";
        "inverse root of a product with a square": "rsqrt(u * x^2)" => "rsqrt(u) / |x|",
            if "u is positive", because "the root of x^2 is |x|";
    }
    RootOfEvenPower {
        "root of a square": "sqrt(x * x)" => "|x|", because "neither is negative, and their squares are one";
        "root of a fourth power": "sqrt(x^4)" => "x^2", because "neither is negative, and their squares are one";
    }
    RootOfSquaredSum {
        "root of a square of a sum": "sqrt((x + y)^2)" => "|x + y|",
            because "neither is negative, and their squares are one";
    }
    RootOfMultiple {
        "root of a multiple": "sqrt(18/25 * p)" => "3/5 * sqrt(2) * sqrt(p)",
            if "p is positive", because "18/25 is 2 times the square of 3/5";
        "roots of numbers that are not factored": "sqrt(p * a / k) * sqrt(a * k)" => "a * sqrt(p)",
            if "a and k are positive numbers", because "their greatest common divisor is enough";
    }
    ProductOfNumberRoots {
        "product of roots of numbers": "sqrt(6) * sqrt(10)" => "2 * sqrt(15)",
            because "6 and 10 are 2 * 3 and 2 * 5, and the square of sqrt(2) is 2";
    }
    RationalisedDenominator {
        "root of a number in a denominator": "y * sqrt(k) / (sqrt(p) + sqrt(k))" => "y / (sqrt(p / k) + 1)",
            if "k is a positive number", because "numerator and denominator are divided by sqrt(k)";
    }
    MaximumOfRoots {
        "maximum of a root and a number": "max(sqrt(w), 2/7)" => "sqrt(max(w, 4/49))",
            if "w is not negative", because "squares keep the order of what is not negative";
        "maximum of roots": "max(3/2 sqrt(p), 3 q)" => "sqrt(max(9/4 p, (3 q)^2))",
            if "p and q are positive", because "squares keep the order of what is not negative";
    }
    LogarithmOfPower {
        "logarithm of a power": "log2(2^y)" => "y", because "the logarithm is the inverse of the power";
        "logarithm of a product": "log2(p * 2^y)" => "log2(p) + y",
            if "p is positive", because "logarithms of products add up";
    }
    LogarithmOfRationalPower {
        "logarithm of an inverse": "log2(1 / p)" => "-log2(p)",
            if "p is positive", because "logarithms of products add up";
        "logarithm of a root": "log2(sqrt(p))" => "log2(p) / 2",
            if "p is positive", because "logarithms of products add up";
    }
    LogarithmOfMultiple {
        "logarithm of a multiple": "log2(12 * p)" => "log2(p) + log2(3) + 2",
            if "p is positive", because "logarithms of products add up";
    }
    LogarithmOfSquare {
        "logarithm of a square": "log2(x^2)" => "2 log2(|x|)",
            if "x is not 0", because "x is not 0 where there is a logarithm";
    }
    LogSumExp {
        "logarithm of a sum by its larger part": "max(x, y) + log2(1 + 2^-|x - y|)" => "log2(2^x + 2^y)",
            because "max(x, y) and x + y - max(x, y) are x and y in some order";
        "logarithm of one and a power of a size":
            "log2(1 + 2^(3 * |x|))" => "log2(1 + 2^(-3 x)) + 3 max(x, 0)",
            because "|x| and -|x| are x and -x in some order";
        "sum with a maximum of two": "1 + 2^-|x - y|" => "(2^x + 2^y) / 2^max(x, y)",
            because "max(x, y) and x + y - max(x, y) are x and y in some order";
    }
    OddFunction {
        "odd sine": "sin(-x)" => "-sin(x)", because "it is odd";
        "odd error function": "erf(-x)" => "-erf(x)", because "it is odd";
        "odd rounding to zero": "trunc(-x)" => "-trunc(x)", because "it is odd";
        "odd rounding to even": "round(-x)" => "-round(x)", because "it is odd";
    }
    EvenFunction {
        "even cosine": "cos(-x)" => "cos(x)", because "it is even";
    }
    HyperbolicTangent {
        "odd hyperbolic tangent": "tanh(-x)" => "-tanh(x)", because "it is odd";
    }
    Pythagoras {
        "squares of sine and cosine": "sin(x)^2 + cos(x)^2" => "1", because "Pythagoras";
        "square of a cosine over a sine": "cos(x)^2 / sin(x)" => "1 / sin(x) - sin(x)", because "Pythagoras";
    }
    AngleAddition {
        "sine of a sum": "sin(x + y)" => "sin(x) cos(y) + cos(x) sin(y)", because "addition theorem";
        "sine of a difference": "sin(x - y)" => "sin(x) cos(y) - cos(x) sin(y)", because "addition theorem";
        "cosine of a sum": "cos(x + y)" => "cos(x) cos(y) - sin(x) sin(y)", because "addition theorem";
        "sine of a double": "sin(2 x)" => "2 (sin(x) cos(x))", because "addition theorem";
        "cosine of a double": "cos(2 x)" => "1 - 2 sin(x)^2", because "addition theorem";
        "sine of a triple": "sin(3 x)" => "3 sin(x) - 4 sin(x)^3", because "addition theorem";
    }
    PartialFraction {
        "fractions that add up to one": "1 / (2^x + 1) + 1 / (2^-x + 1)" => "1",
            because "over one denominator the numerators add up to it";
    }

    // Roundings, maxima, choices, and folds of these.
    TruncationOfKnownSign {
        "rounding a size to zero": "trunc(|x|)" => "floor(|x|)",
            because "rounding towards 0 is rounding down above 0";
        "rounding a negated size to zero": "trunc(-|x|)" => "-floor(|x|)", because "rounding towards 0 is odd";
        "rounding a positive number to zero": "trunc(p)" => "floor(p)",
            if "p is positive", because "rounding towards 0 is rounding down above 0";
        "rounding a negative number to zero": "trunc(-q)" => "ceil(-q)",
            if "q is positive", because "rounding towards 0 is rounding up below 0";
    }
    WholePartOfFloor {
        "whole part of a floor": "floor(x + n)" => "floor(x) + n",
            if "n is an integer", because "adding an integer moves the steps along";
        "whole part of a ceiling": "ceil(x + n)" => "ceil(x) + n",
            if "n is an integer", because "adding an integer moves the steps along";
    }
    CeilingByFloor {
        "ceiling by floor": "ceil(x)" => "-floor(-x)", because "negation reverses the order";
    }
    SignOfPower {
        "sign of a cube": "x^3 < 0 ? y : z" => "x < 0 ? y : z", because "an odd power has the sign of its base";
    }
    SignOfMagnitude {
        "zero of a magnitude": "|x| = 0 ? y : z" => "x = 0 ? y : z", because "only 0 has no size";
    }
    MinimumByMaximum {
        "minimum by maximum": "min(x, y)" => "-max(-x, -y)", because "negation reverses the order";
    }
    MagnitudeByMaximum {
        "size by maximum": "|x|" => "max(x, -x)", because "one of them is not negative";
    }
    NestedMaxima {
        "maximum of maxima": "max(max(x, y), z)" => "max(x, max(y, z))",
            because "the largest of all does not depend on the order";
    }
    CommonPartOfMaximum {
        "maximum of multiples with a summand": "max(3/2 x + z, 3/2 y + z)" => "3/2 max(x, y) + z",
            because "adding and scaling by a positive number keep the order";
    }
    CommonFactorOfMaximum {
        "maximum of multiples of a size": "max(|x| * y, |x| * z)" => "|x| * max(y, z)",
            because "a factor that is not negative keeps the order";
        "maximum of multiples of a square": "max(x^2 (x y), x^2 z)" => "x^2 max(x y, z)",
            because "a factor that is not negative keeps the order";
    }
    MaximumOfPowers {
        "maximum of powers": "max(2^x, 2^y)" => "2^max(x, y)", because "2^x grows with x";
        "minimum of multiples of powers": "min(3 * 2^x, 6 * 2^y)" => "3 * 2^min(x, y + 1)",
            because "2^x grows with x";
    }
    ClampedSumOfSquares {
        "clamped variance": "max(variance, 0)" => "((x - y)^2 + (y - z)^2 + (z - x)^2) / 9",
            if "the variance is that of x, y and z", because "a sum of squares is not negative";
        "variance chosen above 0": "variance < 0 ? 0 : variance" => "((x - y)^2 + (y - z)^2 + (z - x)^2) / 9",
            if "the variance is that of x, y and z", because "a sum of squares is not negative";
    }
    NegatedComparison {
        "choice by a negated comparison": "1 / p <= y ? z : 1" => "y < 1 / p ? 1 : z",
            because "the reals are ordered";
    }
    ExtremumByChoice {
        "choice of the smaller": "x < y ? x : y" => "min(x, y)", because "on the boundary both are equal";
    }
    ClampByChoice {
        "choice below a clamp": "x < n ? n : min(x, n + 1)" => "max(min(x, n + 1), n)",
            if "n is below n + 1", because "where x is not below n neither is the minimum";
        "choice above a clamp": "n + 1 < x ? n + 1 : max(x, n)" => "min(max(x, n), n + 1)",
            if "n is below n + 1", because "where x is not above n + 1 neither is the maximum";
    }
    CommonPartOfChoice {
        "common factor and summand of a choice": "x < 0 ? x * y + n : x * z + n" => "x * (x < 0 ? y : z) + n",
            because "both are evaluated on both sides";
    }
    CommonSumOfChoice {
        "running maximum by a branch":
            "x < y ? z * 2^(x - y) + 1 : z + 2^(y - x)" => "z * 2^(x - max(x, y)) + 2^(y - max(x, y))",
            because "both branches are one sum times a power";
        "choice of multiples of a sum": "x < 0 ? 2 (y + z) : 3 (y + z)" => "(y + z) * (x < 0 ? 2 : 3)",
            because "the sum is evaluated on both sides";
    }
    PowerOfChoice {
        "choice of a power": "x < y ? z * 2^x : z * 2^y" => "z * 2^min(x, y)",
            because "only the branch that is taken is evaluated on either side";
    }
    MergedChoices {
        "running maximum by a record":
            "(y < x ? z : p) + (y < x ? p : z) * 2^((y < x ? y : x) - (y < x ? x : y))"
                => "z * 2^(x - max(x, y)) + p * 2^(y - max(x, y))",
            because "what is chosen by one comparison is one choice";
    }
    VanishingSum {
        "choice where a sum of squares is zero": "0 < x^2 + y^2 ? z : x" => "x^2 + y^2 = 0 ? 0 : z",
            because "squares add up to 0 only where each is 0";
    }
}
