//! The order of the products of a sum.
//!
//! Problem: sums are one term in whatever order their products come, and a matrix product has thousands
//! of them in each of its elements. Short sums are merged from the runs that they come in; of long
//! ones the digits of the ids are counted.

/// Puts the factors of each product, and the products of a sum, into id order.
pub(super) fn sort(list: &mut [u32]) {
    let (pairs, _) = list.as_chunks_mut::<2>();
    for p in pairs.iter_mut() {
        p.sort_unstable();
    }
    if pairs.len() < LONG {
        // Accumulators come as a few ascending runs, which a merge sort uses.
        pairs.sort_by_key(|p| (p[0] as u64) << 32 | p[1] as u64);
    } else if !pairs.is_sorted() {
        sort_long(pairs);
    }
}

/// Products from which on counting is faster than comparing.
const LONG: usize = 256;

/// Sorts by counting digits of the first factors, which seldom occur twice.
fn sort_long(pairs: &mut [[u32; 2]]) {
    const BITS: u32 = 11;
    let (low, high) = pairs.iter().fold((u32::MAX, 0), |(low, high), p| {
        (low.min(p[0]), high.max(p[0]))
    });
    let mut from = pairs.to_vec();
    let mut to = vec![[0; 2]; pairs.len()];
    for shift in (0..u32::BITS - (high - low).leading_zeros()).step_by(BITS as usize) {
        let digit = |p: &[u32; 2]| ((p[0] - low) >> shift) as usize % (1 << BITS);
        let mut starts = [0u32; 1 << BITS];
        for p in &from {
            starts[digit(p)] += 1;
        }
        let mut sum = 0;
        for s in &mut starts {
            sum += std::mem::replace(s, sum);
        }
        for p in &from {
            let s = &mut starts[digit(p)];
            to[*s as usize] = *p;
            *s += 1;
        }
        std::mem::swap(&mut from, &mut to);
    }
    for same in from.chunk_by_mut(|p, q| p[0] == q[0]) {
        same.sort_unstable();
    }
    pairs.copy_from_slice(&from);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn long_sums_are_put_in_the_order_of_short_ones(
            pairs in proptest::collection::vec((0u32..3000, 0u32..9), LONG..4 * LONG),
            spread in 1u32..1_400_000,
        ) {
            let pairs: Vec<[u32; 2]> = pairs.iter().map(|&(a, b)| [a * spread, b]).collect();
            let mut expected = pairs.clone();
            expected.sort();
            let mut found = pairs;
            sort_long(&mut found);
            prop_assert_eq!(found, expected);
        }
    }
}
