//! Sections 9.7.12, 9.7.13 and 9.7.17 to 9.7.19: control flow, synchronisation, stack, video, rest.

use super::Row;
use crate::ptx::opcode::Op;

pub(super) const ROWS: &[Row] = &[
    // 9.7.12
    (Op::Bra, &["uni? : l"]),
    (Op::BrxIdx, &["uni? : r,l"]),
    (
        Op::Call,
        &[
            "uni? : r",
            "uni? : g,r,g?,l?",
            "uni? : r,g,l?",
            "uni? : r,l",
        ],
    ),
    (Op::Ret, &["uni? : "]),
    (Op::Exit, &[": "]),
    // 9.7.13
    (
        Op::Bar,
        &[
            "cta? sync : r,r?",
            "cta? arrive : r,r",
            "cta? red popc u32 : d,r,r?,p",
            "cta? red and|or pred : d,r,r?,p",
        ],
    ),
    (Op::Barrier, BARRIER),
    (Op::BarWarpSync, &[": r"]),
    (Op::BarrierClusterArrive, &["release|relaxed? aligned? : "]),
    (Op::BarrierClusterWait, &["acquire? aligned? : "]),
    (Op::Membar, &["cta|gl|sys : "]),
    (Op::MembarProxy, &["alias : "]),
    (
        Op::Fence,
        &[
            "sc|acq_rel|acquire|release? $scope : ",
            "acquire sync_restrict::shared::cluster cluster : ",
            "release sync_restrict::shared::cta cluster : ",
        ],
    ),
    (
        Op::FenceProxy,
        &[
            "alias|async : ",
            "async global|shared::cta|shared::cluster : ",
            "tensormap::generic release $scope : ",
            "tensormap::generic acquire $scope : m,i",
            "async::generic acquire sync_restrict::shared::cluster cluster : ",
            "async::generic release sync_restrict::shared::cta cluster : ",
        ],
    ),
    (Op::FenceMbarrierInit, &["release cluster : "]),
    (
        Op::Atom,
        &[
            "$order? $scope? $at? and|or|xor|exch $level? b32|b64 : d@1,m,r@1,r64?",
            "$order? $scope? $at? add $level? u32|u64|s32|s64|f32|f64 : d@1,m,r@1,r64?",
            "$order? $scope? $at? min|max $level? $int32 : d@1,m,r@1,r64?",
            "$order? $scope? $at? inc|dec $level? u32 : d@1,m,r@1,r64?",
            "$order? $scope? $at? cas $level? b16|b32|b64|b128 : d@1,m,r@1,r@1,r64?",
            "$order? $scope? $at? exch $level? b128 : R128,m,r128,r64?",
            "$order? $scope? $at? add noftz $level? f16|f16x2|bf16|bf16x2 : d@1,m,r@1,r64?",
            "$order? $scope? global? add $level? v2|v4 f32 : vn@1,m,vn@1,r64?",
            "$order? $scope? global? add|min|max noftz $level? v2|v4|v8 f16|bf16 : vn@1,m,vn@1,r64?",
            "$order? $scope? global? add|min|max noftz $level? v2|v4 f16x2|bf16x2 : vn@1,m,vn@1,r64?",
        ],
    ),
    (
        Op::Red,
        &[
            "$rorder? $scope? $at? and|or|xor $level? b32|b64 : m,r@1,r64?",
            "$rorder? $scope? $at? add $level? u32|u64|s32|s64|f32|f64 : m,r@1,r64?",
            "$rorder? $scope? $at? min|max $level? $int32 : m,r@1,r64?",
            "$rorder? $scope? $at? inc|dec $level? u32 : m,r@1,r64?",
            "$rorder? $scope? $at? add noftz $level? f16|f16x2|bf16|bf16x2 : m,r@1,r64?",
            "$rorder? $scope? global? add $level? v2|v4 f32 : m,vn@1,r64?",
            "$rorder? $scope? global? add|min|max noftz $level? v2|v4|v8 f16|bf16 : m,vn@1,r64?",
            "$rorder? $scope? global? add|min|max noftz $level? v2|v4 f16x2|bf16x2 : m,vn@1,r64?",
        ],
    ),
    (
        Op::RedAsync,
        &[
            "relaxed cluster shared::cluster? mbarrier::complete_tx::bytes inc|dec u32 : m,r@1,m",
            "relaxed cluster shared::cluster? mbarrier::complete_tx::bytes min|max|add u32|s32|u64 : m,r@1,m",
            "relaxed cluster shared::cluster? mbarrier::complete_tx::bytes and|or|xor b32 : m,r@1,m",
            "mmio release gpu|sys global? add $int32 : m,r@1",
        ],
    ),
    (Op::Vote, &["all|any|uni pred : d,p", "ballot b32 : d,p"]),
    (
        Op::VoteSync,
        &["all|any|uni pred : d,p,r", "ballot b32 : d,p,r"],
    ),
    (
        Op::Match,
        &["any sync b32|b64 : d,r,r", "all sync b32|b64 : q,r,r"],
    ),
    (Op::Activemask, &["b32 : d"]),
    (
        Op::ReduxSync,
        &[
            "add|min|max u32|s32 : d,r,r",
            "and|or|xor b32 : d,r,r",
            "min|max abs? NaN? f32 : d,r,r",
        ],
    ),
    (Op::GriddepcontrolLaunchDependents, &[": "]),
    (Op::GriddepcontrolWait, &[": "]),
    (Op::ElectSync, &[": Q32,r32"]),
    (Op::MbarrierInit, &["shared|shared::cta? b64 : m,r"]),
    (Op::MbarrierInval, &["shared|shared::cta? b64 : m"]),
    (
        Op::MbarrierExpectTx,
        &[
            "$mbarrier? b64 : m,r32",
            "relaxed cta|cluster $mbarrier? b64 : m,r32",
        ],
    ),
    (
        Op::MbarrierCompleteTx,
        &[
            "$mbarrier? b64 : m,r32",
            "relaxed cta|cluster $mbarrier? b64 : m,r32",
        ],
    ),
    (Op::MbarrierArrive, ARRIVE),
    (Op::MbarrierArriveDrop, ARRIVE),
    (
        Op::CpAsyncMbarrierArrive,
        &["noinc? shared|shared::cta? b64 : m"],
    ),
    (
        Op::MbarrierTestWait,
        &[
            "shared|shared::cta? b64 : R1,m,r64",
            "acquire|relaxed cta|cluster shared|shared::cta? b64 : R1,m,r64",
            "parity shared|shared::cta? b64 : R1,m,r32",
            "parity acquire|relaxed cta|cluster shared|shared::cta? b64 : R1,m,r32",
        ],
    ),
    (
        Op::MbarrierTryWait,
        &[
            "shared|shared::cta? b64 : R1,m,r64,r32?",
            "acquire|relaxed cta|cluster shared|shared::cta? b64 : R1,m,r64,r32?",
            "parity shared|shared::cta? b64 : R1,m,r32,r32?",
            "parity acquire|relaxed cta|cluster shared|shared::cta? b64 : R1,m,r32,r32?",
        ],
    ),
    (Op::MbarrierPendingCount, &["b64 : R32,R64"]),
    (
        Op::TensormapCpFenceproxy,
        &["global shared::cta tensormap::generic release $scope sync aligned : m,m,i"],
    ),
    (
        Op::ClusterlaunchcontrolTryCancel,
        &["async shared::cta? mbarrier::complete_tx::bytes multicast::cluster::all? b128 : m,m"],
    ),
    (
        Op::ClusterlaunchcontrolQueryCancel,
        &[
            "is_canceled pred b128 : R1,r128",
            "get_first_ctaid v4 b32 b128 : vn32,r128",
            "get_first_ctaid::x|get_first_ctaid::y|get_first_ctaid::z b32 b128 : R32,r128",
        ],
    ),
    // 9.7.17
    (Op::Stacksave, &["u32|u64 : R@1"]),
    (Op::Stackrestore, &["u32|u64 : R@1"]),
    (Op::Alloca, &["u32|u64 : R@1,r@1,i?"]),
    // 9.7.18
    (Op::Vadd, SCALAR_VIDEO),
    (Op::Vsub, SCALAR_VIDEO),
    (Op::Vabsdiff, SCALAR_VIDEO),
    (Op::Vmin, SCALAR_VIDEO),
    (Op::Vmax, SCALAR_VIDEO),
    (Op::Vshl, VIDEO_SHIFT),
    (Op::Vshr, VIDEO_SHIFT),
    (
        Op::Vmad,
        &["u32|s32 u32|s32 u32|s32 po? sat? shr7|shr15? : D32,u,u,x"],
    ),
    (
        Op::Vset,
        &[
            "u32|s32 u32|s32 $vcmp : D32,u,u,r32?",
            "u32|s32 u32|s32 $vcmp add|min|max : D32,u,u,r32",
        ],
    ),
    (Op::Vadd2, SIMD_VIDEO),
    (Op::Vsub2, SIMD_VIDEO),
    (Op::Vavrg2, SIMD_VIDEO),
    (Op::Vabsdiff2, SIMD_VIDEO),
    (Op::Vmin2, SIMD_VIDEO),
    (Op::Vmax2, SIMD_VIDEO),
    (Op::Vset2, SIMD_SET),
    (Op::Vadd4, SIMD_VIDEO),
    (Op::Vsub4, SIMD_VIDEO),
    (Op::Vavrg4, SIMD_VIDEO),
    (Op::Vabsdiff4, SIMD_VIDEO),
    (Op::Vmin4, SIMD_VIDEO),
    (Op::Vmax4, SIMD_VIDEO),
    (Op::Vset4, SIMD_SET),
    // 9.7.19
    (Op::Brkpt, &[": "]),
    (Op::Nanosleep, &["u32 : r32"]),
    (Op::Pmevent, &[": i", "mask : i"]),
    (Op::Trap, &[": "]),
    (Op::Setmaxnreg, &["inc|dec sync aligned u32 : i"]),
];

/// `barrier`.
const BARRIER: &[&str] = &[
    "cta? sync aligned? : r,r?",
    "cta? arrive aligned? : r,r",
    "cta? red popc aligned? u32 : d,r,r?,p",
    "cta? red and|or aligned? pred : d,r,r?,p",
];

/// `mbarrier.arrive` and `mbarrier.arrive_drop`.
const ARRIVE: &[&str] = &[
    "$mbarrier? b64 : Q64,m,r32?",
    "release|relaxed cta|cluster $mbarrier? b64 : Q64,m,r32?",
    "expect_tx $mbarrier? b64 : Q64,m,r32",
    "expect_tx release|relaxed cta|cluster $mbarrier? b64 : Q64,m,r32",
    "noComplete shared|shared::cta? b64 : R64,m,r32",
    "noComplete release cta shared|shared::cta? b64 : R64,m,r32",
];

const SCALAR_VIDEO: &[&str] = &[
    "u32|s32 u32|s32 u32|s32 sat? : D32,u,u",
    "u32|s32 u32|s32 u32|s32 sat? add|min|max : D32,u,u,r32",
    "u32|s32 u32|s32 u32|s32 sat? : D32,u,u,r32",
];

const VIDEO_SHIFT: &[&str] = &[
    "u32|s32 u32|s32 u32 sat? clamp|wrap : D32,u,u",
    "u32|s32 u32|s32 u32 sat? clamp|wrap add|min|max : D32,u,u,r32",
    "u32|s32 u32|s32 u32 sat? clamp|wrap : D32,u,u,r32",
];

const SIMD_VIDEO: &[&str] = &[
    "u32|s32 u32|s32 u32|s32 sat? : D32,U,U,R32",
    "u32|s32 u32|s32 u32|s32 add : D32,U,U,R32",
];

const SIMD_SET: &[&str] = &[
    "u32|s32 u32|s32 $vcmp : D32,U,U,R32",
    "u32|s32 u32|s32 $vcmp add : D32,U,U,R32",
];
