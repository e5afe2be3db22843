//! The protocol rules of pipelines on Hopper and Blackwell: what the manual asks for, and what is found where it is missing.
//!
//! Each rule is a row, with a kernel of `kernels/protocols` that keeps it and one that does not; a test holds every row to
//! what the gate says of these two. `volta explain protocols` prints the table. Sections are those of PTX ISA 9.3.

/// A rule of a protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Its name.
    pub name: &'static str,
    /// The sections of the manual.
    pub sections: &'static str,
    /// The rule in a sentence.
    pub says: &'static str,
    /// Kinds of findings where it is broken, and where each is.
    pub finds: &'static str,
    /// A piece of a kernel that keeps it, and the entry of the gate that has it.
    pub right: Example,
    /// A piece of a kernel that breaks it, and the entry.
    pub wrong: Example,
    /// The kind of defect or warning that the entry gets.
    pub kind: &'static str,
}

/// A piece of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Example {
    /// The entry of the gate.
    pub entry: &'static str,
    /// The lines that matter, shortened.
    pub text: &'static str,
}

const fn shown(entry: &'static str, text: &'static str) -> Example {
    Example { entry, text }
}

/// All rules.
pub const RULES: &[Rule] = &[
    Rule {
        name: "mbarrier scope",
        sections: "8.5, 8.7, 9.7.14.16",
        says: "An arrival and a wait order what two CTAs do only if each is in the scope of the other; without a scope both are `.cta`.",
        finds: "data-race, warning default-scope where compilers rely on it for asynchronous operations",
        right: shown(
            "mbarriers-scope-push",
            "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [peer];",
        ),
        wrong: shown(
            "mbarriers-scope-push-arrive-cta",
            "mbarrier.arrive.release.cta.shared::cluster.b64 _, [peer];",
        ),
        kind: "data-race",
    },
    Rule {
        name: "register budget",
        sections: "9.7.20.5",
        says: "`setmaxnreg.inc` waits until the CTA's pool has the registers; `.inc` below and `.dec` above what is owned, and two without a barrier of the warpgroup between, are undefined.",
        finds: "deadlock, barrier-misuse",
        right: shown(
            "protocols-registers-later",
            "setmaxnreg.dec 96; bar.sync 1; setmaxnreg.dec 40;   // the other warpgroups: setmaxnreg.inc 232",
        ),
        wrong: shown(
            "protocols-registers-too-late",
            "setmaxnreg.dec 96; bar.sync 1; setmaxnreg.dec 40;   // the others come to the barrier after setmaxnreg.inc 232",
        ),
        kind: "deadlock",
    },
    Rule {
        name: "lagging waiter",
        sections: "9.7.14.16.19",
        says: "A wait tells the current phase and the one before apart: who is not acknowledged may miss a phase and wait for good.",
        finds: "deadlock, warning phase-lag where the thread only waits",
        right: shown(
            "mbarriers-lag-two-consumers",
            "wait full; read; arrive empty;   // by both consumers",
        ),
        wrong: shown(
            "mbarriers-lag-second-acts",
            "wait full; read;   // one of them does not arrive",
        ),
        kind: "deadlock",
    },
    Rule {
        name: "observed phase",
        sections: "9.7.14.16.5.1",
        says: "A wait must have returned true for a phase before the next arrival.",
        finds: "barrier-misuse",
        right: shown("mbarriers-seen-own-wait", "arrive; wait phase 0; arrive;"),
        wrong: shown("mbarriers-seen-no-wait", "arrive; arrive;"),
        kind: "barrier-misuse",
    },
    Rule {
        name: "tcgen05 fences",
        sections: "9.7.17.6.4",
        says: "An operation on tensor memory that threads hand on needs `tcgen05.fence::before_thread_sync` before the synchronisation and `::after_thread_sync` after it.",
        finds: "warning missing-fence",
        right: shown(
            "protocols-tensor-fences",
            "wait done; tcgen05.fence::after_thread_sync; tcgen05.ld",
        ),
        wrong: shown("protocols-tensor-fences-no-after", "wait done; tcgen05.ld"),
        kind: "missing-fence",
    },
    Rule {
        name: "pair",
        sections: "9.7.17.7.1",
        says: "The tensor memory of a pair is freed after both CTAs have synchronised their last accesses.",
        finds: "lifetime",
        right: shown(
            "protocols-pair-end",
            "bar.sync 0; barrier.cluster.arrive; barrier.cluster.wait; tcgen05.dealloc.cta_group::2",
        ),
        wrong: shown(
            "protocols-pair-end-own-only",
            "bar.sync 0; tcgen05.dealloc.cta_group::2",
        ),
        kind: "lifetime",
    },
    Rule {
        name: "copies and arrivals",
        sections: "8.9.1.1",
        says: "`cp.async.mbarrier.arrive` is ordered after the thread's earlier `cp.async` and after nothing else.",
        finds: "data-race, warning copy-arrival in a kernel without cp.async",
        right: shown(
            "mbarriers-copies-fill-then-arrive",
            "st.shared [stage], 0; mbarrier.arrive [full];",
        ),
        wrong: shown(
            "mbarriers-copies-fill-noinc",
            "st.shared [stage], 0; cp.async.mbarrier.arrive.noinc [full];",
        ),
        kind: "data-race",
    },
    Rule {
        name: "copies and the async proxy",
        sections: "8.6, 9.7.16.4",
        says: "`cp.async` writes through the generic proxy; who reads through the asynchronous one needs `fence.proxy.async` after the wait.",
        finds: "data-race for bulk stores, warning missing-fence for operands of wgmma and tcgen05",
        right: shown(
            "proxies-copy-store-writer-fence",
            "cp.async.wait_group 0; fence.proxy.async; bar.sync 0; cp.async.bulk.global.shared::cta",
        ),
        wrong: shown(
            "proxies-copy-store-no-fence",
            "cp.async.wait_group 0; bar.sync 0; cp.async.bulk.global.shared::cta",
        ),
        kind: "data-race",
    },
    Rule {
        name: "refill after writes",
        sections: "8.6, 8.9.5",
        says: "Bytes that were written through one proxy and are overwritten through another need the fence between.",
        finds: "data-race, warning missing-fence where the bytes held an mbarrier, a staged map or the word of tcgen05.alloc",
        right: shown(
            "proxies-over-refill-writer-fence",
            "st.shared [stage]; fence.proxy.async; bar.sync 0; cp.async.bulk [stage]",
        ),
        wrong: shown(
            "proxies-over-refill-no-fence",
            "st.shared [stage]; bar.sync 0; cp.async.bulk [stage]",
        ),
        kind: "data-race",
    },
    Rule {
        name: "tensor maps in memory",
        sections: "9.7.14.4",
        says: "A tensor map that the kernel wrote is released and acquired by `fence.proxy.tensormap` before its use.",
        finds: "data-race",
        right: shown(
            "proxies-map-stores-release-acquire",
            "st.global [map]; fence.proxy.tensormap::generic.release; bar.sync 0; fence.proxy.tensormap::generic.acquire [map], 128;",
        ),
        wrong: shown(
            "proxies-map-stores-no-acquire",
            "st.global [map]; fence.proxy.tensormap::generic.release; bar.sync 0;",
        ),
        kind: "data-race",
    },
    Rule {
        name: "tcgen05.ld",
        sections: "9.7.17.6.4.5",
        says: "A read of a loaded register is a true dependency; memory is over after `tcgen05.wait::ld`, and a register must not be overwritten before.",
        finds: "data-race, warning missing-wait where every loaded register has reached an access that is over",
        right: shown(
            "protocols-load-wait",
            "tcgen05.ld {a, b}; tcgen05.wait::ld; bar.sync 0; tcgen05.mma",
        ),
        wrong: shown(
            "protocols-load-one-stored",
            "tcgen05.ld {a, b}; st.global [y], a; bar.sync 0; tcgen05.mma",
        ),
        kind: "data-race",
    },
    Rule {
        name: "fences and relaxed arrivals",
        sections: "8.8, 9.7.14.4",
        says: "A fence before a relaxed arrival releases, and one after a relaxed wait acquires; `.sync_restrict` for shared memory alone.",
        finds: "data-race",
        right: shown(
            "mbarriers-relaxed-arrive-fence",
            "fence.acq_rel.cluster; mbarrier.arrive.relaxed.cluster",
        ),
        wrong: shown(
            "mbarriers-relaxed-arrive-no-fence",
            "mbarrier.arrive.relaxed.cluster",
        ),
        kind: "data-race",
    },
    Rule {
        name: "pipelined tcgen05",
        sections: "9.7.17.6.2, 9.7.17.6.4.3",
        says: "`tcgen05.cp` then `mma`, and products into one accumulator, are executed in order, over threads by both fences and a synchronisation.",
        finds: "data-race",
        right: shown(
            "protocols-pipeline-copy",
            "tcgen05.cp; tcgen05.fence::before_thread_sync; arrive; wait; tcgen05.fence::after_thread_sync; tcgen05.mma",
        ),
        wrong: shown(
            "protocols-pipeline-no-before",
            "tcgen05.cp; arrive; wait; tcgen05.fence::after_thread_sync; tcgen05.mma",
        ),
        kind: "data-race",
    },
    Rule {
        name: "pending arrival",
        sections: "9.7.14.1",
        says: "An arrival at a named barrier that no warp takes before the CTA ends hands on to none.",
        finds: "warning pending-arrival",
        right: shown(
            "mbarriers-turns",
            "bar.sync 1, 64;   // takes the last turn",
        ),
        wrong: shown(
            "mbarriers-turns-last-arrival",
            "bar.arrive 2, 64;   // after the last turn",
        ),
        kind: "pending-arrival",
    },
    Rule {
        name: "reads before a refill",
        sections: "8.6",
        says: "A generic read before an asynchronous write of the same bytes is handed over by an arrival of its own lane, or needs `fence.proxy.async`.",
        finds: "warning missing-fence where only order in a warp lies between, a listed assumption where a synchronisation does",
        right: shown(
            "proxies-read-ring-elected-arrival-fence",
            "ld.shared [stage]; fence.proxy.async; bar.warp.sync; @elected mbarrier.arrive [empty];",
        ),
        wrong: shown(
            "proxies-read-ring-elected-arrival",
            "ld.shared [stage]; bar.warp.sync; @elected mbarrier.arrive [empty];",
        ),
        kind: "missing-fence",
    },
    Rule {
        name: "dependent grids",
        sections: "9.7.14.14",
        says: "A grid that was launched programmatically sees what the one before wrote after `griddepcontrol.wait`.",
        finds: "data-race in a sequence, a listed assumption in a launch alone",
        right: shown(
            "proxies-grid-seq-wait",
            "griddepcontrol.wait; ld.global [mid];",
        ),
        wrong: shown(
            "proxies-grid-seq-read-before-wait",
            "ld.global [mid]; griddepcontrol.wait;",
        ),
        kind: "data-race",
    },
    Rule {
        name: "illegal uses of tensor memory",
        sections: "9.7.17.7.1, 9.7.17.2",
        says: "Columns are a power of two from 32 to 512, none are allocated after `tcgen05.relinquish_alloc_permit`, and a warp reaches its own lanes.",
        finds: "lifetime, barrier-misuse",
        right: shown(
            "protocols-permit",
            "tcgen05.alloc; tcgen05.relinquish_alloc_permit",
        ),
        wrong: shown(
            "protocols-permit-allocated-after",
            "tcgen05.relinquish_alloc_permit; tcgen05.alloc",
        ),
        kind: "lifetime",
    },
];
