//! `lop3`: any boolean function of three bit vectors.
//!
//! A truth table is first reduced by the operands that are constants or equal, field by field in
//! the store's constructors; what is left is written with and, or, xor and not so that the usual
//! functions get the form that separate instructions give.

use crate::term::{BitsOp, Sort, TermId, TermStore};

/// A function of two operands as and, or, xor, with operands and result possibly inverted.
/// Bit `2x + y` of the table is the value at (x, y).
fn gate(s: &mut TermStore, table: u8, x: TermId, y: TermId) -> TermId {
    let Sort::Bits(w) = s.sort(x) else { return x };
    let inv = |s: &mut TermStore, t: TermId| {
        let ones = s.bits(w, u64::MAX);
        s.bits_op(BitsOp::Xor, t, ones)
    };
    match table & 15 {
        0b0000 => s.bits(w, 0),
        0b1111 => s.bits(w, u64::MAX),
        0b1100 => x,
        0b0011 => inv(s, x),
        0b1010 => y,
        0b0101 => inv(s, y),
        0b1000 => s.bits_op(BitsOp::And, x, y),
        0b0111 => {
            let t = s.bits_op(BitsOp::And, x, y);
            inv(s, t)
        }
        0b1110 => s.bits_op(BitsOp::Or, x, y),
        0b0001 => {
            let t = s.bits_op(BitsOp::Or, x, y);
            inv(s, t)
        }
        0b0110 => s.bits_op(BitsOp::Xor, x, y),
        0b1001 => {
            let t = s.bits_op(BitsOp::Xor, x, y);
            inv(s, t)
        }
        0b0100 => {
            let n = inv(s, y);
            s.bits_op(BitsOp::And, x, n)
        }
        0b0010 => {
            let n = inv(s, x);
            s.bits_op(BitsOp::And, n, y)
        }
        0b1101 => {
            let n = inv(s, y);
            s.bits_op(BitsOp::Or, x, n)
        }
        _ => {
            let n = inv(s, x);
            s.bits_op(BitsOp::Or, n, y)
        }
    }
}

/// The value of a table at (a, b, c).
fn row(table: u8, a: usize, b: usize, c: usize) -> u8 {
    table >> (4 * a + 2 * b + c) & 1
}

/// The table with its operands in another order: operand `i` of the result is operand `order[i]`
/// of the given one.
fn reorder(table: u8, order: [usize; 3]) -> u8 {
    let mut out = 0;
    for i in 0..8usize {
        let bits = [i >> 2 & 1, i >> 1 & 1, i & 1];
        let mut old = [0; 3];
        for k in 0..3 {
            old[order[k]] = bits[k];
        }
        out |= row(table, old[0], old[1], old[2]) << i;
    }
    out
}

/// The table as g(h(x, y), z) with h one of and, or, xor (operands possibly inverted): (h, g).
fn split(table: u8) -> Option<(u8, u8)> {
    const H: [u8; 10] = [
        0b1000, 0b1110, 0b0110, 0b0100, 0b0010, 0b1101, 0b1011, 0b0111, 0b0001, 0b1001,
    ];
    for h in H {
        'g: for g in 0..16u8 {
            for i in 0..8usize {
                let (x, y, z) = (i >> 2 & 1, i >> 1 & 1, i & 1);
                let inner = (h >> (2 * x + y) & 1) as usize;
                if g >> (2 * inner + z) & 1 != row(table, x, y, z) {
                    continue 'g;
                }
            }
            return Some((h, g));
        }
    }
    None
}

/// The function of three operands with this truth table (bit `4a + 2b + c`).
pub fn lop3(s: &mut TermStore, table: u8, a: TermId, b: TermId, c: TermId) -> TermId {
    let Sort::Bits(w) = s.sort(a) else { return a };
    let args = [a, b, c];
    // An operand that the table ignores, or that is all zeros or all ones, leaves a function of
    // two.
    for k in 0..3 {
        let order = [k, (k + 1) % 3, (k + 2) % 3];
        let t = reorder(table, order);
        let (low, high) = (t & 15, t >> 4);
        let (x, y) = (args[order[1]], args[order[2]]);
        let known = s.as_bits(args[k]);
        if low == high || known == Some(0) {
            return gate(s, low, x, y);
        }
        if known == Some(super::mask(w)) {
            return gate(s, high, x, y);
        }
    }
    // Constant operands meet first, so that masks become masks of constants.
    let mut orders = [[0, 1, 2], [1, 2, 0], [0, 2, 1]];
    orders.sort_by_key(|o| {
        let free = |i: usize| s.as_bits(args[i]).is_none() as usize;
        free(o[0]) + free(o[1])
    });
    for order in orders {
        if let Some((h, g)) = split(reorder(table, order)) {
            let inner = gate(s, h, args[order[0]], args[order[1]]);
            return gate(s, g, inner, args[order[2]]);
        }
    }
    // a chooses between two functions of b and c.
    let (off, on) = (gate(s, table & 15, b, c), gate(s, table >> 4, b, c));
    let n = gate(s, 0b0011, a, a);
    let (x, y) = (
        s.bits_op(BitsOp::And, a, on),
        s.bits_op(BitsOp::And, n, off),
    );
    s.bits_op(BitsOp::Or, x, y)
}
