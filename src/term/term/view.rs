//! What a node means: the view enum that passes match on, and the layout behind it.

use super::{ArrayId, ConstId, Node, Sort, TermId, TermStore};
use crate::scalar::Fmt;

/// Functions of one real argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Fun {
    /// Square root; undefined below 0.
    Sqrt,
    /// 1 / square root; undefined at and below 0.
    Rsqrt,
    /// 2 to the argument; 0 at -inf.
    Exp2,
    /// Base-2 logarithm; undefined below 0, -inf at 0.
    Log2,
    /// Sine.
    Sin,
    /// Cosine.
    Cos,
    /// Hyperbolic tangent.
    Tanh,
    /// The error function, 2/sqrt(pi) times the integral of exp(-t*t) from 0.
    Erf,
    /// Absolute value.
    Abs,
    /// Largest integer not above.
    Floor,
    /// Smallest integer not below.
    Ceil,
    /// Integer part.
    Trunc,
    /// Nearest integer, ties to even.
    RoundEven,
}

impl Fun {
    pub(super) const ALL: [Fun; 13] = [
        Fun::Sqrt,
        Fun::Rsqrt,
        Fun::Exp2,
        Fun::Log2,
        Fun::Sin,
        Fun::Cos,
        Fun::Tanh,
        Fun::Erf,
        Fun::Abs,
        Fun::Floor,
        Fun::Ceil,
        Fun::Trunc,
        Fun::RoundEven,
    ];
}

impl Fun {
    /// True for those that make an integer of a number, an infinity of the same infinity, and nothing else of what is
    /// no number.
    pub(crate) fn is_rounding(self) -> bool {
        match self {
            Fun::Floor | Fun::Ceil | Fun::Trunc | Fun::RoundEven => true,
            Fun::Sqrt
            | Fun::Rsqrt
            | Fun::Exp2
            | Fun::Log2
            | Fun::Sin
            | Fun::Cos
            | Fun::Tanh
            | Fun::Erf
            | Fun::Abs => false,
        }
    }
}

/// Comparisons of reals; the others are these with operands swapped or negated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum RCmp {
    /// a < b.
    Lt,
    /// a <= b.
    Le,
    /// a = b.
    Eq,
}

/// Kinds of numbers that are no reals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Class {
    /// Not a number.
    Nan,
    /// Plus infinity.
    PosInf,
    /// Minus infinity.
    NegInf,
}

impl Class {
    pub(super) const ALL: [Class; 3] = [Class::Nan, Class::PosInf, Class::NegInf];
}

/// Comparisons of bit vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum ICmp {
    /// a = b.
    Eq,
    /// Unsigned a < b.
    ULt,
    /// Unsigned a <= b.
    ULe,
    /// Signed a < b.
    SLt,
    /// Signed a <= b.
    SLe,
}

/// Operations on two bit vectors of the result's width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum BitsOp {
    /// Sum modulo 2^n.
    Add,
    /// Product modulo 2^n.
    Mul,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Left shift; 0 from the width on.
    Shl,
    /// Logical right shift; 0 from the width on.
    LShr,
    /// Arithmetic right shift, clamped.
    AShr,
    /// Unsigned quotient.
    UDiv,
    /// Signed quotient, truncated.
    SDiv,
    /// Unsigned remainder.
    URem,
    /// Signed remainder, sign of the dividend.
    SRem,
}

impl BitsOp {
    pub(super) const ALL: [BitsOp; 12] = [
        BitsOp::Add,
        BitsOp::Mul,
        BitsOp::And,
        BitsOp::Or,
        BitsOp::Xor,
        BitsOp::Shl,
        BitsOp::LShr,
        BitsOp::AShr,
        BitsOp::UDiv,
        BitsOp::SDiv,
        BitsOp::URem,
        BitsOp::SRem,
    ];

    pub(crate) fn is_commutative(self) -> bool {
        matches!(
            self,
            BitsOp::Add | BitsOp::Mul | BitsOp::And | BitsOp::Or | BitsOp::Xor
        )
    }
}

/// A node, decoded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Term<'s> {
    // Reals.
    /// A rational constant.
    Const(ConstId),
    /// An infinity.
    Inf {
        /// True for minus infinity.
        neg: bool,
    },
    /// Not a number: inf - inf, 0 * inf.
    Undefined,
    /// The element of an input array at byte offset `off`, read in format `fmt`.
    Elem {
        /// The array.
        array: ArrayId,
        /// Format of the element.
        fmt: Fmt,
        /// Byte offset of the element.
        off: u64,
    },
    /// a + b.
    Add(TermId, TermId),
    /// a * b.
    Mul(TermId, TermId),
    /// -a.
    Neg(TermId),
    /// Sum of products: consecutive pairs (a, b) stand for a * b.
    Sum(&'s [u32]),
    /// a / b.
    Div(TermId, TermId),
    /// A function of one argument.
    Fun(Fun, TermId),
    /// The larger; of a number and what is none, the number.
    Max(TermId, TermId),
    /// The smaller; of a number and what is none, the number.
    Min(TermId, TermId),
    /// p ? a : b.
    Select(TermId, TermId, TermId),
    /// The integer that bits denote.
    OfInt {
        /// Two's complement or unsigned.
        signed: bool,
        /// The bits.
        bits: TermId,
    },
    /// The number that bits denote in a float format.
    OfBits {
        /// The format.
        fmt: Fmt,
        /// The bits.
        bits: TermId,
    },
    /// A number with the operation that made it: as a real, it is that of the first entry.
    Made(super::made::Made<'s>),
    // Booleans.
    /// A truth value.
    Bool(bool),
    /// Ordered comparison: false where an operand is not a number.
    RCmp(RCmp, TermId, TermId),
    /// Whether a value is of this class, by IEEE's rules without rounding.
    Is(Class, TermId),
    /// Whether the number that the machine has in a format for a real is of this class because
    /// something on the way to it was rounded or beyond the format: open where the real is a number.
    Overflows(Class, Fmt, TermId),
    /// Comparison of bit vectors.
    ICmp(ICmp, TermId, TermId),
    /// Negation.
    Not(TermId),
    /// Conjunction.
    And(TermId, TermId),
    /// Disjunction.
    Or(TermId, TermId),
    /// Exclusive or.
    Xor(TermId, TermId),
    // Bits.
    /// A constant.
    BitsConst {
        /// Width in bits.
        width: u8,
        /// Value, zero above the width.
        value: u64,
    },
    /// `width/8` bytes of an input array at byte offset `off`, little endian.
    Bytes {
        /// The array.
        array: ArrayId,
        /// Byte offset.
        off: u64,
        /// Width in bits, a multiple of 8.
        width: u8,
    },
    /// An unknown that no two reads share: what depends on the schedule or on the machine.
    Fresh {
        /// Width in bits.
        width: u8,
        /// Number that tells it from all others of the pair.
        serial: u32,
    },
    /// Bytes that were never written.
    Poison {
        /// Width in bits.
        width: u8,
        /// Number of the place that read them, chosen by the simulator.
        site: u32,
    },
    /// The encoding of a real, rounded to the format.
    OfReal {
        /// The format.
        fmt: Fmt,
        /// The number.
        real: TermId,
    },
    /// Concatenation, low bits first.
    Concat(&'s [u32]),
    /// `width` bits of `bits` from bit `low`.
    Extract {
        /// The source.
        bits: TermId,
        /// First bit.
        low: u8,
        /// Width in bits.
        width: u8,
    },
    /// Arithmetic or logic of two operands.
    BitsOp(BitsOp, TermId, TermId),
    /// Sum of products modulo 2^width: consecutive pairs (a, b) of that width stand for a * b.
    BitsSum(&'s [u32]),
    /// p ? a : b.
    BitsSelect(TermId, TermId, TermId),
    /// 1 if true, else 0, in `width` bits.
    OfBool {
        /// Width in bits.
        width: u8,
        /// The predicate.
        p: TermId,
    },
    /// What an operation of the machine makes of bits.
    Word(super::word::Word<'s>),
    /// A real that is an integer, clamped to the range of the type, in `width` bits.
    Clamp {
        /// Width in bits.
        width: u8,
        /// Two's complement or unsigned.
        signed: bool,
        /// The number.
        real: TermId,
    },
}

pub(super) const CONST: u8 = 0;
pub(super) const INF: u8 = 1;
pub(super) const UNDEFINED: u8 = 2;
pub(super) const ELEM: u8 = 3;
pub(super) const ADD: u8 = 4;
pub(super) const MUL: u8 = 5;
pub(super) const NEG: u8 = 6;
pub(super) const SUM: u8 = 7;
pub(super) const DIV: u8 = 8;
pub(super) const FUN: u8 = 9;
pub(super) const MAX: u8 = 10;
pub(super) const MIN: u8 = 11;
pub(super) const SELECT: u8 = 12;
pub(super) const OF_INT: u8 = 13;
pub(super) const OF_BITS: u8 = 14;
pub(super) const MADE: u8 = 15;
pub(super) const BOOL: u8 = 32;
pub(super) const RCMP: u8 = 33;
pub(super) const ICMP: u8 = 34;
pub(super) const NOT: u8 = 35;
pub(super) const AND: u8 = 36;
pub(super) const OR: u8 = 37;
pub(super) const XOR: u8 = 38;
pub(super) const IS: u8 = 39;
pub(super) const OVERFLOWS: u8 = 40;
pub(super) const BITS_CONST: u8 = 64;
pub(super) const BYTES: u8 = 65;
pub(super) const FRESH: u8 = 66;
pub(super) const POISON: u8 = 67;
pub(super) const OF_REAL: u8 = 68;
pub(super) const CONCAT: u8 = 69;
pub(super) const EXTRACT: u8 = 70;
pub(super) const BITS_OP: u8 = 71;
pub(super) const BITS_SELECT: u8 = 72;
pub(super) const OF_BOOL: u8 = 73;
pub(super) const CLAMP: u8 = 74;
pub(super) const BITS_SUM: u8 = 75;
pub(super) const WORD: u8 = 76;

pub(super) fn node(tag: u8, aux: u8, width: u16, a: u32, b: u32, c: u32) -> Node {
    Node {
        tag,
        aux,
        width,
        a,
        b,
        c,
    }
}

/// True for a sum of products, whose factors stand two by two, in id order.
pub(super) fn is_sum(tag: u8) -> bool {
    tag == SUM || tag == BITS_SUM
}

/// The width of a made number whose first two operands may change places.
pub(super) const COMMUTES: u16 = 1;

/// Where the operands of a made number begin in its list, after its real and its shape.
pub(super) const FIRST_OPERAND: usize = 2;

pub(super) fn is_list(tag: u8) -> bool {
    tag == CONCAT || tag == MADE || tag == WORD || is_sum(tag)
}

/// Where the children begin in a list.
pub(super) fn first_child(tag: u8) -> usize {
    usize::from(tag == WORD)
}

/// Number of children in `a`, `b`, `c` (lists not counted).
pub(super) fn child_count(tag: u8) -> usize {
    match tag {
        NEG | FUN | OF_INT | OF_BITS | NOT | OF_REAL | EXTRACT | OF_BOOL | CLAMP | IS
        | OVERFLOWS => 1,
        ADD | MUL | DIV | MAX | MIN | RCMP | ICMP | AND | OR | XOR | BITS_OP => 2,
        SELECT | BITS_SELECT => 3,
        _ => 0,
    }
}

/// The products of a [`Term::Sum`] or [`Term::BitsSum`], as pairs of factors.
pub fn pairs(list: &[u32]) -> impl ExactSizeIterator<Item = (TermId, TermId)> + Clone {
    let (pairs, _) = list.as_chunks::<2>();
    pairs.iter().map(|&[a, b]| (TermId(a), TermId(b)))
}

pub(super) fn is_commutative(tag: u8, aux: u8) -> bool {
    match tag {
        ADD | MUL | MAX | MIN | AND | OR | XOR => true,
        RCMP => aux == RCmp::Eq as u8,
        ICMP => aux == ICmp::Eq as u8,
        BITS_OP => BitsOp::ALL[aux as usize].is_commutative(),
        _ => false,
    }
}

impl TermStore {
    /// The node of a term.
    pub fn get(&self, t: TermId) -> Term<'_> {
        let n = &self.nodes[t.0 as usize];
        let (a, b, c) = (TermId(n.a), TermId(n.b), TermId(n.c));
        let off = (n.c as u64) << 32 | n.b as u64;
        let width = n.width as u8;
        let list = || &self.lists[n.a as usize..n.a as usize + n.b as usize];
        let fmt = || Fmt::ALL[n.aux as usize];
        match n.tag {
            CONST => Term::Const(ConstId(n.a)),
            INF => Term::Inf { neg: n.aux == 1 },
            UNDEFINED => Term::Undefined,
            ELEM => Term::Elem {
                array: ArrayId(n.a),
                fmt: fmt(),
                off,
            },
            ADD => Term::Add(a, b),
            MUL => Term::Mul(a, b),
            NEG => Term::Neg(a),
            SUM => Term::Sum(list()),
            DIV => Term::Div(a, b),
            FUN => Term::Fun(Fun::ALL[n.aux as usize], a),
            MAX => Term::Max(a, b),
            MIN => Term::Min(a, b),
            SELECT => Term::Select(a, b, c),
            OF_INT => Term::OfInt {
                signed: n.aux == 1,
                bits: a,
            },
            OF_BITS => Term::OfBits {
                fmt: fmt(),
                bits: a,
            },
            MADE => Term::Made(super::made::Made(list())),
            BOOL => Term::Bool(n.aux == 1),
            RCMP => Term::RCmp([RCmp::Lt, RCmp::Le, RCmp::Eq][n.aux as usize], a, b),
            IS => Term::Is(Class::ALL[n.aux as usize], a),
            OVERFLOWS => Term::Overflows(Class::ALL[n.aux as usize], Fmt::ALL[n.width as usize], a),
            ICMP => Term::ICmp(
                [ICmp::Eq, ICmp::ULt, ICmp::ULe, ICmp::SLt, ICmp::SLe][n.aux as usize],
                a,
                b,
            ),
            NOT => Term::Not(a),
            AND => Term::And(a, b),
            OR => Term::Or(a, b),
            XOR => Term::Xor(a, b),
            BITS_CONST => Term::BitsConst { width, value: off },
            BYTES => Term::Bytes {
                array: ArrayId(n.a),
                off,
                width,
            },
            FRESH => Term::Fresh { width, serial: n.a },
            POISON => Term::Poison { width, site: n.a },
            OF_REAL => Term::OfReal {
                fmt: fmt(),
                real: a,
            },
            CONCAT => Term::Concat(list()),
            EXTRACT => Term::Extract {
                bits: a,
                low: n.aux,
                width,
            },
            BITS_OP => Term::BitsOp(BitsOp::ALL[n.aux as usize], a, b),
            BITS_SELECT => Term::BitsSelect(a, b, c),
            OF_BOOL => Term::OfBool { width, p: a },
            BITS_SUM => Term::BitsSum(list()),
            WORD => Term::Word(super::word::Word::of(list())),
            _ => Term::Clamp {
                width,
                signed: n.aux == 1,
                real: a,
            },
        }
    }

    /// True for a real that is neither a constant nor an infinity nor undefined by itself, and does not remember
    /// how it was made.
    #[inline]
    pub fn is_ordinary(&self, t: TermId) -> bool {
        !matches!(self.nodes[t.0 as usize].tag, CONST | INF | UNDEFINED | MADE)
    }

    /// True for bits of a width that are neither a constant nor a choice by themselves.
    #[inline]
    pub fn is_plain_bits(&self, t: TermId, width: u8) -> bool {
        let n = &self.nodes[t.0 as usize];
        let other = matches!(n.tag, BITS_CONST | BITS_SELECT | OF_BOOL);
        n.tag > BITS_CONST && n.width == width as u16 && !other
    }

    /// Array and offset of the input bytes that a term of this width is: cheaper than decoding the
    /// node.
    #[inline]
    pub fn whole_bytes(&self, t: TermId, width: u32) -> Option<(ArrayId, u64)> {
        let n = &self.nodes[t.0 as usize];
        (n.tag == BYTES && u32::from(n.width) == width)
            .then(|| (ArrayId(n.a), u64::from(n.b) | u64::from(n.c) << 32))
    }

    /// True for a rational constant: cheaper than decoding the node.
    #[inline]
    pub fn is_rational(&self, t: TermId) -> bool {
        self.nodes[t.0 as usize].tag == CONST
    }

    /// The sort of a term.
    pub fn sort(&self, t: TermId) -> Sort {
        let n = &self.nodes[t.0 as usize];
        match n.tag {
            0..32 => Sort::Real,
            32..64 => Sort::Bool,
            _ => Sort::Bits(n.width as u8),
        }
    }

    /// What a node is apart from its children and, for input elements and bytes, apart from the
    /// offset in the array.
    #[inline]
    pub fn label(&self, t: TermId) -> [u32; 4] {
        let n = &self.nodes[t.0 as usize];
        let head = n.tag as u32 | (n.aux as u32) << 8 | (n.width as u32) << 16;
        match (n.tag, child_count(n.tag)) {
            (ELEM | BYTES, _) => [head, n.a, 0, 0],
            (SUM | CONCAT | BITS_SUM | MADE, _) => [head, n.b, 0, 0],
            (WORD, _) => [head, n.b, self.lists[n.a as usize], 0],
            (_, 0) => [head, n.a, n.b, n.c],
            _ => [head, 0, 0, 0],
        }
    }

    /// True for a sum of products, whose factors stand two by two.
    #[inline]
    pub fn is_sum(&self, t: TermId) -> bool {
        is_sum(self.nodes[t.0 as usize].tag)
    }

    /// True if the two children of a node may change places.
    pub fn commutes(&self, t: TermId) -> bool {
        let n = &self.nodes[t.0 as usize];
        is_commutative(n.tag, n.aux)
    }

    /// Calls `f` with each child, in order.
    pub fn children(&self, t: TermId, mut f: impl FnMut(TermId)) {
        let n = &self.nodes[t.0 as usize];
        if is_list(n.tag) {
            let list = &self.lists[n.a as usize..][..n.b as usize];
            for &i in &list[first_child(n.tag)..] {
                f(TermId(i));
            }
            return;
        }
        if matches!(n.tag, ELEM | BYTES)
            && let Some(place) = self.place_of(super::ArrayId(n.a))
        {
            place.form.iter().for_each(|&(t, _)| f(t));
            return;
        }
        for i in &[n.a, n.b, n.c][..child_count(n.tag)] {
            f(TermId(*i));
        }
    }
}
