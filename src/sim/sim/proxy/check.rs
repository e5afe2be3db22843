//! What is wrong with bytes that two proxies access, and what is missing.
//!
//! Reads: whatever the async proxy reads of what the generic one wrote needs the fence (PTX ISA 9.3, section 8.9.5), and
//! without it there is a data race. One pattern is a warning: `cp.async` that fills an operand of `wgmma` or `tcgen05`
//! (sections 8.6 and 9.7.16.4), where compilers leave the fence out.
//!
//! Refills: a generic write and then an asynchronous one of the same bytes is a data race without the fence. The words that
//! are no data, told by what wrote them, are warnings: an mbarrier, a tensor map that was staged and published, the
//! address that `tcgen05.alloc` stored.

use crate::sim::limits::LIMITS;
use std::collections::BTreeSet;

use crate::answer::AssumptionKind;
use crate::kernel::{AsyncOp, Op, Pc};

use super::super::at::{site, tids};
use super::super::machine::{Core, Machine, Threads};
use super::super::order::Order;
use super::super::region::{RegionId, SHARED};
use super::super::warp::LANES;
use super::super::{DefectKind, Site, Tid, UnknownKind, WarningKind};
use super::reads::Before;
use super::{Through, Written};

/// Which sort of operation reads through the async proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sim) enum Reader {
    /// A matrix instruction, an operand.
    Operand,
    /// A bulk copy.
    Bulk,
}

impl Threads {
    /// The place of a write.
    pub(in crate::sim) fn written_site(&self, word: &Written, text: String) -> Site {
        let mut site = site(Pc(word.pc), 0, 1, text);
        site.threads = vec![Tid(word.who)];
        site
    }
}

impl Core<'_> {
    /// In which state an operation leaves an mbarrier.
    fn done_to_object(&self, pc: u32) -> &'static str {
        match &self.inst(Pc(pc)).op {
            Op::Async(op) if matches!(**op, AsyncOp::Inval { .. }) => "invalidated",
            Op::Async(op) if matches!(**op, AsyncOp::Init { .. }) => "only initialised",
            _ => "used",
        }
    }
}

impl Machine<'_> {
    /// A bulk copy completes on an object, which the async proxy must have seen made.
    pub(in crate::sim) fn check_made_object(&mut self, w: usize, lane: usize, pc: Pc, at: u64) {
        let reader = Tid(self.core.threads.warps[w].first + lane as u32);
        let Order {
            proxies, clocks, ..
        } = &self.sync.order;
        let Some((who, made)) = proxies.unpublished(clocks, reader, at) else {
            return;
        };
        if self.sync.inits.known(clocks, reader, at) {
            return;
        }
        let place = self.core.place(SHARED, at, 8);
        let mut first = site(made, w, 1, format!("makes the mbarrier {place}"));
        first.threads = vec![who];
        let second = site(pc, w, 1 << lane, "completes on it through the async proxy");
        let sites = vec![first, second];
        // Complete-tx accesses its mbarrier through the generic proxy (PTX ISA 9.3, 9.7.9.25.4.1): that the object was made
        // before is a question of happens-before alone, which is asked like that of any other access.
        self.core.found.warn(WarningKind::MissingFence, sites, || {
            format!(
                "an asynchronous copy completes on the mbarrier {place}: fence.mbarrier_init, which the examples of PTX \
                 have between mbarrier.init and that, is left out"
            )
        });
    }

    /// Bytes are overwritten through the async proxy: says what is wrong; true if the run may go on.
    pub(in crate::sim) fn check_refill(
        &mut self,
        (w, lane, pc): (usize, usize, Pc),
        region: RegionId,
        (from, bytes): (u64, u64),
    ) -> bool {
        let Order {
            proxies, clocks, ..
        } = &mut self.sync.order;
        let writer = Tid(self.core.threads.warps[w].first + lane as u32);
        let unfenced = proxies.unfenced(clocks, writer, region, (from, bytes));
        let read = proxies.refilled(clocks, writer, region, (from, bytes));
        for before in read {
            self.refill_after_read((w, lane, pc), region, &before);
        }
        let mut fine = true;
        for (at, word) in unfenced {
            let place = self.core.place(region, at, 4);
            let name = self.core.collective_name(pc);
            let (done, held) = match word.by {
                Through::Object => {
                    let done = self.core.done_to_object(word.pc);
                    (
                        done,
                        Some(format!("the mbarrier {place}, which was {done}")),
                    )
                }
                Through::Map if word.published => {
                    let held = "a staged tensor map, which tensormap.cp_fenceproxy has published";
                    ("written", Some(held.to_string()))
                }
                Through::Word => {
                    let held = "the address that tcgen05.alloc stored";
                    ("written by tcgen05.alloc", Some(held.to_string()))
                }
                Through::Copy => ("filled by cp.async", None),
                Through::Remote => ("written by an asynchronous store", None),
                Through::Thread | Through::Map | Through::Bulk => ("written", None),
            };
            let second = site(
                pc,
                w,
                1 << lane,
                format!("refills {place} through the async proxy"),
            );
            let sites = vec![
                self.core
                    .threads
                    .written_site(&word, format!("{} {place}", word.by.verb())),
                second,
            ];
            let step = missing_step(region);
            match held {
                Some(held) => self.core.found.warn(WarningKind::MissingFence, sites, || {
                    format!(
                        "the bytes at {place} held {held}, and {name} overwrites them through the async proxy: {step}"
                    )
                }),
                None => {
                    fine = false;
                    self.unordered_proxies(&word, sites, || {
                        format!(
                            "{place} is {done} (generic proxy) and overwritten by {name} (async proxy): {step}; a barrier \
                             between them orders the threads, not the proxies"
                        )
                    });
                }
            }
        }
        fine
    }

    /// Says what is wrong with reads through the async proxy; true if the run may go on.
    pub(in crate::sim) fn check_proxy(
        &mut self,
        (w, mask, pc): (usize, u32, Pc),
        region: RegionId,
        (from, bytes): (u64, u64),
        by: Reader,
    ) -> bool {
        let reader = tids(w, mask)[0];
        let Order {
            proxies, clocks, ..
        } = &self.sync.order;
        let unfenced = proxies.unfenced(clocks, reader, region, (from, bytes));
        if proxies.follows_reads() {
            self.sync
                .order
                .proxies
                .read_by_agent(region, (from, bytes), pc);
        }
        let mut fine = true;
        for (at, word) in unfenced {
            let place = self.core.place(region, at, 4);
            let name = self.core.collective_name(pc);
            let done = match word.by {
                Through::Copy => "filled by cp.async",
                Through::Remote => "written by an asynchronous store",
                Through::Object => self.core.done_to_object(word.pc),
                Through::Thread | Through::Map | Through::Word | Through::Bulk => "written",
            };
            let second = site(
                pc,
                w,
                mask,
                format!("reads {place} through the async proxy"),
            );
            let sites = vec![
                self.core
                    .threads
                    .written_site(&word, format!("{} {place}", word.by.verb())),
                second,
            ];
            if word.by == Through::Copy && by == Reader::Operand {
                self.core.found.warn(WarningKind::MissingFence, sites, || {
                    format!(
                        "{place} is filled by cp.async (generic proxy) and read by {name} (async proxy): \
                         fence.proxy.async is missing after the wait for cp.async, before the barrier or arrival that hands \
                         the stage over, or after that by the reader"
                    )
                });
                continue;
            }
            fine = false;
            let step = match word.by {
                Through::Copy | Through::Remote => {
                    "fence.proxy.async is missing after its end was waited for, before the read"
                }
                Through::Thread
                | Through::Bulk
                | Through::Object
                | Through::Map
                | Through::Word => missing_step(region),
            };
            self.unordered_proxies(&word, sites, || {
                format!(
                    "{place} is {done} (generic proxy) and read by {name} (async proxy): {step}"
                )
            });
        }
        fine
    }

    /// Bytes that a thread read are refilled without a fence.
    fn refill_after_read(
        &mut self,
        (w, lane, pc): (usize, usize, Pc),
        region: RegionId,
        before: &Before,
    ) {
        if before.handed {
            return self.sync.order.proxies.note_places(before.pc, pc);
        }
        let place = self.core.place(region, before.at, 4);
        let name = self.core.collective_name(pc);
        let writer = self.core.threads.warps[w].first + lane as u32;
        let [reads, refills] = [before.who.0, writer].map(|t| self.core.fixed.team.name(t));
        let missing = match (
            before.who.0 == writer,
            before.who.0 / LANES as u32 == w as u32,
        ) {
            (true, _) => {
                "only program order lies between: fence.proxy.async is missing before the refill"
            }
            (_, true) => {
                "only order inside a warp lies between: fence.proxy.async is missing before the refill"
            }
            (false, false) => {
                "its lane does not arrive itself, and only order inside a warp lies between the read and the arrival of \
                 another lane: fence.proxy.async is missing between them"
            }
        };
        let mut first = site(before.pc, w, 1 << lane, format!("reads {place}"));
        first.threads = vec![before.who];
        let second = format!("refills {place} through the async proxy");
        let sites = vec![first, site(pc, w, 1 << lane, second)];
        self.core.found.warn(WarningKind::MissingFence, sites, || {
            format!(
                "{place} is read by thread {reads} (generic proxy) and overwritten by {name} of thread {refills} (async \
                 proxy): {missing}"
            )
        });
    }

    /// Says where bytes pass from one proxy to another because a synchronisation says so.
    pub(in crate::sim) fn report_reads(&mut self) {
        let places = self.sync.order.proxies.take_places();
        // A finding says more of what is not ordered.
        if places.is_empty() || !self.finds_nothing() {
            return;
        }
        let lines = places
            .iter()
            .map(|&(a, b)| (self.core.line(a), self.core.line(b)));
        let lines: BTreeSet<(u32, u32)> = lines.collect();
        let named = lines.iter().take(LIMITS.proxy_places);
        let mut text: Vec<String> = named.map(|(a, b)| format!("{a} and {b}")).collect();
        if lines.len() > LIMITS.proxy_places {
            text.push(format!("{} more pairs", lines.len() - LIMITS.proxy_places));
        }
        let text = text.join(", ");
        self.core.found.assumptions.insert(AssumptionKind::Visibility.says(format!(
            "threads are done with the bytes that an asynchronous copy overwrites, and an asynchronous read with those that \
             threads overwrite, when an mbarrier, a barrier or a wait says so, without fence.proxy.async (lines {text})"
        )));
    }

    /// Accesses through two proxies with no fence between them.
    pub(in crate::sim) fn unordered_proxies(
        &mut self,
        word: &Written,
        sites: Vec<Site>,
        why: impl FnOnce() -> String,
    ) {
        match self.sync.strong.coarse || word.conditional {
            true => self.core.found.unknown(UnknownKind::Undecided, sites, || {
                format!("{}; whether that happens is not known", why())
            }),
            false => self.core.defect(DefectKind::DataRace, sites, why),
        }
    }
}

/// The fence of which one has to stand between the accesses.
fn missing_step(region: RegionId) -> &'static str {
    match region == SHARED {
        true => {
            "fence.proxy.async.shared::cta is missing between them, by the producer before its barrier or arrival, or by the \
             consumer after its wait"
        }
        false => {
            "fence.proxy.async.global is missing between them, by the producer before its barrier or arrival, or by the \
             consumer after its wait"
        }
    }
}
