//! What a batch decides of a launch: the block, the grid, the cluster, shared memory, numbers, the code.
//!
//! Problem: a row has other bits in another batch because something that is chosen by the size of the batch reaches it: a grid
//! whose CTAs share a row, a number of splits, another configuration of a kernel. Who reads that two rows differ wants to
//! know which of them differ between the two launches. Each is named with both values; that it is the cause is not claimed.

use crate::explain::text;
use crate::spec::Number;

use super::Instance;

/// What differs between the launches of two instances, as a sentence.
pub(super) fn decided(small: &Instance, here: &Instance) -> String {
    let [old, new] = [small, here].map(|i| &i.alone.setup.kernels[0]);
    let extent = |[x, y, z]: [u32; 3]| format!("({x},{y},{z})");
    let bytes = |n: Option<u64>| n.map_or("unlimited".to_string(), |n| format!("{n} bytes"));
    let of = [old, new].map(|r| {
        let launch = &r.launch;
        [
            ("the grid", extent(launch.grid)),
            ("the block", extent(launch.block)),
            ("the cluster", extent(launch.cluster)),
            ("dynamic shared memory", bytes(launch.dynamic_shared)),
        ]
    });
    let [before, after] = of;
    let mut all: Vec<String> = Vec::new();
    for ((what, a), (_, b)) in before.into_iter().zip(after) {
        if a != b {
            all.push(format!("{what} ({b}, and {a} in the smallest)"));
        }
    }
    for n in &new.numbers {
        let same = |o: &&Number| (o.position, o.offset) == (n.position, n.offset);
        if let Some(o) = old.numbers.iter().find(same)
            && o.bits != n.bits
        {
            let [a, b] = [o, n].map(|n| text::bits(n.bits, Some(n.ty)).text);
            all.push(format!("`{}` ({b}, and {a} in the smallest)", n.label));
        }
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
