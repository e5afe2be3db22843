//! Numbers that look random and are the same for every run.
//!
//! Source: splitmix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014). Not claimed: that nobody can
//! foresee them.

/// The odd number next to 2^64 over the golden ratio: multiples of it are spread evenly.
pub const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A bijection that scatters its argument: the finaliser of splitmix64.
pub(crate) fn scattered(x: u64) -> u64 {
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// A generator of pseudo-random numbers, which starts at the number it holds.
#[derive(Clone, Debug, Hash)]
pub struct Random(pub u64);

impl Random {
    /// The next 64 bits.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        scattered(self.0)
    }

    /// A number below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.draw() % n.max(1)
    }
}
