//! A schedule drawn at random.
//!
//! One schedule stands for all when it finds no race and no deadlock (confluence, in the Volta
//! paper), and a defect that one finds every other finds. That is a claim about this simulator
//! which a test can try to break: the same kernel runs under schedules that interleave warps and
//! diverged lanes in any order, and must come to the same outcome.

use super::warp::{LANES, Warp, lanes};
use crate::kernel::Pc;
use crate::number::random::Random;
use crate::sim::limits::LIMITS;

/// A source of choices.
#[derive(Clone, Debug, Hash)]
pub struct ScheduleRng(Random);

impl ScheduleRng {
    /// The choices of a seed.
    pub fn new(seed: u64) -> Self {
        ScheduleRng(Random(seed))
    }

    /// A number below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.0.below(n)
    }

    /// Instructions of the next turn.
    pub(super) fn turn(&mut self) -> u64 {
        1 + self.below(LIMITS.random_turn)
    }

    /// A place for each lane in an order of all lanes.
    pub(super) fn order(&mut self) -> [u64; LANES] {
        std::array::from_fn(|lane| self.below(1 << 20) << 5 | lane as u64)
    }

    /// Some group of lanes that stand at one pc, instead of the one with the lowest.
    pub(super) fn group(&mut self, warp: &Warp, among: u32) -> Option<(u32, Pc, u32)> {
        let chosen = lanes(among).nth(self.below(among.count_ones() as u64) as usize)?;
        let pc = warp.pc[chosen];
        let mask = lanes(among)
            .filter(|&l| warp.pc[l] == pc)
            .fold(0, |m, l| m | 1 << l);
        Some((mask, Pc(pc), u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_spread_and_repeat_with_their_seed() {
        let draw = |seed| {
            let mut d = ScheduleRng::new(seed);
            (0..1000).map(|_| d.below(8)).collect::<Vec<_>>()
        };
        assert_eq!(draw(3), draw(3));
        assert_ne!(draw(3), draw(4));
        for n in 0..8 {
            let count = draw(0).iter().filter(|&&x| x == n).count();
            assert!((80..170).contains(&count), "{n}: {count}");
        }
    }
}
