//! Values bit by bit: masks, shifts, fields, halves and bytes of numbers that carry bases.
//!
//! The problem: an address is taken apart by one instruction and put together by another, in any
//! order. So a value is looked at as 64 bits, each of them known or a bit of a linear value; what
//! moves bits moves these, and runs of them that make up a linear value are one again.
//!
//! Sound: bits below the alignment of a linear value are those of its number, and an address in the
//! CTA's own shared memory has zeros from bit 18 on, but for its rank; nothing else is taken for known.

use super::super::cluster::SLOT_BITS;
use super::provenance::{BaseId, OWN_BITS, Piece, Prov, Provenances, Shape, WINDOW_ALIGN, low};

/// One bit of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bit {
    /// The same for every layout.
    Known(bool),
    /// A bit of a linear value by number.
    Of(u8, u8),
    /// Anything.
    Lost,
}

/// The bits of values, over a common list of linear values.
#[derive(Debug, Default)]
pub(crate) struct Images {
    wholes: Vec<(Prov, u64)>,
}

/// The bits of a value, lowest first.
pub(crate) type Image = [Bit; 64];

impl Images {
    fn whole(&mut self, of: Prov, number: u64) -> u8 {
        let known = self.wholes.iter().position(|w| *w == (of, number));
        known.unwrap_or_else(|| {
            self.wholes.push((of, number));
            self.wholes.len() - 1
        }) as u8
    }

    /// The bits of a value of a width; `number` is `None` where they are not known.
    pub(crate) fn of(
        &mut self,
        all: &Provenances,
        p: Prov,
        number: Option<u64>,
        width: u8,
    ) -> Image {
        let mut out = [Bit::Known(false); 64];
        let bits = out.iter_mut().take(width as usize);
        let Some(number) = number else {
            bits.for_each(|b| *b = Bit::Lost);
            return out;
        };
        for (i, b) in bits.enumerate() {
            *b = Bit::Known(number >> i & 1 == 1);
        }
        match all.shape(p) {
            Shape::None => {}
            Shape::Opaque
            | Shape::Choice(..)
            | Shape::Half(..)
            | Shape::Ahead(..)
            | Shape::Multiple(..)
            | Shape::Settled(..) => out[..width as usize].fill(Bit::Lost),
            Shape::Linear(_) => {
                let w = self.whole(p, number & low(width));
                let n = all.significant(p, number & low(width), width);
                for i in 0..n {
                    out[i as usize] = Bit::Of(w, i);
                }
            }
            Shape::Pieces(list) => return self.of_pieces(list, number, width),
        }
        out
    }

    /// The bits of a value in these pieces.
    pub(crate) fn of_pieces(&mut self, pieces: &[Piece], number: u64, width: u8) -> Image {
        let mut out = [Bit::Known(false); 64];
        for (i, b) in out.iter_mut().enumerate().take(width as usize) {
            *b = Bit::Known(number >> i & 1 == 1);
        }
        for q in pieces {
            let len = q.len.min(width.saturating_sub(q.at));
            if q.of.is_lost() {
                out[q.at as usize..(q.at + len) as usize].fill(Bit::Lost);
                continue;
            }
            let w = self.whole(q.of, q.whole);
            for i in 0..len {
                out[(q.at + i) as usize] = Bit::Of(w, q.low + i);
            }
        }
        out
    }

    /// The opposite of a bit: known below the alignment only.
    pub(crate) fn flipped(&self, all: &mut Provenances, bit: Bit) -> Bit {
        match bit {
            Bit::Known(b) => Bit::Known(!b),
            Bit::Of(w, i) => {
                let (of, whole) = self.wholes[w as usize];
                if i >= all.aligned(of) {
                    all.ask(of, i);
                    return Bit::Lost;
                }
                all.use_alignment(of);
                Bit::Known(whole >> i & 1 == 0)
            }
            Bit::Lost => Bit::Lost,
        }
    }

    /// Runs of bits of linear values.
    fn pieces(&self, all: &Provenances, image: &[Bit]) -> Vec<Piece> {
        let mut out: Vec<Piece> = Vec::new();
        for (at, bit) in image.iter().enumerate() {
            let Bit::Of(w, i) = *bit else { continue };
            let (of, whole) = self.wholes[w as usize];
            let at = at as u8;
            let new = Piece {
                at,
                len: 1,
                low: i,
                of,
                whole,
            };
            let goes_on = |p: &&mut Piece| p.at + p.len == at && p.low + p.len == i;
            match out.last_mut().filter(goes_on) {
                // What was cut to fewer bits is a part of what was not.
                Some(p) if alike(all, (p.of, p.whole), (of, whole), p.low + p.len) => {
                    (p.of, p.whole) = (of, whole);
                    p.len += 1;
                }
                _ => out.push(new),
            }
        }
        out
    }

    /// The provenance of a value whose bits from one on are lost: those below it may be asked for
    /// alone, or stand in an address that is rounded.
    fn partial(&self, all: &mut Provenances, bits: &[Bit], from: usize) -> Prov {
        let of = match bits[from..].contains(&Bit::Known(true)) {
            true => Prov::NONZERO,
            false => Prov::OPAQUE,
        };
        if from == 0 {
            return of;
        }
        let mut pieces = self.pieces(all, &bits[..from]);
        all.ask_for(&pieces);
        pieces.push(Piece {
            at: from as u8,
            len: (bits.len() - from) as u8,
            low: 0,
            of,
            whole: 0,
        });
        all.intern(Shape::Pieces(pieces.into()))
    }

    /// A linear value whose lowest bits are those of this one, and how many; no bit that a layout
    /// changes is among the rest of them.
    pub(crate) fn low_run(&self, all: &mut Provenances, image: &Image) -> (Prov, u64, u8) {
        let known = |b: &Bit| matches!(b, Bit::Known(_));
        let number = |bits: &[Bit]| {
            let ones = bits.iter().enumerate().filter(|b| *b.1 == Bit::Known(true));
            ones.fold(0u64, |n, (i, _)| n | 1 << i)
        };
        let Some(first) = image.iter().position(|b| !known(b)) else {
            return (Prov::NONE, number(image), 64);
        };
        let Bit::Of(w, i) = image[first] else {
            return (Prov::NONE, number(&image[..first]), first as u8);
        };
        let (of, whole) = self.wholes[w as usize];
        if usize::from(i) != first || first > usize::from(all.aligned(of)) {
            return (Prov::NONE, number(&image[..first]), first as u8);
        }
        if first > 0 {
            all.use_alignment(of);
        }
        let run = (first..64).take_while(|&j| image[j] == Bit::Of(w, j as u8));
        let whole = whole & !low(i) | number(&image[..first]);
        (of, whole, (first + run.count()) as u8)
    }

    /// The value with the lowest bits of a linear one, and all others lost.
    pub(crate) fn of_low(&mut self, (of, number): (Prov, u64), bits: u8, width: u8) -> Image {
        let mut out = [Bit::Known(false); 64];
        let w = (!of.is_none()).then(|| self.whole(of, number));
        for i in 0..width {
            out[i as usize] = match w {
                _ if i >= bits => Bit::Lost,
                Some(w) => Bit::Of(w, i),
                None => Bit::Known(number >> i & 1 == 1),
            };
        }
        out
    }

    /// A bit of a number below the alignment of what it is of is known.
    pub(crate) fn settled(&self, all: &mut Provenances, bit: Bit) -> Bit {
        match self.flipped(all, bit) {
            Bit::Known(b) => Bit::Known(!b),
            _ => bit,
        }
    }

    /// The provenance of a value with these bits.
    pub(crate) fn provenance(&self, all: &mut Provenances, image: &Image, width: u8) -> Prov {
        let bits = &image[..width as usize];
        if let Some(from) = bits.iter().position(|b| *b == Bit::Lost) {
            return self.partial(all, bits, from);
        }
        let mut pieces = self.pieces(all, bits);
        if pieces.is_empty() {
            return Prov::NONE;
        }
        if let Some(p) = as_linear(all, &pieces, image, width) {
            return p;
        }
        for p in pieces.iter_mut().filter(|p| p.low + p.len <= WINDOW_ALIGN) {
            if let Some(own) = all.without_window(p.of, p.whole) {
                (p.of, p.whole) = own;
            }
        }
        // Bits below the alignment are those of the number.
        let mut kept = Vec::with_capacity(pieces.len());
        for p in &mut pieces {
            let known = all.aligned(p.of).saturating_sub(p.low).min(p.len);
            if known > 0 && known == p.len {
                all.use_alignment(p.of);
                continue;
            }
            kept.push(*p);
        }
        if let [p] = kept[..] {
            if let Some(linear) = as_linear(all, &kept, image, width) {
                return linear;
            }
            let n = all.significant(p.of, p.whole, width);
            let top = p.at + p.len == n && is_clear(all, image, n, width);
            if p.at == p.low
                && top
                && let Some(r) = all.rounded(p.of, p.whole, p.at)
            {
                return r;
            }
        }
        if kept.is_empty() {
            return Prov::NONE;
        }
        all.ask_for(&kept);
        all.intern(Shape::Pieces(kept.into()))
    }
}

/// Bits from one on, of so many, with zeros above.
pub(crate) fn shifted_down(image: &Image, by: u8, width: u8) -> Image {
    let mut out = [Bit::Known(false); 64];
    for (i, b) in out.iter_mut().enumerate().take(width as usize) {
        if let Some(from) = image.get(i + by as usize) {
            *b = *from;
        }
    }
    out
}

impl Provenances {
    /// What the words of a value of 64 bits carry.
    pub(crate) fn halves(&mut self, p: Prov, number: Option<u64>) -> [Prov; 2] {
        let Some(n) = number else {
            return [false, true].map(|high| self.intern(Shape::Half(p, high)));
        };
        [0, 32].map(|bits| self.extracted(p, Some(n), bits, 32))
    }

    /// What `width` bits from a bit on carry of a value of at most 64.
    pub(crate) fn extracted(&mut self, p: Prov, number: Option<u64>, bits: u8, width: u8) -> Prov {
        let mut images = Images::default();
        let all = images.of(self, p, number, 64);
        let image = shifted_down(&all, bits, width);
        images.provenance(self, &image, width)
    }

    /// What a value carries that is extended, by its sign or by zeros.
    pub(crate) fn widened(
        &mut self,
        p: Prov,
        number: Option<u64>,
        (from, signed): (u8, bool),
        width: u8,
    ) -> Prov {
        let mut images = Images::default();
        let mut image = images.of(self, p, number, from);
        if from < width {
            let top = match (signed, image[from as usize - 1]) {
                (false, _) => Bit::Known(false),
                (true, k @ Bit::Known(_)) => k,
                (true, _) => Bit::Lost,
            };
            image[from as usize..].fill(top);
        }
        images.provenance(self, &image, width)
    }

    /// What a value of 64 bits carries whose words carry these and hold these numbers; `one` if
    /// they are the words of one value.
    pub(crate) fn joined(&mut self, words: [(Prov, Option<u64>); 2], one: bool) -> Prov {
        if let (Shape::Half(p, false), Shape::Half(q, true)) =
            (self.shape(words[0].0), self.shape(words[1].0))
            && p == q
            && one
        {
            return *p;
        }
        let mut images = Images::default();
        let [a, b] = words.map(|(p, n)| images.of(self, p, n, 32));
        let mut image = a;
        image[32..].copy_from_slice(&b[..32]);
        images.provenance(self, &image, 64)
    }

    /// What a word carries in which `width` bits from a bit on are replaced.
    pub(crate) fn inserted(
        &mut self,
        word: (Prov, Option<u64>),
        new: (Prov, Option<u64>),
        bits: u8,
        width: u8,
    ) -> Prov {
        let mut images = Images::default();
        let mut image = images.of(self, word.0, word.1, 32);
        let part = images.of(self, new.0, new.1, width);
        let to = bits as usize;
        image[to..to + width as usize].copy_from_slice(&part[..width as usize]);
        images.provenance(self, &image, 32)
    }
}

/// True if two linear values are the same in their lowest bits.
fn alike(all: &Provenances, a: (Prov, u64), b: (Prov, u64), bits: u8) -> bool {
    let cut = low(bits);
    let masked = |p: Prov| -> Vec<(BaseId, u64)> {
        let terms = all.terms(p).unwrap_or(&[]).iter();
        let terms = terms.map(|t| (t.0, t.1 & cut));
        terms.filter(|t| t.1 != 0).collect()
    };
    a == b || (a.1 ^ b.1) & cut == 0 && masked(a.0) == masked(b.0)
}

/// True if all bits of a value from one on are zero, but for the rank of a CTA.
fn is_clear(all: &Provenances, image: &Image, from: u8, width: u8) -> bool {
    let ranks = SLOT_BITS as usize..SLOT_BITS as usize + 8;
    let mut above = image
        .iter()
        .enumerate()
        .take(width as usize)
        .skip(from.into());
    above.all(|(i, b)| match b {
        Bit::Known(true) => all.ranks && from == OWN_BITS && ranks.contains(&i),
        b => *b == Bit::Known(false),
    })
}

/// One run that is a linear value but for bits below its alignment.
fn as_linear(all: &mut Provenances, pieces: &[Piece], image: &Image, width: u8) -> Option<Prov> {
    let [p] = pieces else { return None };
    let n = all.significant(p.of, p.whole, width);
    let whole = p.at == p.low && p.at + p.len == n && is_clear(all, image, n, width);
    if !whole || p.at > all.aligned(p.of) {
        return None;
    }
    if p.at > 0 {
        all.use_alignment(p.of);
    }
    all.sum(Prov::NONE, p.of, 1, width)
}
