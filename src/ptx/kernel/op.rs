//! Decoded instructions: one variant for each family of opcodes, with typed fields.
//!
//! Source: PTX ISA 9.0, section 9.7. A family is a set of opcodes that one mechanism of the
//! simulator executes: all integer arithmetic is [`Op::Int`], all float arithmetic is
//! [`Op::Float`], and so on; the members are told apart by a small enum.
//!
//! An operation is one row: its fields, its text in a listing, and its [effects](super::effects). What
//! it reads and writes follows from the types of its fields ([`field`](super::field)).

use super::effects::{
    ALL, ARITHMETIC, COLLECTIVE, Decides, EXCHANGE, Effects, HELD, MEMORY, NUMBERS, ONLY, OTHER,
    Omitted, Orders, atomic, barrier, convert, on,
};
use super::field::{other, used_bytes};
use super::schedule_use::{self, ScheduleUse};
use super::table::operations;
use super::{
    Access, Addr, AtomOp, BarKind, BoolOp, Cmp, FloatMods, FloatOp, FloatTest, Fmt, IntOp, IntTy,
    MatrixForm, Mma, NumTy, Pc, RegId, Restricted, Rnd, Scope, Sem, ShflMode, Space, Special, Src,
    VoteMode,
};

/// An instruction with its guard.
#[derive(Clone, Debug, PartialEq)]
pub struct Inst {
    /// `@p` or `@!p`.
    pub guard: Option<Guard>,
    /// What is done.
    pub op: Op,
}

/// A guard predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// The predicate register.
    pub reg: RegId,
    /// True for `@!p`.
    pub negated: bool,
}

operations! { (l)
/// A decoded operation.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// Copy the bits of a register, immediate or address.
    Mov {
        /// Destination.
        dst: RegId,
        /// Source.
        src: Src,
        /// Width in bits (1 for predicates).
        width: u8,
    } = ["mov"] (".b{width} {dst}, {src}"), Effects { omitted: Omitted::Absent, ..HELD };
    /// Read a special register.
    Special {
        /// Destination.
        dst: RegId,
        /// Which.
        special: Special,
    } = ["special"] (" {dst}, {special}"), Effects { schedule: schedule_use::register(*special), ..HELD };
    /// Pack `srcs`, low bits first, into one register (`mov.b32 d, {lo, hi}`).
    Pack {
        /// Destination.
        dst: RegId,
        /// Width in bits of each part.
        part: u8,
        /// The parts, low first.
        srcs: Vec<Src>,
    } = ["pack"] (".b{part} {dst}, {{{srcs}}}"), ARITHMETIC;
    /// Unpack into registers, low bits first; `None` is the sink `_`.
    Unpack {
        /// Destinations, low first.
        dsts: Vec<Option<RegId>>,
        /// Width in bits of each part.
        part: u8,
        /// Source.
        src: Src,
    } = ["unpack"] (".b{part} {{{dsts}}}, {src}"), ARITHMETIC;
    /// Integer, bit, predicate and address arithmetic.
    Int {
        /// Operation.
        op: IntOp,
        /// Operand type.
        ty: IntTy,
        /// Number of packed lanes in the register (`add.u16x2`: type u16, lanes 2), else 1.
        lanes: u8,
        /// Destination; `None` is the sink.
        dst: Option<RegId>,
        /// Carry or borrow out.
        dst2: Option<RegId>,
        /// Sources; unused ones are `Imm(0)`.
        src: [Src; 4],
    } = ["int"] (" {op}.{ty}{lanes:#} {dst}{dst2:#}, {}", l.srcs(&src.0[..op.0.arity()])), ARITHMETIC;
    /// Float arithmetic.
    Float {
        /// Operation.
        op: FloatOp,
        /// Format of the result and of the sources that `src_fmt` does not name.
        fmt: Fmt,
        /// Format of the first two sources (mixed-precision `add.f32.f16`); usually `fmt`.
        src_fmt: Fmt,
        /// Number of packed lanes in the register: 1, or 2 for `f16x2`, `bf16x2`, `f32x2`.
        lanes: u8,
        /// Modifiers.
        mods: FloatMods,
        /// Destination.
        dst: RegId,
        /// Sources; unused ones are `Imm(0)`.
        src: [Src; 3],
    } = ["float"] (" {op}.{fmt}{lanes:#}{}{mods} {dst}, {}", other(*src_fmt.0, *fmt.0), l.srcs(&src.0[..op.0.arity()])), NUMBERS;
    /// `setp`: compare, combine, write one or two predicates.
    Setp {
        /// Comparison.
        cmp: Cmp,
        /// Operand type.
        ty: NumTy,
        /// 2 for packed halves (then `p` and `q` are the two halves), else 1.
        lanes: u8,
        /// `.ftz`.
        ftz: bool,
        /// Combination with a further predicate.
        combine: Option<(BoolOp, Guard)>,
        /// First destination.
        p: Option<RegId>,
        /// Second destination.
        q: Option<RegId>,
        /// Left operand.
        a: Src,
        /// Right operand.
        b: Src,
    } = ["setp"] (" {cmp}.{ty}{lanes:#}{ftz} {p}{q:#}, {a}, {b}{combine}"), on(*ty);
    /// `set`: compare, combine, write all ones (integer destination) or 1.0.
    Set {
        /// Comparison.
        cmp: Cmp,
        /// Operand type.
        ty: NumTy,
        /// Destination type.
        dty: NumTy,
        /// 2 for packed halves, else 1.
        lanes: u8,
        /// `.ftz`.
        ftz: bool,
        /// Combination with a further predicate.
        combine: Option<(BoolOp, Guard)>,
        /// Destination.
        dst: RegId,
        /// Left operand.
        a: Src,
        /// Right operand.
        b: Src,
    } = ["set"] (" {cmp}.{dty}.{ty}{lanes:#}{ftz} {dst}, {a}, {b}{combine}"), on(*ty);
    /// `selp`: p ? a : b.
    Selp {
        /// Width in bits.
        width: u8,
        /// Destination.
        dst: RegId,
        /// Taken if true.
        a: Src,
        /// Taken if false.
        b: Src,
        /// The predicate.
        p: Guard,
    } = ["selp"] (".b{width} {dst}, {a}, {b}, {p}"), ARITHMETIC;
    /// `slct`: c >= 0 ? a : b.
    Slct {
        /// Width in bits of the result.
        width: u8,
        /// Type of `c` (s32 or f32).
        cty: NumTy,
        /// `.ftz`.
        ftz: bool,
        /// Destination.
        dst: RegId,
        /// Taken if c >= 0.
        a: Src,
        /// Taken otherwise.
        b: Src,
        /// The selector.
        c: Src,
    } = ["slct"] (".b{width}.{cty}{ftz} {dst}, {a}, {b}, {c}"), ARITHMETIC;
    /// `lop3.BoolOp`: also writes p = (d != 0) op q.
    Lop3Bool {
        /// Truth table.
        table: u8,
        /// Combination.
        op: BoolOp,
        /// Result.
        dst: Option<RegId>,
        /// Predicate result.
        p: RegId,
        /// Sources.
        src: [Src; 3],
        /// Predicate source.
        q: Guard,
    } = ["lop3"] (" {table:#x} {dst}|{p}, {src} {op} {q}"), ARITHMETIC;
    /// `testp`.
    Testp {
        /// Which property.
        test: FloatTest,
        /// Format.
        fmt: Fmt,
        /// Destination predicate.
        p: RegId,
        /// Operand.
        a: Src,
    } = ["testp"] (" {test}.{fmt} {p}, {a}"), NUMBERS;
    /// `cvt` with one source.
    Cvt {
        /// Source type.
        from: NumTy,
        /// Destination type.
        to: NumTy,
        /// Rounding.
        rnd: Rnd,
        /// `.sat`.
        sat: bool,
        /// `.satfinite`.
        satfinite: bool,
        /// `.relu`.
        relu: bool,
        /// `.ftz`.
        ftz: bool,
        /// Destination; narrower values are extended to its width by `to`.
        dst: RegId,
        /// Source.
        src: Src,
    } = ["cvt"] (".{to}.{from}{rnd}{sat}{satfinite}{relu}{ftz} {dst}, {src}"), convert(*from, *to);
    /// `cvt` that packs two or four floats: element 0 (low) is the LAST source. The random bits of `.rs` are
    /// no operand: they choose between the two neighbours of the number, which is one number over the reals.
    CvtNarrow {
        /// Source format.
        from: Fmt,
        /// Element format of the result.
        to: Fmt,
        /// Rounding.
        rnd: Rnd,
        /// `.satfinite`.
        satfinite: bool,
        /// `.relu`.
        relu: bool,
        /// Destination.
        dst: RegId,
        /// Elements, the lowest first.
        parts: Vec<Src>,
    } = ["cvt"] (".{to}x{}.{from}{rnd}{satfinite}{relu} {dst}, low first {parts}", parts.0.len()), NUMBERS;
    /// `cvt` that unpacks two narrow floats into packed halves.
    CvtUnpack2 {
        /// Source element format.
        from: Fmt,
        /// Result element format.
        to: Fmt,
        /// `.relu`.
        relu: bool,
        /// Destination.
        dst: RegId,
        /// Source.
        src: Src,
    } = ["cvt"] (".{to}x2.{from}x2{relu} {dst}, {src}"), ARITHMETIC;
    /// `cvt.pack.sat`: clamp a and b into `to`, a above b, c shifted up above them.
    CvtPackSat {
        /// Element type of the result.
        to: IntTy,
        /// Type of a and b (s32).
        from: IntTy,
        /// Destination.
        dst: RegId,
        /// Sources a, b, c.
        src: [Src; 3],
    } = ["cvt.pack.sat"] (".{to}.{from} {dst}, {src}"), ARITHMETIC;
    /// `cvta.space` and `cvta.to.space`.
    Cvta {
        /// The space.
        space: Space,
        /// True for `cvta.to.space` (generic to the space's own window).
        to: bool,
        /// Width in bits of the address.
        width: u8,
        /// Destination.
        dst: RegId,
        /// Source.
        src: Src,
    } = ["cvta"] ("{to}.{space}.b{width} {dst}, {src}"), HELD;
    /// `isspacep`.
    IsSpace {
        /// The space.
        space: Space,
        /// Destination predicate.
        p: RegId,
        /// Generic address.
        a: Src,
    } = ["isspacep"] (".{space} {p}, {a}"), Effects { decides: Decides::All, ..HELD };
    /// A load of one or more consecutive elements; `None` is the sink.
    Ld {
        /// Modifiers.
        access: Access,
        /// Destinations in address order.
        dsts: Vec<Option<RegId>>,
        /// Address of the first element.
        addr: Addr,
        /// Bytes that are used of the whole access (`.pragma "used_bytes_mask"`), else all ones.
        used: u32,
    } = ["ld"] ("{access} {{{dsts}}}, {addr}{}", used_bytes(*used.0)), Effects { omitted: Omitted::Absent, ..MEMORY };
    /// A store of one or more consecutive elements; `None` skips one.
    St {
        /// Modifiers.
        access: Access,
        /// Sources in address order.
        srcs: Vec<Option<Src>>,
        /// Address of the first element.
        addr: Addr,
    } = ["st"] ("{access} {addr}, {{{srcs}}}"), MEMORY;
    /// `atom` and `red` (`dst` empty). Packed types have `lanes` 2; vector forms several sources.
    Atom {
        /// Modifiers.
        access: Access,
        /// Operation.
        op: AtomOp,
        /// Packed lanes in one element.
        lanes: u8,
        /// Old values.
        dsts: Vec<RegId>,
        /// Address.
        addr: Addr,
        /// First operand of each element.
        srcs: Vec<Src>,
        /// New value of `cas`.
        cas: Option<Src>,
    } = ["atom"] (" {op}{lanes:#}{access} {{{dsts}}}, {addr}, {{{srcs}}}{cas}"), atomic(*op, access.ty, cas.is_some() || !dsts.is_empty());
    /// A fence.
    Fence {
        /// Ordering.
        sem: Sem,
        /// Scope.
        scope: Scope,
        /// The accesses that it orders, if not all.
        only: Option<Restricted>,
    } = ["fence"] (" {sem} {scope}{only}"), ONLY;
    /// `bar`, `barrier`.
    Bar {
        /// Kind.
        kind: BarKind,
        /// Barrier number.
        id: Src,
        /// Thread count, default all threads of the CTA.
        count: Option<Src>,
        /// `.aligned` (always true of `bar`).
        aligned: bool,
    } = [kind.name()] ("{aligned}{kind} {id}{count}"), barrier(*kind);
    /// `bar.warp.sync`.
    WarpSync {
        /// Member mask.
        mask: Src,
    } = ["bar.warp.sync"] (" {mask}"), Effects { orders: Orders::Only, ..COLLECTIVE };
    /// `shfl.sync`; `mask` is `None` for the old form without `.sync`.
    Shfl {
        /// Mode.
        mode: ShflMode,
        /// Destination.
        dst: RegId,
        /// In-range predicate.
        p: Option<RegId>,
        /// Value.
        a: Src,
        /// Lane or offset.
        b: Src,
        /// Clamp and segment.
        c: Src,
        /// Member mask.
        mask: Option<Src>,
    } = ["shfl"] (" {mode} {dst}|{p}, {a}, {b}, {c}{mask}"), EXCHANGE;
    /// `vote.sync`.
    Vote {
        /// Mode.
        mode: VoteMode,
        /// Destination (predicate, or 32-bit for ballot).
        dst: RegId,
        /// The predicate.
        a: Guard,
        /// Member mask.
        mask: Option<Src>,
    } = ["vote"] (" {mode} {dst}, {a}{mask}"), EXCHANGE;
    /// `match.sync`.
    Match {
        /// True for `.all`.
        all: bool,
        /// Width in bits of the value.
        width: u8,
        /// Destination mask.
        dst: RegId,
        /// Predicate (`.all`).
        p: Option<RegId>,
        /// Value.
        a: Src,
        /// Member mask.
        mask: Src,
    } = ["match"] (".{}.b{width} {dst}|{p}, {a}, {mask}", if *all.0 { "all" } else { "any" }), COLLECTIVE;
    /// `redux.sync`.
    Redux {
        /// Operation (add, min, max, and, or, xor).
        op: AtomOp,
        /// Type.
        ty: NumTy,
        /// `.abs` of the float forms.
        abs: bool,
        /// `.NaN` of the float forms.
        nan: bool,
        /// Destination.
        dst: RegId,
        /// Value.
        a: Src,
        /// Member mask.
        mask: Src,
    } = ["redux"] (" {op}.{ty}{abs}{nan} {dst}, {a}, {mask}"), COLLECTIVE;
    /// `elect.sync`.
    Elect {
        /// Leader's lane.
        dst: Option<RegId>,
        /// True in the leader.
        p: RegId,
        /// Member mask.
        mask: Src,
    } = ["elect"] (" {dst}|{p}, {mask}"), COLLECTIVE;
    /// `activemask`.
    ActiveMask {
        /// Destination.
        dst: RegId,
    } = ["activemask"] (" {dst}"), Effects { schedule: ScheduleUse::Volatile, ..OTHER };
    /// A jump; with a guard, a conditional one.
    Bra {
        /// Target.
        target: Pc,
        /// `.uni`.
        uni: bool,
    } = ["bra"] ("{uni} {target}"), OTHER;
    /// `brx.idx`.
    Brx {
        /// Index into [`super::Kernel::tables`].
        table: u32,
        /// The index operand.
        index: Src,
        /// `.uni`.
        uni: bool,
    } = ["brx"] ("{uni} {index}, {{{}}}", l.targets(*table.0)), ALL;
    /// `exit`, or `ret` of the entry.
    Exit = ["exit"] (""), OTHER;
    /// `trap`.
    Trap = ["trap"] (""), OTHER;
    /// `brkpt`: suspends execution, of which nothing more is promised; ptxas makes a trap of it.
    Brkpt = ["brkpt"] (""), OTHER;
    /// Reaching a call of `__assertfail`.
    AssertFail = ["assertfail"] (""), OTHER;
    /// A call of `vprintf`: ignored with a note; its result is unspecified.
    Printf {
        /// The result register or `.param` variable's local offset, if used.
        result: Option<u32>,
    } = ["printf"] ("{result}"), OTHER;
    /// `mma.sync` of a dense shape: d = a * b + c over the whole warp.
    Mma(mma: Box<Mma>) = [mma.name()] ("{mma}"), Effects { decides: Decides::Results, omitted: Omitted::Absent, ..COLLECTIVE };
    /// `ldmatrix`.
    Ldmatrix {
        /// The registers of all matrices.
        dsts: Vec<RegId>,
        /// Which element goes where.
        form: MatrixForm,
        /// Bits of an element in memory that becomes a byte (`.b8x16.src_fmt`).
        narrow: Option<u8>,
        /// The state space.
        space: Space,
        /// Address of a row, given by a lane.
        addr: Addr,
    } = ["ldmatrix"] (".{space}{form}{narrow} {{{dsts}}}, {addr}"), Effects { accesses: true, decides: Decides::Address, ..COLLECTIVE };
    /// `stmatrix`.
    Stmatrix {
        /// The registers of all matrices.
        srcs: Vec<Src>,
        /// Which element goes where.
        form: MatrixForm,
        /// The state space.
        space: Space,
        /// Address of a row, given by a lane.
        addr: Addr,
    } = ["stmatrix"] (".{space}{form} {addr}, {{{srcs}}}"), Effects { accesses: true, ..COLLECTIVE };
    /// `movmatrix.m8n8.trans.b16`.
    Movmatrix {
        /// Destination.
        dst: RegId,
        /// Source.
        src: Src,
    } = ["movmatrix"] (" {dst}, {src}"), COLLECTIVE;
    /// `cp.async` from global to shared memory.
    CpAsync {
        /// Bytes written: 4, 8 or 16.
        bytes: u8,
        /// Bytes read, the rest is zero; default all.
        read: Option<Src>,
        /// Writes zeros if true.
        ignore: Option<Guard>,
        /// Destination in shared memory.
        to: Addr,
        /// Source in global memory.
        from: Addr,
    } = ["cp.async"] (" {to}, {from}, {bytes}{read}{ignore}"), Effects { decides: Decides::All, ..MEMORY };
    /// `cp.async.commit_group`.
    CpAsyncCommit = ["cp.async.commit_group"] (""), ONLY;
    /// `cp.async.wait_group` and `wait_all`.
    CpAsyncWait {
        /// Number of the newest groups that may still be under way; `None` waits for every copy,
        /// committed or not.
        pending: Option<u32>,
    } = ["cp.async.wait_group"] ("{pending}"), ONLY;
    /// An operation of asynchronous agents: mbarriers, warpgroup products, proxies.
    Async(op: Box<super::AsyncOp>) = [op.name()] ("{op}"), op.effects();
    /// `griddepcontrol.wait`. Of one launch alone nobody can say what it is for, so that it counts as ordering nothing here.
    GridWait = ["griddepcontrol.wait"] (""), OTHER;
    /// `griddepcontrol.launch_dependents`.
    GridLaunch = ["griddepcontrol.launch_dependents"] (""), OTHER;
    /// No effect on any value: hints, prefetches, `nanosleep`, `pmevent`.
    Nop = ["nop"] (""), Effects { is_selectable: true, ..OTHER };
    /// Expansion of calls stopped here.
    CallDepth = ["call too deep"] (""), OTHER;
    /// Decoded but not executed yet, or unknown; index into [`super::Kernel::texts`].
    Unsupported(text: u32) = ["unsupported"] (": {}", l.note(*text.0)), OTHER;
}
}
