//! Loops that wait in which one thread of a CTA looks, and tells the others what it read.
//!
//! Problem: a compiler of tiles makes one loop of a whole CTA of `while atomic_cas(lock, 0, 1) == 1`: a guarded access, a
//! store of what it read to a shared word under the same guard, a barrier, a load of that word by all threads, and a branch
//! on it. A CTA of one warp shuffles instead. A round that does not end the loop leaves nothing but the word, which the
//! next round writes before anybody reads it; so the number of rounds matters to nobody, as long as all threads of the CTA
//! go round together.
//!
//! The direction that is sound: what is not of this form is no such loop. A barrier stands between the store and the loads,
//! and between the loads and the next store, so that no round races with the next. Who looks is the same in each round. That
//! one thread alone looks, and that all others are in the loop and go round by the same value, the simulator looks.

use rustc_hash::FxHashSet;

use super::bodies::{body, may_wait, successors};
use super::operands::uses;
use super::{BarKind, Guard, Inst, Kernel, Op, Pc, RegId, Sem, ShflMode, Space, Src};

/// What an instruction does for the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// All threads of the CTA meet.
    Meet(Src),
    /// The thread that looks writes what it read.
    Tell,
    /// All threads read that.
    Hear,
    /// The threads of a warp that is whole take what one of them read.
    Pass,
}

/// How far a round has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Looked,
    Told,
    Met,
    Heard,
    Over,
}

/// The instructions by which a guarded access tells the other threads what it read, if it stands in such a loop.
pub(super) fn relay(kernel: &Kernel, pc: Pc) -> Option<FxHashSet<u32>> {
    let look = &kernel.insts[pc.0 as usize];
    let guard = look.guard.filter(|_| may_wait(&look.op))?;
    let mut result = None;
    look.op.defs(&mut |r| result = Some(r));
    let role = |inst: &Inst| role(inst, guard, result);
    let known = (0u32..).zip(&kernel.insts);
    let known: FxHashSet<u32> = known
        .filter(|(_, inst)| role(inst).is_some())
        .map(|(at, _)| at)
        .collect();
    let (mut stage, mut barrier) = (Stage::Looked, None);
    let mut out = FxHashSet::default();
    let round = round(kernel, pc, &known)?;
    if varies(kernel, pc, &round, guard.reg) {
        return None;
    }
    for at in round {
        let inst = &kernel.insts[at as usize];
        let mut moves = false;
        inst.op
            .defs(&mut |r| moves |= Some(r) == result && stage == Stage::Looked);
        if moves {
            return None;
        }
        let Some(role) = role(inst) else { continue };
        stage = match (role, stage) {
            (Role::Meet(id), _) if *barrier.get_or_insert(id) != id => return None,
            (Role::Meet(_), Stage::Looked) => Stage::Looked,
            (Role::Meet(_), Stage::Told | Stage::Met) => Stage::Met,
            (Role::Meet(_), Stage::Heard | Stage::Over) => Stage::Over,
            (Role::Tell, Stage::Looked) => Stage::Told,
            (Role::Hear, Stage::Met | Stage::Heard) => Stage::Heard,
            // Registers of the next round are written after those of this one.
            (Role::Pass, Stage::Looked) => Stage::Over,
            (Role::Tell | Role::Hear | Role::Pass, _) => return None,
        };
        out.insert(at);
    }
    (stage == Stage::Over).then_some(out)
}

/// True if a register may have another value in the next round, given that none is carried over from one to the next: it is made
/// of what was looked at, or told, or of what is no function of registers.
fn varies(kernel: &Kernel, pc: Pc, round: &[u32], reg: RegId) -> bool {
    let mut made: FxHashSet<RegId> = FxHashSet::default();
    loop {
        let count = made.len();
        for at in round.iter().chain([&pc.0]) {
            let inst = &kernel.insts[*at as usize];
            let mut of_it = !inst.op.is_pure() || inst.guard.is_some();
            uses(inst, |r| of_it |= made.contains(&r));
            if of_it {
                inst.op.defs(&mut |r| {
                    made.insert(r);
                });
            }
        }
        if made.len() == count {
            return made.contains(&reg);
        }
    }
}

/// What an instruction may do for the others.
fn role(inst: &Inst, guard: Guard, result: Option<RegId>) -> Option<Role> {
    let plain = |a: &super::Access| a.space == Space::Shared && a.sem == Sem::Weak && !a.volatile;
    match &inst.op {
        Op::Bar {
            kind: BarKind::Sync,
            id,
            count: None,
            ..
        } if inst.guard.is_none() => Some(Role::Meet(*id)),
        Op::St { access, srcs, .. } if plain(access) && inst.guard == Some(guard) => match srcs[..]
        {
            [Some(Src::Reg(r))] if Some(r) == result => Some(Role::Tell),
            _ => None,
        },
        Op::Ld { access, dsts, .. } if plain(access) && inst.guard.is_none() && dsts.len() == 1 => {
            Some(Role::Hear)
        }
        Op::Shfl {
            mode: ShflMode::Idx,
            p: None,
            a: Src::Reg(r),
            b: Src::Imm(_),
            c: Src::Imm(31),
            mask: Some(Src::Imm(members)),
            ..
        } if inst.guard.is_none() && Some(*r) == result && *members as u32 == u32::MAX => {
            Some(Role::Pass)
        }
        _ => None,
    }
}

/// The instructions of the only way from an access back to it, in order; nothing else is in the loop.
fn round(kernel: &Kernel, pc: Pc, known: &FxHashSet<u32>) -> Option<Vec<u32>> {
    let polls = FxHashSet::from_iter([pc.0]);
    let body = body(kernel, pc, (&polls, known))?;
    let (mut order, mut at) = (Vec::with_capacity(body.len()), pc.0 + 1);
    while at != pc.0 && order.len() < body.len() {
        order.push(at);
        let mut to = successors(kernel, Pc(at));
        to.retain(|t| *t == pc.0 || body.contains(t));
        let [next] = to[..] else { return None };
        at = next;
    }
    (at == pc.0 && order.len() == body.len()).then_some(order)
}

#[cfg(test)]
mod tests {
    use crate::kernel::awaits::awaits;
    use crate::kernel::tests::kernel_of;

    /// Loops of a whole CTA that wait, in a body.
    fn found(body: &str) -> usize {
        let kernel = kernel_of("", body);
        let all = awaits(&kernel).by_access;
        all.values().filter(|a| !a.relay.is_empty()).count()
    }

    const SETUP: &str = "ld.param.u64 %rd1, [a]; mov.u32 %r9, %tid.x; setp.eq.u32 %p1, %r9, 0; ";
    const LOOP: &str = "L: bar.sync 0; mov.u32 %r2, 0; mov.u32 %r3, 1; mov.u32 %r1, 0; \
        @%p1 atom.global.acq_rel.gpu.cas.b32 %r1, [%rd1], %r2, %r3; @%p1 st.shared.b32 [tile], %r1; \
        bar.sync 0; ld.shared.b32 %r4, [tile]; setp.eq.s32 %p2, %r4, 1; @%p2 bra L; \
        st.global.u32 [%rd1+8], %r9; ret;";

    #[test]
    fn a_lock_that_one_thread_takes_for_all() {
        assert_eq!(found(&format!("{SETUP}{LOOP}")), 1);
        // A warp shuffles, and who looks may be found in the loop.
        let shuffled = LOOP
            .replace(
                "@%p1 st.shared.b32 [tile], %r1; bar.sync 0; ld.shared.b32 %r4, [tile];",
                "shfl.sync.idx.b32 %r4, %r1, 0, 31, -1;",
            )
            .replace(
                "mov.u32 %r2, 0;",
                "mov.u32 %r2, 0; setp.eq.u32 %p1, %r9, 0;",
            );
        assert!(shuffled.contains("shfl"));
        assert_eq!(found(&format!("{SETUP}{shuffled}")), 1);
    }

    #[test]
    fn a_round_that_does_more_is_none() {
        let twins = [
            // Nothing stands between the store and the loads, or between these and the next store.
            ("%r1; bar.sync 0; ld", "%r1; ld"),
            ("L: bar.sync 0;", "L:"),
            // Not all threads meet, or at another barrier.
            ("L: bar.sync 0;", "L: bar.sync 0, 64;"),
            ("L: bar.sync 0;", "L: bar.sync 1;"),
            // What is told is not what was read, or by somebody else.
            ("st.shared.b32 [tile], %r1", "st.shared.b32 [tile], %r9"),
            ("@%p1 st.shared", "@!%p1 st.shared"),
            ("@%p1 st.shared", "st.shared"),
            // Rounds are counted, or leave something behind.
            ("mov.u32 %r3, 1;", "mov.u32 %r3, 1; add.u32 %r9, %r9, 1;"),
            (
                "mov.u32 %r3, 1;",
                "mov.u32 %r3, 1; st.global.u32 [%rd1+4], %r9;",
            ),
            // Who looks next is told.
            (
                "setp.eq.s32 %p2, %r4, 1;",
                "setp.eq.s32 %p2, %r4, 1; setp.eq.u32 %p1, %r4, %r9;",
            ),
        ];
        for (a, b) in twins {
            let twin = LOOP.replace(a, b);
            assert_ne!(twin, LOOP, "{a}");
            assert_eq!(found(&format!("{SETUP}{twin}")), 0, "{b}");
        }
    }
}
