//! Decoder of the video instructions: sums, differences, extremes, shifts, products and comparisons of
//! words, half-words and bytes that are cut out of registers, clamped, and merged or added.
//!
//! Source: PTX ISA 9.0, sections 9.7.18.1 (scalar) and 9.7.18.2 (pairs and quads). The manual defines each
//! by stages: cut the parts out, extend them by their type, one operation in a wider integer, clamp, then
//! combine with the third operand. Each stage is integer arithmetic that the simulator has, so the
//! decoder writes the stages down, 64 bits wide for words and 32 for parts, and nothing after it knows
//! of video instructions. A result on input data is what those instructions make of it.
//!
//! Not claimed: `.min` and `.max` as second operation without `.sat`, where the first result need not
//! be a value of the type that is compared; products whose sum may have more than 64 bits.

use super::decode_cmp::COMPARISONS;
use super::lower::Lowerer;
use super::operand::Fit;
use super::sig::{Decoded, ModSet, Sig, unsupported};
use super::{Cmp, Guard, IntOp, IntTy, NumTy, Op, RegId, Src};
use crate::ptx::{Component, Mod, Op as Opcode, Operand, OperandKind, Type};

const SECOND: &[(Mod, IntOp)] = &[
    (Mod::Add, IntOp::Add),
    (Mod::Min, IntOp::Min),
    (Mod::Max, IntOp::Max),
];

const KNOWN: ModSet = ModSet::of(&[
    Mod::Sat,
    Mod::Add,
    Mod::Min,
    Mod::Max,
    Mod::Clamp,
    Mod::Wrap,
    Mod::Eq,
    Mod::Ne,
    Mod::Lt,
    Mod::Le,
    Mod::Gt,
    Mod::Ge,
]);

/// The first operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Primary {
    Add,
    Sub,
    AbsDiff,
    Average,
    Min,
    Max,
    Compare(Cmp),
    /// Left or right.
    Shift(bool),
}

/// Bits of a register: the first, and how many.
type BitField = (u8, u8);

const WHOLE: BitField = (0, 32);

/// Types of temporaries.
const LONG: IntTy = IntTy {
    width: 64,
    signed: true,
};
const WORD: IntTy = IntTy {
    width: 32,
    signed: true,
};
const BITS: IntTy = IntTy {
    width: 32,
    signed: false,
};

/// The type of a register for a temporary.
fn register(ty: IntTy) -> Type {
    match ty.width {
        64 => Type::B64,
        _ => Type::B32,
    }
}

/// True if an operand has a sign in front of it.
fn is_negated(o: &Operand) -> bool {
    matches!(
        o.kind,
        OperandKind::Neg(_) | OperandKind::NegComponent { .. }
    )
}

impl<'a> Lowerer<'a> {
    /// All video instructions.
    pub(super) fn decode_video(&mut self, sig: &Sig) -> Decoded<()> {
        use Opcode as O;
        sig.no_space()?;
        let compare = |sig: &Sig| sig.need(COMPARISONS, "a comparison").map(Primary::Compare);
        let (lanes, primary) = match sig.op {
            O::Vmad => return self.vmad(sig),
            O::Vadd => (1, Primary::Add),
            O::Vsub => (1, Primary::Sub),
            O::Vabsdiff => (1, Primary::AbsDiff),
            O::Vmin => (1, Primary::Min),
            O::Vmax => (1, Primary::Max),
            O::Vshl => (1, Primary::Shift(true)),
            O::Vshr => (1, Primary::Shift(false)),
            O::Vset => (1, compare(sig)?),
            O::Vadd2 => (2, Primary::Add),
            O::Vsub2 => (2, Primary::Sub),
            O::Vavrg2 => (2, Primary::Average),
            O::Vabsdiff2 => (2, Primary::AbsDiff),
            O::Vmin2 => (2, Primary::Min),
            O::Vmax2 => (2, Primary::Max),
            O::Vset2 => (2, compare(sig)?),
            O::Vadd4 => (4, Primary::Add),
            O::Vsub4 => (4, Primary::Sub),
            O::Vavrg4 => (4, Primary::Average),
            O::Vabsdiff4 => (4, Primary::AbsDiff),
            O::Vmin4 => (4, Primary::Min),
            O::Vmax4 => (4, Primary::Max),
            O::Vset4 => (4, compare(sig)?),
            _ => return unsupported(""),
        };
        sig.only(KNOWN)?;
        let shifts = matches!(primary, Primary::Shift(_));
        let compares = matches!(primary, Primary::Compare(_));
        if self.ops.iter().any(is_negated)
            || (sig.has(Mod::Clamp) || sig.has(Mod::Wrap)) && !shifts
            || compares && sig.has(Mod::Sat)
        {
            return unsupported("no such modifier");
        }
        // What is shifted out on the left has no place in any type here.
        if primary == Primary::Shift(true) && sig.has(Mod::Sat) {
            return unsupported("`.sat` of a shift to the left");
        }
        // The result of a comparison has no type of its own: it is unsigned.
        let (to, a, b) = match (primary, sig.types()) {
            (Primary::Compare(_), &[a, b]) => (Type::U32, a, b),
            (_, &[to, a, b]) => (to, a, b),
            _ => return unsupported("no such types"),
        };
        let words = |ty: &Type| matches!(ty, Type::U32 | Type::S32);
        if ![to, a, b].iter().all(words) {
            return unsupported("no such types");
        }
        match lanes {
            1 => self.scalar_video(sig, primary, (to, a, b)),
            n => self.simd_video(sig, n, primary, (to, a, b)),
        }
    }

    fn scalar_video(
        &mut self,
        sig: &Sig,
        primary: Primary,
        (to, ta, tb): (Type, Type, Type),
    ) -> Decoded<()> {
        self.expect_between(3, 4)?;
        let three = self.ops.len() == 4;
        let second = sig.pick(SECOND)?;
        let (dst, merged) = self.part(0)?;
        let saturates = sig.has(Mod::Sat);
        if (second.is_some() || merged != WHOLE) != three || second.is_some() && merged != WHOLE {
            return unsupported("no such operands");
        }
        let bounded = saturates || matches!(primary, Primary::Compare(_));
        if second.is_some_and(|op| op != IntOp::Add) && !bounded {
            return unsupported("a minimum or maximum as second operation without `.sat`");
        }
        let x = self.part_value(1, ta, LONG)?;
        let y = self.part_value(2, tb, LONG)?;
        let y = match primary {
            Primary::Shift(_) => match (sig.has(Mod::Clamp), sig.has(Mod::Wrap)) {
                (true, false) => self.int(IntOp::Min, LONG, &[y, Src::Imm(32)]),
                (false, true) => self.int(IntOp::And, LONG, &[y, Src::Imm(31)]),
                _ => return unsupported("it lacks `.clamp` or `.wrap`"),
            },
            _ => y,
        };
        let mut t = self.primary(primary, LONG, x, y);
        if saturates {
            t = self.clamped(LONG, t, to.is_signed(), merged.1);
        }
        if let Some(op) = second {
            let c = self.part_value(3, to, LONG)?;
            t = self.int(op, LONG, &[t, c]);
        }
        self.finish_word(dst, merged, t)
    }

    /// Writes the low word of a long result, or merges it into the third operand.
    fn finish_word(&mut self, dst: RegId, part: BitField, t: Src) -> Decoded<()> {
        if part == WHOLE {
            self.convert(dst, LONG, BITS, t);
            return Ok(());
        }
        let word = self.temp(Type::B32);
        self.convert(word, LONG, BITS, t);
        let c = self.src(3, Type::U32)?;
        self.insert(dst, Src::Reg(word), c, part);
        Ok(())
    }

    fn simd_video(
        &mut self,
        sig: &Sig,
        lanes: u8,
        primary: Primary,
        (to, ta, tb): (Type, Type, Type),
    ) -> Decoded<()> {
        self.expect(4)?;
        let width = 32 / lanes;
        let adds = sig.has(Mod::Add);
        if adds && sig.has(Mod::Sat) {
            return unsupported("`.sat` with `.add`");
        }
        let (dst, mask) = self.selected(0, lanes, None)?;
        let (a, at_a) = self.selected(1, lanes, Some(0))?;
        let (b, at_b) = self.selected(2, lanes, Some(lanes))?;
        let (Src::Reg(dst), true) = (dst, mask.iter().all(|m| *m < lanes)) else {
            return unsupported("no such operands");
        };
        let c = self.src(3, Type::U32)?;
        // Selectors count through both sources, the first below the second.
        let lane = |l: &mut Self, at: u8, ty: Type| {
            let from = if at < lanes { a } else { b };
            let signed = ty.is_signed();
            l.extract(from, (at % lanes * width, width), signed)
        };
        let mut out = c;
        for i in 0..lanes {
            if !mask.contains(&i) {
                continue;
            }
            let x = lane(self, at_a[i as usize], ta);
            let y = lane(self, at_b[i as usize], tb);
            let mut t = self.primary(primary, WORD, x, y);
            if sig.has(Mod::Sat) {
                t = self.clamped(WORD, t, to.is_signed(), width);
            }
            out = if adds {
                self.int(IntOp::Add, BITS, &[out, t])
            } else {
                let next = self.temp(Type::B32);
                self.insert(next, t, out, (i * width, width));
                Src::Reg(next)
            };
        }
        self.int_to(dst, IntOp::Or, BITS, &[out, Src::Imm(0)]);
        Ok(())
    }

    /// `vmad.dtype.atype.btype{.po}{.sat}{.scale} d, {-}a, {-}b, {-}c;`
    fn vmad(&mut self, sig: &Sig) -> Decoded<()> {
        let known = const { ModSet::of(&[Mod::Po, Mod::Sat, Mod::Shr7, Mod::Shr15]) };
        sig.only(known)?;
        let &[to, ta, tb] = sig.types() else {
            return unsupported("no such types");
        };
        self.expect(4)?;
        let operands = [self.operand(1)?, self.operand(2)?, self.operand(3)?];
        let negated = operands.map(is_negated);
        let product = negated[0] != negated[1];
        let minus = product || negated[2];
        if product && negated[2] || sig.has(Mod::Po) && negated.contains(&true) {
            return unsupported("no such signs of operands");
        }
        let signed = ta.is_signed() || tb.is_signed() || minus;
        if to.is_signed() != signed {
            return unsupported("no such types");
        }
        let (dst, merged) = self.part(0)?;
        let (_, of_a) = self.part(1)?;
        let (_, of_b) = self.part(2)?;
        if merged != WHOLE
            || minus && !ta.is_signed() && !tb.is_signed() && of_a == WHOLE && of_b == WHOLE
        {
            return unsupported("a product of unsigned words with a sign");
        }
        let wide = IntTy { width: 64, signed };
        let x = self.part_value(1, ta, wide)?;
        let y = self.part_value(2, tb, wide)?;
        let c = self.part_value(3, if signed { Type::S32 } else { Type::U32 }, wide)?;
        let p = self.int(IntOp::MulLo, wide, &[x, y]);
        let mut t = match (product, negated[2]) {
            (true, _) => self.int(IntOp::Sub, wide, &[c, p]),
            (_, true) => self.int(IntOp::Sub, wide, &[p, c]),
            _ => self.int(IntOp::Add, wide, &[p, c]),
        };
        if sig.has(Mod::Po) {
            t = self.int(IntOp::Add, wide, &[t, Src::Imm(1)]);
        }
        let shift = sig.pick(&[(Mod::Shr7, 7), (Mod::Shr15, 15)])?;
        if let Some(n) = shift {
            t = self.int(IntOp::Shr, wide, &[t, Src::Imm(n)]);
        }
        if sig.has(Mod::Sat) {
            t = match signed {
                true => self.clamped(wide, t, true, 32),
                false => self.int(IntOp::Min, wide, &[t, Src::Imm(u32::MAX as u64)]),
            };
        }
        self.finish_word(dst, WHOLE, t)
    }

    /// The first operation, in a type that holds every result.
    fn primary(&mut self, op: Primary, wide: IntTy, x: Src, y: Src) -> Src {
        match op {
            Primary::Add => self.int(IntOp::Add, wide, &[x, y]),
            Primary::Sub => self.int(IntOp::Sub, wide, &[x, y]),
            Primary::Min => self.int(IntOp::Min, wide, &[x, y]),
            Primary::Max => self.int(IntOp::Max, wide, &[x, y]),
            Primary::AbsDiff => {
                let d = self.int(IntOp::Sub, wide, &[x, y]);
                self.int(IntOp::Abs, wide, &[d])
            }
            // Half of the sum, a half rounded away from zero: up where the sum is not negative.
            Primary::Average => {
                let sum = self.int(IntOp::Add, wide, &[x, y]);
                let unsigned = IntTy {
                    signed: false,
                    ..wide
                };
                let top = Src::Imm(wide.width as u64 - 1);
                let sign = self.int(IntOp::Shr, unsigned, &[sum, top]);
                let up = self.int(IntOp::Xor, wide, &[sign, Src::Imm(1)]);
                let rounded = self.int(IntOp::Add, wide, &[sum, up]);
                self.int(IntOp::Shr, wide, &[rounded, Src::Imm(1)])
            }
            Primary::Shift(left) => {
                // The amount of a shift has 32 bits.
                let amount = self.temp(Type::B32);
                self.convert(amount, LONG, BITS, y);
                let op = if left { IntOp::Shl } else { IntOp::Shr };
                self.int(op, wide, &[x, Src::Reg(amount)])
            }
            Primary::Compare(cmp) => {
                let p = self.temp(Type::Pred);
                self.emit(Op::Setp {
                    cmp,
                    ty: NumTy::Int(wide),
                    lanes: 1,
                    ftz: false,
                    combine: None,
                    p: Some(p),
                    q: None,
                    a: x,
                    b: y,
                });
                let dst = self.temp(register(wide));
                self.emit(Op::Selp {
                    width: wide.width,
                    dst,
                    a: Src::Imm(1),
                    b: Src::Imm(0),
                    p: Guard {
                        reg: p,
                        negated: false,
                    },
                });
                Src::Reg(dst)
            }
        }
    }

    /// A signed value in the range of an integer type.
    fn clamped(&mut self, wide: IntTy, t: Src, signed: bool, width: u8) -> Src {
        let (least, greatest) = match signed {
            true => (-1i64 << (width - 1), (1i64 << (width - 1)) - 1),
            false => (0, (1i64 << width) - 1),
        };
        let mask = u64::MAX >> (64 - wide.width as u32);
        let t = self.int(IntOp::Max, wide, &[t, Src::Imm(least as u64 & mask)]);
        self.int(IntOp::Min, wide, &[t, Src::Imm(greatest as u64 & mask)])
    }

    /// Part of an operand, extended by its type.
    fn part_value(&mut self, i: usize, ty: Type, wide: IntTy) -> Decoded<Src> {
        let from = IntTy {
            width: 32,
            signed: ty.is_signed(),
        };
        let (src, part) = match self.operand(i)?.kind {
            OperandKind::Int(_) | OperandKind::Expr(_) => (self.src(i, ty)?, WHOLE),
            _ => {
                let (reg, part) = self.part(i)?;
                (Src::Reg(reg), part)
            }
        };
        let word = match part {
            WHOLE => src,
            _ => self.extract(src, part, from.signed),
        };
        let dst = self.temp(register(wide));
        self.convert(dst, from, wide, word);
        Ok(Src::Reg(dst))
    }

    /// Bits of a word, extended to a word.
    fn extract(&mut self, src: Src, (low, width): BitField, signed: bool) -> Src {
        let wide = IntTy { width: 32, signed };
        let (pos, len) = (Src::Imm(low as u64), Src::Imm(width as u64));
        self.int(IntOp::Bfe, wide, &[src, pos, len])
    }

    /// The low bits of a word in the place of others.
    fn insert(&mut self, dst: RegId, t: Src, into: Src, (low, width): BitField) {
        let (pos, len) = (Src::Imm(low as u64), Src::Imm(width as u64));
        self.int_to(dst, IntOp::Bfi, BITS, &[t, into, pos, len]);
    }

    fn convert(&mut self, dst: RegId, from: IntTy, to: IntTy, src: Src) {
        self.emit_cvt(NumTy::Int(from), NumTy::Int(to), dst, src);
    }

    fn int(&mut self, op: IntOp, wide: IntTy, srcs: &[Src]) -> Src {
        let dst = self.temp(register(wide));
        self.int_to(dst, op, wide, srcs);
        Src::Reg(dst)
    }

    fn int_to(&mut self, dst: RegId, op: IntOp, wide: IntTy, srcs: &[Src]) {
        let mut src = [Src::Imm(0); 4];
        src[..srcs.len()].copy_from_slice(srcs);
        self.emit(Op::Int {
            op,
            ty: wide,
            lanes: 1,
            dst: Some(dst),
            dst2: None,
            src,
        });
    }

    /// The register of an operand, and the part of it that a suffix names.
    fn part(&mut self, i: usize) -> Decoded<(RegId, BitField)> {
        let (reg, suffix) = self.suffixed(i)?;
        let part = match suffix {
            None => WHOLE,
            Some("b0") => (0, 8),
            Some("b1") => (8, 8),
            Some("b2") => (16, 8),
            Some("b3") => (24, 8),
            Some("h0") => (0, 16),
            Some("h1") => (16, 16),
            Some(_) => return unsupported("no such part of a register"),
        };
        Ok((reg, part))
    }

    /// The value of an operand, and the lanes that a suffix such as `.b3210` names, from the lowest. Without
    /// one they are those from `first` on; `None` asks for lanes in any number.
    fn selected(&mut self, i: usize, lanes: u8, first: Option<u8>) -> Decoded<(Src, Vec<u8>)> {
        let all: Vec<u8> = (0..lanes).map(|l| l + first.unwrap_or(0)).collect();
        if let OperandKind::Int(_) | OperandKind::Expr(_) = self.operand(i)?.kind {
            return Ok((self.src(i, Type::U32)?, all));
        }
        let (reg, suffix) = self.suffixed(i)?;
        let Some(text) = suffix else {
            return Ok((Src::Reg(reg), all));
        };
        let letter = if lanes == 2 { 'h' } else { 'b' };
        let digits = text.strip_prefix(letter).unwrap_or_default();
        let found: Vec<u8> = digits
            .bytes()
            .rev()
            .filter_map(|d| d.checked_sub(b'0'))
            .collect();
        let right = match first {
            Some(_) => found.len() == lanes as usize,
            None => !found.is_empty(),
        };
        if !right || found.len() != digits.len() || found.iter().any(|&l| l >= 2 * lanes) {
            return unsupported("no such lanes of a register");
        }
        Ok((Src::Reg(reg), found))
    }

    /// The register of an operand, a sign aside, and its suffix.
    fn suffixed(&mut self, i: usize) -> Decoded<(RegId, Option<&'a str>)> {
        let operand = *self.operand(i)?;
        let (base, component) = match operand.kind {
            OperandKind::Name(name) | OperandKind::Neg(name) => (name, None),
            OperandKind::Component { base, component }
            | OperandKind::NegComponent { base, component } => (base, Some(component)),
            _ => return self.wrong(operand.span, "a register of 32 bits or a part of it"),
        };
        let whole = Operand {
            kind: OperandKind::Name(base),
            ..operand
        };
        let reg = self.reg(&whole, Type::U32, Fit::Exact)?;
        match component {
            None => Ok((reg, None)),
            Some(Component::Other(name)) => Ok((reg, Some(self.m.text(name)))),
            Some(_) => unsupported("no such part of a register"),
        }
    }
}
