//! Numbers that are drawn from a seed, alike on every machine.
//!
//! Source: G. E. P. Box and M. E. Muller (1958) for the normal distribution.

use crate::number::random::{Random, STEP};

/// How numbers are distributed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Law {
    /// With mean 0 and variance 1.
    Normal,
    /// From 0 to 1, 1 excluded.
    Uniform,
}

impl Law {
    /// The law of a word.
    pub(super) fn parse(text: &str) -> Option<Law> {
        match text {
            "normal" => Some(Law::Normal),
            "uniform" => Some(Law::Uniform),
            _ => None,
        }
    }
}

/// A sequence of numbers.
pub(super) struct Draw(Random);

impl Draw {
    /// The sequence of a seed and of one of the arrays that it fills.
    pub(super) fn new(seed: u64, stream: u64) -> Draw {
        let begin = Random(seed).draw();
        Draw(Random(begin ^ stream.wrapping_mul(STEP)))
    }

    fn unit(&mut self) -> f64 {
        (self.0.draw() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// The next number.
    pub(super) fn next(&mut self, law: Law) -> f64 {
        match law {
            Law::Uniform => self.unit(),
            Law::Normal => {
                let (u, v) = (1.0 - self.unit(), self.unit());
                libm::sqrt(-2.0 * libm::log(u)) * libm::cos(2.0 * std::f64::consts::PI * v)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments() {
        let n = 20_000;
        for (law, mean, variance) in [(Law::Normal, 0.0, 1.0), (Law::Uniform, 0.5, 1.0 / 12.0)] {
            let mut draw = Draw::new(0, 1);
            let v: Vec<f64> = (0..n).map(|_| draw.next(law)).collect();
            let m = v.iter().sum::<f64>() / n as f64;
            let s = v.iter().map(|x| (x - m) * (x - m)).sum::<f64>() / n as f64;
            assert!(
                (m - mean).abs() < 0.02 && (s - variance).abs() < 0.04,
                "{law:?} {m} {s}"
            );
        }
        let first = |seed, stream| Draw::new(seed, stream).0.draw();
        assert!(first(0, 0) != first(0, 1) && first(0, 0) != first(1, 0));
    }
}
