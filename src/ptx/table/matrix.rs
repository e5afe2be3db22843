//! Sections 9.7.14 to 9.7.16: matrices of warps, warpgroups and the tensor cores.

use super::Row;
use crate::ptx::opcode::Op;

pub(super) const ROWS: &[Row] = &[
    // 9.7.14
    (
        Op::WmmaLoad,
        &[
            "a|b sync aligned row|col $wmma shared|shared::cta|global? f16|bf16|f64|s8|u8 : v,m,r?",
            "a|b sync aligned row|col m16n16k8 shared|shared::cta|global? tf32 : v,m,r?",
            "a|b sync aligned row|col m8n8k32|m8n8k128 shared|shared::cta|global? s4|u4|b1 : v,m,r?",
            "c sync aligned row|col $wmma|m8n8k32|m8n8k128|m16n16k8 shared|shared::cta|global? f16|f32|s32|f64 \
             : v,m,r?",
        ],
    ),
    (
        Op::WmmaStore,
        &[
            "d sync aligned row|col $wmma|m8n8k32|m8n8k128|m16n16k8 shared|shared::cta|global? f16|f32|s32|f64 \
             : m,v,r?",
        ],
    ),
    (
        Op::WmmaMma,
        &[
            "sync aligned row|col row|col $wmma f16|f32 f16|f32 : v,v,v,v",
            "sync aligned row|col row|col $wmma s32 s8|u8 s8|u8 s32 satfinite? : v,v,v,v",
            "sync aligned row|col row|col $wmma f32 bf16 bf16 f32 : v,v,v,v",
            "sync aligned row|col row|col m16n16k8 f32 tf32 tf32 f32 : v,v,v,v",
            "sync aligned row|col row|col m8n8k4 $frnd? f64 f64 f64 f64 : v,v,v,v",
            "sync aligned row col m8n8k32 s32 s4|u4 s4|u4 s32 satfinite? : v,v,v,v",
            "and|xor popc sync aligned row col m8n8k128 s32 b1 b1 s32 : v,v,v,v",
        ],
    ),
    (
        Op::Mma,
        &[
            "sync aligned m8n8k4 row|col row|col f16|f32 f16 f16 f16|f32 : v,v,v,v",
            "sync aligned m16n8k8|m16n8k16 row col f16|f32 f16 f16 f16|f32 : v,v,v,v",
            "sync aligned m16n8k8|m16n8k16 row col f32 bf16 bf16 f32 : v,v,v,v",
            "sync aligned m16n8k4|m16n8k8 row col f32 tf32 tf32 f32 : v,v,v,v",
            "sync aligned m16n8k16|m16n8k32 row col f32|f16 $f8 $f8 f32|f16 : v,v,v,v",
            "sync aligned m16n8k32 row col kind::f8f6f4 f32|f16 $f8f6f4 $f8f6f4 f32|f16 : v,v,v,v",
            "sync aligned m8n8k4|m16n8k4|m16n8k8|m16n8k16 row col $frnd? f64 f64 f64 f64 : v,v,v,v",
            "sync aligned m8n8k16|m16n8k16|m16n8k32 row col satfinite? s32 s8|u8 s8|u8 s32 : v,v,v,v",
            "sync aligned m8n8k32|m16n8k32|m16n8k64 row col satfinite? s32 s4|u4 s4|u4 s32 : v,v,v,v",
            "sync aligned m8n8k128|m16n8k128|m16n8k256 row col s32 b1 b1 s32 xor|and popc : v,v,v,v",
            // Block scaling.
            "sync aligned m16n8k64 row col kind::mxf4 block_scale scale_vec::2X? f32 e2m1 e2m1 f32 ue8m0 \
             : v,v,v,v,x,v,x,v",
            "sync aligned m16n8k64 row col kind::mxf4nvf4 block_scale scale_vec::2X|scale_vec::4X f32 e2m1 e2m1 f32 \
             ue8m0|ue4m3 : v,v,v,v,x,v,x,v",
            "sync aligned m16n8k32 row col kind::mxf8f6f4 block_scale scale_vec::1X? f32 $f8f6f4 $f8f6f4 f32 ue8m0 \
             : v,v,v,v,x,v,x,v",
        ],
    ),
    (Op::MmaSp, SPARSE),
    (Op::MmaSpOrdered, SPARSE),
    (
        Op::Ldmatrix,
        &[
            "sync aligned m8n8 x1|x2|x4 trans? shared|shared::cta? b16 : v,m",
            "sync aligned m8n16 x1|x2|x4 shared|shared::cta? b8x16 b6x16_p32|b4x16_p64 : v,m",
            "sync aligned m16n16 x1|x2 trans shared|shared::cta? b8 : v,m",
            "sync aligned m16n16 x1|x2 trans shared|shared::cta? b8x16 b6x16_p32|b4x16_p64 : v,m",
        ],
    ),
    (
        Op::Stmatrix,
        &[
            "sync aligned m8n8 x1|x2|x4 trans? shared|shared::cta? b16 : m,v",
            "sync aligned m16n8 x1|x2|x4 trans shared|shared::cta? b8 : m,v",
        ],
    ),
    (Op::Movmatrix, &["sync aligned m8n8 trans b16 : d,r"]),
    // 9.7.15
    (
        Op::WgmmaMmaAsync,
        &[
            "sync aligned m64 f16|f32 f16 f16 : v,x,r,r,r,r,r,r?",
            "sync aligned m64 f32 bf16 bf16 : v,x,r,r,r,r,r,r?",
            "sync aligned m64 f32 tf32 tf32 : v,x,r,r,r,r",
            "sync aligned m64 f16|f32 $f8 $f8 : v,x,r,r,r,r",
            "sync aligned m64 satfinite? s32 s8|u8 s8|u8 : v,x,r,r",
            "sync aligned m64 s32 b1 b1 and popc : v,x,r,r",
        ],
    ),
    (
        Op::WgmmaMmaAsyncSp,
        &[
            "sync aligned m64 f16|f32 f16 f16 : v,x,r,r,r,r,r,r,r,r?",
            "sync aligned m64 f32 bf16 bf16 : v,x,r,r,r,r,r,r,r,r?",
            "sync aligned m64 f32 tf32 tf32 : v,x,r,r,r,r,r,r",
            "sync aligned m64 f16|f32 $f8 $f8 : v,x,r,r,r,r,r,r",
            "sync aligned m64 satfinite? s32 s8|u8 s8|u8 : v,x,r,r,r,r",
        ],
    ),
    (Op::WgmmaFence, &["sync aligned : "]),
    (Op::WgmmaCommitGroup, &["sync aligned : "]),
    (Op::WgmmaWaitGroup, &["sync aligned : r"]),
    // 9.7.16
    (
        Op::Tcgen05Alloc,
        &["$group sync aligned shared::cta? b32 : m,r"],
    ),
    (Op::Tcgen05Dealloc, &["$group sync aligned b32 : r,r"]),
    (
        Op::Tcgen05RelinquishAllocPermit,
        &["$group sync aligned : "],
    ),
    (
        Op::Tcgen05Ld,
        &[
            "sync aligned 16x64b|16x128b|16x256b|32x32b $times pack::16b? b32 : v,m",
            "sync aligned 16x32bx2 $times pack::16b? b32 : v,m,r",
        ],
    ),
    (
        Op::Tcgen05St,
        &[
            "sync aligned 16x64b|16x128b|16x256b|32x32b $times unpack::16b? b32 : m,v",
            "sync aligned 16x32bx2 $times unpack::16b? b32 : m,r,v",
        ],
    ),
    (Op::Tcgen05WaitLd, &["sync aligned : "]),
    (Op::Tcgen05WaitSt, &["sync aligned : "]),
    (
        Op::Tcgen05Cp,
        &[
            "$group 128x256b|4x256b|128x128b : m,r",
            "$group 128x256b|4x256b|128x128b b8x16 b6x16_p32|b4x16_p64 : m,r",
            "$group 64x128b warpx2::02_13|warpx2::01_23 : m,r",
            "$group 64x128b warpx2::02_13|warpx2::01_23 b8x16 b6x16_p32|b4x16_p64 : m,r",
            "$group 32x128b warpx4 : m,r",
            "$group 32x128b warpx4 b8x16 b6x16_p32|b4x16_p64 : m,r",
        ],
    ),
    (Op::Tcgen05Shift, &["$group down : m"]),
    (
        Op::Tcgen05Mma,
        &[
            "$group $kind $collector? : m,x,r,r,v?,p,r?",
            "$group $kind ashift $collector? : m,m,r,r,v?,p,r?",
            "$group kind::mxf8f6f4 block_scale scale_vec::1X|block32? $collector? : m,x,r,r,m,m,p",
            "$group kind::mxf4 block_scale scale_vec::2X|block32? $collector? : m,x,r,r,m,m,p",
            "$group kind::mxf4nvf4 block_scale scale_vec::2X|scale_vec::4X|block16|block32 $collector? \
             : m,x,r,r,m,m,p",
        ],
    ),
    (
        Op::Tcgen05MmaSp,
        &[
            "$group $kind $collector? : m,x,r,m,r,v?,p,r?",
            "$group $kind ashift $collector? : m,m,r,m,r,v?,p,r?",
            "$group kind::mxf8f6f4 block_scale scale_vec::1X|block32? $collector? : m,x,r,m,r,m,m,p",
            "$group kind::mxf4 block_scale scale_vec::2X|block32? $collector? : m,x,r,m,r,m,m,p",
            "$group kind::mxf4nvf4 block_scale scale_vec::2X|scale_vec::4X|block16|block32 $collector? \
             : m,x,r,m,r,m,m,p",
        ],
    ),
    (
        Op::Tcgen05MmaWs,
        &["cta_group::1 $kind $bcollector? : m,x,r,r,p,r?"],
    ),
    (
        Op::Tcgen05MmaWsSp,
        &["cta_group::1 $kind $bcollector? : m,x,r,m,r,p,r?"],
    ),
    (Op::Tcgen05FenceBefore, &[": "]),
    (Op::Tcgen05FenceAfter, &[": "]),
    (
        Op::Tcgen05Commit,
        &["$group mbarrier::arrive::one shared::cluster? multicast::cluster? b64 : m,r?"],
    ),
];

/// `mma.sp`.
const SPARSE: &[&str] = &[
    "sync aligned m16n8k16|m16n8k32 row col f16|f32 f16 f16 f16|f32 : v,v,v,v,r,r",
    "sync aligned m16n8k16|m16n8k32 row col f32 bf16 bf16 f32 : v,v,v,v,r,r",
    "sync aligned m16n8k8|m16n8k16 row col f32 tf32 tf32 f32 : v,v,v,v,r,r",
    "sync aligned m16n8k32|m16n8k64 row col satfinite? s32 s8|u8 s8|u8 s32 : v,v,v,v,r,r",
    "sync aligned m16n8k64|m16n8k128 row col satfinite? s32 s4|u4 s4|u4 s32 : v,v,v,v,r,r",
    "sync aligned m16n8k64 row col f32|f16 $f8 $f8 f32|f16 : v,v,v,v,r,r",
    "sync aligned m16n8k64 row col kind::f8f6f4 f32|f16 $f8f6f4 $f8f6f4 f32|f16 : v,v,v,v,r,r",
    "sync aligned m16n8k128 row col kind::mxf4 block_scale scale_vec::2X? f32 e2m1 e2m1 f32 ue8m0 \
     : v,v,v,v,r,r,x,v,x,v",
    "sync aligned m16n8k128 row col kind::mxf4nvf4 block_scale scale_vec::2X|scale_vec::4X f32 e2m1 e2m1 f32 \
     ue8m0|ue4m3 : v,v,v,v,r,r,x,v,x,v",
    "sync aligned m16n8k64 row col kind::mxf8f6f4 block_scale scale_vec::1X? f32 $f8f6f4 $f8f6f4 f32 ue8m0 \
     : v,v,v,v,r,r,x,v,x,v",
];
