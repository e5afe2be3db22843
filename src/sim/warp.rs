//! The state of a warp: registers lane-contiguous, and where each lane is.
//!
//! One decode serves all lanes that stand at the same pc. Registers are words of 32 lanes; a mask
//! for each register tells which lanes hold a packed symbolic [`Val`] instead of plain bits.

use crate::kernel::{Guard, Pc, RegId};

use super::value::{UNSET_LANE, Val};

/// Lanes of a warp.
pub const LANES: usize = 32;

/// One warp.
#[derive(Clone, Debug)]
pub struct Warp {
    regs: Vec<[u64; LANES]>,
    sym: Vec<u32>,
    /// Next instruction of each lane.
    pub pc: [u32; LANES],
    /// Lanes that exist and have not exited.
    pub live: u32,
    /// Lanes that wait for others: at a barrier or in a warp collective.
    pub blocked: u32,
    /// Lanes that stand at a synchronising instruction and let the others catch up.
    pub parked: u32,
    /// Lanes whose wait on an mbarrier may have been overtaken, if they do anything before the next.
    pub overtaken: u32,
    /// When each lane last did what others can see, in a CTA with mbarriers.
    pub acted: [u64; LANES],
    /// Rank of lane 0 in the CTA.
    pub first: u32,
}

impl Warp {
    /// A warp whose lanes `0..lanes` stand at pc 0.
    pub fn new(regs: usize, lanes: u32, first: u32) -> Self {
        Warp {
            regs: vec![[UNSET_LANE; LANES]; regs],
            sym: vec![u32::MAX; regs],
            pc: [0; LANES],
            live: if lanes >= 32 {
                u32::MAX
            } else {
                (1 << lanes) - 1
            },
            blocked: 0,
            parked: 0,
            overtaken: 0,
            acted: [0; LANES],
            first,
        }
    }

    /// Lanes that can step.
    pub fn runnable(&self) -> u32 {
        self.live & !self.blocked & !self.parked
    }

    /// The lanes among `among` with the lowest pc, that pc, and the lowest pc of the others.
    pub fn lowest(&self, among: u32) -> Option<(u32, Pc, u32)> {
        let (mut pc, mut mask, mut next) = (u32::MAX, 0, u32::MAX);
        for lane in lanes(among) {
            let p = self.pc[lane];
            if p < pc {
                next = pc;
                pc = p;
                mask = 1 << lane;
            } else if p == pc {
                mask |= 1 << lane;
            } else {
                next = next.min(p);
            }
        }
        (mask != 0).then_some((mask, Pc(pc), next))
    }

    /// Moves lanes to a pc.
    pub fn jump(&mut self, mask: u32, pc: u32) {
        if mask == u32::MAX {
            self.pc = [pc; LANES];
        } else {
            for lane in lanes(mask) {
                self.pc[lane] = pc;
            }
        }
    }

    /// The symbolic lanes of a register.
    #[inline]
    pub fn symbolic(&self, r: RegId) -> u32 {
        self.sym[r.0 as usize]
    }

    /// The lane words of a register.
    #[inline]
    pub fn words(&self, r: RegId) -> &[u64; LANES] {
        &self.regs[r.0 as usize]
    }

    /// The lanes in which a guard holds, as far as its predicate is plain bits.
    #[inline]
    pub fn holds(&self, g: Guard) -> u32 {
        let mut yes = 0u32;
        for (lane, word) in self.words(g.reg).iter().enumerate() {
            yes |= ((*word & 1) as u32) << lane;
        }
        if g.negated { !yes } else { yes }
    }

    /// The value of a lane.
    #[inline]
    pub fn get(&self, r: RegId, lane: usize) -> Val {
        let w = self.regs[r.0 as usize][lane];
        if self.sym[r.0 as usize] >> lane & 1 == 0 {
            Val::Conc(w)
        } else {
            Val::unpack(w)
        }
    }

    /// Sets a lane.
    #[inline]
    pub fn set(&mut self, r: RegId, lane: usize, v: Val) {
        let (w, s) = v.pack();
        self.regs[r.0 as usize][lane] = w;
        let m = &mut self.sym[r.0 as usize];
        *m = *m & !(1 << lane) | (s as u32) << lane;
    }

    /// Sets the lanes of a mask to plain bits.
    #[inline]
    pub fn set_words(&mut self, r: RegId, mask: u32, words: &[u64; LANES]) {
        let dst = &mut self.regs[r.0 as usize];
        if mask == u32::MAX {
            *dst = *words;
        } else {
            for lane in lanes(mask) {
                dst[lane] = words[lane];
            }
        }
        self.sym[r.0 as usize] &= !mask;
    }

    /// Sets the lanes of a mask to packed symbolic values.
    #[inline]
    pub fn set_symbolic(&mut self, r: RegId, mask: u32, words: &[u64; LANES]) {
        let dst = &mut self.regs[r.0 as usize];
        if mask == u32::MAX {
            *dst = *words;
        } else {
            for lane in lanes(mask) {
                dst[lane] = words[lane];
            }
        }
        self.sym[r.0 as usize] |= mask;
    }
}

/// The set bits of a mask, ascending.
#[inline]
pub fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    let mut m = mask;
    std::iter::from_fn(move || {
        if m == 0 {
            return None;
        }
        let i = m.trailing_zeros() as usize;
        m &= m - 1;
        Some(i)
    })
}
