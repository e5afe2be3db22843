//! Index expressions, and finding one that has given values.
//!
//! What is looked for is a multiple of each variable plus a constant, then the same with quotients and remainders by
//! a constant or a size. A candidate is solved for on few rows and tried on all, and a row that it misses joins the
//! few; so long families cost one pass each. Where rows leave a coefficient open it is 0.

use num_rational::BigRational;
use num_traits::{ToPrimitive, Zero};

use super::numbers::over_one;
use crate::work;

/// What a coefficient stands before, variables by their places in the scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Feature {
    /// A variable.
    Var(usize),
    /// A variable over a divisor, rounded down.
    Div(usize, Divisor),
    /// What that leaves.
    Mod(usize, Divisor),
    /// The product of two variables.
    Times(usize, usize),
    /// A variable over a number, modulo another one.
    Digit(usize, i64, i64),
}

/// What an index is divided by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Divisor {
    /// A number.
    Number(i64),
    /// A size.
    Var(usize),
}

impl Divisor {
    fn value(self, env: &[i64]) -> i64 {
        match self {
            Divisor::Number(n) => n,
            Divisor::Var(v) => env[v],
        }
    }
}

impl Feature {
    /// Its value; 0 where there is none.
    pub fn value(self, env: &[i64]) -> i64 {
        match self {
            Feature::Var(v) => env[v],
            Feature::Div(v, d) => env[v].checked_div_euclid(d.value(env)).unwrap_or(0),
            Feature::Mod(v, d) => env[v].checked_rem_euclid(d.value(env)).unwrap_or(0),
            Feature::Times(v, w) => env[v].saturating_mul(env[w]),
            Feature::Digit(v, d, m) => env[v].div_euclid(d).rem_euclid(m),
        }
    }
}

/// What is done with a sum in the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Wrap {
    /// Nothing.
    #[default]
    None,
    /// It is taken modulo a number.
    Modulo(i64),
    /// It is kept between two numbers, both included.
    Between(i64, i64),
}

/// A constant and multiples of features.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Linear {
    /// The constant.
    pub constant: i64,
    /// The rest, no coefficient 0.
    pub terms: Vec<(i64, Feature)>,
    /// What is done with their sum.
    pub wrap: Wrap,
}

impl Linear {
    /// A constant.
    pub fn number(constant: i64) -> Linear {
        Linear {
            constant,
            ..Linear::default()
        }
    }

    /// A variable.
    pub fn var(v: usize) -> Linear {
        Linear {
            terms: vec![(1, Feature::Var(v))],
            ..Linear::default()
        }
    }

    /// Its value.
    pub fn value(&self, env: &[i64]) -> i64 {
        let terms = self.terms.iter().map(|(k, f)| k * f.value(env));
        let sum = self.constant + terms.sum::<i64>();
        match self.wrap {
            Wrap::None => sum,
            Wrap::Modulo(m) => sum.rem_euclid(m),
            Wrap::Between(lo, hi) => sum.clamp(lo, hi),
        }
    }

    /// The variable that it is.
    pub fn as_var(&self) -> Option<usize> {
        match (self.constant, self.terms.as_slice()) {
            (0, [(1, Feature::Var(v))]) if self.wrap == Wrap::None => Some(*v),
            _ => None,
        }
    }

    /// The number that it is.
    pub fn as_number(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }
}

/// The values that an expression must have: those of the variables in scope, and its own.
pub(super) type Rows<'a> = [(&'a [i64], i64)];

/// What expressions may be made of.
#[derive(Clone, Debug, Default)]
pub(super) struct Material {
    /// Variables that may take part, those that explain more first.
    pub vars: Vec<usize>,
    /// Those of them that are sizes.
    pub sizes: Vec<usize>,
    /// Numbers that an index may be divided by.
    pub divisors: Vec<i64>,
}

impl Material {
    /// An expression with these values.
    pub(super) fn fit(&self, rows: &Rows) -> Option<Linear> {
        let mut found = None;
        self.candidates(&mut |features| {
            let Some((numbers, 1)) = solve(features, rows) else {
                return false;
            };
            found = assembled(features, &numbers);
            found.is_some()
        });
        found
    }

    /// Multiples with a common divisor that have these values; only of variables.
    pub(super) fn fit_fraction(&self, rows: &Rows) -> Option<(Linear, i64)> {
        let features: Vec<Feature> = self.vars.iter().map(|&v| Feature::Var(v)).collect();
        let (numbers, over) = solve(&features, rows)?;
        Some((assembled(&features, &numbers)?, i64::try_from(over).ok()?))
    }

    /// Calls `f` with sets of features, the simple ones first, until it says that this is it.
    fn candidates(&self, f: &mut dyn FnMut(&[Feature]) -> bool) {
        if f(&[]) {
            return;
        }
        for &v in &self.vars {
            if f(&[Feature::Var(v)]) {
                return;
            }
        }
        let all: Vec<Feature> = self.vars.iter().map(|&v| Feature::Var(v)).collect();
        if f(&all) {
            return;
        }
        let mut quotients: Vec<[Feature; 2]> = Vec::new();
        let numbers = self.divisors.iter().map(|&n| Divisor::Number(n));
        let sizes = self.sizes.iter().map(|&v| Divisor::Var(v));
        for d in sizes.chain(numbers) {
            for &v in self.vars.iter().filter(|v| !self.sizes.contains(v)) {
                quotients.push([Feature::Div(v, d), Feature::Mod(v, d)]);
            }
        }
        for &w in &self.sizes {
            for &v in &self.vars {
                quotients.push([Feature::Times(v, w), Feature::Var(v)]);
            }
        }
        let with = |more: &[Feature]| {
            let mut list = more.to_vec();
            list.extend(all.iter().filter(|f| !more.contains(f)));
            list
        };
        for q in &quotients {
            if f(&with(q)) {
                return;
            }
        }
        /// Pairs of quotients are looked for among so many.
        const PAIRS: usize = 48;
        let few = &quotients[..quotients.len().min(PAIRS)];
        for (i, a) in few.iter().enumerate() {
            for b in &few[i + 1..] {
                if f(&with(&[a[0], a[1], b[0], b[1]])) {
                    return;
                }
            }
        }
    }
}

/// The expression of a constant and coefficients.
fn assembled(features: &[Feature], numbers: &[i128]) -> Option<Linear> {
    let mut out = Linear::number(i64::try_from(*numbers.first()?).ok()?);
    for (f, &k) in features.iter().zip(&numbers[1..]) {
        if k != 0 {
            out.terms.push((i64::try_from(k).ok()?, *f));
        }
    }
    Some(out)
}

/// Coefficients, that of the constant first, and what all are divided by, that give each row its value.
fn solve(features: &[Feature], rows: &Rows) -> Option<(Vec<i128>, i128)> {
    let width = features.len() + 1;
    let values = |env: &[i64]| {
        let mut out = Vec::with_capacity(width);
        out.push(1i128);
        out.extend(features.iter().map(|f| i128::from(f.value(env))));
        out
    };
    let mut chosen: Vec<(Vec<i128>, i128)> = Vec::new();
    let mut solution = (vec![0i128; width], 1i128);
    'again: loop {
        for (env, target) in rows {
            work::spend(1);
            let row = values(env);
            let mut sum = row.iter().zip(&solution.0).map(|(a, b)| a.checked_mul(*b));
            let sum = sum.try_fold(0i128, |s, x| s.checked_add(x?))?;
            if sum != solution.1.checked_mul(i128::from(*target))? {
                if chosen.len() == width {
                    return None;
                }
                chosen.push((row, i128::from(*target)));
                solution = eliminate(&chosen, width)?;
                continue 'again;
            }
        }
        return Some(solution);
    }
}

/// A solution of linear equations in which what is open is 0.
fn eliminate(rows: &[(Vec<i128>, i128)], width: usize) -> Option<(Vec<i128>, i128)> {
    let exact = |v: i128| BigRational::from_integer(v.into());
    let mut m: Vec<Vec<BigRational>> = rows
        .iter()
        .map(|(r, t)| r.iter().chain([t]).map(|&v| exact(v)).collect())
        .collect();
    let mut pivots: Vec<(usize, usize)> = Vec::new();
    for column in 0..width {
        let row = pivots.len();
        let Some(found) = (row..m.len()).find(|&r| !m[r][column].is_zero()) else {
            continue;
        };
        m.swap(row, found);
        let lead = m[row][column].clone();
        m[row].iter_mut().for_each(|v| *v /= &lead);
        let pivot = m[row].clone();
        for (r, line) in m.iter_mut().enumerate() {
            let k = line[column].clone();
            if r != row && !k.is_zero() {
                line.iter_mut().zip(&pivot).for_each(|(v, p)| *v -= &k * p);
            }
        }
        pivots.push((row, column));
    }
    let open = m.iter().skip(pivots.len()).any(|r| !r[width].is_zero());
    if open {
        return None;
    }
    let mut out = vec![BigRational::zero(); width];
    for (r, c) in pivots {
        out[c] = m[r][width].clone();
    }
    let (numbers, over) = over_one(&out);
    let numbers = numbers.iter().map(ToPrimitive::to_i128);
    Some((numbers.collect::<Option<_>>()?, over.to_i128()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expression for a function of two indices and a size.
    fn of(f: impl Fn(i64, i64, i64) -> i64, sizes: &[i64]) -> Option<Linear> {
        let mut envs = Vec::new();
        for &n in sizes {
            for i in 0..n {
                for j in 0..6 {
                    envs.push([n, i, j]);
                }
            }
        }
        let rows: Vec<(&[i64], i64)> = envs.iter().map(|e| (&e[..], f(e[0], e[1], e[2]))).collect();
        let material = Material {
            vars: if sizes.len() > 1 {
                vec![1, 2, 0]
            } else {
                vec![1, 2]
            },
            sizes: if sizes.len() > 1 { vec![0] } else { vec![] },
            divisors: vec![2, 3, 4, 8],
        };
        let found = material.fit(&rows)?;
        for (env, value) in &rows {
            assert_eq!(found.value(env), *value);
        }
        Some(found)
    }

    #[test]
    fn expressions_are_found() {
        let plain = of(|_, i, j| 3 * i - j + 2, &[8]).expect("affine");
        assert_eq!(plain.constant, 2);
        assert!(of(|_, i, j| i / 4 + j % 3, &[8]).is_some());
        assert!(of(|_, i, j| (i % 2) * 8 + j, &[8]).is_some());
        assert!(of(|n, i, j| n * i + j, &[4, 7, 9]).is_some());
        assert!(of(|n, i, _| n - 1 - i, &[4, 7, 9]).is_some());
        assert!(of(|_, i, j| i * j, &[8]).is_none());
        assert!(of(|_, i, _| i * i, &[8]).is_none());
    }
}
