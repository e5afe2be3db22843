//! How a pair is to be decided.

use crate::spec::Limits;

/// Which part of its grid the selected CTAs of a kernel are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Coverage {
    /// All CTAs of the grid were run: what they do not write, the kernel does not write.
    #[default]
    WholeGrid,
    /// Other CTAs exist and may write other elements.
    SelectedCtas,
}

/// How to decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// What the reference's outcome covers.
    pub reference: Coverage,
    /// What the optimized kernel's outcome covers.
    pub optimized: Coverage,
    /// Time and memory.
    pub limits: Limits,
    /// Rounded constants are never read as the numbers that they stand for.
    pub exact_constants: bool,
    /// Finite constants of a size that only masks have stand for minus infinity.
    pub masks_are_infinite: bool,
    /// Proofs by evaluation at random points count, where the others end.
    pub probabilistic: bool,
    /// Seed of the random candidates of the witness search.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            reference: Coverage::WholeGrid,
            optimized: Coverage::WholeGrid,
            limits: Limits::NONE,
            exact_constants: false,
            masks_are_infinite: false,
            probabilistic: false,
            seed: 0x9e37_79b9_7f4a_7c15,
        }
    }
}
