//! Values of which nothing is known, as a run ends.

use crate::kernel::Pc;
use crate::sim::at::site;
use crate::sim::machine::Core;
use crate::sim::outcome::merge_finding;
use crate::sim::{Finding, Outcome, UnknownKind};
use crate::term::TermId;

use super::roots;

impl Core<'_> {
    /// Bits about which nothing is known, and why: `does` is what the lane does there.
    pub(in crate::sim) fn open_bits(
        &mut self,
        (w, lane, pc): (usize, usize, Pc),
        width: u8,
        kind: UnknownKind,
        [does, why]: [&'static str; 2],
    ) -> TermId {
        // On numbers, and where bits are all there is, a run has no unknowns.
        if self.fixed.mode.has_numbers() || self.values.words.is_some() {
            let site = site(pc, w, 1 << lane, does);
            self.found.unknown(kind, vec![site], || why.into());
            return self.values.fresh_bits(width);
        }
        let reason = match self.values.doubts.known.get(&(pc, why)) {
            Some(&known) => known,
            None => {
                let site = site(pc, w, 1 << lane, does);
                self.values.doubts.reasons.push((kind, site, why));
                let new = self.values.doubts.reasons.len() - 1;
                self.values.doubts.known.insert((pc, why), new);
                new
            }
        };
        self.values.doubts.serials.insert(self.values.fresh, reason);
        self.values.fresh_bits(width)
    }

    /// Tells what is open of what was left, or all of it after a run that ended early.
    pub(in crate::sim) fn report_doubts(&mut self, out: &mut Outcome) {
        let doubts = std::mem::take(&mut self.values.doubts);
        if doubts.is_empty() {
            return;
        }
        let serials = match self.threads.ended_early {
            true => doubts.serials.keys().copied().collect(),
            false => self.values.store.serials_below(&roots(out)),
        };
        let mut counts = vec![0; doubts.reasons.len()];
        for reason in serials.iter().filter_map(|s| doubts.serials.get(s)) {
            counts[*reason] += 1;
        }
        for ((kind, site, why), count) in doubts.reasons.into_iter().zip(counts) {
            if count > 0 {
                let message = why.to_string();
                let sites = vec![site];
                let finding = Finding::new(kind, message).times(count).at(sites);
                merge_finding(&mut out.unknowns, finding);
            }
        }
    }
}
