//! Machine words of an arbitrary thread, as expressions that are equal when their ids are.
//!
//! Problem: registers hold functions of the thread, of the sizes of the launch, of loaded data and of how often loops
//! have run. A word is a node over symbols; a predicate is a word of one bit. Operands come before what uses them, so that
//! every walk is a loop. Rewriting is that of constants, of neutral operands, and of conditions that meet again; nothing
//! that needs a range.
//!
//! A symbol has a level: the same in the whole grid, in a CTA, or one thread's own. What is made of symbols of one level
//! is of that level, which is how uniform values are known.

use rustc_hash::{FxHashMap, FxHashSet};

use super::limits::MAX_NODES;
use crate::term::{BitsOp, TermId, TermStore, fold_bits, sext};
use crate::work;

/// A node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Id(pub u32);

/// Who shares a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Grid,
    Cta,
    Thread,
}

/// A comparison of two words of one width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Order {
    Equal,
    /// Less, unsigned.
    Below,
    /// Less, signed.
    Less,
}

/// What a node is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Node {
    Const(u64),
    Symbol(u32),
    /// The address of the first byte of an object in its own state space, or where such a space lies in generic ones.
    Base(u32),
    Word(BitsOp, Id, Id),
    Compare(Order, Id, Id),
    Choose(Id, Id, Id),
    /// Zeros above.
    Wide(Id),
    /// Copies of the sign above.
    Signed(Id),
    /// The low bits.
    Low(Id),
    /// A function of which only this is known: equal operands give equal results.
    Function(u64, Box<[Id]>),
}

/// A symbol.
#[derive(Clone, Debug)]
pub(super) struct Symbol {
    pub width: u8,
    pub level: Level,
    /// The loop in whose iterations it has a value each.
    pub of: Option<usize>,
    /// Bounds, unsigned.
    pub range: (u64, u64),
    /// Low bits that are zero in every value.
    pub zeros: u8,
    /// Whether data of an array that the launch does not write choose it.
    pub data: bool,
}

impl Symbol {
    /// Any word of a thread.
    pub(super) fn any(width: u8, of: Option<usize>) -> Symbol {
        Symbol {
            width,
            level: Level::Thread,
            of,
            range: (0, mask(width)),
            zeros: 0,
            data: false,
        }
    }
}

/// Bits of another word in a word of zeros.
#[derive(Clone, Copy, Debug)]
struct Run {
    of: Id,
    /// The first bit in the other word, how many there are, and where they stand.
    low: u8,
    len: u8,
    at: u8,
}

/// Functions with this in their tag are what an array holds that the launch does not write.
pub(super) const CONTENTS: u64 = 1 << 61;
/// What a parameter holds.
pub(super) const PARAMETER: u64 = 1 << 62;

/// Terms that meanings were written as, and what each is that was read back.
#[derive(Default)]
pub(super) struct Meanings {
    pub store: TermStore,
    pub known: FxHashMap<TermId, Id>,
}

/// All nodes and symbols.
pub(super) struct Exprs {
    nodes: Vec<(Node, u8, Level)>,
    /// Low bits of each node that are known to be zero.
    zeros: Vec<u8>,
    /// Whether data are among what each node is made of.
    data: Vec<bool>,
    /// Whether where objects lie is among what each node is made of.
    based: Vec<bool>,
    /// The run of bits that each node is; of most nodes all of their own.
    runs: Vec<Run>,
    ids: FxHashMap<(Node, u8), Id>,
    pub symbols: Vec<Symbol>,
    /// What instructions mean that were read.
    pub meanings: Meanings,
    /// True once there are too many nodes: nothing is claimed from then on.
    pub full: bool,
}

/// The low bits set.
pub(super) fn mask(width: u8) -> u64 {
    u64::MAX >> (64 - u32::from(width.clamp(1, 64)))
}

impl Exprs {
    pub(super) fn new() -> Exprs {
        Exprs {
            nodes: Vec::new(),
            zeros: Vec::new(),
            data: Vec::new(),
            based: Vec::new(),
            runs: Vec::new(),
            ids: FxHashMap::default(),
            symbols: Vec::new(),
            meanings: Meanings::default(),
            full: false,
        }
    }

    fn make(&mut self, node: Node, width: u8) -> Id {
        work::spend(1);
        let key = (node, width);
        if let Some(&id) = self.ids.get(&key) {
            return id;
        }
        if self.nodes.len() >= MAX_NODES {
            self.full = true;
            return Id(0);
        }
        let level = match &key.0 {
            Node::Const(_) | Node::Base(_) => Level::Grid,
            Node::Symbol(s) => self.symbols[*s as usize].level,
            node => {
                let mut level = Level::Grid;
                operands(node, |id| level = level.max(self.level(id)));
                level
            }
        };
        let run = self.run(&key.0, width);
        // What was taken apart and put together again is what it was.
        if let Some(Run {
            of, low: 0, at: 0, ..
        }) = run.filter(|r| r.len == width && self.width(r.of) == width)
        {
            return of;
        }
        let id = Id(self.nodes.len() as u32);
        self.runs.push(run.unwrap_or(Run {
            of: id,
            low: 0,
            len: width,
            at: 0,
        }));
        self.zeros.push(self.low_zeros(&key.0, width));
        self.data.push(self.has_data(&key.0));
        self.based.push(self.is_based(&key.0));
        self.nodes.push((key.0.clone(), width, level));
        self.ids.insert(key, id);
        id
    }

    /// Low bits that are zero whatever the symbols are, for a node whose operands are there.
    fn low_zeros(&self, node: &Node, width: u8) -> u8 {
        let of = |id: &Id| self.zeros[id.0 as usize];
        let known = match node {
            Node::Const(0) => width,
            Node::Const(v) => v.trailing_zeros() as u8,
            Node::Word(BitsOp::Add | BitsOp::Or | BitsOp::Xor, a, b) => of(a).min(of(b)),
            Node::Word(BitsOp::Mul, a, b) => of(a).saturating_add(of(b)),
            Node::Word(BitsOp::And, a, b) => of(a).max(of(b)),
            Node::Choose(_, a, b) => of(a).min(of(b)),
            Node::Wide(a) | Node::Signed(a) | Node::Low(a) => of(a),
            Node::Symbol(s) => self.symbols[*s as usize].zeros,
            Node::Word(..) | Node::Base(_) | Node::Compare(..) | Node::Function(..) => 0,
        };
        known.min(width)
    }

    /// The bits of another word that a node is, whose operands are there.
    fn run(&self, node: &Node, width: u8) -> Option<Run> {
        let of = |id: &Id| self.runs[id.0 as usize];
        let below = |r: Run, end: u8| {
            let len = end.checked_sub(r.at)?.min(r.len);
            (len > 0).then_some(Run { len, ..r })
        };
        let from = |r: Run, start: u8| match start.saturating_sub(r.at) {
            0 => Some(r),
            cut if cut < r.len => Some(Run {
                low: r.low + cut,
                len: r.len - cut,
                at: start,
                ..r
            }),
            _ => None,
        };
        match node {
            Node::Wide(a) => Some(of(a)),
            Node::Low(a) => below(of(a), width),
            Node::Word(BitsOp::LShr, a, by) => {
                let by = u8::try_from(self.value(*by)?).ok().filter(|n| *n < width)?;
                let r = from(of(a), by)?;
                Some(Run { at: r.at - by, ..r })
            }
            Node::Word(BitsOp::Mul, a, k) => {
                let k = self.value(*k).filter(|k| k.is_power_of_two())?;
                let (r, by) = (of(a), k.trailing_zeros() as u8);
                let at = r.at.checked_add(by)?;
                below(Run { at, ..r }, width)
            }
            Node::Word(BitsOp::And, a, c) => {
                let (r, c) = (of(a), self.value(*c)?);
                let above = c.trailing_zeros().min(64) as u8;
                let run = c.checked_shr(u32::from(above))?;
                let ones = run.trailing_ones() as u8;
                match run.checked_shr(u32::from(ones)).unwrap_or(0) {
                    0 => below(from(r, above)?, above + ones),
                    _ => None,
                }
            }
            Node::Word(BitsOp::Or | BitsOp::Add | BitsOp::Xor, a, b) => {
                let (x, y) = (of(a), of(b));
                let (x, y) = if x.at <= y.at { (x, y) } else { (y, x) };
                let goes_on = x.of == y.of && x.at + x.len == y.at && x.low + x.len == y.low;
                goes_on.then_some(Run {
                    len: x.len + y.len,
                    ..x
                })
            }
            Node::Const(_)
            | Node::Symbol(_)
            | Node::Base(_)
            | Node::Word(..)
            | Node::Compare(..)
            | Node::Choose(..)
            | Node::Signed(_)
            | Node::Function(..) => None,
        }
    }

    pub(super) fn node(&self, id: Id) -> &Node {
        &self.nodes[id.0 as usize].0
    }

    pub(super) fn width(&self, id: Id) -> u8 {
        self.nodes[id.0 as usize].1
    }

    /// The first of the bits of another word that a word is made of, and how many there are.
    pub(super) fn bits_of(&self, id: Id, other: Id) -> Option<(u8, u8)> {
        let run = self.runs[id.0 as usize];
        (run.of == other).then_some((run.low, run.len))
    }

    pub(super) fn level(&self, id: Id) -> Level {
        self.nodes[id.0 as usize].2
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    fn has_data(&self, node: &Node) -> bool {
        let mut any = match node {
            Node::Symbol(s) => self.symbols[*s as usize].data,
            Node::Function(tag, _) => tag & CONTENTS != 0,
            Node::Const(_)
            | Node::Base(_)
            | Node::Word(..)
            | Node::Compare(..)
            | Node::Choose(..)
            | Node::Wide(_)
            | Node::Signed(_)
            | Node::Low(_) => false,
        };
        operands(node, |id| any |= self.data[id.0 as usize]);
        any
    }

    fn is_based(&self, node: &Node) -> bool {
        let mut any = matches!(node, Node::Base(_));
        // Whichever way a test comes out, what follows is asked for.
        if !matches!(node, Node::Compare(..)) {
            operands(node, |id| any |= self.based[id.0 as usize]);
        }
        any
    }

    /// Whether where objects lie is among what the word is made of, other than by a test.
    pub(super) fn has_base(&self, id: Id) -> bool {
        self.based[id.0 as usize]
    }

    /// Whether data of arrays that the launch does not write are among what the word is made of.
    pub(super) fn is_data(&self, id: Id) -> bool {
        self.data[id.0 as usize]
    }

    /// The objects whose contents are among what a word is made of; `None` for data that come by another way.
    pub(super) fn data_of(&self, word: Id) -> FxHashSet<Option<u32>> {
        let (mut out, mut seen) = (FxHashSet::default(), FxHashSet::default());
        let mut stack = vec![word];
        while let Some(id) = stack.pop() {
            work::spend(1);
            if !self.is_data(id) || !seen.insert(id) {
                continue;
            }
            match self.node(id) {
                Node::Function(tag, _) if tag & CONTENTS != 0 => {
                    out.insert(Some((tag & !CONTENTS) as u32 >> 8));
                }
                Node::Symbol(_) => {
                    out.insert(None);
                }
                _ => {}
            }
            operands(self.node(id), |o| stack.push(o));
        }
        out
    }

    /// Whether one of some symbols is among what a word is made of.
    pub(super) fn is_among(&self, word: Id, symbols: &[Id]) -> bool {
        let below = self.symbols_of(&[word]);
        let named = symbols.iter().filter_map(|s| match self.node(*s) {
            Node::Symbol(s) => Some(*s),
            _ => None,
        });
        named.into_iter().any(|s| below.contains(&s))
    }

    /// Low bits that are zero whatever the symbols are.
    pub(super) fn zeros(&self, id: Id) -> u8 {
        self.zeros[id.0 as usize]
    }

    pub(super) fn value(&self, id: Id) -> Option<u64> {
        match self.node(id) {
            Node::Const(v) => Some(*v),
            _ => None,
        }
    }

    pub(super) fn constant(&mut self, value: u64, width: u8) -> Id {
        self.make(Node::Const(value & mask(width)), width)
    }

    pub(super) fn truth(&mut self, b: bool) -> Id {
        self.constant(u64::from(b), 1)
    }

    /// A new symbol.
    pub(super) fn symbol(&mut self, symbol: Symbol) -> Id {
        let width = symbol.width;
        self.symbols.push(symbol);
        self.make(Node::Symbol(self.symbols.len() as u32 - 1), width)
    }

    /// The node of a symbol.
    pub(super) fn symbol_node(&mut self, s: u32) -> Id {
        let width = self.symbols[s as usize].width;
        self.make(Node::Symbol(s), width)
    }

    /// A new symbol without bounds.
    pub(super) fn fresh(&mut self, width: u8, level: Level, of: Option<usize>) -> Id {
        self.symbol(Symbol {
            level,
            ..Symbol::any(width, of)
        })
    }

    pub(super) fn base(&mut self, object: u32, width: u8) -> Id {
        self.make(Node::Base(object), width)
    }

    pub(super) fn function(&mut self, tag: u64, of: Vec<Id>, width: u8) -> Id {
        self.make(Node::Function(tag, of.into()), width)
    }

    pub(super) fn word(&mut self, op: BitsOp, a: Id, b: Id) -> Id {
        let w = self.width(a);
        let (mut a, mut b) = (a, b);
        if let (Some(x), Some(y)) = (self.value(a), self.value(b))
            && let Some(v) = fold_bits(op, w, x, y)
        {
            return self.constant(v, w);
        }
        let commutes = matches!(
            op,
            BitsOp::Add | BitsOp::Mul | BitsOp::And | BitsOp::Or | BitsOp::Xor
        );
        // A constant stands on the right, and the order of other operands says nothing.
        if commutes && (self.value(a).is_some() || self.value(b).is_none() && b < a) {
            (a, b) = (b, a);
        }
        let ones = mask(w);
        match (op, self.value(b)) {
            (BitsOp::Add | BitsOp::Or | BitsOp::Xor, Some(0))
            | (BitsOp::Shl | BitsOp::LShr | BitsOp::AShr, Some(0))
            | (BitsOp::Mul | BitsOp::UDiv | BitsOp::SDiv, Some(1)) => return a,
            (BitsOp::Mul | BitsOp::And, Some(0)) => return b,
            (BitsOp::And, Some(v)) if v == ones => return a,
            (BitsOp::And, Some(v))
                if v.trailing_zeros() < 64
                    && 64 - v.leading_zeros() <= u32::from(self.zeros[a.0 as usize]) =>
            {
                return self.constant(0, w);
            }
            (BitsOp::Or, Some(v)) if v == ones => return b,
            (BitsOp::Shl, Some(by)) if by < u64::from(w) => {
                let factor = self.constant(1 << by, w);
                return self.word(BitsOp::Mul, a, factor);
            }
            (BitsOp::UDiv, Some(v)) if v.is_power_of_two() => {
                let by = self.constant(u64::from(v.trailing_zeros()), w);
                return self.word(BitsOp::LShr, a, by);
            }
            (BitsOp::URem, Some(v)) if v.is_power_of_two() => {
                let low = self.constant(v - 1, w);
                return self.word(BitsOp::And, a, low);
            }
            // (x + c) + d is x + (c + d), and so are products, and complements of complements.
            (BitsOp::Add | BitsOp::Mul | BitsOp::Xor | BitsOp::And, Some(d)) => {
                if let Node::Word(inner, x, c) = *self.node(a)
                    && inner == op
                    && let Some(c) = self.value(c)
                    && let Some(v) = fold_bits(op, w, c, d)
                {
                    let c = self.constant(v, w);
                    return self.word(op, x, c);
                }
            }
            _ => {}
        }
        if a == b {
            match op {
                BitsOp::And | BitsOp::Or => return a,
                BitsOp::Xor => return self.constant(0, w),
                _ => {}
            }
        }
        if w == 1
            && let Some(known) = self.condition(op, a, b)
        {
            return known;
        }
        self.make(Node::Word(op, a, b), w)
    }

    pub(super) fn not(&mut self, a: Id) -> Id {
        let w = self.width(a);
        let ones = self.constant(mask(w), w);
        self.word(BitsOp::Xor, a, ones)
    }

    pub(super) fn and(&mut self, a: Id, b: Id) -> Id {
        self.word(BitsOp::And, a, b)
    }

    pub(super) fn or(&mut self, a: Id, b: Id) -> Id {
        self.word(BitsOp::Or, a, b)
    }

    pub(super) fn add(&mut self, a: Id, b: Id) -> Id {
        self.word(BitsOp::Add, a, b)
    }

    pub(super) fn minus(&mut self, a: Id, b: Id) -> Id {
        let w = self.width(a);
        if a == b {
            return self.constant(0, w);
        }
        let minus_one = self.constant(mask(w), w);
        let negative = self.word(BitsOp::Mul, b, minus_one);
        self.add(a, negative)
    }

    pub(super) fn compare(&mut self, order: Order, a: Id, b: Id) -> Id {
        let w = self.width(a);
        if let (Some(x), Some(y)) = (self.value(a), self.value(b)) {
            let v = match order {
                Order::Equal => x == y,
                Order::Below => x < y,
                Order::Less => sext(x, w) < sext(y, w),
            };
            return self.truth(v);
        }
        if a == b {
            return self.truth(order == Order::Equal);
        }
        if order == Order::Below && self.value(b) == Some(0) {
            return self.truth(false);
        }
        if order == Order::Equal {
            let (a, b) = match self.value(a).is_some() || self.value(b).is_none() && b < a {
                true => (b, a),
                false => (a, b),
            };
            if w == 1 {
                let different = self.word(BitsOp::Xor, a, b);
                return self.not(different);
            }
            return self.make(Node::Compare(order, a, b), 1);
        }
        self.make(Node::Compare(order, a, b), 1)
    }

    pub(super) fn choose(&mut self, p: Id, a: Id, b: Id) -> Id {
        match self.value(p) {
            Some(0) => return b,
            Some(_) => return a,
            None if a == b => return a,
            None => {}
        }
        if self.width(a) == 1 {
            let not = self.not(p);
            let (x, y) = (self.and(p, a), self.and(not, b));
            return self.or(x, y);
        }
        if let Node::Choose(q, _, y) = *self.node(b)
            && q == p
        {
            return self.choose(p, a, y);
        }
        let w = self.width(a);
        self.make(Node::Choose(p, a, b), w)
    }

    /// The word at another width, by its sign or by zeros above.
    pub(super) fn resize(&mut self, a: Id, width: u8, sign: bool) -> Id {
        let w = self.width(a);
        if let Some(v) = self.value(a) {
            let v = match sign {
                true => sext(v, w) as u64,
                false => v,
            };
            return self.constant(v, width);
        }
        match (width.cmp(&w), self.node(a).clone()) {
            (std::cmp::Ordering::Equal, _) => a,
            (std::cmp::Ordering::Less, Node::Wide(x) | Node::Signed(x))
                if self.width(x) >= width =>
            {
                self.resize(x, width, false)
            }
            (std::cmp::Ordering::Less, Node::Low(x)) => self.resize(x, width, false),
            (std::cmp::Ordering::Less, _) => self.make(Node::Low(a), width),
            (std::cmp::Ordering::Greater, Node::Wide(x)) => self.make(Node::Wide(x), width),
            (std::cmp::Ordering::Greater, _) if sign => self.make(Node::Signed(a), width),
            (std::cmp::Ordering::Greater, _) => self.make(Node::Wide(a), width),
        }
    }

    /// The expressions with some nodes put in the place of others.
    pub(super) fn substitute(&mut self, ids: &[Id], map: &FxHashMap<Id, Id>) -> Vec<Id> {
        self.rewritten(ids, &mut map.clone())
    }

    /// The same for many calls, which share what became of each node.
    pub(super) fn rewritten(&mut self, ids: &[Id], done: &mut FxHashMap<Id, Id>) -> Vec<Id> {
        let mut out = Vec::with_capacity(ids.len());
        for &root in ids {
            let mut stack = vec![root];
            while let Some(&id) = stack.last() {
                work::spend(1);
                if done.contains_key(&id) || self.full {
                    stack.pop();
                    continue;
                }
                let node = self.node(id).clone();
                let mut open = Vec::new();
                operands(&node, |o| {
                    if !done.contains_key(&o) {
                        open.push(o);
                    }
                });
                if !open.is_empty() {
                    stack.extend(open);
                    continue;
                }
                stack.pop();
                let w = self.width(id);
                let of = |o: Id| done[&o];
                let new = match node {
                    Node::Const(_) | Node::Symbol(_) | Node::Base(_) => id,
                    Node::Word(op, a, b) => self.word(op, of(a), of(b)),
                    Node::Compare(order, a, b) => self.compare(order, of(a), of(b)),
                    Node::Choose(p, a, b) => self.choose(of(p), of(a), of(b)),
                    Node::Wide(a) => self.resize(of(a), w, false),
                    Node::Signed(a) => self.resize(of(a), w, true),
                    Node::Low(a) => self.resize(of(a), w, false),
                    Node::Function(tag, list) => {
                        let list = list.iter().map(|&o| of(o)).collect();
                        self.function(tag, list, w)
                    }
                };
                done.insert(id, new);
            }
            out.push(done.get(&root).copied().unwrap_or(root));
        }
        out
    }

    /// The symbols below some nodes.
    pub(super) fn symbols_of(&self, ids: &[Id]) -> Vec<u32> {
        let mut seen = FxHashSet::default();
        let mut out = Vec::new();
        let mut stack = ids.to_vec();
        while let Some(id) = stack.pop() {
            work::spend(1);
            if !seen.insert(id) {
                continue;
            }
            if let Node::Symbol(s) = self.node(id) {
                out.push(*s);
            }
            operands(self.node(id), |o| stack.push(o));
        }
        out.sort_unstable();
        out
    }

    /// Whether a product or quotient of two words that are no constants is in it, which gates only spell out at length.
    pub(super) fn has_product(&self, id: Id) -> bool {
        let (mut stack, mut seen) = (vec![id], FxHashSet::default());
        while let Some(id) = stack.pop() {
            work::spend(1);
            if !seen.insert(id) {
                continue;
            }
            let node = self.node(id);
            if let Node::Word(
                BitsOp::Mul | BitsOp::UDiv | BitsOp::URem | BitsOp::SDiv | BitsOp::SRem,
                _,
                b,
            ) = node
                && self.value(*b).is_none()
            {
                return true;
            }
            operands(node, |o| stack.push(o));
        }
        false
    }

    /// A word as another one and a constant.
    pub(super) fn displaced(&self, id: Id) -> (Id, i64) {
        match *self.node(id) {
            Node::Word(BitsOp::Add, a, b) => match self.value(b) {
                Some(v) => (a, sext(v, self.width(id))),
                None => (id, 0),
            },
            _ => (id, 0),
        }
    }
}

/// Calls `f` with each operand of a node.
pub(super) fn operands(node: &Node, mut f: impl FnMut(Id)) {
    match node {
        Node::Const(_) | Node::Symbol(_) | Node::Base(_) => {}
        Node::Word(_, a, b) | Node::Compare(_, a, b) => {
            f(*a);
            f(*b);
        }
        Node::Choose(p, a, b) => {
            f(*p);
            f(*a);
            f(*b);
        }
        Node::Wide(a) | Node::Signed(a) | Node::Low(a) => f(*a),
        Node::Function(_, list) => list.iter().for_each(|o| f(*o)),
    }
}
