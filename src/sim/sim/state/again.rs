//! Whether a run goes on from its state alone.
//!
//! In builds with assertions, and where `VOLTA_AGAIN` is set, some rounds of each run are made twice: by the machine as it
//! is, and by a copy that has forgotten what is no part of its state. Both must come to the same state.

use std::sync::OnceLock;

use super::super::machine::Machine;
use super::super::stop::Stop;

/// What a round does: whether any thread stepped, and whether any has not ended.
type Round = Result<(bool, bool), Stop>;

fn is_asked() -> bool {
    static ASKED: OnceLock<bool> = OnceLock::new();
    let ask = || std::env::var_os("VOLTA_AGAIN").is_some();
    cfg!(debug_assertions) && *ASKED.get_or_init(ask)
}

impl Machine<'_> {
    /// Runs the round of a number, and again from its state where that is asked for and the number is a power of two.
    pub(in crate::sim) fn run_again(&mut self, number: u64) -> Round {
        if !is_asked() || !number.is_power_of_two() {
            return self.run_round();
        }
        let mut other = self.clone();
        other.forget();
        let before = self.state().differs(&other.state());
        assert_eq!(before, None, "what is forgotten is in no state");
        let (round, again) = (self.run_round(), other.run_round());
        // A limit that ends the second one, or both, ends them anywhere.
        if self.core.fixed.limits.reached().is_some() {
            return round;
        }
        assert_eq!(round, again, "a state tells whether a run goes on");
        let after = self.state().differs(&other.state());
        assert_eq!(after, None, "a run goes on from its state alone");
        round
    }
}
