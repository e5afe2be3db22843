//! Which of two patterns keeps the number that both could stand for.

use std::collections::BTreeMap;

use num_rational::BigRational;
use num_traits::{One, Signed, ToPrimitive};

use super::number::Number;
use super::{Base, Meant, Readings, twins, unit};
use crate::kernel::Fmt;

impl Readings {
    /// True if a pattern is what its format's arithmetic makes of the number that it is read as, though that
    /// is rounded to another.
    fn is_computed(&self, q: &BigRational, r: &Meant) -> bool {
        let m = &r.meaning;
        let root =
            m.base == Base::Sqrt && !r.has_partner() && !m.complement && r.fmt == Some(Fmt::F32);
        let nearest = || {
            let number = m.enclosure()?.lo.to_rational()?;
            let two = BigRational::from_integer(2.into());
            Some((number - q).abs() * two <= unit(q, Fmt::F32))
        };
        r.computed || root && nearest() == Some(false) && twins::is_computed_root(q, &m.rational())
    }

    /// Where two patterns of a format have one reading, only the nearer keeps it.
    pub(super) fn separate(&mut self) {
        // The pattern that has a reading, and the constants that depend on it.
        type Claim = (BigRational, Vec<BigRational>);
        let mut nearest: BTreeMap<(Option<Fmt>, Number), Claim> = BTreeMap::new();
        let distance = |q: &BigRational, n: &Number| -> Option<f64> {
            let d = n.enclosure()?.lo.to_rational()? - q;
            d.abs().to_f64()
        };
        let mut drop = Vec::new();
        let alone = self.map.iter().filter(|(q, r)| !self.is_computed(q, r));
        for (q, r) in alone {
            let (pattern, meaning, fmt) = match &r.reciprocal {
                Some((p, m, fmt)) => (p, m, Some(*fmt)),
                None => (q, &r.meaning, r.fmt),
            };
            let number = self.number(meaning);
            let key = (fmt, number.clone());
            let claim = (pattern.clone(), vec![q.clone()]);
            match nearest.get_mut(&key) {
                None => {
                    nearest.insert(key, claim);
                }
                Some((other, users)) if other == pattern => users.push(q.clone()),
                Some((other, users)) => {
                    if distance(pattern, &number) < distance(other, &number) {
                        drop.append(users);
                        nearest.insert(key, claim);
                    } else {
                        drop.push(q.clone());
                    }
                }
            }
        }
        // What is exactly 1 minus another pattern stays so: both are read, or neither.
        let pairs = drop.iter().filter_map(|q| {
            let m = &self.map.get(q)?.meaning;
            let exact = m.complement && m.rational() == BigRational::one() - q;
            exact.then(|| m.times.clone())
        });
        let beside: Vec<BigRational> = pairs.flatten().collect();
        for q in drop.into_iter().chain(beside) {
            self.map.remove(&q);
        }
    }
}
