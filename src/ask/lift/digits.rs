//! Index expressions beyond multiples of variables, one variable after the other.
//!
//! Problem: a subscript may use some digits of an index, as a permutation of tiles does, it may wrap around or stay
//! inside of its array. If it is a sum of functions of one variable each, these follow from rows that differ in
//! that variable alone; each function is looked at as one of the digits of its variable in a mixed radix. If it is no such sum, it may
//! be one that is taken modulo a number, or that is kept between two.
//!
//! What is found has the values of all rows.

use std::collections::{BTreeMap, BTreeSet};

use super::linear::{Divisor, Feature, Linear, Material, Rows, Wrap};

/// Values of one variable that are looked at.
const MAX_VALUES: usize = 1 << 12;

/// Digits of one variable.
const MAX_DIGITS: usize = 6;

/// For the values of one variable, what rows that differ there alone have: lists in ascending order.
type Groups = BTreeMap<Vec<i64>, Vec<(i64, i64)>>;

impl Material {
    /// An expression with these values, beyond what [`fit`](Material::fit) finds; only for one size.
    pub(super) fn irregular(&self, rows: &Rows) -> Option<Linear> {
        if !self.sizes.is_empty() || self.vars.is_empty() || rows.is_empty() {
            return None;
        }
        let groups: Vec<Groups> = self.vars.iter().map(|&v| self.groups(v, rows)).collect();
        let holds = |l: &Linear| rows.iter().all(|(env, value)| l.value(env) == *value);
        let ways = [Self::wrapped, Self::separable, Self::clamped];
        ways.iter()
            .find_map(|way| way(self, rows, &groups).filter(holds))
    }

    /// Rows by the values of all variables but one.
    fn groups(&self, v: usize, rows: &Rows) -> Groups {
        let mut out = Groups::new();
        for (env, value) in rows {
            let others = self.vars.iter().filter(|&&w| w != v);
            let key: Vec<i64> = others.map(|&w| env[w]).collect();
            out.entry(key).or_default().push((env[v], *value));
        }
        out.values_mut().for_each(|l| l.sort_unstable());
        out
    }

    /// A sum of functions of one variable each.
    fn separable(&self, rows: &Rows, groups: &[Groups]) -> Option<Linear> {
        let mut out = Linear::default();
        for (&v, groups) in self.vars.iter().zip(groups) {
            let profile = profile(groups)?;
            let found = digits(v, &profile).or_else(|| self.two_digits(v, &profile));
            let (constant, terms) = found?;
            out.constant += constant;
            out.terms.extend(terms);
        }
        let (env, value) = rows.first()?;
        out.constant += value - out.value(env);
        Some(out)
    }

    /// A function of one variable, of which some values are missing, as a constant and multiples of two digits.
    fn two_digits(&self, v: usize, profile: &BTreeMap<i64, i64>) -> Option<Digits> {
        let constant = *profile.get(&0)?;
        let low = profile.get(&1)? - constant;
        let (&most, _) = profile.last_key_value()?;
        let radices = self.divisors.iter().copied().chain(2..=most);
        let mut radices = radices.filter(|&d| d > 1 && d <= most);
        radices.find_map(|d| {
            let (x, y) = profile.range(d..).next()?;
            let rest = y - constant - low * (x % d);
            if rest % (x / d) != 0 {
                return None;
            }
            let high = rest / (x / d);
            let value = |x: i64| constant + high * (x / d) + low * (x % d);
            let divisor = Divisor::Number(d);
            let both = [
                (high, Feature::Div(v, divisor)),
                (low, Feature::Mod(v, divisor)),
            ];
            let terms = both.into_iter().filter(|t| t.0 != 0).collect();
            profile
                .iter()
                .all(|(&x, &y)| value(x) == y)
                .then_some((constant, terms))
        })
    }

    /// A sum of multiples that is taken modulo a number.
    fn wrapped(&self, rows: &Rows, groups: &[Groups]) -> Option<Linear> {
        let most = rows.iter().map(|r| r.1).max()?;
        let larger = self.divisors.iter().copied().filter(|&d| d > most);
        let moduli: BTreeSet<i64> = larger.chain([most + 1]).filter(|&m| m > 1).collect();
        let steps: Vec<Option<i64>> = groups.iter().map(step).collect();
        moduli.into_iter().find_map(|m| {
            let mut out = Linear {
                wrap: Wrap::Modulo(m),
                ..Linear::default()
            };
            for (&v, step) in self.vars.iter().zip(&steps) {
                let k = step.unwrap_or(0).rem_euclid(m);
                let k = if 2 * k > m { k - m } else { k };
                if k != 0 {
                    out.terms.push((k, Feature::Var(v)));
                }
            }
            let (env, value) = rows.first()?;
            out.constant = (value - out.value(env)).rem_euclid(m);
            let holds = rows.iter().all(|(env, value)| out.value(env) == *value);
            holds.then_some(out)
        })
    }

    /// A sum of multiples that is kept between two numbers.
    fn clamped(&self, rows: &Rows, _: &[Groups]) -> Option<Linear> {
        let (lo, hi) = (
            rows.iter().map(|r| r.1).min()?,
            rows.iter().map(|r| r.1).max()?,
        );
        let inside: Vec<(&[i64], i64)> = rows
            .iter()
            .copied()
            .filter(|r| lo < r.1 && r.1 < hi)
            .collect();
        let plain = Material {
            divisors: Vec::new(),
            ..self.clone()
        };
        let linear = plain.fit(&inside)?;
        Some(Linear {
            wrap: Wrap::Between(lo, hi),
            ..linear
        })
    }
}

/// A constant, and multiples of digits.
type Digits = (i64, Vec<(i64, Feature)>);

/// What the value changes by where a variable becomes one larger, as some rows have it.
fn step(groups: &Groups) -> Option<i64> {
    let pairs = groups.values().flat_map(|l| l.windows(2));
    let mut steps = pairs
        .filter(|p| p[1].0 == p[0].0 + 1)
        .map(|p| p[1].1 - p[0].1);
    steps.next()
}

/// A function of one variable up to a constant, where all groups have the same differences.
fn profile(groups: &Groups) -> Option<BTreeMap<i64, i64>> {
    let mut out: BTreeMap<i64, i64> = BTreeMap::new();
    let mut open: Vec<&Vec<(i64, i64)>> = groups.values().collect();
    open.sort_by_key(|l| std::cmp::Reverse(l.len()));
    out.extend(open.first()?.iter().copied());
    // A group that shares a value with what is known joins it; the rest waits for others.
    while !open.is_empty() {
        let before = open.len();
        let mut rest = Vec::new();
        for list in open {
            let shared = list.iter().find_map(|(v, t)| Some(t - out.get(v)?));
            let Some(shift) = shared else {
                rest.push(list);
                continue;
            };
            for (v, t) in list {
                if *out.entry(*v).or_insert(t - shift) != t - shift {
                    return None;
                }
            }
        }
        if rest.len() == before {
            return None;
        }
        open = rest;
    }
    (out.len() <= MAX_VALUES).then_some(out)
}

/// A function of one variable as a constant and multiples of its digits.
///
/// The lowest digit goes as far as the function has one slope; the next one is found in the function at the values
/// where the lowest is 0.
fn digits(v: usize, profile: &BTreeMap<i64, i64>) -> Option<Digits> {
    let mut rest = profile.clone();
    let constant = *rest.get(&0)?;
    let mut terms: Vec<(i64, Feature)> = Vec::new();
    let mut place = 1;
    while rest.len() > 1 {
        if terms.len() == MAX_DIGITS {
            return None;
        }
        let zero = *rest.get(&0)?;
        let slope = rest.get(&1)? - zero;
        let radix = rest
            .iter()
            .find(|(x, y)| **y != zero + slope * **x)
            .map(|(x, _)| *x);
        let place_of = |f: Option<i64>| match (place, f) {
            (1, None) => Feature::Var(v),
            (p, None) => Feature::Div(v, Divisor::Number(p)),
            (1, Some(m)) => Feature::Mod(v, Divisor::Number(m)),
            (p, Some(m)) => Feature::Digit(v, p, m),
        };
        if slope != 0 {
            terms.push((slope, place_of(radix)));
        }
        let Some(radix) = radix else {
            break;
        };
        let next = rest.iter().filter(|(x, _)| *x % radix == 0);
        let next: BTreeMap<i64, i64> = next.map(|(x, y)| (x / radix, *y)).collect();
        let is_sum = |(x, y): (&i64, &i64)| {
            let whole = next.get(&x.div_euclid(radix));
            whole.is_none_or(|w| *y == w + slope * x.rem_euclid(radix))
        };
        if !rest.iter().all(is_sum) {
            return None;
        }
        place *= radix;
        rest = next;
    }
    Some((constant, terms))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expression for a function of two indices.
    fn of(f: impl Fn(i64, i64) -> i64) -> Option<Linear> {
        let envs: Vec<[i64; 2]> = (0..24).flat_map(|i| (0..9).map(move |j| [i, j])).collect();
        let rows: Vec<(&[i64], i64)> = envs.iter().map(|e| (&e[..], f(e[0], e[1]))).collect();
        let material = Material {
            vars: vec![0, 1],
            ..Material::default()
        };
        let found = material.irregular(&rows)?;
        for (env, value) in &rows {
            assert_eq!(found.value(env), *value);
        }
        Some(found)
    }

    #[test]
    fn digits_are_found_where_values_are_missing() {
        let envs: Vec<[i64; 1]> = (0..64).filter(|i| i % 3 < 2).map(|i| [i]).collect();
        let rows: Vec<(&[i64], i64)> = envs
            .iter()
            .map(|e| (&e[..], e[0] / 8 * 10 + e[0] % 8))
            .collect();
        let material = Material {
            vars: vec![0],
            ..Material::default()
        };
        assert!(material.irregular(&rows).is_some());
    }

    #[test]
    fn digits_wraps_and_ends_are_found() {
        assert!(of(|i, j| i / 8 + j / 3).is_some());
        assert!(of(|i, j| (i / 4 % 2) * 12 + i % 4 + 3 * (i / 8) + j).is_some());
        assert!(of(|i, _| i ^ 5).is_some());
        assert!(of(|i, j| (i + 3 * j + 7) % 24).is_some());
        assert!(of(|i, j| (23 - i + j) % 24).is_some());
        assert!(of(|i, j| (i + j - 1).clamp(0, 23)).is_some());
        assert!(of(|i, j| i * j).is_none());
        assert!(of(|i, _| i * i).is_none());
        assert!(of(|i, j| i ^ j).is_none());
    }
}
