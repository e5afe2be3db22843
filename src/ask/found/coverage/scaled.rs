//! What goes with a size: the extents of arrays and the grid.
//!
//! The problem: a launch at `n = 1001` whose arrays and grid are those of 1000 says nothing of a kernel. A dimension that was
//! written as the size is the size, where the array has one such dimension. A grid whose place is compared with the size, and
//! that covers it by a small number of elements for each thread, covers it at other sizes too.
//!
//! Not claimed: that the numbers are equal for this reason. What is proposed is run, or shown to people, and no verdict
//! rests on it.

use crate::answer::coverage::Proposal;
use crate::kernel::conditions::{Condition, Size};
use crate::spec::Which;
use crate::spec::binding::Arg;

use super::{Ran, Try};

/// Elements of a thread in one dimension of a grid that covers a size.
const PER_THREAD: [i128; 4] = [1, 2, 4, 8];

impl Ran<'_> {
    /// A size to try with all that follows it.
    pub(super) fn proposal(self, t: &Try, c: &Condition) -> Proposal {
        let (name, mut flags) = match t.size {
            Size::Grid => ("grid".to_string(), vec![flag("--grid", "{grid}")]),
            Size::Block => ("threads".to_string(), vec![flag("--threads", "{threads}")]),
            Size::Number(..) => {
                let name = named(&t.name);
                let (word, key) = t.flag.split_once(' ').unwrap_or(("--arg", &t.flag));
                let own = flag(word, &format!("{key}{{{name}}}"));
                (name, vec![own])
            }
        };
        if let Size::Number(..) = t.size {
            flags.extend(self.arrays(&name, t.now));
            if c.sizes.contains(&Size::Grid) {
                flags.extend(self.grid(&name, t.now));
            }
        }
        Proposal {
            now: t.now as i64,
            values: t.values.iter().filter_map(|v| v.parse().ok()).collect(),
            name,
            flags,
        }
    }

    /// The arrays that have the size as a dimension.
    fn arrays(self, name: &str, now: i128) -> Vec<[String; 2]> {
        let is_last = |(i, a): &(usize, &Arg)| {
            let later = &self.spec.args[i + 1..];
            !later.iter().any(|b| b.key == a.key)
        };
        let args = self.spec.args.iter().enumerate().filter(is_last);
        args.filter_map(|(_, arg)| {
            let word = match (arg.own, self.spec.which) {
                (true, Which::Reference) => "--ref-arg",
                (true, Which::Optimized) => "--opt-arg",
                _ => "--arg",
            };
            Some(flag(word, &scaled(&arg.text, name, now)?))
        })
        .collect()
    }

    /// The grid, if it covers the size.
    fn grid(self, name: &str, now: i128) -> Option<[String; 2]> {
        let word = match self.spec.which {
            Which::Kernel => "--grid",
            Which::Reference => "--ref-grid",
            Which::Optimized => "--opt-grid",
        };
        let covers = |d: usize, per: i128| {
            let elements = i128::from(self.launch.block[d]) * per;
            let ctas = (now + elements - 1) / elements;
            let is_told = self.launch.grid[d] > 1 || per == 1 && self.launch.block[d] > 1;
            (is_told && ctas == i128::from(self.launch.grid[d])).then_some((d, elements))
        };
        let mut all = (0..3).flat_map(|d| PER_THREAD.map(|per| (d, per)));
        let (at, elements) = all.find_map(|(d, per)| covers(d, per))?;
        let dims = (0..3).map(|d| match d == at {
            true if elements == 1 => format!("{{{name}}}"),
            true => format!("{{ceildiv({name},{elements})}}"),
            false => self.launch.grid[d].to_string(),
        });
        let mut dims: Vec<String> = dims.collect();
        while dims.len() > at + 1 && dims.last().is_some_and(|d| d == "1") {
            dims.pop();
        }
        Some(flag(word, &dims.join(",")))
    }
}

fn flag(word: &str, value: &str) -> [String; 2] {
    [word.to_string(), value.to_string()]
}

/// A name that `--for` takes: as compilers number parameters, formulas are long enough without the kernel's name.
fn named(label: &str) -> String {
    let short = label
        .rsplit_once("_param_")
        .map(|(_, n)| format!("param_{n}"));
    let name = short.unwrap_or_else(|| label.to_string());
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic());
    match begins && name.chars().all(is_name) {
        true => name,
        false => "n".to_string(),
    }
}

/// The binding of an array with its one dimension that is `now` written as the size; `None` for what has no such dimension,
/// and for contents that are a list or a file, which have the length that they have.
fn scaled(text: &str, name: &str, now: i128) -> Option<String> {
    let (array, contents) = match text.find(']') {
        Some(end) => text.split_at(end),
        None => return None,
    };
    let (head, dims) = array.split_once('[')?;
    let is_fixed = contents
        .split_once('=')
        .is_some_and(|(_, c)| c.trim().starts_with(['[', '@']));
    let mut dims: Vec<String> = dims.split(',').map(|d| d.trim().to_string()).collect();
    let is_it = |d: &&mut String| d.parse() == Ok(now);
    let mut all = dims.iter_mut().filter(is_it);
    let (one, more) = (all.next()?, all.next());
    if is_fixed || more.is_some() {
        return None;
    }
    *one = format!("{{{name}}}");
    Some(format!("{head}[{}{contents}", dims.join(",")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dimensions_that_are_the_size_follow_it() {
        let to = |text: &str| scaled(text, "n", 8);
        assert_eq!(to("0=in:f32[4,8]").as_deref(), Some("0=in:f32[4,{n}]"));
        assert_eq!(
            to("0=f32[ 8 ]/align16=0").as_deref(),
            Some("0=f32[{n}]/align16=0")
        );
        for alone in [
            "2=8",
            "0=in:f32[8,8]",
            "0=in:f32[9]",
            "0=in:f32[8]=[1,2]",
            "0=in:f32[8]=@x.npy",
        ] {
            assert_eq!(to(alone), None, "{alone}");
        }
    }

    #[test]
    fn names_are_those_that_a_list_takes() {
        for (label, name) in [
            ("n", "n"),
            ("k_param_2", "param_2"),
            ("2+8", "n"),
            ("größe", "n"),
        ] {
            assert_eq!(named(label), name);
        }
    }
}
