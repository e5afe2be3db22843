//! The state of a warp: registers lane-contiguous, and where each lane is.
//!
//! One decode serves all lanes that stand at the same pc. Registers are words of 32 lanes; a mask
//! for each register tells which lanes hold a packed symbolic [`Val`] instead of plain bits.

use crate::kernel::{Guard, Pc, RegId};

use super::address::provenance::Prov;
use super::state::recorded;
use super::val::{ABSENT_LANE, UNSET_LANE, Val};

/// Lanes of a warp.
pub const LANES: usize = 32;

/// Stands where lanes carry different things.
const MIXED: u32 = u32::MAX;

/// One warp.
#[derive(Clone, Debug)]
pub struct Warp {
    regs: Vec<[u64; LANES]>,
    sym: Vec<u32>,
    /// The symbolic lanes of each register whose value is absent.
    absent: Vec<u32>,
    /// For each register the lanes that carry a base, and what, if it is the same in all.
    carried: Vec<(u32, u32)>,
    /// What each lane carries, where lanes differ.
    prov: Vec<[u32; LANES]>,
    /// Next instruction of each lane.
    pub pc: [u32; LANES],
    /// Lanes that exist and have not exited.
    pub live: u32,
    /// Lanes that wait for others: at a barrier or in a warp collective.
    pub blocked: u32,
    /// Of those that wait, the lanes that are held before a step whose place in the order matters.
    pub held: u32,
    /// Lanes that stand at a synchronising instruction and let the others catch up.
    pub parked: u32,
    /// Lanes whose wait on an mbarrier may have been overtaken, if they do anything before the next.
    pub overtaken: u32,
    /// When each lane last did what others can see, in a CTA with mbarriers.
    pub acted: [u64; LANES],
    /// Rank of lane 0 in the CTA.
    pub first: u32,
}

recorded!(Warp { sym, absent, carried, prov, pc, live, blocked, held, parked, overtaken, acted, first }
    beside { regs: "places" });

impl Warp {
    /// A warp whose lanes `0..lanes` stand at pc 0.
    pub fn new(regs: usize, lanes: u32, first: u32) -> Self {
        Warp {
            regs: vec![[UNSET_LANE; LANES]; regs],
            sym: vec![u32::MAX; regs],
            absent: vec![0; regs],
            carried: vec![(0, 0); regs],
            prov: vec![[0; LANES]; regs],
            pc: [0; LANES],
            live: if lanes >= 32 {
                u32::MAX
            } else {
                (1 << lanes) - 1
            },
            blocked: 0,
            held: 0,
            parked: 0,
            overtaken: 0,
            acted: [0; LANES],
            first,
        }
    }

    /// Number of registers.
    pub fn registers(&self) -> u32 {
        self.regs.len() as u32
    }

    /// Lanes that can step.
    pub fn runnable(&self) -> u32 {
        self.live & !self.blocked & !self.parked
    }

    /// Lanes that come to a synchronising instruction together; to one that takes the whole warp those come too that
    /// wait for something else now.
    pub fn expected(&self, whole: bool) -> u32 {
        match whole {
            true => self.live,
            false => self.live & !self.blocked,
        }
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

    /// The lanes of a register whose value is absent.
    #[inline]
    pub fn absent(&self, r: RegId) -> u32 {
        self.absent[r.0 as usize]
    }

    /// The values of the lanes of a mask are absent.
    #[inline]
    pub fn set_absent(&mut self, r: RegId, mask: u32) {
        let new = mask & !self.absent[r.0 as usize];
        if new == 0 {
            return;
        }
        let dst = &mut self.regs[r.0 as usize];
        for lane in lanes(new) {
            dst[lane] = ABSENT_LANE;
        }
        self.sym[r.0 as usize] |= new;
        self.absent[r.0 as usize] |= new;
        self.carried[r.0 as usize].0 &= !new;
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
        let absent = (v == Val::Absent) as u32;
        let m = &mut self.absent[r.0 as usize];
        *m = *m & !(1 << lane) | absent << lane;
        self.carried[r.0 as usize].0 &= !(1 << lane);
    }

    /// The lanes of a register that carry a base.
    #[inline]
    pub fn carried(&self, r: RegId) -> u32 {
        self.carried[r.0 as usize].0
    }

    /// What a lane of a register carries.
    #[inline]
    pub fn prov(&self, r: RegId, lane: usize) -> Prov {
        match self.carried[r.0 as usize] {
            (mask, _) if mask >> lane & 1 == 0 => Prov::NONE,
            (_, MIXED) => Prov(self.prov[r.0 as usize][lane]),
            (_, one) => Prov(one),
        }
    }

    /// What lanes of a register carry, if it is the same in all and known without looking at each.
    #[inline]
    pub fn one_prov(&self, r: RegId, among: u32) -> Option<Prov> {
        let (mask, one) = self.carried[r.0 as usize];
        match mask & among {
            0 => Some(Prov::NONE),
            m if m == among && one != MIXED => Some(Prov(one)),
            _ => None,
        }
    }

    /// The lanes of `among` that carry the same as one lane.
    #[inline]
    pub fn same_prov(&self, r: RegId, lane: usize, among: u32) -> u32 {
        match self.carried[r.0 as usize] {
            (mask, _) if mask >> lane & 1 == 0 => among & !mask,
            (mask, MIXED) => {
                let all = &self.prov[r.0 as usize];
                let mut same = 0;
                for l in lanes(among & mask) {
                    same |= u32::from(all[l] == all[lane]) << l;
                }
                same
            }
            (mask, _) => among & mask,
        }
    }

    /// Lanes of a register carry a base, and what. Their values are set before.
    pub fn set_prov(&mut self, r: RegId, mask: u32, p: Prov) {
        let (carried, one) = &mut self.carried[r.0 as usize];
        if *carried & !mask == 0 {
            *one = p.0;
        } else if *one != p.0 {
            let all = &mut self.prov[r.0 as usize];
            if *one != MIXED {
                all.fill(*one);
                *one = MIXED;
            }
            for lane in lanes(mask) {
                all[lane] = p.0;
            }
        }
        *carried |= mask;
    }

    /// Lanes of a register carry nothing.
    #[inline]
    pub fn clear_prov(&mut self, r: RegId, mask: u32) {
        self.carried[r.0 as usize].0 &= !mask;
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
        self.absent[r.0 as usize] &= !mask;
        self.clear_prov(r, mask);
    }

    /// Sets the lanes of a mask to packed symbolic values, none of them absent.
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
        self.absent[r.0 as usize] &= !mask;
        self.clear_prov(r, mask);
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
