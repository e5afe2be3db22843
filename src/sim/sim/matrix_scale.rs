//! Products with block scaling: each chunk of a row of a, and of a column of b, has a factor.
//!
//! Source: PTX ISA 9.0, section 9.7.14.3. A word of each lane holds four factors of a byte; selectors, the same
//! in all lanes, say which are taken. For a, of each group of four lanes the first or the second two
//! give the factors of row g and of row g + 8; for b, one lane gives those of column g. A row of one chunk
//! has the factor in the selected byte, a row of two has the selected two bytes, one of four has all.
//!
//! The manual shows in figures only which lane is about which row; CuTe's layouts of the factors say it.
//!
//! Factors of `.ue4m3` are bytes whose highest bit is zero (section 5.2.3), which is an assumption about the inputs: with
//! it they are numbers of `.e4m3`.
//!
//! Over the reals the factor of an element is part of it: the sum is of (a * scale) * (b * scale).

use crate::answer::AssumptionKind;
use crate::kernel::{BlockScale, Fmt, Pc, ScaleData};
use crate::term::TermId;

use super::UnknownKind;
use super::at::site;
use super::machine::Core;
use super::stop::Stop;
use super::val::Val;
use super::warp::LANES;

/// The assumption about scale factors of `.ue4m3`.
pub(super) const POSITIVE: &str =
    "the highest bit of a scale factor of `.ue4m3` is zero, as its format says";

impl Core<'_> {
    /// a by rows and b by rows, scaled; `columns` says where the elements of a stand.
    pub(super) fn scaled(
        &mut self,
        (w, pc): (usize, Pc),
        scale: &BlockScale,
        (mut a, mut b): (Vec<TermId>, Vec<TermId>),
        columns: &[Vec<usize>],
        depth: usize,
    ) -> Result<(Vec<TermId>, Vec<TermId>), Stop> {
        let chunks = usize::from(scale.chunks);
        if scale.fmt == Fmt::E4m3 {
            self.found
                .assumptions
                .insert(AssumptionKind::Machine.says(POSITIVE));
        }
        let size = depth / chunks;
        let (byte, pair) = self.selected(w, pc, &scale.a, chunks, 2)?;
        let held = a.len() / 16;
        for row in 0..16 {
            let lane = 4 * (row % 8) + 2 * pair + row / 8;
            let factors = self.factors(w, scale.fmt, &scale.a, (lane, byte), chunks);
            let at = &columns[row % columns.len()];
            for (x, column) in a[row * held..][..held].iter_mut().zip(at) {
                *x = self.values.store.mul(*x, factors[column / size]);
            }
        }
        let (byte, thread) = self.selected(w, pc, &scale.b, chunks, 4)?;
        for column in 0..8 {
            let lane = 4 * column + thread;
            let factors = self.factors(w, scale.fmt, &scale.b, (lane, byte), chunks);
            for k in 0..depth {
                let x = &mut b[8 * k + column];
                *x = self.values.store.mul(*x, factors[k / size]);
            }
        }
        Ok((a, b))
    }

    /// The selectors of the byte and of the lanes, of which there are so many choices.
    fn selected(
        &mut self,
        w: usize,
        pc: Pc,
        data: &ScaleData,
        chunks: usize,
        choices: u64,
    ) -> Result<(usize, usize), Stop> {
        let mut found = [0; 2];
        for (one, src) in found.iter_mut().zip([data.byte, data.thread]) {
            let first = self.src(w, src, 0);
            let same = (1..LANES).all(|lane| self.src(w, src, lane) == first);
            match self.values.of_bits_plain(first, 16) {
                Val::Conc(bits) if same => *one = bits,
                _ => {
                    let what = "selectors of scale factors that depend on data or on the lane";
                    self.unsupported(w, u32::MAX, pc, what);
                    return Err(Stop::Finding);
                }
            }
        }
        let [byte, thread] = found;
        if byte % chunks as u64 != 0 || byte > 3 || thread >= choices {
            let site = site(pc, w, u32::MAX, format!("selects byte {byte} of {thread}"));
            self.found.unknown(UnknownKind::Undefined, vec![site], || {
                "the selectors of scale factors are not among the valid ones".into()
            });
            return Err(Stop::Finding);
        }
        Ok((byte as usize, thread as usize))
    }

    /// The factors in a lane from a byte.
    fn factors(
        &mut self,
        w: usize,
        fmt: Fmt,
        data: &ScaleData,
        (lane, byte): (usize, usize),
        chunks: usize,
    ) -> [TermId; 4] {
        let v = self.src(w, data.data, lane);
        let whole = self.values.bits(v, 32);
        let mut out = [whole; 4];
        for (i, one) in out[..chunks].iter_mut().enumerate() {
            let low = 8 * (byte + i) as u8;
            let bits = self.values.field(whole, low, 8);
            let v = self.values.of_bits(bits);
            *one = self.values.real(v, fmt);
        }
        out
    }
}
