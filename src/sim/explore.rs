//! Runs that are made again with more known.
//!
//! The problem: a run of a kernel may say less than it could, since nobody knew before which arrays it writes, which loads
//! reach nothing, where memory lies, or which way data go. Then it is made again with that known, or once for each of what
//! may be, and what these runs say is joined. A [`Refinement`] is one such reason: it looks at what a run left and asks for
//! another one ([`Next::Again`]), or passes on what it has ([`Next::Pass`]). A ladder of them is in order: each looks at
//! what those before it passed on, and where it asks for another run, those before it begin anew with that.
//!
//! The driver is [`refined`]. Every run that is made again is counted by the name of its refinement (`stats.runs`), and
//! there is one bound of all of them together, beside that of each refinement.
//!
//! What looks for one input, one schedule or one launch on which something shows is a search ([`found`]): what it does not
//! find says nothing of the others. Its runs are counted too, and it ends at the bound of its reason without a word.
//!
//! Sound: what is passed on is a run, or a join of runs, that the refinement shows to speak for every execution; where a
//! bound ends the runs, the answer is a limit that names the refinement, and nothing of them is passed on.

use indexmap::IndexMap;

use crate::answer::tables::AboutRuns;
use crate::spec::Limits;
use crate::work;

/// Runs that a CTA, a grid or a question makes again, each with all that is part of it.
pub const MOST: u32 = 1 << 24;

/// The list of reasons: each with what is run again, the most runs of one of these, its name in statistics, and what is
/// known more in each run.
macro_rules! reasons {
    ($($(#[$doc:meta])* $reason:ident of $of:literal, $most:expr, $name:literal, $says:literal;)*) => {
        /// Why runs are made again.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Reason {
            $($(#[$doc])* $reason,)*
        }

        /// All reasons, in the order of the variants.
        const ALL: &[Reason] = &[$(Reason::$reason),*];

        impl Reason {
            /// What people read of it.
            pub const fn about(self) -> AboutRuns {
                match self {
                    $(Reason::$reason => AboutRuns {
                        name: $name,
                        of: $of,
                        says: $says,
                        most: $most,
                    },)*
                }
            }
        }
    };
}

reasons! {
    /// An array turned out to be written, so that reads of it are followed from the start: one run for each array.
    Tracking of "CTA", 1 << 12, "tracking", "an array turned out to be written, and reads of it are followed";
    /// A run without values found something that they may explain.
    Values of "CTA", 1, "values", "values are computed, since accesses alone leave something open";
    /// Loads race whose values may reach nothing: eight runs that try loads, and one in which stores may be made of what is
    /// read.
    Loads of "CTA", 9, "loads", "loads that race are taken to reach nothing";
    /// Bits of where shared memory lies decide something: the residues, and those in which all are 0.
    Residues of "CTA", 128, "residues", "shared memory lies at another residue";
    /// Data decide a branch whose ways cannot be merged: each instruction whose conditions turn out to be decided begins the
    /// ways anew.
    Forks of "CTA", 1 << 10, "forks", "data decide otherwise at branches whose ways cannot be merged";
    /// An array turned out to be written by a CTA, so that reads of it by others are noted from the start.
    Noting of "grid", 1 << 12, "noting", "an array turned out to be written by a CTA, and reads of it are noted";
    /// CTAs meet, and what they write there matters.
    Meeting of "grid", 1, "meeting", "values are computed, since CTAs access one element";
    /// Loads of what other CTAs write may reach nothing.
    ForeignLoads of "grid", 4, "foreign-loads", "loads of what other CTAs write are taken to reach nothing";
    /// The order of strong accesses decides something; one run more reads nothing but old values.
    Orders of "grid", (1 << 10) + 1, "orders", "all CTAs run together, and strong accesses come in another order";
    /// Which lanes run together decides something.
    Lanes of "grid", 6, "lanes", "activemask names other lanes";
    /// What makes the optimized side defective may be an input on which the reference is not defined.
    Premises of "pair", 1, "premises", "inputs are those on which the reference is defined";
    /// Bits of computed numbers decide something.
    Made of "question", 1, "made", "numbers remember how they were made";
    /// Nothing is known with the ranges of floats.
    Ranges of "question", 1, "ranges", "ranges of floats are left aside: what holds of all data holds in them";
    /// Data decide something, and facts allow few contents of them; one run more follows ways instead.
    Contents of "question", 65, "contents", "an array has one of the contents that --assume allows";
    /// Data decide something, and one input may show what it comes to.
    Inputs of "search", 64, "inputs", "kernels are run on known data";
    /// The bits of an output may depend on the schedule.
    Schedules of "search", 64, "schedules", "a kernel is run on known data in another order";
}

const _: () = assert!(ALL.len() <= work::REASONS);

impl Reason {
    /// Most runs of one CTA, one grid or one question.
    pub const fn most(self) -> u32 {
        self.about().most
    }
}

/// All reasons, for people.
pub fn about() -> Vec<AboutRuns> {
    ALL.iter().map(|r| r.about()).collect()
}

/// How often something was run again, by the names of the reasons that there were.
pub fn counts(runs: &work::Runs) -> IndexMap<String, u64> {
    let count = |r: &Reason| (r.about().name.to_string(), u64::from(runs.of(*r as usize)));
    ALL.iter().map(count).filter(|c| c.1 > 0).collect()
}

/// Something that can be run with more or less known.
pub trait Stage {
    /// What a run is told.
    type Knowledge;
    /// What it leaves.
    type Ran;

    /// One run.
    fn run(&self, knowledge: &Self::Knowledge) -> Self::Ran;

    /// What is left to say where a bound ends the runs, in words.
    fn ended(&self, why: String) -> Self::Ran;
}

/// What follows a run.
pub enum Next<R> {
    /// Another run, with what is known now.
    Again,
    /// What is known of all runs so far.
    Pass(R),
}

/// A reason to run again, with what it keeps from run to run.
pub trait Refinement<S: Stage> {
    /// Which it is.
    fn reason(&self) -> Reason;

    /// Looks at what a run left, and says more for the next one or passes on what is known.
    fn look(&mut self, stage: &S, knowledge: &mut S::Knowledge, ran: S::Ran) -> Next<S::Ran>;

    /// Begins anew, since a later refinement asks for another run.
    fn reset(&mut self, knowledge: &mut S::Knowledge);
}

/// What one input of a search comes to.
pub enum Look<T> {
    /// It shows this.
    Shows(T),
    /// It shows nothing; another one may.
    Next,
    /// No other one will show anything.
    End,
}

/// What the first of some inputs shows that shows anything. What none shows counts for nothing.
pub fn found<I, T>(
    reason: Reason,
    inputs: impl IntoIterator<Item = I>,
    limits: &Limits,
    mut look: impl FnMut(I) -> Look<T>,
) -> Option<T> {
    for input in inputs.into_iter().take(reason.most() as usize) {
        if limits.reached().is_some() || !work::run_again(reason as usize, MOST) {
            return None;
        }
        match look(input) {
            Look::Shows(shown) => return Some(shown),
            Look::Next => {}
            Look::End => return None,
        }
    }
    None
}

/// What the runs come to that a ladder of refinements asks for.
pub fn refined<S: Stage>(
    stage: &S,
    mut knowledge: S::Knowledge,
    ladder: &mut [&mut dyn Refinement<S>],
) -> S::Ran {
    let mut asked = vec![0; ladder.len()];
    let mut ran = stage.run(&knowledge);
    let mut at = 0;
    while at < ladder.len() {
        let (before, rest) = ladder.split_at_mut(at);
        let refinement = &mut rest[0];
        match refinement.look(stage, &mut knowledge, ran) {
            Next::Pass(passed) => {
                ran = passed;
                at += 1;
            }
            Next::Again => {
                asked[at] += 1;
                let reason = refinement.reason();
                let AboutRuns { name, most, .. } = reason.about();
                if asked[at] > most {
                    return stage.ended(format!("more than {most} runs for `{name}`"));
                }
                if !work::run_again(reason as usize, MOST) {
                    return stage.ended(format!("more than {MOST} runs, the last for `{name}`"));
                }
                before.iter_mut().for_each(|r| r.reset(&mut knowledge));
                asked[..at].fill(0);
                ran = stage.run(&knowledge);
                at = 0;
            }
        }
    }
    ran
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts to a number that nobody knows.
    struct Count(u32);

    impl Stage for Count {
        type Knowledge = (u32, u32);
        type Ran = Result<bool, String>;

        fn run(&self, &(tens, ones): &(u32, u32)) -> Self::Ran {
            Ok(10 * tens + ones == self.0)
        }

        fn ended(&self, why: String) -> Self::Ran {
            Err(why)
        }
    }

    /// Counts one digit up to its last value.
    struct Digit {
        reason: Reason,
        of: fn(&mut (u32, u32)) -> &mut u32,
        last: u32,
    }

    const ONES: Digit = Digit {
        reason: Reason::Loads,
        of: |k| &mut k.1,
        last: 9,
    };

    /// Nothing but the bound of its reason ends it.
    const TENS: Digit = Digit {
        reason: Reason::ForeignLoads,
        of: |k| &mut k.0,
        last: u32::MAX,
    };

    impl Refinement<Count> for Digit {
        fn reason(&self) -> Reason {
            self.reason
        }

        fn look(
            &mut self,
            _: &Count,
            k: &mut (u32, u32),
            ran: Result<bool, String>,
        ) -> Next<Result<bool, String>> {
            let digit = (self.of)(k);
            match ran {
                Ok(false) if *digit < self.last => {
                    *digit += 1;
                    Next::Again
                }
                ran => Next::Pass(ran),
            }
        }

        fn reset(&mut self, k: &mut (u32, u32)) {
            *(self.of)(k) = 0;
        }
    }

    #[test]
    fn a_later_refinement_begins_the_earlier_ones_anew() {
        let count = |n: u32| {
            work::apart(None, || {
                refined(&Count(n), (0, 0), &mut [&mut { ONES }, &mut { TENS }])
            })
        };
        let (ran, spent) = count(34);
        assert_eq!(ran, Ok(true));
        let runs = |reason: Reason| spent.runs.of(reason as usize);
        assert_eq!(
            (runs(Reason::Loads), runs(Reason::ForeignLoads)),
            (3 * 9 + 4, 3)
        );
        assert_eq!(count(49).0, Ok(true));
        assert_eq!(
            count(50).0,
            Err("more than 4 runs for `foreign-loads`".to_string())
        );
    }
}
