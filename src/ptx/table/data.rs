//! Sections 9.7.9 to 9.7.11: data movement, conversion, asynchronous copies, textures and surfaces.

use super::Row;
use crate::ptx::opcode::Op;

pub(super) const ROWS: &[Row] = &[
    (Op::Mov, &["$bits|b128|$int|f32|f64|pred : w,w"]),
    (Op::Shfl, &["up|down|bfly|idx b32 : q,r,r,r"]),
    (Op::ShflSync, &["up|down|bfly|idx b32 : q,r,r,r,r"]),
    (
        Op::Prmt,
        &["b32 : d,r,r,r", "f4e|b4e|rc8|ecl|ecr|rc16 b32 : d,r,r,r"],
    ),
    (
        Op::Ld,
        &[
            "weak? $space? $ldcop? $l1? $l2? L2::cache_hint? $fetch? $vec? $memory : w,m,r?",
            "volatile $at? $fetch? $vec? $memory : w,m",
            "relaxed|acquire $scope $at? $l1? $l2? L2::cache_hint? $fetch? $vec? $memory : w,m,r?",
            "mmio relaxed sys global? $memory : w,m",
            // 9.7.9.9
            "global $nccop? nc $l1? $l2? L2::cache_hint? $fetch? $vec? $memory : w,m,r?",
        ],
    ),
    (Op::Ldu, &["global? v2|v4? $memory : w,m"]),
    (
        Op::St,
        &[
            "weak? $stspace? $stcop? $l1? $l2? L2::cache_hint? $vec? $memory : m,w,r?",
            "volatile $at? $vec? $memory : m,w",
            "relaxed|release $scope $at? $l1? $l2? L2::cache_hint? $vec? $memory : m,w,r?",
            "mmio relaxed sys global? $memory : m,w",
        ],
    ),
    (
        Op::StAsync,
        &[
            "weak? shared::cluster? mbarrier::complete_tx::bytes v2|v4? $number32 : m,w,m",
            "mmio? release gpu|sys global? $memory : m,r",
        ],
    ),
    (Op::StBulk, &["weak? shared::cta? : m,r,r"]),
    (
        Op::MultimemLdReduce,
        &[
            "weak|relaxed|acquire? $scope? global? min|max|add|and|or|xor $bits32|$int32 : d,m",
            "weak|relaxed|acquire? $scope? global? min|max|add acc::f32|acc::f16? v2|v4|v8? $multimem : w,m",
        ],
    ),
    (
        Op::MultimemSt,
        &[
            "weak|relaxed|release? $scope? global? $bits32|$int32 : m,r",
            "weak|relaxed|release? $scope? global? v2|v4|v8? $multimem : m,w",
        ],
    ),
    (
        Op::MultimemRed,
        &[
            "relaxed|release? $scope? global? min|max|add|and|or|xor $bits32|$int32 : m,r",
            "relaxed|release? $scope? global? add|min|max v2|v4|v8? f16|f16x2|bf16|bf16x2|f32|f64 : m,w",
        ],
    ),
    (
        Op::Prefetch,
        &[
            "global|local? L1|L2 : m",
            "global L2::evict_last|L2::evict_normal : m",
            "const|param? tensormap : m",
        ],
    ),
    (Op::Prefetchu, &["L1 : m"]),
    (Op::Applypriority, &["global? L2::evict_normal : m,r"]),
    (Op::Discard, &["global? L2 : m,r"]),
    (
        Op::Createpolicy,
        &[
            "range global? $policy L2::evict_first|L2::evict_unchanged? b64 : d,m,r,r",
            "fractional $policy L2::evict_first|L2::evict_unchanged? b64 : d,r?",
            "cvt L2 b64 : d,r",
        ],
    ),
    (Op::Isspacep, &["$window : d,r"]),
    (
        Op::Cvta,
        &["$window u32|u64 : d,r", "to $window u32|u64 : d,r"],
    ),
    (
        Op::Cvt,
        &[
            "$irnd? ftz? sat? $number $number : d,r",
            "$frnd ftz? sat? f16|f32|f64 $number : d,r",
            "rn|rz relu? f16|bf16 f32 : d,r",
            "rn|rz satfinite relu? f16|bf16 f32 : d,r",
            "rn|rz|rna satfinite? relu? tf32 f32 : d,r",
            "rn|rz satfinite? relu? f16x2|bf16x2 f32 : d,r,r",
            "rs relu? satfinite? f16x2|bf16x2 f32 : d,r,r,r",
            "rn satfinite relu? $f8x2|$f6x2|e2m1x2 f32 : d,r,r",
            "rn satfinite relu? $f8x2 f16x2 : d,r",
            "rn relu? f16x2 $f8x2|$f6x2|e2m1x2 : d,r",
            "rs relu? satfinite e4m3x4|e5m2x4|e2m3x4|e3m2x4|e2m1x4 f32 : d,v,r",
            "rz|rp satfinite? ue8m0x2 f32 : d,r,r",
            "rz|rp satfinite? ue8m0x2 bf16x2 : d,r",
            "rn bf16x2 ue8m0x2 : d,r",
            "$frnd|$irnd? bf16 $int8|f16|f32|f64|bf16 : d,r",
            "$frnd|$irnd? $int8|f16|f32|f64 bf16 : d,r",
        ],
    ),
    (
        Op::CvtPack,
        &[
            "sat u16|s16 s32 : d,r,r",
            "sat u2|s2|u4|s4|u8|s8 s32 b32 : d,r,r,r",
        ],
    ),
    (Op::Mapa, &["shared::cluster? u32|u64 : d,r,r"]),
    (Op::Getctarank, &["shared::cluster? u32|u64 : d,r"]),
    // 9.7.9.25: asynchronous copies.
    (
        Op::CpAsync,
        &["ca|cg shared|shared::cta global L2::cache_hint? $fetch? : m,m,r,x?,r?"],
    ),
    (Op::CpAsyncCommitGroup, &[": "]),
    (Op::CpAsyncWaitGroup, &[": r"]),
    (Op::CpAsyncWaitAll, &[": "]),
    (
        Op::CpAsyncBulk,
        &[
            "shared::cluster|shared::cta global mbarrier::complete_tx::bytes multicast::cluster? L2::cache_hint? \
             : m,m,r,m,r?,r?",
            "shared::cluster shared::cta mbarrier::complete_tx::bytes : m,m,r,m",
            "global shared::cta bulk_group L2::cache_hint? cp_mask? : m,m,r,r?,r?",
        ],
    ),
    (
        Op::CpReduceAsyncBulk,
        &[
            "shared::cluster shared::cta mbarrier::complete_tx::bytes $reduce $bits32|$int32 : m,m,r,m",
            "global shared::cta bulk_group L2::cache_hint? $reduce $bits32|$int32|f16|bf16|f32|f64 : m,m,r,r?",
            "global shared::cta bulk_group L2::cache_hint? add noftz f16|bf16 : m,m,r,r?",
        ],
    ),
    (
        Op::CpAsyncBulkPrefetch,
        &["L2 global L2::cache_hint? : m,r,r?"],
    ),
    (
        Op::CpAsyncBulkTensor,
        &[
            "$dim shared::cluster|shared::cta global $load? mbarrier::complete_tx::bytes multicast::cluster? \
             cta_group::1|cta_group::2? L2::cache_hint? : m,m,m,x?,r?,r?",
            "$dim global shared::cta tile|im2col_no_offs|tile::scatter4? bulk_group L2::cache_hint? : m,m,r?",
        ],
    ),
    (
        Op::CpReduceAsyncBulkTensor,
        &[
            "$dim global shared::cta $reduce tile|im2col_no_offs? bulk_group L2::cache_hint? : m,m,r?",
        ],
    ),
    (
        Op::CpAsyncBulkPrefetchTensor,
        &["$dim L2 global $load? L2::cache_hint? : m,x?,r?"],
    ),
    (Op::CpAsyncBulkCommitGroup, &[": "]),
    (Op::CpAsyncBulkWaitGroup, &["read? : r"]),
    (
        Op::TensormapReplace,
        &[
            "tile global_address global|shared::cta? b1024 b64 : m,r",
            "tile rank global|shared::cta? b1024 b32 : m,r",
            "tile box_dim|global_dim|element_stride global|shared::cta? b1024 b32 : m,r,r",
            "tile global_stride global|shared::cta? b1024 b64 : m,r,r",
            "tile elemtype|interleave_layout|swizzle_mode|swizzle_atomicity|fill_mode global|shared::cta? b1024 b32 \
             : m,r",
        ],
    ),
    // 9.7.10 and 9.7.11
    (
        Op::Tex,
        &["base|level|grad? $texture v2|v4? f16x2|$texel s32|f32 : w,m,x?,x?,x?,x?"],
    ),
    (
        Op::Tld4,
        &["r|g|b|a 2d|a2d|cube|acube v4 u32|s32|f32 f32 : w,m,x?,x?"],
    ),
    (
        Op::Txq,
        &[
            "width|height|depth|channel_data_type|channel_order|normalized_coords|array_size|num_mipmap_levels|num_samples \
             b32 : d,x",
            "level width|height|depth b32 : d,x,r",
            "force_unnormalized_coords|filter_mode|addr_mode_0|addr_mode_1|addr_mode_2 b32 : d,x",
        ],
    ),
    (Op::Istypep, &["texref|samplerref|surfref : d,r"]),
    (
        Op::Suld,
        &["b $surface $sucop? v2|v4? b8|$bits trap|clamp|zero? : w,m"],
    ),
    (
        Op::Sust,
        &[
            "b $surface wb|cg|cs|wt? v2|v4? b8|$bits trap|clamp|zero? : m,w",
            "p $surface v2|v4? b32|u32|s32|f32 trap|clamp|zero? : m,w",
        ],
    ),
    (
        Op::Sured,
        &[
            "b add|min|max|and|or 1d|2d|3d u32|u64|s32|b32|s64 trap|clamp|zero? : m,r",
            "p add|min|max|and|or 1d|2d|3d b32|b64 trap|clamp|zero? : m,r",
        ],
    ),
    (
        Op::Suq,
        &["width|height|depth|channel_data_type|channel_order|array_size|memory_layout b32 : d,x"],
    ),
];
