//! Sections 9.7.9 to 9.7.11: data movement, conversion, asynchronous copies, textures and surfaces.

use super::Row;
use crate::ptx::opcode::Op;

pub(super) const ROWS: &[Row] = &[
    (
        Op::Mov,
        &["$bits|b128|$int|f32|f64|pred : w,w", "v4 u32 : v,r"],
    ),
    (Op::Shfl, &["up|down|bfly|idx b32 : q,r,r,r"]),
    (Op::ShflSync, &["up|down|bfly|idx b32 : q,r,r,r,r"]),
    (
        Op::Prmt,
        &["b32 : d,r,r,r", "f4e|b4e|rc8|ecl|ecr|rc16 b32 : d,r,r,r"],
    ),
    (
        Op::Ld,
        &[
            "weak? $space? $ldcop? $l1? $l2? L2::cache_hint? $fetch? $vec? $memory : vn,m,r64?",
            "volatile $at? $fetch? $vec? $memory : vn,m",
            "relaxed|acquire $scope $at? $l1? $l2? L2::cache_hint? $fetch? $vec? $memory : vn,m,r64?",
            "mmio relaxed sys global? $memory : R,m",
            // 9.7.9.9
            "global $nccop? nc $l1? $l2? L2::cache_hint? $fetch? $vec? $memory : vn,m,r64?",
        ],
    ),
    (Op::Ldu, &["global? v2|v4? $memory : w,m"]),
    (
        Op::St,
        &[
            "weak? $stspace? $stcop? $l1? $l2? L2::cache_hint? $vec? $memory : m,vn,r64?",
            "volatile $at? $vec? $memory : m,vn",
            "relaxed|release $scope $at? $l1? $l2? L2::cache_hint? $vec? $memory : m,vn,r64?",
            "mmio relaxed sys global? $memory : m,r",
        ],
    ),
    (
        Op::StAsync,
        &[
            "weak? shared::cluster? mbarrier::complete_tx::bytes v2|v4? $number32 : m,vn@1,m",
            "mmio? release gpu|sys global? $memory : m,r@1",
        ],
    ),
    (Op::StBulk, &["weak? shared::cta? : m,r64,i"]),
    (
        Op::MultimemLdReduce,
        &[
            "weak? global? min|max $int32 : R@1,m",
            "relaxed|acquire $scope global? min|max $int32 : R@1,m",
            "weak? global? and|or|xor $bits32 : R@1,m",
            "relaxed|acquire $scope global? and|or|xor $bits32 : R@1,m",
            "weak? global? add u32|u64|s32|s64 : R@1,m",
            "relaxed|acquire $scope global? add u32|u64|s32|s64 : R@1,m",
            "weak? global? min|max|add v2|v4|v8 f16|bf16 : vn@1,m",
            "relaxed|acquire $scope global? min|max|add v2|v4|v8 f16|bf16 : vn@1,m",
            "weak? global? add acc::f32 v2|v4|v8 f16|bf16 : vn@1,m",
            "relaxed|acquire $scope global? add acc::f32 v2|v4|v8 f16|bf16 : vn@1,m",
            "weak? global? min|max|add v2|v4? f16x2|bf16x2 : vn@1,m",
            "weak? global? add acc::f32 v2|v4? f16x2|bf16x2 : vn@1,m",
            "relaxed|acquire $scope global? min|max|add v2|v4? f16x2|bf16x2 : vn@1,m",
            "relaxed|acquire $scope global? add acc::f32 v2|v4? f16x2|bf16x2 : vn@1,m",
            "weak? global? add v2|v4? f32 : vn@1,m",
            "relaxed|acquire $scope global? add v2|v4? f32 : vn@1,m",
            "weak? global? add f64 : R@1,m",
            "relaxed|acquire $scope global? add f64 : R@1,m",
            "weak? global? min|max|add v4|v8 e4m3|e5m2 : vn16,m",
            "weak? global? add acc::f16 v4|v8 e4m3|e5m2 : vn16,m",
            "relaxed|acquire $scope global? min|max|add v4|v8 e4m3|e5m2 : vn16,m",
            "relaxed|acquire $scope global? add acc::f16 v4|v8 e4m3|e5m2 : vn16,m",
            "weak? global? min|max|add v2|v4|v8 e4m3x2|e5m2x2 : vn@1,m",
            "weak? global? add acc::f16 v2|v4|v8 e4m3x2|e5m2x2 : vn@1,m",
            "relaxed|acquire $scope global? min|max|add v2|v4|v8 e4m3x2|e5m2x2 : vn@1,m",
            "relaxed|acquire $scope global? add acc::f16 v2|v4|v8 e4m3x2|e5m2x2 : vn@1,m",
            "weak? global? min|max|add v2|v4? e4m3x4|e5m2x4 : vn@1,m",
            "weak? global? add acc::f16 v2|v4? e4m3x4|e5m2x4 : vn@1,m",
            "relaxed|acquire $scope global? min|max|add v2|v4? e4m3x4|e5m2x4 : vn@1,m",
            "relaxed|acquire $scope global? add acc::f16 v2|v4? e4m3x4|e5m2x4 : vn@1,m",
        ],
    ),
    (
        Op::MultimemSt,
        &[
            "weak? global? $bits32|$int32 : m,r@1",
            "relaxed|release $scope global? $bits32|$int32 : m,r@1",
            "weak? global? v2|v4|v8 f16|bf16 : m,vn@1",
            "relaxed|release $scope global? v2|v4|v8 f16|bf16 : m,vn@1",
            "weak? global? v2|v4? f16x2|bf16x2|f32 : m,vn@1",
            "relaxed|release $scope global? v2|v4? f16x2|bf16x2|f32 : m,vn@1",
            "weak? global? f64 : m,r@1",
            "relaxed|release $scope global? f64 : m,r@1",
            "weak? global? v4|v8 e4m3|e5m2 : m,vn16",
            "relaxed|release $scope global? v4|v8 e4m3|e5m2 : m,vn16",
            "weak? global? v2|v4|v8 e4m3x2|e5m2x2 : m,vn@1",
            "relaxed|release $scope global? v2|v4|v8 e4m3x2|e5m2x2 : m,vn@1",
            "weak? global? v2|v4? e4m3x4|e5m2x4 : m,vn@1",
            "relaxed|release $scope global? v2|v4? e4m3x4|e5m2x4 : m,vn@1",
        ],
    ),
    (
        Op::MultimemRed,
        &[
            "global? min|max $int32 : m,r@1",
            "relaxed|release $scope global? min|max $int32 : m,r@1",
            "global? and|or|xor $bits32 : m,r@1",
            "relaxed|release $scope global? and|or|xor $bits32 : m,r@1",
            "global? add u32|u64|s32|f64 : m,r@1",
            "relaxed|release $scope global? add u32|u64|s32|f64 : m,r@1",
            "global? add v2|v4? f32 : m,vn@1",
            "relaxed|release $scope global? add v2|v4? f32 : m,vn@1",
            "global? add|min|max v2|v4|v8 f16|bf16 : m,vn@1",
            "relaxed|release $scope global? add|min|max v2|v4|v8 f16|bf16 : m,vn@1",
            "global? add|min|max v2|v4? f16x2|bf16x2 : m,vn@1",
            "relaxed|release $scope global? add|min|max v2|v4? f16x2|bf16x2 : m,vn@1",
        ],
    ),
    (
        Op::Prefetch,
        &[
            "global|local? L1|L2 : m",
            "global? L2::evict_last|L2::evict_normal : m",
            "const|param? tensormap : m",
        ],
    ),
    (Op::Prefetchu, &["L1 : m"]),
    (Op::Applypriority, &["global? L2::evict_normal : m,i"]),
    (Op::Discard, &["global? L2 : m,i"]),
    (
        Op::Createpolicy,
        &[
            "range global? $policy L2::evict_first|L2::evict_unchanged? b64 : R64,m,r32,r32",
            "fractional $policy L2::evict_first|L2::evict_unchanged? b64 : R64,r32?",
            "cvt L2 b64 : R64,r64",
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
            "sat? $int8 $int8 : d,r",
            "$irnd ftz? sat? $int8 f32 : d,r",
            "$irnd sat? $int8 f16|f64 : d,r",
            "$irnd? ftz? sat? f32 f32 : d,r",
            "$irnd? sat? f16 f16 : d,r",
            "$irnd? sat? f64 f64 : d,r",
            "ftz? sat? f32 f16 : d,r",
            "sat? f64 f16 : d,r",
            "ftz? sat? f64 f32 : d,r",
            "$frnd sat? f16|f32|f64 $int8 : d,r",
            "$frnd ftz? sat? f32 f64 : d,r",
            "$frnd ftz? sat? f16 f32 : d,r",
            "$frnd sat? f16 f64 : d,r",
            "rn|rz relu? f16|bf16 f32 : d,r",
            "rn|rz satfinite relu? f16|bf16 f32 : d,r",
            "rn|rz|rna satfinite? relu? tf32 f32 : d,r",
            "rn|rz satfinite? relu? f16x2|bf16x2 f32 : d,r,r",
            "rs relu? satfinite? f16x2|bf16x2 f32 : R@1,r@2,r@2,r32",
            "rn satfinite relu? $f8x2|$f6x2|e2m1x2 f32 : R,r@2,r@2",
            "rn satfinite relu? $f8x2 f16x2 : d,r",
            "rn relu? f16x2 $f8x2|$f6x2|e2m1x2 : R@1,R",
            "rs relu? satfinite e4m3x4|e5m2x4|e2m3x4|e3m2x4|e2m1x4 f32 : R@1,v4@2,r32",
            "rz|rp satfinite? ue8m0x2 f32 : d,r,r",
            "rz|rp satfinite? ue8m0x2 bf16x2 : d,r",
            "rn bf16x2 ue8m0x2 : d,r",
            "$frnd bf16 $int|f16|f32|f64 : d,r",
            "$irnd? bf16 bf16 : d,r",
            "$irnd $int bf16 : d,r",
            "$frnd f16 bf16 : d,r",
            "f32|f64 bf16 : d,r",
        ],
    ),
    (
        Op::CvtPack,
        &[
            "sat u16|s16 s32 : d,r,r",
            "sat u2|s2|u4|s4|u8|s8 s32 b32 : R32,r32,r32,r32",
        ],
    ),
    (Op::Mapa, &["shared::cluster? u32|u64 : R@1,a@1,r32"]),
    (Op::Getctarank, &["shared::cluster? u32|u64 : R32,a@1"]),
    // 9.7.9.25: asynchronous copies.
    (
        Op::CpAsync,
        &["ca|cg shared|shared::cta global L2::cache_hint? $fetch? : m,m,r,x?,r?"],
    ),
    (Op::CpAsyncCommitGroup, &[": "]),
    (Op::CpAsyncWaitGroup, &[": i"]),
    (Op::CpAsyncWaitAll, &[": "]),
    (
        Op::CpAsyncBulk,
        &[
            "shared::cluster|shared::cta global mbarrier::complete_tx::bytes : m,m,r32,m",
            "shared::cluster|shared::cta global mbarrier::complete_tx::bytes L2::cache_hint : m,m,r32,m,r64",
            "shared::cluster global mbarrier::complete_tx::bytes multicast::cluster : m,m,r32,m,r16",
            "shared::cluster global mbarrier::complete_tx::bytes multicast::cluster L2::cache_hint : m,m,r32,m,r16,r64",
            "shared::cluster shared::cta mbarrier::complete_tx::bytes : m,m,r32,m",
            "global shared::cta bulk_group : m,m,r32",
            "global shared::cta bulk_group L2::cache_hint : m,m,r32,r64",
            "global shared::cta bulk_group cp_mask : m,m,r32,r16",
            "global shared::cta bulk_group L2::cache_hint cp_mask : m,m,r32,r64,r16",
        ],
    ),
    (
        Op::CpReduceAsyncBulk,
        &[
            "shared::cluster shared::cta mbarrier::complete_tx::bytes and|or|xor b32 : m,m,r32,m",
            "shared::cluster shared::cta mbarrier::complete_tx::bytes add u32|s32|u64 : m,m,r32,m",
            "shared::cluster shared::cta mbarrier::complete_tx::bytes min|max u32|s32 : m,m,r32,m",
            "shared::cluster shared::cta mbarrier::complete_tx::bytes inc|dec u32 : m,m,r32,m",
            "global shared::cta bulk_group and|or|xor $bits32 : m,m,r32",
            "global shared::cta bulk_group L2::cache_hint and|or|xor $bits32 : m,m,r32,r64",
            "global shared::cta bulk_group add u32|s32|u64|f32|f64 : m,m,r32",
            "global shared::cta bulk_group L2::cache_hint add u32|s32|u64|f32|f64 : m,m,r32,r64",
            "global shared::cta bulk_group min|max $int32|f16|bf16 : m,m,r32",
            "global shared::cta bulk_group L2::cache_hint min|max $int32|f16|bf16 : m,m,r32,r64",
            "global shared::cta bulk_group inc|dec u32 : m,m,r32",
            "global shared::cta bulk_group L2::cache_hint inc|dec u32 : m,m,r32,r64",
            "global shared::cta bulk_group add noftz f16|bf16 : m,m,r32",
            "global shared::cta bulk_group L2::cache_hint add noftz f16|bf16 : m,m,r32,r64",
        ],
    ),
    (
        Op::CpAsyncBulkPrefetch,
        &["L2 global : m,r32", "L2 global L2::cache_hint : m,r32,r64"],
    ),
    (
        Op::CpAsyncBulkTensor,
        &[
            "$dim shared::cluster|shared::cta global $load? mbarrier::complete_tx::bytes cta_group::1|cta_group::2? \
             : m,t,m,v16?",
            "$dim shared::cluster|shared::cta global $load? mbarrier::complete_tx::bytes cta_group::1|cta_group::2? \
             L2::cache_hint : m,t,m,v16?,r64",
            "$dim shared::cluster global $load? mbarrier::complete_tx::bytes multicast::cluster \
             cta_group::1|cta_group::2? : m,t,m,v16?,r16",
            "$dim shared::cluster global $load? mbarrier::complete_tx::bytes multicast::cluster \
             cta_group::1|cta_group::2? L2::cache_hint : m,t,m,v16?,r16,r64",
            "$dim global shared::cta tile|im2col_no_offs|tile::scatter4? bulk_group : t,m",
            "$dim global shared::cta tile|im2col_no_offs|tile::scatter4? bulk_group L2::cache_hint : t,m,r64",
        ],
    ),
    (
        Op::CpReduceAsyncBulkTensor,
        &[
            "$dim global shared::cta $reduce tile|im2col_no_offs? bulk_group : t,m",
            "$dim global shared::cta $reduce tile|im2col_no_offs? bulk_group L2::cache_hint : t,m,r64",
        ],
    ),
    (
        Op::CpAsyncBulkPrefetchTensor,
        &[
            "$dim L2 global $load? : t,v16?",
            "$dim L2 global $load? L2::cache_hint : t,v16?,r64",
        ],
    ),
    (Op::CpAsyncBulkCommitGroup, &[": "]),
    (Op::CpAsyncBulkWaitGroup, &["read? : i"]),
    (
        Op::TensormapReplace,
        &[
            "tile global_address global|shared::cta? b1024 b64 : m,r@2",
            "tile rank global|shared::cta? b1024 b32 : m,r32",
            "tile box_dim|global_dim|element_stride global|shared::cta? b1024 b32 : m,i,r32",
            "tile global_stride global|shared::cta? b1024 b64 : m,i,r@2",
            "tile elemtype|interleave_layout|swizzle_mode|swizzle_atomicity|fill_mode global|shared::cta? b1024 b32 \
             : m,i",
        ],
    ),
    // 9.7.10 and 9.7.11
    (
        Op::Tex,
        &[
            "base|level|grad? $texture v4 $texel s32|f32 : w,t,x?,x?,x?,x?",
            "base|level|grad? $texture v2 f16x2 s32|f32 : w,t,x?,x?,x?,x?",
        ],
    ),
    (
        Op::Tld4,
        &["r|g|b|a 2d|a2d|cube|acube v4 u32|s32|f32 f32 : w,t,x?,x?"],
    ),
    (
        Op::Txq,
        &[
            "width|height|depth|channel_data_type|channel_order|normalized_coords|array_size|num_mipmap_levels|num_samples \
             b32 : R32,m",
            "level width|height|depth b32 : R32,m,r32",
            "force_unnormalized_coords|filter_mode|addr_mode_0|addr_mode_1|addr_mode_2 b32 : R32,m",
        ],
    ),
    (Op::Istypep, &["texref|samplerref|surfref : R1,a64"]),
    (
        Op::Suld,
        &["b $surface $sucop? v2|v4? b8|$bits trap|clamp|zero? : vn@1,t"],
    ),
    (
        Op::Sust,
        &[
            "b $surface wb|cg|cs|wt? v2|v4? b8|$bits trap|clamp|zero? : t,vn@1",
            "p $surface v2|v4? b32|u32|s32|f32 trap|clamp|zero? : t,vn@1",
        ],
    ),
    (
        Op::Sured,
        &[
            "b add 1d|2d|3d u32|u64|s32 trap|clamp|zero? : t,r@1",
            "b min|max 1d|2d|3d u32|u64|s32|s64 trap|clamp|zero? : t,r@1",
            "b and|or 1d|2d|3d b32 trap|clamp|zero? : t,r@1",
            "p add|min|max|and|or 1d|2d|3d b32|b64 trap|clamp|zero? : t,r@1",
        ],
    ),
    (
        Op::Suq,
        &[
            "width|height|depth|channel_data_type|channel_order|array_size|memory_layout b32 : R32,m",
        ],
    ),
];
