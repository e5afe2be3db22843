//! Every opcode has rows of values, or a reason why it has none.
//!
//! The tables in `values/` hold what instructions compute (`values.rs`). An opcode that is in none of
//! them is one that moves, orders or jumps, for which other tests are the judges, or one that
//! volta does not execute; the list below says which. A new opcode is in neither, and fails here.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use volta::ptx::Op;

/// Opcodes without rows, by the reason; an opcode ends where a blank is.
const WITHOUT: &[(&str, &str)] = &[
    (
        "jumps and ends of threads, which have no result",
        "bra brx.idx call ret exit trap brkpt nanosleep pmevent setmaxnreg",
    ),
    (
        "addresses and hints of caches: what they are about is memory",
        "cvta isspacep mapa getctarank prefetch prefetchu applypriority discard createpolicy ldu",
    ),
    (
        "copies, whose results are in memory (tests/kernels/moves.rs, golden tests, kernels/tensor)",
        "st.async st.bulk red.async cp.async cp.async.commit_group cp.async.wait_group \
         cp.async.wait_all cp.async.bulk cp.reduce.async.bulk cp.async.bulk.prefetch \
         cp.async.bulk.tensor cp.reduce.async.bulk.tensor cp.async.bulk.prefetch.tensor \
         cp.async.bulk.commit_group cp.async.bulk.wait_group tensormap.replace \
         tensormap.cp_fenceproxy multimem.ld_reduce multimem.st multimem.red",
    ),
    (
        "order between threads (golden tests, kernels/barriers)",
        "bar barrier bar.warp.sync barrier.cluster.arrive barrier.cluster.wait membar \
         membar.proxy fence fence.proxy fence.mbarrier_init griddepcontrol.launch_dependents \
         griddepcontrol.wait mbarrier.init mbarrier.inval mbarrier.expect_tx \
         mbarrier.complete_tx mbarrier.arrive mbarrier.arrive_drop cp.async.mbarrier.arrive \
         mbarrier.test_wait mbarrier.try_wait mbarrier.pending_count \
         clusterlaunchcontrol.try_cancel clusterlaunchcontrol.query_cancel",
    ),
    (
        "matrices, which have layouts of their own (tests/kernels/products.rs, tests/kernels/moves.rs, kernels/tensor)",
        "wmma.load wmma.store wmma.mma mma mma.sp mma.sp::ordered_metadata ldmatrix stmatrix \
         movmatrix wgmma.mma_async wgmma.mma_async.sp wgmma.fence wgmma.commit_group \
         wgmma.wait_group tcgen05.alloc tcgen05.dealloc tcgen05.relinquish_alloc_permit \
         tcgen05.ld tcgen05.st tcgen05.wait::ld tcgen05.wait::st tcgen05.cp tcgen05.shift \
         tcgen05.mma tcgen05.mma.sp tcgen05.mma.ws tcgen05.mma.ws.sp \
         tcgen05.fence::before_thread_sync tcgen05.fence::after_thread_sync tcgen05.commit",
    ),
    (
        "textures and surfaces, whose contents no binding gives (kernels/images)",
        "tex tld4 txq istypep suld sust sured suq",
    ),
    (
        "forms without `.sync`, which no target of PTX 9.0 has",
        "shfl vote",
    ),
    (
        "the stack of a thread, whose addresses are open",
        "stacksave stackrestore alloca",
    ),
];

/// The opcode that an instruction starts with: the longest that fits.
fn opcode(instruction: &str) -> Option<Op> {
    let text = instruction.trim_start();
    let text = match text.strip_prefix('@') {
        Some(rest) => rest.split_once(' ')?.1.trim_start(),
        None => text,
    };
    let word = text.split([' ', '\t']).next()?;
    // The name of a collective may be split by a word of its own: `match.any.sync`.
    let fits = |op: &&Op| {
        let rest = word.strip_prefix(op.text());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    Op::ALL
        .iter()
        .filter(fits)
        .max_by_key(|op| op.text().len())
        .copied()
}

#[test]
fn every_opcode_has_values_or_a_reason() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/values");
    let mut with = BTreeSet::new();
    for entry in fs::read_dir(folder).expect("the folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|e| e != "txt") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("readable");
        let templates = text.lines().filter_map(|line| line.strip_prefix(": "));
        let parts = templates.flat_map(|t| t.split([';', '{', '}']));
        with.extend(parts.filter_map(opcode).map(Op::text));
    }
    let listed: Vec<&str> = WITHOUT
        .iter()
        .flat_map(|(_, names)| names.split_whitespace())
        .collect();
    let known = |name: &&&str| !Op::ALL.iter().any(|op| op.text() == **name);
    let strange: Vec<_> = listed.iter().filter(known).collect();
    assert!(strange.is_empty(), "no opcodes: {strange:?}");
    let both: Vec<_> = listed.iter().filter(|n| with.contains(**n)).collect();
    assert!(both.is_empty(), "listed, and yet with values: {both:?}");
    let neither: Vec<&str> = Op::ALL
        .iter()
        .map(|op| op.text())
        .filter(|name| !with.contains(name) && !listed.contains(name))
        .collect();
    assert!(
        neither.is_empty(),
        "neither values nor a reason: {neither:?}"
    );
}
