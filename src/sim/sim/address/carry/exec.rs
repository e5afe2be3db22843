//! What instructions carry of addresses from register to register.

use crate::answer::AssumptionKind;
use crate::kernel::{
    AsyncOp, BulkOp, ClusterOp, GroupA, IntOp, MapField, Op, Pc, RegId, Space, Src, TensorA,
    TensorOp, Var,
};
use crate::sim::UnknownKind;
use crate::sim::address::derive::Arg;
use crate::sim::address::provenance::{BaseId, Prov, Shape};
use crate::sim::at::site;
use crate::sim::machine::{Core, Spaces, Threads};
use crate::sim::memory::RegionKind;
use crate::sim::region::{LOCAL, RegionId};
use crate::sim::val::Val;
use crate::sim::warp::lanes;
use crate::spec::Role;
use crate::term::TermId;

use super::{Plan, brings_base};

impl Threads {
    /// Lanes of `exec` in which some register that an operation reads carries a base.
    fn carrying(&self, w: usize, exec: u32, op: &Op) -> u32 {
        let mut mask = 0;
        op.uses(&mut |r| mask |= self.warps[w].carried(r));
        mask & exec
    }

    /// Lanes whose operands carry the same as those of one lane.
    fn alike(&self, w: usize, lane: usize, among: u32, op: &Op) -> u32 {
        let warp = &self.warps[w];
        let mut same = among;
        op.uses(&mut |r| same &= warp.same_prov(r, lane, same));
        same
    }
}

impl Spaces {
    /// What the bytes at an offset of a region carry.
    pub(crate) fn load_prov(&mut self, region: RegionId, at: u64, bytes: u32) -> Prov {
        let r = &self.regions[region.0 as usize];
        if !r.carries(at, bytes) {
            return Prov::NONE;
        }
        let word = |i: u64| (r.prov(at / 4 + i), r.known_word(at / 4 + i));
        match bytes {
            8 => {
                let [a, b] = [word(0), word(1)];
                self.prov.joined([a, b], r.is_one_value(at / 4))
            }
            4 => word(0).0,
            _ => {
                let (p, n) = word(0);
                let bits = (at % 4 * 8) as u8;
                self.prov.extracted(p, n, bits, (bytes * 8) as u8)
            }
        }
    }

    /// Bytes that are copied from one place to another carry along what they carry.
    pub(crate) fn copy_prov(
        &mut self,
        from: (RegionId, u64),
        to: (RegionId, u64),
        bytes: u32,
        pc: Pc,
    ) {
        let (a, b) = (from.0.0 as usize, to.0.0 as usize);
        if !self.regions[a].carries(from.1, bytes) && !self.regions[b].carries(to.1, bytes) {
            return;
        }
        let whole = from.1.is_multiple_of(4) && to.1.is_multiple_of(4) && bytes.is_multiple_of(4);
        for i in 0..u64::from(bytes.div_ceil(4)) {
            let p = match (whole, self.regions[a].prov(from.1 / 4 + i)) {
                (true, p) => p,
                (false, Prov::NONE) => Prov::NONE,
                (false, _) => Prov::OPAQUE,
            };
            self.regions[b].set_prov(to.1 / 4 + i, p, Some(pc));
        }
    }
}

impl Core<'_> {
    /// The provenance of a source operand in a lane.
    #[inline]
    pub(crate) fn src_prov(&mut self, w: usize, s: Src, lane: usize) -> Prov {
        match s {
            Src::Reg(r) => self.threads.warps[w].prov(r, lane),
            s => self.named(s),
        }
    }

    /// What the lowest bits of a source operand carry.
    pub(crate) fn src_part(&mut self, w: usize, s: Src, lane: usize, bits: u32) -> Prov {
        let p = self.src_prov(w, s, lane);
        let whole = match s {
            Src::Reg(r) => u32::from(self.width(r)) <= bits,
            _ => bits == 64,
        };
        if p.is_none() || whole {
            return p;
        }
        let number = self.src(w, s, lane).known();
        self.memory.prov.extracted(p, number, 0, bits as u8)
    }

    /// The provenance of an operand that is no register.
    pub(crate) fn named(&mut self, s: Src) -> Prov {
        match s {
            Src::Reg(_) | Src::Imm(_) => Prov::NONE,
            Src::Global(g, _) => {
                let region = self.global_region(g);
                self.memory.prov.of_array(region)
            }
            Src::Var(space, at, _) => self.memory.prov.of_variable(space, at),
        }
    }

    /// A source operand in a lane, with its provenance.
    pub(crate) fn arg(&mut self, w: usize, s: Src, lane: usize) -> Arg {
        let v = self.src(w, s, lane);
        let p = self.src_prov(w, s, lane);
        Arg { v, p }
    }

    /// Lets lanes of a register carry a provenance.
    pub(crate) fn set_prov(&mut self, w: usize, r: RegId, mask: u32, p: Prov) {
        if p.is_none() {
            return self.threads.warps[w].clear_prov(r, mask);
        }
        self.threads.warps[w].set_prov(r, mask, p);
        if !std::mem::replace(&mut self.memory.carriers[r.0 as usize], true) {
            for pc in self.fixed.program.readers(r) {
                self.memory.watched[pc.0 as usize] = true;
            }
        }
    }

    /// What the result of integer arithmetic on known bits carries in all lanes, where [`Machine::plan`] says so at a
    /// glance: nothing, or the one linear form to which a number is added.
    #[inline]
    pub(crate) fn moved_base(&self, w: usize, exec: u32, op: &Op) -> Option<Prov> {
        let Op::Int {
            op,
            ty,
            lanes: 1,
            dst2: None,
            src,
            ..
        } = op
        else {
            return None;
        };
        let warp = &self.threads.warps[w];
        let mut carrying = None;
        for (i, s) in src.iter().enumerate() {
            match s {
                Src::Imm(_) => {}
                Src::Reg(r) if warp.symbolic(*r) & exec != 0 => return None,
                Src::Reg(r) if warp.carried(*r) & exec == 0 => {}
                Src::Reg(r) if carrying.is_none() => carrying = Some((i, *r)),
                Src::Reg(_) | Src::Global(..) | Src::Var(..) => return None,
            }
        }
        let Some((i, r)) = carrying else {
            return Some(Prov::NONE);
        };
        let width = match (op, i) {
            (IntOp::Add, 0 | 1) | (IntOp::Sub, 0) | (IntOp::MadLo, 2) => ty.width,
            (IntOp::MadWide, 2) => 2 * ty.width,
            _ => return None,
        };
        let p = warp.one_prov(r, exec)?;
        self.memory.prov.is_linear_within(p, width).then_some(p)
    }

    /// Gives the destinations of an operation what was planned.
    pub(crate) fn carry_out(&mut self, w: usize, plan: Plan) {
        for (r, mask, p) in plan.0 {
            let (v, p) = match *self.memory.prov.shape(p) {
                Shape::Multiple(of, number, bits, equal) => {
                    let c = self.is_multiple((of, number, bits), equal);
                    (Some(Val::Pred(c)), Prov::NONE)
                }
                Shape::Settled(p, number) => (Some(Val::Conc(number)), p),
                _ => (None, p),
            };
            if let Some(v) = v {
                lanes(mask).for_each(|lane| self.set(w, r, lane, v));
            }
            self.set_prov(w, r, mask, p);
        }
    }

    /// An operation without a rule for what its operands carry: the run ends before the next.
    pub(crate) fn refuse_base(&mut self, w: usize, mask: u32, pc: Pc) {
        self.memory.prov.refused = true;
        let site = site(pc, w, mask, "computes with the bits of an address");
        self.found
            .unknown(UnknownKind::NondeterministicValue, vec![site], || {
                "the result depends on where an array lies in memory".into()
            });
    }

    /// Refuses bases in operands that are no addresses, of an operation that is not lane-wise.
    pub(crate) fn check_operands(&mut self, w: usize, exec: u32, pc: Pc, op: &Op) {
        let mut mask = 0;
        number_uses(op, &mut |r| mask |= self.threads.warps[w].carried(r));
        if mask & exec != 0 {
            self.refuse_base(w, mask & exec, pc);
        }
    }

    /// Stores a value that carries something.
    pub(crate) fn put(&mut self, region: RegionId, (at, bytes): (u64, u32), new: Arg, pc: Pc) {
        let r = &mut self.memory.regions[region.0 as usize];
        let part = bytes < 4;
        let (before, word) = (r.prov(at / 4), r.known_word(at / 4));
        r.store(&mut self.values, at, bytes, new.v);
        if new.p.is_none() && !r.carries(at, bytes) {
            return;
        }
        // Whoever reads it there may be another thread.
        let new = match region {
            LOCAL => new,
            _ => Arg {
                p: self.memory.prov.elsewhere(new.p),
                ..new
            },
        };
        let held = match bytes {
            8 => self.memory.prov.halves(new.p, new.v.known()),
            4 => [new.p, Prov::NONE],
            _ => {
                let bits = (at % 4 * 8) as u8;
                let new = (new.p, new.v.known());
                let width = (bytes * 8) as u8;
                [
                    self.memory.prov.inserted((before, word), new, bits, width),
                    Prov::NONE,
                ]
            }
        };
        if part {
            let (p, adds) = (held[0], !new.p.is_none());
            let region = &mut self.memory.regions[region.0 as usize];
            return region.set_part_prov((at, bytes), p, adds, Some(pc));
        }
        let words = if bytes == 8 { 2 } else { 1 };
        for (word, p) in (at / 4..).zip(held).take(words) {
            self.memory.regions[region.0 as usize].set_prov(word, p, Some(pc));
        }
    }

    /// What a value carries where a condition holds.
    pub(crate) fn prov_where(&self, mut p: Prov, known: TermId) -> Prov {
        while let Shape::Choice(c, x, y) = *self.memory.prov.shape(p) {
            if c == known {
                p = x;
            } else if self.values.store.opposite(c, known) {
                p = y;
            } else {
                break;
            }
        }
        p
    }

    /// The name of what a base is the base of.
    fn name_of(&self, id: BaseId) -> String {
        let b = self.memory.prov.base(id);
        if Some(id) == self.memory.prov.dynamic || b.rounded.is_some() {
            return "dynamic shared memory".into();
        }
        let var = |all: &[Var], at: u64| {
            let found = all.iter().find(|v| u64::from(v.offset) == at);
            found.map(|v| v.name.clone())
        };
        let name = match b.space {
            Space::Shared | Space::SharedCluster => {
                var(&self.fixed.kernel.shared, self.memory.unmoved(b.number))
            }
            Space::Local => var(&self.fixed.kernel.locals, b.number),
            Space::Param => {
                let mut all = self.fixed.kernel.params.iter();
                let found = all.find(|p| u64::from(p.offset) == b.number);
                found.map(|p| p.name.clone())
            }
            Space::Global | Space::Const | Space::Generic => None,
        };
        name.unwrap_or_else(|| self.place(b.region, 0, 1))
    }

    /// At the end: what the arrays hold must not depend on where anything lies.
    pub(crate) fn check_arrays(&mut self) {
        for i in 0..self.memory.regions.len() {
            let r = &self.memory.regions[i];
            // Nothing is claimed of what is left in scratch memory, and no other launch reads it.
            if let RegionKind::Array(a) = r.kind
                && self.fixed.arrays[a].role == Some(Role::Scratch)
                && !self.fixed.arrays[a].handed_on
            {
                continue;
            }
            let Some((word, pc)) = r.leftover() else {
                continue;
            };
            let place = self.place(RegionId(i as u32), word * 4, 4);
            let site = site(pc, 0, 1, format!("stores an address in {place}"));
            self.found
                .unknown(UnknownKind::NondeterministicValue, vec![site], || {
                    "the result depends on where an array lies in memory".into()
                });
        }
        if self.memory.prov.roundings_meet() {
            self.found.unknown(UnknownKind::NondeterministicValue, Vec::new(), || {
                "which bytes are accessed both from the start of dynamic shared memory and from an \
                 address that is rounded depends on where it lies"
                    .into()
            });
        }
        let taken: Vec<_> = self.memory.prov.taken.drain().collect();
        for (id, bytes) in taken {
            let name = self.name_of(id);
            self.found
                .assumptions
                .insert(AssumptionKind::Alignment.says(format!(
                    "{name} lies at a multiple of {bytes} bytes, which no declaration promises"
                )));
        }
        for id in std::mem::take(&mut self.memory.prov.used_said) {
            let (name, bytes) = (self.name_of(id), self.memory.prov.most(id));
            self.found
                .assumptions
                .insert(AssumptionKind::Alignment.says(format!(
                    "{name} begins at a multiple of {bytes} bytes, as its binding says"
                )));
        }
        if self.memory.prov.used_alignment {
            self.found.assumptions.insert(
                AssumptionKind::Alignment
                    .says("arrays begin at multiples of 256 bytes, as allocations do"),
            );
        }
    }

    /// What a lane-wise operation will give its destinations; `None` if nothing that it reads
    /// carries a base.
    pub(crate) fn plan(&mut self, w: usize, exec: u32, pc: Pc, op: &Op) -> Option<Plan> {
        let mask = match brings_base(op) {
            true => exec,
            false => self.threads.carrying(w, exec, op),
        };
        if mask == 0 {
            return None;
        }
        let mut out: Vec<(RegId, u32, Prov)> = Vec::new();
        let mut refused = 0;
        let mut rest = mask;
        while rest != 0 {
            let lane = rest.trailing_zeros() as usize;
            let Some((given, steady)) = self.derive(w, lane, op) else {
                refused |= 1 << lane;
                rest &= !(1 << lane);
                continue;
            };
            let alike = if steady {
                self.threads.alike(w, lane, rest, op)
            } else {
                1 << lane
            };
            rest &= !alike;
            for (r, p) in given {
                match out.iter_mut().find(|o| o.0 == r && o.2 == p) {
                    Some(o) => o.1 |= alike,
                    None => out.push((r, alike, p)),
                }
            }
        }
        if refused != 0 {
            self.refuse_base(w, refused, pc);
        }
        Some(Plan(out))
    }

    /// Whether the rules of all operations give every destination this, in one lane.
    pub(crate) fn derives(&mut self, w: usize, lane: usize, op: &Op, p: Prov) -> bool {
        let given = self.derive(w, lane, op);
        given.is_some_and(|(all, steady)| steady && all.iter().all(|g| g.1 == p))
    }
}

/// Calls `f` with each register that an operation other than a lane-wise one reads as a number, in
/// which a base would be lost.
fn number_uses(op: &Op, f: &mut impl FnMut(RegId)) {
    let src = |s: &Src, f: &mut dyn FnMut(RegId)| {
        if let Src::Reg(r) = s {
            f(*r);
        }
    };
    match op {
        // Memory and other lanes carry what they are given.
        Op::Ld { .. } | Op::St { .. } | Op::Ldmatrix { .. } => {}
        Op::Atom { op, srcs, cas, .. } => {
            if *op != crate::kernel::AtomOp::Exch {
                srcs.iter().chain(cas).for_each(|s| src(s, f));
            }
        }
        Op::Shfl { b, c, mask, .. } => {
            [b, c].into_iter().chain(mask).for_each(|s| src(s, f));
        }
        Op::Stmatrix { srcs, .. } => srcs.iter().for_each(|s| src(s, f)),
        Op::CpAsync { read, ignore, .. } => {
            read.iter().for_each(|s| src(s, f));
            ignore.iter().for_each(|g| f(g.reg));
        }
        Op::Async(op) => async_numbers(op, f),
        op => op.uses(f),
    }
}

fn async_numbers(op: &AsyncOp, f: &mut impl FnMut(RegId)) {
    let mut allowed: Vec<RegId> = Vec::new();
    let mut allow = |s: &Src| {
        if let Src::Reg(r) = s {
            allowed.push(*r);
        }
    };
    match op {
        AsyncOp::Wgmma(m) => {
            allow(&m.b);
            if let GroupA::Shared(s, _) = &m.a {
                allow(s);
            }
        }
        AsyncOp::Tensor(op) => match &**op {
            TensorOp::Alloc { addr, .. } | TensorOp::Commit { addr, .. } => allow(&addr.base),
            TensorOp::Copy { from, .. } => allow(from),
            TensorOp::Mma(m) => {
                allow(&m.b);
                if let TensorA::Shared(s) = &m.a {
                    allow(s);
                }
            }
            _ => {}
        },
        AsyncOp::Bulk(op) => {
            op.far_addresses(|_, addr, _| allow(&addr.base));
            match &**op {
                BulkOp::Copy(copy) => {
                    allow(&copy.near.1.base);
                    if let crate::kernel::BulkEnd::Object(_, addr) = &copy.end {
                        allow(&addr.base);
                    }
                }
                BulkOp::Replace {
                    field: MapField::Address,
                    value,
                    ..
                } => allow(value),
                BulkOp::MapCopy { from, .. } => allow(&from.base),
                _ => {}
            }
        }
        AsyncOp::Cluster(op) => match &**op {
            ClusterOp::Map { from, .. } | ClusterOp::Rank { from, .. } => allow(from),
            ClusterOp::Store(op) => {
                allow(&op.to.base);
                allow(&op.object.base);
                op.srcs.iter().for_each(allow);
            }
            ClusterOp::Cancel { to, object, .. } => {
                allow(&to.base);
                allow(&object.base);
            }
            ClusterOp::Arrive { .. }
            | ClusterOp::Wait { .. }
            | ClusterOp::IsCancelled { .. }
            | ClusterOp::FirstCta { .. } => {}
        },
        op => op.address().iter().for_each(|a| allow(&a.base)),
    }
    op.uses(&mut |r| {
        if !allowed.contains(&r) {
            f(r);
        }
    });
}
