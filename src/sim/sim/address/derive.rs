//! What an instruction makes of operands that carry bases.
//!
//! Sums and products by constants of linear forms are linear; masks, shifts, fields and packing
//! move bits; a comparison is decided if it comes out alike under every layout. What is none of
//! these is opaque, and a comparison that layouts decide differently is refused.
//!
//! Sound: each rule holds for every layout in which bases are aligned as declared, objects neither
//! overlap nor wrap around, and generic addresses are not null.

use crate::kernel::{Cmp, Guard, IntOp, IntTy, NumTy, Op, Space, Src};
use crate::sim::limits::LIMITS;
use crate::term::TermId;

use super::super::int;
use super::super::machine::{Core, Spaces};
use super::super::val::Val;
use super::super::value::Values;
use super::carry::Given;
use super::image::{Bit, Image, Images};
use super::moved::{constant_bit, disjoint, lop3_table, moved};
use super::provenance::{
    BaseId, CONST_WINDOW, LOCAL_WINDOW, OWN_BITS, PARAM_WINDOW, Prov, SHARED_WINDOW, Shape, low,
};

/// The value of an operand and what it carries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arg {
    /// The value.
    pub v: Val,
    /// What it carries.
    pub p: Prov,
}

impl Arg {
    pub(crate) fn number(&self) -> Option<u64> {
        self.v.known()
    }

    /// The number, if no base changes it.
    pub(crate) fn constant(&self) -> Option<u64> {
        self.v.known().filter(|_| self.p.is_none())
    }
}

impl Values {
    /// A condition and its opposite, each with what it says.
    pub(crate) fn sides(&mut self, c: TermId) -> [(TermId, bool); 2] {
        [(c, true), (self.store.not(c), false)]
    }
}

impl Spaces {
    /// The condition that an operand carries one of two things by.
    pub(crate) fn chosen_by(&self, args: &[Arg]) -> Option<TermId> {
        args.iter().find_map(|a| match self.prov.shape(a.p) {
            Shape::Choice(c, ..) => Some(*c),
            _ => None,
        })
    }

    /// A number added to a field of a matrix descriptor: the address that the field is of moves
    /// on, within its object, so that nothing is carried out of the field.
    fn advanced(&mut self, op: IntOp, width: u8, a: Arg, b: Arg) -> Option<Prov> {
        let (held, by) = match (op, a.constant(), b.constant()) {
            (IntOp::Add, _, Some(k)) => (a, k),
            (IntOp::Add, Some(k), _) => (b, k),
            (IntOp::Sub, _, Some(k)) => (a, k.wrapping_neg()),
            _ => return None,
        };
        let Shape::Pieces(pieces) = self.prov.shape(held.p) else {
            return None;
        };
        if self.prov.is_vague(held.p) {
            return None;
        }
        let mut pieces = pieces.to_vec();
        let (old, by) = (held.number()? & low(width), by & low(width));
        // All bits above the last piece are ones: a step back inside of the object. Where only some of them
        // are, the constant parts above the field are summed with it, as the number does beside the pieces.
        let top = pieces.last().map_or(0, |p| p.at + p.len).min(width);
        let above = low(width) & !low(top);
        let back = by >> (width - 1) & 1 == 1 && by & above == above;
        let number = old.wrapping_add(by) & low(width);
        for i in 0..pieces.len() {
            let p = &mut pieces[i];
            // Nothing is carried into the piece from below, nor out of it.
            if (old & low(p.at)) + (by & low(p.at)) > low(p.at) {
                return None;
            }
            let step = match back {
                true => int::sext(by, width) >> p.at,
                false => (by >> p.at & low(p.len)) as i64,
            };
            let last = i + 1 == pieces.len();
            let p = &mut pieces[i];
            if back && !last {
                return None;
            }
            if step == 0 {
                continue;
            }
            let whole = p.whole.wrapping_add_signed(step.checked_shl(p.low.into())?);
            let own = self.prov.is_own(p.of, whole) && self.prov.is_own(p.of, p.whole);
            if !own || p.low + p.len < OWN_BITS {
                return None;
            }
            p.whole = whole;
        }
        let mut images = Images::default();
        let image = images.of_pieces(&pieces, number, width);
        Some(images.provenance(&mut self.prov, &image, width))
    }

    /// Operations that move bits, or change them one by one.
    fn by_bits(&mut self, op: IntOp, ty: IntTy, args: [Arg; 4]) -> Prov {
        let mut images = Images::default();
        let widths: [u8; 4] =
            std::array::from_fn(|i| super::super::compute::operand_width(op, ty, i));
        let im: [Image; 4] = std::array::from_fn(|i| {
            images.of(&self.prov, args[i].p, args[i].number(), widths[i].max(1))
        });
        let [a, b, c, d] = args;
        let w = ty.width;
        let image = match op {
            IntOp::And => self.bitwise(&mut images, 0x88, [&im[0], &im[1], &im[1]]),
            IntOp::Or => self.bitwise(&mut images, 0xee, [&im[0], &im[1], &im[1]]),
            IntOp::Xor => self.bitwise(&mut images, 0x66, [&im[0], &im[1], &im[1]]),
            // The table is indexed by the bits of a, b and c, highest first.
            IntOp::Lop3(t) => self.bitwise(&mut images, lop3_table(t), [&im[0], &im[1], &im[2]]),
            // Where one of two bits is zero everywhere, nothing is carried.
            IntOp::Add if disjoint(&im[0], &im[1]) => {
                self.bitwise(&mut images, 0xee, [&im[0], &im[1], &im[1]])
            }
            IntOp::Add => Some(self.low_sum(&mut images, [&im[0], &im[1]], 1, w)),
            IntOp::Sub => Some(self.low_sum(&mut images, [&im[0], &im[1]], u64::MAX, w)),
            // -a is 0 - a, and its complement -1 - a.
            IntOp::Neg | IntOp::Not => {
                let from = [Bit::Known(op == IntOp::Not); 64];
                Some(self.low_sum(&mut images, [&from, &im[0]], u64::MAX, w))
            }
            _ => moved(op, ty, &im, [a, b, c, d].map(|x| x.constant())),
        };
        let p = image.map_or(Prov::OPAQUE, |i| images.provenance(&mut self.prov, &i, w));
        // Where no rule follows the bits, they are not all zero if those of an operand are not.
        let some_bit = op == IntOp::Or
            && self.prov.is_vague(p)
            && [a, b].into_iter().any(|x| self.is_not_zero(x, ty.width));
        if some_bit { self.prov.not_zero(p) } else { p }
    }

    /// The lowest bits of a + k b, as far as those of both are the lowest of linear values; what is
    /// carried out of them is not followed.
    fn low_sum(&mut self, images: &mut Images, ab: [&Image; 2], k: u64, width: u8) -> Image {
        let [(p, n, i), (q, m, j)] = ab.map(|x| images.low_run(&mut self.prov, x));
        let of = self.prov.sum(p, q, k, 64).unwrap_or(Prov::OPAQUE);
        let bits = if of == Prov::OPAQUE { 0 } else { i.min(j) };
        let number = n.wrapping_add(m.wrapping_mul(k));
        images.of_low((of, number), bits, width)
    }

    /// A function of single bits, of which those of one operand at most depend on a layout; the
    /// table is indexed by those of the first, second (twice) and third.
    fn bitwise(&mut self, images: &mut Images, table: u8, [a, b, c]: [&Image; 3]) -> Option<Image> {
        let mut out = [Bit::Known(false); 64];
        for (i, bit) in out.iter_mut().enumerate() {
            let f = |x: bool, y: bool, z: bool| {
                table >> (u8::from(x) | u8::from(y) << 1 | u8::from(z) << 2) & 1 == 1
            };
            let mut bits = [a[i], b[i], c[i]];
            let mut open = bits.iter().filter(|x| !matches!(x, Bit::Known(_)));
            if open.next().is_some_and(|x| open.any(|y| x != y)) {
                bits = bits.map(|x| images.settled(&mut self.prov, x));
            }
            let free = bits.iter().find(|x| !matches!(x, Bit::Known(_))).copied();
            let at = |v: bool| {
                let [x, y, z] = bits.map(|x| match x {
                    Bit::Known(k) => k,
                    _ => v,
                });
                f(x, y, z)
            };
            let open = |x: &Bit| !matches!(x, Bit::Known(_));
            let one = bits
                .iter()
                .filter(|x| open(x))
                .all(|x| Some(*x) == free && *x != Bit::Lost);
            *bit = match (free, at(false), at(true)) {
                (None, k, _) => Bit::Known(k),
                (Some(x), no, yes) if one => match (no, yes) {
                    (false, true) => x,
                    (true, false) => images.flipped(&mut self.prov, x),
                    (k, _) => Bit::Known(k),
                },
                _ => constant_bit(f, bits).map_or(Bit::Lost, Bit::Known),
            };
        }
        Some(out)
    }

    fn converted(&mut self, a: Arg, from: IntTy, to: IntTy, width: u8) -> Prov {
        let mut images = Images::default();
        let mut image = images.of(&self.prov, a.p, a.number(), from.width);
        let sign = match from.signed {
            true => image[from.width as usize - 1],
            false => Bit::Known(false),
        };
        let grown = match sign {
            Bit::Known(_) => sign,
            _ => Bit::Lost,
        };
        image[from.width as usize..].fill(grown);
        if to.width < width {
            let top = match (to.signed, image[to.width as usize - 1]) {
                (false, _) => Bit::Known(false),
                (true, k @ Bit::Known(_)) => k,
                (true, _) => Bit::Lost,
            };
            image[to.width as usize..].fill(top);
        }
        // A linear value whose number data decide stays one where it is only cut.
        if a.number().is_none() {
            let cut = to.width.min(width) <= from.width && to.width >= width;
            let p = match cut {
                true => self.prov.sum(Prov::NONE, a.p, 1, width),
                false => None,
            };
            return p.unwrap_or(Prov::OPAQUE);
        }
        images.provenance(&mut self.prov, &image, width)
    }

    fn packed_prov(&mut self, args: &[Arg], part: u8) -> Prov {
        let mut images = Images::default();
        let mut image = [Bit::Known(false); 64];
        for (i, a) in args.iter().enumerate() {
            let bits = images.of(&self.prov, a.p, a.number(), part);
            let at = i * part as usize;
            image[at..at + part as usize].copy_from_slice(&bits[..part as usize]);
        }
        let width = part * args.len() as u8;
        images.provenance(&mut self.prov, &image, width)
    }

    /// `cvta`: into the generic window of a space, or out of it. The result is undefined where a generic address is none
    /// of the space (PTX ISA 9.0, section 9.7.9.20).
    fn through_window(&mut self, a: Arg, space: Space, to: bool) -> Prov {
        let window = match space {
            Space::Shared | Space::SharedCluster => SHARED_WINDOW,
            Space::Local => LOCAL_WINDOW,
            Space::Param => PARAM_WINDOW,
            Space::Generic => return a.p,
            Space::Const => CONST_WINDOW,
            Space::Global => {
                let linear = matches!(self.prov.shape(a.p), Shape::Linear(_));
                return match to && linear && !self.prov.leads_to(a.p, space) {
                    true => Prov::OPAQUE,
                    false => a.p,
                };
            }
        };
        self.moved_window(a.p, window, to, LIMITS.sides)
    }

    fn moved_window(&mut self, p: Prov, window: BaseId, to: bool, sides: usize) -> Prov {
        if let Shape::Choice(c, x, y) = *self.prov.shape(p)
            && sides > 1
        {
            let x = self.moved_window(x, window, to, sides / 2);
            let y = self.moved_window(y, window, to, sides / 2);
            return self.prov.choice(c, x, y);
        }
        let space = self.prov.space_of_window(window);
        if to && !self.prov.leads_to(p, space) {
            return Prov::OPAQUE;
        }
        let by = self.prov.linear(&[(window, 1)]);
        let k = if to { u64::MAX } else { 1 };
        self.prov.sum(p, by, k, 64).unwrap_or(Prov::OPAQUE)
    }
}

/// Of two operands, the one that the sign of a third chooses: what it carries, or `None` if layouts decide which.
fn of_sign([x, y, c]: [Arg; 3], cty: NumTy) -> Option<Prov> {
    match (c.constant(), cty) {
        (_, _) if x.p == y.p && c.p.is_none() => Some(x.p),
        (Some(n), NumTy::Int(t)) => {
            let yes = int::compare(Cmp::Ge, t, n, 0);
            Some(if yes { x.p } else { y.p })
        }
        _ => None,
    }
}

impl Core<'_> {
    fn of_selected(&mut self, w: usize, lane: usize, srcs: [Src; 2], p: Guard) -> Prov {
        let [x, y] = srcs.map(|s| self.src_prov(w, s, lane));
        match self.truth(w, p, lane) {
            Val::Conc(1) => x,
            Val::Conc(_) => y,
            c => {
                let c = self.values.pred(c);
                self.memory.prov.choice(c, x, y)
            }
        }
    }

    /// A selection of one of two operands: what it carries, or `None` if layouts decide it.
    fn of_selection(&mut self, w: usize, lane: usize, srcs: [Src; 2], p: Guard) -> Option<Prov> {
        if let Val::Pred(c) = self.truth(w, p, lane) {
            let sides = srcs.map(|s| self.arg(w, s, lane));
            if let Some(settled) = self.settled(c, sides) {
                let (p, number) = settled?;
                return Some(self.memory.prov.intern(Shape::Settled(p, number)));
            }
        }
        Some(self.of_selected(w, lane, srcs, p))
    }

    /// An operand where a condition holds, or does not.
    pub(crate) fn on_side(&mut self, a: Arg, known: TermId, c: TermId, side: bool) -> Arg {
        let mut p = a.p;
        while let Shape::Choice(d, x, y) = self.memory.prov.shape(p)
            && *d == c
        {
            p = if side { *x } else { *y };
        }
        Arg {
            v: self.values.where_true(&[known], a.v),
            p,
        }
    }

    /// What the destinations of a lane-wise operation carry; true if that follows from what the
    /// operands carry alone, whatever their numbers are. `None` if layouts decide the result.
    pub(crate) fn derive(&mut self, w: usize, lane: usize, op: &Op) -> Option<(Given, bool)> {
        Some(match op {
            Op::Mov { dst, src, .. } => (vec![(*dst, self.src_prov(w, *src, lane))], true),
            Op::Int {
                lanes: 1,
                dst: Some(dst),
                dst2: None,
                ..
            } => {
                let (p, steady) = self.derive_int(w, lane, op);
                (vec![(*dst, p)], steady)
            }
            Op::Cvta {
                space,
                to,
                dst,
                src,
                ..
            } => {
                let a = self.arg(w, *src, lane);
                let prov = self.memory.through_window(a, *space, *to);
                (vec![(*dst, prov)], true)
            }
            Op::Cvt {
                from: NumTy::Int(from),
                to: NumTy::Int(to),
                sat: false,
                dst,
                src,
                ..
            } => {
                let (a, width) = (self.arg(w, *src, lane), self.width(*dst));
                let prov = self.memory.converted(a, *from, *to, width);
                (vec![(*dst, prov)], false)
            }
            Op::Pack { dst, part, srcs } => {
                let args: Vec<Arg> = srcs.iter().map(|s| self.arg(w, *s, lane)).collect();
                (vec![(*dst, self.memory.packed_prov(&args, *part))], false)
            }
            Op::Unpack { dsts, part, src } => {
                let a = self.arg(w, *src, lane);
                let each = (0u8..).zip(dsts);
                let given = each.filter_map(|(i, d)| {
                    let prov = &mut self.memory.prov;
                    Some(((*d)?, prov.extracted(a.p, a.number(), i * part, *part)))
                });
                (given.collect(), false)
            }
            Op::Selp { dst, a, b, p, .. } => {
                let prov = self.of_selection(w, lane, [*a, *b], *p)?;
                (vec![(*dst, prov)], false)
            }
            Op::Slct {
                dst, a, b, c, cty, ..
            } => {
                let args = [a, b, c].map(|s| self.arg(w, *s, lane));
                (vec![(*dst, of_sign(args, *cty)?)], false)
            }
            Op::Setp {
                cmp,
                ty: NumTy::Int(ty),
                lanes: 1,
                combine: None,
                p: Some(p),
                q: None,
                a,
                b,
                ..
            } => {
                let [a, b] = [*a, *b].map(|s: Src| self.arg(w, s, lane));
                if self.decides(*cmp, *ty, a, b, LIMITS.sides) {
                    return Some((Vec::new(), false));
                }
                let asked = self.asks_for_multiple((*cmp, *ty), (a, b), *p)?;
                (vec![(*p, asked)], false)
            }
            Op::Setp {
                cmp,
                ty: NumTy::Int(ty),
                lanes: 1,
                a,
                b,
                ..
            }
            | Op::Set {
                cmp,
                ty: NumTy::Int(ty),
                lanes: 1,
                a,
                b,
                ..
            } => {
                let [a, b] = [*a, *b].map(|s: Src| self.arg(w, s, lane));
                let decided = self.decides(*cmp, *ty, a, b, LIMITS.sides);
                decided.then(|| (Vec::new(), false))?
            }
            Op::IsSpace { .. } => (Vec::new(), true),
            _ => return None,
        })
    }

    fn derive_int(&mut self, w: usize, lane: usize, op: &Op) -> (Prov, bool) {
        let Op::Int { op, ty, src, .. } = op else {
            return (Prov::NONE, false);
        };
        let args = src.map(|s| self.arg(w, s, lane));
        self.int_prov(*op, *ty, args, LIMITS.sides)
    }

    /// What the result of an integer operation carries, and whether the numbers do not matter.
    fn int_prov(&mut self, op: IntOp, ty: IntTy, args: [Arg; 4], sides: usize) -> (Prov, bool) {
        if let Some(c) = self.memory.chosen_by(&args) {
            if sides < 2 {
                return (Prov::OPAQUE, false);
            }
            let [yes, no] = self.values.sides(c);
            let [x, y] = [yes, no].map(|(known, side)| {
                let args = args.map(|a| self.on_side(a, known, c, side));
                self.int_prov(op, ty, args, sides / 2).0
            });
            return (self.memory.prov.choice(c, x, y), false);
        }
        let [a, b, c, _] = args;
        let linear = match op {
            IntOp::Add => self.memory.prov.sum(a.p, b.p, 1, ty.width),
            IntOp::Sub => self.memory.prov.sum(a.p, b.p, u64::MAX, ty.width),
            IntOp::MadLo | IntOp::MadWide if a.p.is_none() && b.p.is_none() => {
                let width = if op == IntOp::MadWide {
                    2 * ty.width
                } else {
                    ty.width
                };
                self.memory.prov.sum(Prov::NONE, c.p, 1, width)
            }
            _ => None,
        };
        if let Some(p) = linear {
            return (p, true);
        }
        let scaled = match (op, a.constant(), b.constant()) {
            (IntOp::MulLo | IntOp::MadLo, _, Some(k)) => {
                self.memory.prov.sum(c.p, a.p, k, ty.width)
            }
            (IntOp::MulLo | IntOp::MadLo, Some(k), _) => {
                self.memory.prov.sum(c.p, b.p, k, ty.width)
            }
            (IntOp::Neg | IntOp::Not, ..) => {
                self.memory.prov.sum(Prov::NONE, a.p, u64::MAX, ty.width)
            }
            _ => None,
        };
        let found = scaled
            .or_else(|| self.memory.advanced(op, ty.width, a, b))
            .or_else(|| self.rounded_by_rest(op, ty.width, a, b))
            .or_else(|| match op {
                IntOp::Sub => self.memory.distance_up(ty.width, a, b),
                IntOp::Add => self.next_multiple(a, b),
                _ => None,
            });
        (
            found.unwrap_or_else(|| self.memory.by_bits(op, ty, args)),
            false,
        )
    }

    /// An address less what it is above a multiple of a power of two, or more by what lacks for one:
    /// `a - (a & 1023)`, `a + (-a & 1023)`.
    fn rounded_by_rest(&mut self, op: IntOp, width: u8, a: Arg, b: Arg) -> Option<Prov> {
        let up = match op {
            IntOp::Add => true,
            IntOp::Sub => false,
            _ => return None,
        };
        let pieces = |m: &Self, x: &Arg| matches!(m.memory.prov.shape(x.p), Shape::Pieces(_));
        let (whole, rest) = match up && pieces(self, &a) {
            true => (b, a),
            false => (a, b),
        };
        let (n, r) = (whole.number()?, rest.number()?);
        let mut images = Images::default();
        let image = images.of(&self.memory.prov, rest.p, Some(r), width);
        let (of, low_part, bits) = images.low_run(&mut self.memory.prov, &image);
        let above = image.get(bits as usize..)?;
        if bits > 16 || above.iter().any(|b| *b != Bit::Known(false)) {
            return None;
        }
        // The address and the rest move by the same or opposite amounts, up to multiples of the
        // power of two.
        let sign = if up { 1 } else { u64::MAX };
        let apart = self.memory.prov.sum(whole.p, of, sign, 64)?;
        if self.memory.prov.aligned(apart) < bits {
            return None;
        }
        let residue = n.wrapping_add(low_part.wrapping_mul(sign)) & low(bits);
        let from = n.wrapping_sub(residue);
        let from = if up {
            from.wrapping_add(low(bits))
        } else {
            from
        };
        self.memory.prov.rounded(whole.p, from, bits)
    }
}
