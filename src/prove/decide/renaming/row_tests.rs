//! Rows: the number of elements that have to be decided is that of one row, and reads at places that data choose move
//! along only where the content that they name exists.

use std::sync::Arc;

use proptest::prelude::*;

use super::tests::element;
use super::*;
use crate::decide::Options;
use crate::kernel::Fmt;
use crate::spec::{Array, Origin};
use crate::term::eval::{self, Inputs, Mode, Value};
use crate::term::facts::{Elements, Facts};
use crate::term::gather::offset;
use crate::term::{Fun, ICmp, RCmp};

const X: ArrayId = ArrayId(0);
const LABELS: ArrayId = ArrayId(1);
const TABLE: ArrayId = ArrayId(2);

/// Floats of some columns in some rows, an integer of each row, and a table.
fn arrays(rows: u64, columns: u64) -> Arrays {
    let array = |name: &str, count: u64| Array {
        name: name.into(),
        origin: Origin::Pointer,
        role: None,
        elem: None,
        shape: vec![count],
        extent: Some(4 * count),
        align: None,
        pointers: None,
        initial: None,
        only: None,
        handed_on: false,
    };
    let all = [("x", rows * columns), ("labels", rows), ("table", 8)];
    Arrays(all.map(|(name, count)| array(name, count)).into())
}

/// The element at a distance from the start of an array plus four times an integer.
fn read_at(s: &mut TermStore, array: ArrayId, at: u64, index: TermId) -> TermId {
    let form = Box::new([(index, 4)]);
    let place = s.place(Place { array, form });
    s.elem(place, Fmt::F32, offset(at as i64).expect("a distance"))
}

/// A softmax of rows, whose sums and maxima each kernel takes in its own order; one of them after the rows are met
/// column by column.
fn softmax(rows: u64, columns: u64) -> ([TermStore; 2], Vec<Element>) {
    let mut stores = [TermStore::new(), TermStore::new()];
    for k in 0..columns {
        for r in 0..rows {
            stores[0].elem(X, Fmt::F32, 4 * (r * columns + k));
        }
    }
    let mut contents = [Vec::new(), Vec::new()];
    for (side, s) in stores.iter_mut().enumerate() {
        for r in 0..rows {
            let row = (0..columns).map(|k| s.elem(X, Fmt::F32, 4 * (r * columns + k)));
            let mut row: Vec<TermId> = row.collect();
            let x = row.clone();
            if side == 1 {
                row.reverse();
            }
            let largest = row
                .iter()
                .copied()
                .reduce(|a, b| s.max(a, b))
                .expect("a row");
            let one = s.integer(1);
            let least = s.neg(largest);
            let power = |s: &mut TermStore, x: TermId| {
                let d = s.add(x, least);
                s.fun(Fun::Exp2, d)
            };
            let powers: Vec<(TermId, TermId)> = row.iter().map(|&x| (power(s, x), one)).collect();
            let sum = s.sum(&powers);
            for x in x {
                let p = power(s, x);
                let q = s.div(p, sum);
                contents[side].push(s.of_real(Fmt::F32, q));
            }
        }
    }
    let [a, b] = contents;
    let elements = a.into_iter().zip(b).enumerate().map(|(i, (x, y))| Element {
        off: 4 * i as u64,
        ..element([x, y])
    });
    (stores, elements.collect())
}

/// Elements with these contents.
fn elements([a, b]: [Vec<TermId>; 2]) -> Vec<Element> {
    a.into_iter().zip(b).map(|(x, y)| element([x, y])).collect()
}

fn kept(stores: &[TermStore; 2], elements: &[Element], arrays: &Arrays) -> Vec<usize> {
    let limits = Options::default().limits;
    let stands = representatives(stores.each_ref(), elements, arrays, &limits);
    let mut kept: Vec<usize> = (0..stands.len()).filter(|&i| stands[i] == i).collect();
    kept.dedup();
    assert!(stands.iter().all(|&i| stands[i] == i));
    kept
}

#[test]
fn one_row_is_decided_whatever_their_number_and_shape() {
    for (rows, columns) in [(4, 6), (32, 6), (7, 31), (64, 31), (129, 5), (3, 48)] {
        let (stores, elements) = softmax(rows, columns);
        let kept = kept(&stores, &elements, &Arrays::default());
        assert_eq!(
            kept,
            (0..columns as usize).collect::<Vec<_>>(),
            "{rows} x {columns}"
        );
    }
}

/// What has to be decided does not cost more where there are more rows.
#[test]
fn the_work_is_that_of_one_row() {
    let work = |rows: u64| {
        let (stores, elements) = softmax(rows, 12);
        let stands = representatives(
            stores.each_ref(),
            &elements,
            &Arrays::default(),
            &Options::default().limits,
        );
        let kept: Vec<usize> = (0..stands.len()).filter(|&i| stands[i] == i).collect();
        let roots =
            |k: usize| -> Vec<TermId> { kept.iter().map(|&i| elements[i].content[k]).collect() };
        let mut both = TermStore::new();
        let (_, work) = work::apart(None, || {
            [0, 1].map(|k| both.import_below(&stores[k], &roots(k)))
        });
        work.units
    };
    let few = work(4);
    assert!(few > 100);
    assert_eq!([work(16), work(60)], [few; 2]);
}

/// A row's loss by the label of the row, beside a part that reads the row at known places.
fn losses(rows: u64, facts: Option<(i128, i128)>, premise: Option<u64>) -> Vec<usize> {
    let mut stores = [TermStore::new(), TermStore::new()];
    let mut contents = [Vec::new(), Vec::new()];
    let columns = 6;
    for (side, s) in stores.iter_mut().enumerate() {
        if let Some((lo, hi)) = facts {
            let mut all = Facts::default();
            let new = Elements::new(LABELS, 32, Some(rows));
            *all.about(new) = Elements { lo, hi, ..new };
            s.facts = Arc::new(all);
        }
        for r in 0..rows {
            let label = s.bytes(LABELS, 4 * r, 32);
            if let Some(step) = premise {
                let end = s.bits(32, columns + step * r);
                let p = s.icmp(ICmp::ULt, label, end);
                s.premises.push(p);
            }
            let chosen = read_at(s, X, 4 * r * columns, label);
            let x = (0..columns).map(|k| s.elem(X, Fmt::F32, 4 * (r * columns + k)));
            let x: Vec<TermId> = x.collect();
            let mut sum = chosen;
            for x in x {
                let x = s.fun(Fun::Abs, x);
                sum = s.add(sum, x);
            }
            let sum = match side {
                0 => sum,
                _ => s.fun(Fun::Abs, sum),
            };
            contents[side].push(s.of_real(Fmt::F32, sum));
        }
    }
    kept(&stores, &elements(contents), &arrays(rows, columns))
}

#[test]
fn a_row_with_a_label_is_another_one_where_facts_keep_it_inside() {
    let all: Vec<usize> = (0..32).collect();
    assert_eq!(losses(32, Some((0, 5)), None), [0]);
    // Nothing says where the label points to; outside of the array; before it.
    assert_eq!(losses(32, None, None), all);
    assert_eq!(losses(32, Some((0, 6)), None), all);
    assert_eq!(losses(32, Some((-1, 5)), None), all);
    // The same is said of each label, or something else.
    assert_eq!(losses(32, Some((0, 5)), Some(0)), [0]);
    assert_eq!(losses(32, Some((0, 5)), Some(1)).len(), 1);
    assert_eq!(losses(32, None, Some(0)), all);
}

/// Rows of a table that integers choose, four columns each; what is said of the integers differs from row to row.
fn embeddings(rows: u64, step: u64) -> Vec<usize> {
    let mut stores = [TermStore::new(), TermStore::new()];
    let mut contents = [Vec::new(), Vec::new()];
    for (side, s) in stores.iter_mut().enumerate() {
        for r in 0..rows {
            let id = s.bytes(LABELS, 4 * r, 32);
            let end = s.bits(32, 2 + step * r);
            let p = s.icmp(ICmp::ULt, id, end);
            s.premises.push(p);
            for k in 0..4 {
                let read = read_at(s, TABLE, 4 * k, id);
                let read = match side {
                    0 => read,
                    _ => s.fun(Fun::Abs, read),
                };
                contents[side].push(s.of_real(Fmt::F32, read));
            }
        }
    }
    kept(&stores, &elements(contents), &arrays(rows, 1))
}

#[test]
fn rows_of_a_table_are_those_of_another_integer_of_which_the_same_is_said() {
    assert_eq!(embeddings(16, 0), [0, 1, 2, 3]);
    assert_eq!(embeddings(16, 1).len(), 64);
}

/// One step of building a term: what to do, with which of what is there.
type Step = (u8, u8, u8);

/// Reads of a row at known places and at chosen ones, of the table, and of an integer.
fn leaves(s: &mut TermStore, [row, j, k, c]: [u8; 4]) -> Vec<TermId> {
    let [row, j, k, c] = [row % 4, j % 4, k % 4, c % 2].map(u64::from);
    let label = s.bytes(LABELS, 4 * j, 32);
    let other = s.bytes(LABELS, 4 * k, 32);
    let number = s.of_int(true, other);
    vec![
        s.elem(X, Fmt::F32, 16 * row),
        s.elem(X, Fmt::F32, 16 * row + 4 * c),
        read_at(s, X, 16 * row, label),
        read_at(s, TABLE, 4 * c, label),
        read_at(s, TABLE, 4, other),
        number,
    ]
}

fn build(s: &mut TermStore, leaves: &[TermId], steps: &[Step]) -> TermId {
    let mut t = leaves.to_vec();
    for &(op, i, j) in steps {
        let (a, b) = (t[i as usize % t.len()], t[j as usize % t.len()]);
        t.push(match op % 5 {
            0 => s.add(a, b),
            1 => s.mul(a, b),
            2 => s.max(a, b),
            3 => s.fun(Fun::Abs, a),
            _ => s.sum(&[(a, b), (b, b)]),
        });
    }
    t[t.len() - 1]
}

/// A content of the three arrays.
type Content = [Vec<u64>; 3];

/// The values of terms, with what each place holds that the content chooses.
fn values(s: &TermStore, roots: &[TermId], content: &Content) -> Vec<Value> {
    let mut inputs = Inputs::default();
    for (array, all) in content.iter().enumerate() {
        for (i, &v) in all.iter().enumerate() {
            inputs.set(ArrayId(array as u32), 4 * i as u64, 4, v);
        }
    }
    for t in (0..s.len() as u32).map(TermId) {
        if let Some((p, off, _)) = chosen(s, t)
            && let Term::Elem { array, .. } = s.get(t)
        {
            let mut at = distance(off);
            for &(x, k) in &p.form {
                let [Value::Bits(v)] = eval::evaluate(s, &[x], &inputs, Mode::exact(64))[..] else {
                    panic!("no bits");
                };
                at += v as u32 as i32 as i64 * k;
            }
            let held = usize::try_from(at / 4).ok();
            let held = held.and_then(|i| content[p.array.0 as usize].get(i));
            inputs.set(array, off, 4, *held.expect("inside of the array"));
        }
    }
    eval::evaluate(s, roots, &inputs, Mode::exact(64))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn chosen_places_have_the_value_of_the_first_pair(
        places in any::<[[u8; 4]; 2]>(),
        reference in prop::collection::vec(any::<Step>(), 1..7),
        optimized in prop::collection::vec(any::<Step>(), 1..7),
        ends in any::<[bool; 4]>(),
        (are_facts, said, by_inputs) in any::<(bool, bool, bool)>(),
        floats in prop::collection::vec(-3i8..4, 24),
        labels in any::<[u8; 4]>(),
    ) {
        let mut stores = [TermStore::new(), TermStore::new()];
        let new = Elements::new(LABELS, 32, Some(4));
        let ends = ends.map(|few| if few && said { 2u64 } else { 4 });
        for s in &mut stores {
            if are_facts {
                let mut facts = Facts::default();
                *facts.about(new) = Elements { lo: 0, hi: 3, ..new };
                s.facts = Arc::new(facts);
            }
            for (i, &end) in ends.iter().enumerate().filter(|_| said) {
                let (label, end) = (s.bytes(LABELS, 4 * i as u64, 32), s.bits(32, end));
                let p = s.icmp(ICmp::ULt, label, end);
                s.premises.push(p);
            }
        }
        let pairs = places.map(|p| {
            let side = |s: &mut TermStore, steps: &[Step]| {
                let l = leaves(s, p);
                build(s, &l, steps)
            };
            [side(&mut stores[0], &reference), side(&mut stores[1], &optimized)]
        });
        let shapes = Shapes::new(stores.each_ref(), &pairs.map(element), &arrays(4, 4));
        let mut walker = Walker::new(&shapes, None);
        let order = if by_inputs { Order::Inputs } else { Order::Ids };
        if !walker.renames(pairs[0], pairs[1], order) {
            return Ok(());
        }
        let float = |&v: &i8| u64::from(f32::from(v).to_bits());
        let label = |(i, &v): (usize, &u8)| u64::from(v) % ends[i];
        let second: Content = [
            floats[..16].iter().map(float).collect(),
            labels.iter().enumerate().map(label).collect(),
            floats[16..].iter().map(float).collect(),
        ];
        // What slides is turned around as a whole; elsewhere elements stand for others.
        let mut first = second.clone();
        let tables = &walker.tables;
        for (array, &(walk, by)) in tables.slid.iter().enumerate().take(3) {
            if walk == tables.walk {
                let n = first[array].len() as i64;
                first[array].rotate_left((by / 4).rem_euclid(n) as usize);
            }
        }
        let n = stores[0].len();
        let numbered = |p: usize| match p.checked_sub(n) {
            None => input(&stores[0], TermId(p as u32)),
            Some(p) => input(&stores[1], TermId(p as u32)),
        };
        for (i, &(walk, to)) in tables.moves.iter().enumerate() {
            if walk == tables.walk
                && let (Some((a, from, _)), Some((_, to, _))) = (numbered(i), numbered(to as usize))
            {
                let a = a.0 as usize;
                let held = second[a][to as usize / 4];
                if shapes.slides & 1 << a != 0 {
                    prop_assert_eq!(first[a][from as usize / 4], held);
                }
                first[a][from as usize / 4] = held;
            }
        }
        for (k, s) in stores.iter().enumerate() {
            for p in values(s, &s.premises, &first) {
                prop_assert_eq!(p, Value::Bool(true));
            }
            let at = |t, content| values(s, &[t], content).remove(0);
            prop_assert_eq!(at(pairs[0][k], &first), at(pairs[1][k], &second));
        }
    }
}

/// A test of each row that rounding may turn over. It asks of the row's element, or of that of another row, and its
/// unknown is that of some row's test.
fn tested(
    rows: u64,
    asks: impl Fn(u64) -> u64,
    turns: impl Fn(u64) -> u64,
) -> ([TermStore; 2], Vec<Element>) {
    let mut stores = [TermStore::new(), TermStore::new()];
    let mut contents = [Vec::new(), Vec::new()];
    for (side, s) in stores.iter_mut().enumerate() {
        let one = s.integer(1);
        let x: Vec<TermId> = (0..rows).map(|r| s.elem(X, Fmt::F32, 4 * r)).collect();
        let flips: Vec<TermId> = (0..rows)
            .map(|r| {
                let question = Question {
                    asked: Asked::Order(RCmp::Lt),
                    fmt: Fmt::F32,
                    operands: [one, x[asks(r) as usize]],
                };
                s.flip((side as u32) << 16 | r as u32, question)
            })
            .collect();
        for r in 0..rows {
            let x = x[r as usize];
            let above = s.rcmp(RCmp::Lt, one, x);
            let found = s.xor(above, flips[turns(r) as usize]);
            let log = s.fun(Fun::Log2, x);
            let chosen = match side {
                0 => s.select(found, log, x),
                _ => {
                    let not = s.not(found);
                    s.select(not, x, log)
                }
            };
            contents[side].push(s.of_real(Fmt::F32, chosen));
        }
    }
    (stores, elements(contents))
}

#[test]
fn what_rounding_turns_over_goes_to_a_test_that_asks_the_same() {
    let own = |r: u64| r;
    let decided = |rows: u64, asks: &dyn Fn(u64) -> u64, turns: &dyn Fn(u64) -> u64| {
        let (stores, elements) = tested(rows, asks, turns);
        kept(&stores, &elements, &Arrays::default())
    };
    assert_eq!(decided(40, &own, &own), [0]);
    // The last row's test asks of the row before.
    let last = |r: u64| if r == 39 { 38 } else { r };
    assert_eq!(decided(40, &last, &own), [0, 39]);
    // What is turned over in all rows is the test of the first one, which stays, and of whose array nothing moves then.
    let first = |_: u64| 0;
    assert_eq!(decided(40, &own, &first).len(), 40);
    // Two rows have one unknown: no substitution takes it to two.
    let pairs = |r: u64| r / 2 * 2;
    assert_eq!(decided(40, &own, &pairs).len(), 2);
}
