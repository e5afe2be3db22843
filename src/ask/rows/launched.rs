//! What a batch decides of a launch: the block, the grid, the cluster, shared memory, numbers, the code.
//!
//! Problem: a row has other bits in another batch because something that is chosen by the size of the batch reaches it: a grid
//! whose CTAs share a row, a number of splits, another configuration of a kernel. Who reads that two rows differ wants to
//! know which of them differ between the two launches. Each is named with both values; that it is the cause is not claimed.

use crate::explain::text;
use crate::spec::{Number, Resolved};

use super::Instance;

/// What differs between the launches of two instances, as a sentence.
pub(super) fn decided(small: &Instance, here: &Instance) -> String {
    let [old, new] = [small, here].map(|i| &i.setup.kernels[..]);
    let mut all: Vec<String> = Vec::new();
    if old.len() != new.len() {
        let [a, b] = [old, new].map(<[Resolved]>::len);
        all.push(format!(
            "the number of launches ({b}, and {a} in the smallest)"
        ));
    }
    for (i, (old, new)) in old.iter().zip(new).enumerate() {
        let of = match here.setup.kernels.len() {
            1 => String::new(),
            _ => format!(" of launch {i}"),
        };
        all.extend(
            differing(old, new)
                .map(|[what, a, b]| format!("{what}{of} ({b}, and {a} in the smallest)")),
        );
    }
    if !small.is_of(here) {
        all.push("the code (another kernel than in the smallest)".to_string());
    }
    match all.split_last() {
        None => "both rows are of launches that are the same".to_string(),
        Some((only, [])) => format!("the batch decides {only}"),
        Some((last, rest)) => format!("the batch decides {} and {last}", rest.join(", ")),
    }
}

/// Each thing in which two launches differ, as it is called, with both of its values.
fn differing(old: &Resolved, new: &Resolved) -> impl Iterator<Item = [String; 3]> {
    let extent = |[x, y, z]: [u32; 3]| format!("({x},{y},{z})");
    let bytes = |n: Option<u64>| n.map_or("unlimited".to_string(), |n| format!("{n} bytes"));
    let of = |r: &Resolved| {
        let launch = &r.launch;
        [
            ("the grid", extent(launch.grid)),
            ("the block", extent(launch.block)),
            ("the cluster", extent(launch.cluster)),
            ("dynamic shared memory", bytes(launch.dynamic_shared)),
        ]
    };
    let mut all: Vec<[String; 3]> = Vec::new();
    for ((what, a), (_, b)) in of(old).into_iter().zip(of(new)) {
        if a != b {
            all.push([what.to_string(), a, b]);
        }
    }
    for n in &new.numbers {
        let same = |o: &&Number| (o.position, o.offset) == (n.position, n.offset);
        if let Some(o) = old.numbers.iter().find(same)
            && o.bits != n.bits
        {
            let [a, b] = [o, n].map(|n| text::bits(n.bits, Some(n.ty)).text);
            all.push([format!("`{}`", n.label), a, b]);
        }
    }
    all.into_iter()
}
