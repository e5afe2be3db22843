//! The memory that several CTAs leave, from what each leaves alone.
//!
//! Each CTA was run from the initial memory. Where the written bytes of two are apart, memory
//! holds what either wrote. Where both updated an element by atomics of one commutative operation
//! whose old values nobody used, each holds the initial value with its own updates, and memory
//! holds the initial value with the updates of both: `x + y - initial` for sums, `x ^ y ^ initial`
//! for exclusive or, and `x op y` for operations that are idempotent. Float sums are sums of reals.
//!
//! Sound: a place where anything else meets is kept as it was, and is a finding of `between`.

use std::collections::{BTreeMap, BTreeSet};

use crate::kernel::{AtomOp, FloatMods, FloatOp, Fmt, Kernel, NumTy, Pc};
use crate::number;
use crate::sim::guarded::Guard;
use crate::sim::race::AccessKind;
use crate::sim::{Outcome, Writes};
use crate::spec::{Arrays, Bindings};
use crate::term::left::{self, cut, piece_bytes, read, write};
use crate::term::overflow::Narrow;
use crate::term::word::{Does, Operation};
use crate::term::{
    Agreement, ArrayId, BitsOp, Copied, ICmp, Serials, Sort, Term, TermId, TermStore,
};

use super::between::{Meeting, Met, Overlap, Record};
use super::guards::Guards;

/// Two writes of an element by different CTAs.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    /// The array.
    pub array: ArrayId,
    /// Offset of the element.
    pub off: u64,
    /// What the earlier CTA wrote, and the later one.
    pub values: (TermId, TermId),
    /// The accesses.
    pub records: (Record, Record),
    /// Computed numbers, which can be equal over the reals only.
    pub real: bool,
}

/// Elements that two instructions wrote in different CTAs with the same term.
#[derive(Clone, Copy, Debug)]
pub struct Equal {
    /// The array of the first one.
    pub array: ArrayId,
    /// Its offset.
    pub off: u64,
    /// Its accesses.
    pub records: (Record, Record),
    /// Equal over the reals only.
    pub real: bool,
    /// Number of elements.
    pub count: u64,
}

/// What the CTAs so far leave.
#[derive(Debug, Default)]
pub struct Memory {
    /// The terms.
    pub store: TermStore,
    /// The written pieces of each array.
    pub writes: BTreeMap<ArrayId, Writes>,
    /// Plain writes of the same element, to be compared.
    pub pairs: Vec<Pair>,
    /// Plain writes of the same term, by instructions.
    pub equal: BTreeMap<(Pc, Pc, bool), Equal>,
    /// Elements whose initial content is not known, so that their updates cannot be joined.
    pub lost: Vec<(ArrayId, u64)>,
    /// Elements at which accesses under conditions may meet.
    pub met: Vec<Met>,
    /// The conditions of all accesses so far.
    guards: Guards,
    /// Those of some CTA are not known.
    has_more: bool,
    /// Number of fresh symbols.
    pub fresh: u32,
    /// What was brought to formats that hold less.
    pub narrow: Narrow,
    /// What was copied of what the launches before left.
    copied: Copied,
    any: bool,
}

/// Where initial content comes from.
#[derive(Clone, Copy, Debug)]
pub struct Initials<'a> {
    /// The kernel, for the initialisers of its variables.
    pub kernel: &'a Kernel,
    /// Which arrays the variables are.
    pub bindings: &'a Bindings,
    /// The arrays.
    pub arrays: &'a Arrays,
    /// Floats are words, so that bits are asked.
    pub by_words: bool,
}

impl Initials<'_> {
    /// The bits of an array before the launch, where they are known.
    fn bits(&self, into: &mut left::Copy, array: ArrayId, off: u64, bytes: u64) -> Option<TermId> {
        let first = |s: &mut TermStore, at, n| self.first_bits(s, array, at, n);
        if let Some(left) = &self.bindings.left {
            let found = left.touching(array, off, off + bytes);
            if !found.is_empty() {
                return left.bits(&found, (off, off + bytes), into, first);
            }
        }
        first(into.store, off, bytes)
    }

    /// The bits of an array before the first launch, where they are known.
    fn first_bits(
        &self,
        store: &mut TermStore,
        array: ArrayId,
        off: u64,
        bytes: u64,
    ) -> Option<TermId> {
        let width = bytes as u8 * 8;
        if self.arrays[array].begins_unset() {
            return None;
        }
        let mut globals = self.kernel.globals.iter().zip(&self.bindings.globals);
        if let Some((var, _)) = globals.find(|(v, a)| **a == array && !v.relocs.is_empty()) {
            let near = |r: u64| r < off + bytes && off < r + 8;
            if var.relocs.iter().any(|r| near(r.0)) || off + bytes > var.bytes {
                return None;
            }
            let byte = |i: u64| var.init.get((off + i) as usize).copied().unwrap_or(0);
            let value = (0..bytes).fold(0, |v, i| v | (byte(i) as u64) << (8 * i));
            return Some(store.bits(width, value));
        }
        let pointers = self.arrays[array].pointers.iter().flat_map(|p| p.iter());
        if pointers.clone().any(|p| p.0 < off + bytes && off < p.0 + 8) {
            return None;
        }
        Some(match self.arrays[array].initial_bits(off..off + bytes) {
            Some(value) => store.bits(width, value),
            None => store.bytes(array, off, width),
        })
    }
}

/// `x` and `y`, each the initial value with its own updates, as one value with both.
fn combine(
    store: &mut TermStore,
    kind: AccessKind,
    [x, y, initial]: [TermId; 3],
    by_words: bool,
) -> Option<TermId> {
    let AccessKind::Atomic { op, ty, .. } = kind else {
        return None;
    };
    match ty {
        NumTy::Float(f) if by_words => match [x, y].map(|t| store.as_bits(t)) {
            [Some(x), Some(y)] if is_whole(store, initial, f) => {
                let extremum = combine_known(op, f, [x, y])?;
                Some(store.bits(f.bits() as u8, extremum))
            }
            _ => combine_words(store, [x, y, initial]),
        },
        NumTy::Float(f @ (Fmt::F32 | Fmt::F64)) if op != AtomOp::Add => {
            combine_encodings(store, (op, f), [x, y])
        }
        NumTy::Float(f) => {
            let [p, q, i] = [x, y, initial].map(|t| store.of_bits(f, t));
            let r = match op {
                AtomOp::Add => {
                    let update = store.sub(q, i);
                    let sum = store.add(p, update);
                    store.note_several_makers(sum);
                    sum
                }
                AtomOp::Min => store.min(p, q),
                AtomOp::Max => store.max(p, q),
                _ => return None,
            };
            Some(store.of_real(f, r))
        }
        NumTy::Int(t) => {
            let width = t.width;
            Some(match op {
                AtomOp::Add => {
                    let minus = store.bits(width, u64::MAX >> (64 - width as u32));
                    let minus = store.bits_op(BitsOp::Mul, initial, minus);
                    let update = store.bits_op(BitsOp::Add, y, minus);
                    store.bits_op(BitsOp::Add, x, update)
                }
                AtomOp::Xor => {
                    let update = store.bits_op(BitsOp::Xor, y, initial);
                    store.bits_op(BitsOp::Xor, x, update)
                }
                AtomOp::And => store.bits_op(BitsOp::And, x, y),
                AtomOp::Or => store.bits_op(BitsOp::Or, x, y),
                AtomOp::Min | AtomOp::Max => {
                    let less = if t.signed { ICmp::SLt } else { ICmp::ULt };
                    let p = store.icmp(less, x, y);
                    match op {
                        AtomOp::Min => store.select(p, x, y),
                        _ => store.select(p, y, x),
                    }
                }
                // All gave the same operand.
                AtomOp::Exch if x == y => x,
                _ => return None,
            })
        }
    }
}

/// The same of encodings that integer atomics order by the sign bit ([`crate::sim::by_sign`]): known ones in that order,
/// whatever they encode, others as the numbers that they are.
fn combine_encodings(
    store: &mut TermStore,
    (op, f): (AtomOp, Fmt),
    [x, y]: [TermId; 2],
) -> Option<TermId> {
    if let [Some(a), Some(b)] = [x, y].map(|t| store.as_bits(t)) {
        return Some(store.bits(f.bits() as u8, combine_known(op, f, [a, b])?));
    }
    // A zero has two encodings, of which the real says nothing.
    let minus_zero = 1 << (f.bits() - 1);
    let encodes = |t: TermId| match store.get(t) {
        Term::OfReal { fmt, .. } => fmt == f,
        Term::BitsConst { value, .. } => value != minus_zero,
        _ => false,
    };
    if !encodes(x) || !encodes(y) {
        return None;
    }
    let [p, q] = [x, y].map(|t| store.of_bits(f, t));
    if !store.is_number(p) || !store.is_number(q) {
        return None;
    }
    let r = match op {
        AtomOp::Min => store.min(p, q),
        AtomOp::Max => store.max(p, q),
        _ => return None,
    };
    Some(store.of_real(f, r))
}

/// True if a piece of memory is one float of a format.
fn is_whole(store: &TermStore, t: TermId, fmt: Fmt) -> bool {
    store.sort(t) == Sort::Bits(fmt.bits() as u8)
}

/// The same of known floats, bit for bit: extrema alone, since of a sum the order decides how it is rounded.
fn combine_known(op: AtomOp, fmt: Fmt, [x, y]: [u64; 2]) -> Option<u64> {
    if let Fmt::F32 | Fmt::F64 = fmt {
        // Without sign bit they lie above all others, and with it the lesser one encodes the larger number.
        let sign = 1u64 << (fmt.bits() - 1);
        let place = |v: u64| {
            if v & sign == 0 {
                v | sign
            } else {
                !v & (sign | (sign - 1))
            }
        };
        return match (op, place(x) >= place(y)) {
            (AtomOp::Max, true) | (AtomOp::Min, false) => Some(x),
            (AtomOp::Max, false) | (AtomOp::Min, true) => Some(y),
            _ => None,
        };
    }
    let op = match op {
        AtomOp::Min => FloatOp::Min,
        AtomOp::Max => FloatOp::Max,
        _ => return None,
    };
    number::operation(op, (fmt, fmt), &FloatMods::default(), [x, y, 0])
}

/// The same where floats are words: two additions onto a zero have the same bits in either order, and extrema in
/// every order; of more additions the order decides.
fn combine_words(store: &mut TermStore, [x, y, initial]: [TermId; 3]) -> Option<TermId> {
    let word = |t: TermId| {
        let word = store.as_word(t)?;
        let operands: Vec<TermId> = word.operands().collect();
        Some((word.operation(store), operands))
    };
    let (first, second) = (word(x)?, word(y)?);
    if first.0 != second.0 {
        return None;
    }
    let zero = store.as_bits(initial) == Some(0);
    let once = |w: &(Operation, Vec<TermId>)| w.1.first() == Some(&initial);
    let update = *second.1.get(1)?;
    match first.0.does {
        Does::Float(FloatOp::Add) if zero && once(&first) && once(&second) => {
            Some(store.word(first.0, &[x, update]))
        }
        Does::Float(FloatOp::Min | FloatOp::Max) => Some(store.word(first.0, &[x, y])),
        _ => None,
    }
}

impl Memory {
    /// Adds what one CTA leaves; `overlaps` say where it meets what is there. Gives what its terms became, where they
    /// are not the same.
    pub fn add(
        &mut self,
        outcome: Outcome,
        overlaps: &[Overlap],
        initials: Initials,
    ) -> Option<Vec<TermId>> {
        let Outcome {
            store,
            fresh,
            first_fresh,
            writes,
            narrow,
            guards,
            ..
        } = outcome;
        self.has_more |= guards.is_none();
        if !std::mem::replace(&mut self.any, true) {
            (self.store, self.writes, self.fresh) = (store, writes, fresh);
            self.narrow = narrow;
            self.guards = Guards::new(guards.unwrap_or_default(), |t| t);
            return None;
        }
        let serials = Serials {
            from: first_fresh,
            by: self.fresh,
        };
        let map = self.store.import_shifted(&store, serials);
        self.narrow.small |= narrow.small;
        let terms = narrow.terms.into_iter().map(|t| map[t.0 as usize]);
        self.narrow.terms.extend(terms);
        self.fresh = self.fresh.wrapping_add(fresh);
        let conditions = Guards::new(guards.unwrap_or_default(), |t| map[t.0 as usize]);
        let guarded = |o: &&Overlap| matches!(o.what, Meeting::Guarded(..));
        let mapped = |w: &Writes| w.iter().map(|(&off, t)| (off, map[t.0 as usize])).collect();
        let all: BTreeMap<ArrayId, Writes> = overlaps
            .iter()
            .filter(guarded)
            .filter_map(|o| Some((o.array, mapped(writes.get(&o.array)?))))
            .collect();
        let apart = self.apart(&conditions, overlaps, &all);
        for (array, pieces) in writes {
            // What an earlier CTA only read is new.
            let is_written = |o: &&Overlap| match o.what {
                Meeting::Guarded(earlier, later) => earlier.kind.writes() && later.kind.writes(),
                _ => true,
            };
            let own = overlaps.iter().filter(|o| o.array == array);
            let mut mine: Vec<&Overlap> = own.filter(is_written).collect();
            let pieces = pieces.into_iter().map(|(off, t)| (off, map[t.0 as usize]));
            if mine.is_empty() {
                let there = self.writes.entry(array).or_default();
                there.extend(pieces);
                continue;
            }
            mine.sort_by_key(|o| (o.start, o.end));
            let pieces: Writes = pieces.collect();
            self.join(array, pieces, &mine, initials);
            for &(lo, hi) in apart.get(&array).into_iter().flatten() {
                self.put_guarded(array, &conditions, (lo, hi), &all);
            }
        }
        self.guards.extend(conditions);
        Some(map)
    }

    /// The elements that this CTA and those before wrote under conditions that exclude each other; others that they
    /// touch under conditions are noted.
    fn apart(
        &mut self,
        own: &Guards,
        overlaps: &[Overlap],
        pieces: &BTreeMap<ArrayId, Writes>,
    ) -> BTreeMap<ArrayId, BTreeSet<(u64, u64)>> {
        let mut out: BTreeMap<ArrayId, BTreeSet<(u64, u64)>> = BTreeMap::new();
        for o in overlaps {
            let Meeting::Guarded(earlier, later) = o.what else {
                continue;
            };
            let elem = later.elem.max(1) as u64;
            for at in (o.start / elem * elem..o.end).step_by(elem as usize) {
                let bytes = (at, at + elem);
                let meets = |p: &&Overlap| p.array == o.array && p.start < bytes.1 && at < p.end;
                let alone = |p: &Overlap| matches!(p.what, Meeting::Guarded(..));
                let known = !self.has_more && overlaps.iter().filter(meets).all(alone);
                let pair = match known {
                    true => self.guards.meet(own, &self.store, o.array, bytes),
                    false => None,
                };
                if !known || pair.is_some() {
                    let cond = pair.and_then(|p| self.differing(&p, bytes, pieces));
                    self.met.push(Met {
                        array: o.array,
                        bytes,
                        records: (earlier, later),
                        cond,
                    });
                } else if earlier.kind.writes() && later.kind.writes() {
                    out.entry(o.array).or_default().insert(bytes);
                }
            }
        }
        out
    }

    /// That both accesses of a pair happen, and two writes of an element leave different values.
    fn differing(
        &mut self,
        [a, b]: &[Guard; 2],
        (lo, hi): (u64, u64),
        pieces: &BTreeMap<ArrayId, Writes>,
    ) -> Option<TermId> {
        let Memory { store, writes, .. } = self;
        let both = store.and(a.cond, b.cond);
        if !a.writes || !b.writes {
            return Some(both);
        }
        if !a.covers(lo, hi) || !b.covers(lo, hi) {
            return None;
        }
        let x = writes.get(&a.array).and_then(|w| read(store, w, lo, hi))?;
        let y = pieces.get(&a.array).and_then(|w| read(store, w, lo, hi))?;
        let (x, y) = (store.taken_under(a.cond, x), store.taken_under(b.cond, y));
        let equal = store.icmp(ICmp::Eq, x, y);
        let differ = store.not(equal);
        Some(store.and(both, differ))
    }

    /// Puts what this CTA wrote under conditions in the place of what is there, where they hold.
    fn put_guarded(
        &mut self,
        array: ArrayId,
        own: &Guards,
        (lo, hi): (u64, u64),
        pieces: &BTreeMap<ArrayId, Writes>,
    ) {
        let Memory { store, writes, .. } = self;
        let there = writes.entry(array).or_default();
        let x = read(store, there, lo, hi);
        let y = pieces.get(&array).and_then(|p| read(store, p, lo, hi));
        let (Some(mut x), Some(y), Some(conds)) = (x, y, own.writes(array, lo, hi)) else {
            self.lost.push((array, lo));
            return;
        };
        for c in conds {
            let not = store.not(c);
            let (v, rest) = (store.taken_under(c, y), store.taken_under(not, x));
            x = store.select(c, v, rest);
        }
        write(store, there, lo, x);
    }

    /// Adds the pieces of an array in which this CTA meets others.
    fn join(&mut self, array: ArrayId, pieces: Writes, overlaps: &[&Overlap], initials: Initials) {
        let Memory {
            store,
            writes,
            copied,
            narrow,
            ..
        } = self;
        let there = writes.entry(array).or_default();
        // Each element is joined once, however many instructions of the CTA updated it.
        let mut done = 0;
        for o in overlaps {
            let elem = match o.what {
                Meeting::Combine(AccessKind::Atomic { ty, .. }) => ty.bits() as u64 / 8,
                Meeting::Same(_, later) | Meeting::Changed(_, later) => later.elem.max(1) as u64,
                _ => continue,
            };
            let first = o.start / elem * elem;
            for at in (first..o.end).step_by(elem as usize) {
                if at < done {
                    continue;
                }
                done = at + elem;
                let x = read(store, there, at, at + elem);
                let y = read(store, &pieces, at, at + elem);
                let (Some(x), Some(y)) = (x, y) else {
                    self.lost.push((array, at));
                    continue;
                };
                let agreement = match o.what {
                    Meeting::Same(..) | Meeting::Changed(..) => store.agreement(x, y),
                    _ => Agreement::Same,
                };
                match o.what {
                    Meeting::Same(earlier, later) | Meeting::Changed(earlier, later)
                        if agreement == Agreement::Open =>
                    {
                        self.pairs.push(Pair {
                            array,
                            off: at,
                            values: (x, y),
                            real: store.takes_made(x, y),
                            records: (earlier, later),
                        })
                    }
                    Meeting::Same(earlier, later) => {
                        let real = agreement == Agreement::Real;
                        if real {
                            let forgotten = store.faced(x);
                            write(store, there, at, forgotten);
                        }
                        let key = (earlier.pc, later.pc, real);
                        let e = self.equal.entry(key).or_insert(Equal {
                            array,
                            off: at,
                            records: (earlier, later),
                            real,
                            count: 0,
                        });
                        e.count += 1;
                    }
                    Meeting::Combine(kind) => {
                        let mut into = left::Copy {
                            store,
                            copied,
                            narrow,
                        };
                        let initial = initials.bits(&mut into, array, at, elem);
                        let joined = initial
                            .and_then(|i| combine(store, kind, [x, y, i], initials.by_words));
                        match joined {
                            Some(t) => write(store, there, at, t),
                            None => self.lost.push((array, at)),
                        }
                    }
                    _ => {}
                }
            }
        }
        // What lies outside of every overlap is new.
        let mut at = 0;
        let mut new = Vec::new();
        let end = pieces
            .last_key_value()
            .map_or(0, |(&off, &t)| off + piece_bytes(store, t));
        for o in overlaps {
            if o.start > at {
                new.extend(cut(store, &pieces, at, o.start));
            }
            at = at.max(o.end);
        }
        if at < end {
            new.extend(cut(store, &pieces, at, end));
        }
        there.extend(new);
    }
}
