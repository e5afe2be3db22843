//! What tells the parts of a sum apart: few subscripts of what they read.
//!
//! Each place of a part at which it reads something is a column, with the index there of each part of each member. Columns are
//! chosen one after the other, those first that tell most parts apart, and of equal ones those whose range is the
//! same in all members, so that the variables of a reduction have plain ranges.

use std::cmp::Reverse;

use num_integer::Integer;

/// The ends of ranges, one for each column.
type Row = Vec<(i64, i64)>;

/// The least and the greatest index at each place, for each part of each member.
pub(super) type Rows = [Vec<Vec<(i64, i64)>>];

/// The values of the chosen columns, for each part of each member.
pub(super) fn tuples(rows: &Rows, places: usize) -> Result<Vec<Vec<Vec<i64>>>, String> {
    let columns = Column::all(rows, places);
    let mut chosen: Vec<&Column> = Vec::new();
    let mut kinds = 0;
    let total: usize = rows.iter().map(Vec::len).sum();
    while kinds < total {
        let best = columns
            .iter()
            .map(|c| (distinct(&chosen, c, rows), c))
            .max_by_key(|(n, c)| (*n, c.rank()));
        let Some((n, c)) = best.filter(|(n, _)| *n > kinds) else {
            return Err("alike parts cannot be told apart by what they read".into());
        };
        kinds = n;
        chosen.push(c);
    }
    chosen.sort_by_key(|c| c.place);
    let of = |(m, list): (usize, &Vec<Vec<(i64, i64)>>)| {
        let tuple = |row: &Vec<(i64, i64)>| chosen.iter().map(|c| c.index(m, row)).collect();
        list.iter().map(tuple).collect()
    };
    Ok(rows.iter().enumerate().map(of).collect())
}

/// A subscript that may tell parts apart.
struct Column {
    place: usize,
    /// The greatest index of what a part reads there, not the least.
    upper: bool,
    /// The range is the same in all members.
    steady: bool,
    /// One index for each part.
    single: bool,
    /// What indices of one member differ by.
    stride: i64,
    /// The least index of each member.
    least: Vec<i64>,
    /// Indices count from the least one.
    relative: bool,
    /// How far indices of all members lie apart.
    extent: i64,
}

impl Column {
    fn all(rows: &Rows, places: usize) -> Vec<Column> {
        let mut out = Vec::new();
        for place in 0..places {
            let single = rows.iter().flatten().all(|r| r[place].0 == r[place].1);
            for upper in [false, true] {
                if upper && single {
                    continue;
                }
                let value = |r: &Row| if upper { r[place].1 } else { r[place].0 };
                let ends = |l: &Vec<Row>| {
                    let lo = l.iter().map(value).min().unwrap_or(0);
                    (lo, l.iter().map(value).max().unwrap_or(0))
                };
                let ends: Vec<(i64, i64)> = rows.iter().map(ends).collect();
                let steady = ends.windows(2).all(|w| w[0] == w[1]);
                let alike = ends.windows(2).all(|w| w[0].1 - w[0].0 == w[1].1 - w[1].0);
                let moves = ends.windows(2).any(|w| w[0].0 != w[1].0);
                let from = |(l, e): (&Vec<Row>, &(i64, i64))| {
                    l.iter().fold(0i64, |g, r| g.gcd(&(value(r) - e.0)))
                };
                let stride = rows
                    .iter()
                    .zip(&ends)
                    .map(from)
                    .fold(0i64, |g, s| g.gcd(&s));
                let relative = stride > 1 || moves && alike;
                let low = ends.iter().map(|e| e.0).min().unwrap_or(0);
                let extent = |e: &(i64, i64)| e.1 - if relative { e.0 } else { low };
                out.push(Column {
                    extent: ends.iter().map(extent).max().unwrap_or(0),
                    place,
                    upper,
                    steady,
                    single,
                    stride: stride.max(1),
                    least: ends.iter().map(|e| e.0).collect(),
                    relative,
                });
            }
        }
        out
    }

    fn rank(&self) -> (bool, bool, bool, Reverse<i64>, Reverse<usize>) {
        let from_zero = self.least.iter().all(|&v| v == 0);
        (
            self.steady,
            self.single,
            from_zero,
            Reverse(self.extent),
            Reverse(self.place),
        )
    }

    fn index(&self, member: usize, row: &[(i64, i64)]) -> i64 {
        let v = if self.upper {
            row[self.place].1
        } else {
            row[self.place].0
        };
        match self.relative {
            true => (v - self.least[member]) / self.stride,
            false => v,
        }
    }
}

/// How many kinds of parts the chosen columns and one more tell apart, in all members.
fn distinct(chosen: &[&Column], more: &Column, rows: &Rows) -> usize {
    let of = |(m, list): (usize, &Vec<Vec<(i64, i64)>>)| {
        let kinds: std::collections::BTreeSet<Vec<i64>> = list
            .iter()
            .map(|row| {
                chosen
                    .iter()
                    .copied()
                    .chain([more])
                    .map(|c| c.index(m, row))
                    .collect()
            })
            .collect();
        kinds.len()
    };
    rows.iter().enumerate().map(of).sum()
}
