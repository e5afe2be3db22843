//! Sections 9.7.14 to 9.7.16: matrices of warps, warpgroups and the tensor cores.

use super::Row;
use crate::ptx::opcode::Op;

pub(super) const ROWS: &[Row] = &[
    // 9.7.14
    (
        Op::WmmaLoad,
        &[
            "a|b sync aligned row|col m8n8k4 shared|shared::cta|global? f64 : vw,m,r32?",
            "a|b sync aligned row|col m16n16k16|m32n8k16|m8n32k16 shared|shared::cta|global? f16|bf16|s8|u8 : vw,m,r32?",
            "c sync aligned row|col m8n8k4 shared|shared::cta|global? f64 : vw,m,r32?",
            "c sync aligned row|col m16n16k8 shared|shared::cta|global? f32 : vw,m,r32?",
            "c sync aligned row|col m8n8k32|m8n8k128 shared|shared::cta|global? s32 : vw,m,r32?",
            "c sync aligned row|col m16n16k16|m32n8k16|m8n32k16 shared|shared::cta|global? f16|f32|s32 : vw,m,r32?",
            "a|b sync aligned row|col m16n16k8 shared|shared::cta|global? tf32 : vw,m,r32?",
            "a sync aligned row m8n8k32 shared|shared::cta|global? s4|u4 : vw,m,r32?",
            "b sync aligned col m8n8k32 shared|shared::cta|global? s4|u4 : vw,m,r32?",
            "a sync aligned row m8n8k128 shared|shared::cta|global? b1 : vw,m,r32?",
            "b sync aligned col m8n8k128 shared|shared::cta|global? b1 : vw,m,r32?",
        ],
    ),
    (
        Op::WmmaStore,
        &[
            "d sync aligned row|col m8n8k4 shared|shared::cta|global? f64 : m,vw,r32?",
            "d sync aligned row|col m16n16k8 shared|shared::cta|global? f32 : m,vw,r32?",
            "d sync aligned row|col m8n8k32|m8n8k128 shared|shared::cta|global? s32|f32 : m,vw,r32?",
            "d sync aligned row|col m16n16k16|m32n8k16|m8n32k16 shared|shared::cta|global? f16|f32|s32 : m,vw,r32?",
        ],
    ),
    (
        Op::WmmaMma,
        &[
            "sync aligned row|col row|col m16n16k16|m32n8k16|m8n32k16 f16|f32 f16|f32 : vd,va,vb,vc",
            "sync aligned row|col row|col m16n16k16|m32n8k16|m8n32k16 s32 s8 s8 s32 satfinite? : vd,va,vb,vc",
            "sync aligned row|col row|col m16n16k16|m32n8k16|m8n32k16 s32 u8 u8 s32 satfinite? : vd,va,vb,vc",
            "sync aligned row|col row|col m16n16k16|m32n8k16|m8n32k16 f32 bf16 bf16 f32 : vd,va,vb,vc",
            "sync aligned row|col row|col m16n16k8 f32 tf32 tf32 f32 : vd,va,vb,vc",
            "sync aligned row|col row|col m8n8k4 $frnd? f64 f64 f64 f64 : vd,va,vb,vc",
            "sync aligned row col m8n8k32 s32 s4 s4 s32 satfinite? : vd,va,vb,vc",
            "sync aligned row col m8n8k32 s32 u4 u4 s32 satfinite? : vd,va,vb,vc",
            "and|xor popc sync aligned row col m8n8k128 s32 b1 b1 s32 : vd,va,vb,vc",
        ],
    ),
    (
        Op::Mma,
        &[
            "sync aligned m8n8k4 row|col row|col f16|f32 f16 f16 f16 : vd,va,vb,vc",
            "sync aligned m8n8k4 row|col row|col f32 f16 f16 f32 : vd,va,vb,vc",
            "sync aligned m16n8k8|m16n8k16 row col f16 f16 f16 f16 : vd,va,vb,vc",
            "sync aligned m16n8k8|m16n8k16 row col f32 f16 f16 f32 : vd,va,vb,vc",
            "sync aligned m16n8k8|m16n8k16 row col f32 bf16 bf16 f32 : vd,va,vb,vc",
            "sync aligned m16n8k4|m16n8k8 row col f32 tf32 tf32 f32 : vd,va,vb,vc",
            "sync aligned m16n8k16|m16n8k32 row col f16 $f8 $f8 f16 : vd,va,vb,vc",
            "sync aligned m16n8k16|m16n8k32 row col f32 $f8 $f8 f32 : vd,va,vb,vc",
            "sync aligned m16n8k32 row col kind::f8f6f4 f16 $f8f6f4 $f8f6f4 f16 : vd,va,vb,vc",
            "sync aligned m16n8k32 row col kind::f8f6f4 f32 $f8f6f4 $f8f6f4 f32 : vd,va,vb,vc",
            "sync aligned m8n8k4|m16n8k4|m16n8k8|m16n8k16 row col $frnd? f64 f64 f64 f64 : vd,va,vb,vc",
            "sync aligned m8n8k16|m16n8k16|m16n8k32 row col satfinite? s32 s8|u8 s8|u8 s32 : vd,va,vb,vc",
            "sync aligned m8n8k32|m16n8k32|m16n8k64 row col satfinite? s32 s4|u4 s4|u4 s32 : vd,va,vb,vc",
            "sync aligned m8n8k128|m16n8k128|m16n8k256 row col s32 b1 b1 s32 xor|and popc : vd,va,vb,vc",
            // Block scaling.
            "sync aligned m16n8k64 row col kind::mxf4 block_scale scale_vec::2X? f32 e2m1 e2m1 f32 ue8m0 \
             : vd,va,vb,vc,r32,v,r32,v",
            "sync aligned m16n8k64 row col kind::mxf4nvf4 block_scale scale_vec::2X|scale_vec::4X f32 e2m1 e2m1 f32 \
             ue8m0 : vd,va,vb,vc,r32,v,r32,v",
            "sync aligned m16n8k64 row col kind::mxf4nvf4 block_scale scale_vec::4X f32 e2m1 e2m1 f32 ue4m3 \
             : vd,va,vb,vc,r32,v,r32,v",
            "sync aligned m16n8k32 row col kind::mxf8f6f4 block_scale scale_vec::1X? f32 $f8f6f4 $f8f6f4 f32 ue8m0 \
             : vd,va,vb,vc,r32,v,r32,v",
        ],
    ),
    (Op::MmaSp, SPARSE),
    (Op::MmaSpOrdered, SPARSE),
    (
        Op::Ldmatrix,
        &[
            "sync aligned m8n8 x1|x2|x4 trans? shared|shared::cta? b16 : vx,m",
            "sync aligned m8n16 x1|x2|x4 shared|shared::cta? b8x16 b6x16_p32|b4x16_p64 : vx,m",
            "sync aligned m16n16 x1|x2 trans shared|shared::cta? b8 : vx,m",
            "sync aligned m16n16 x1|x2 trans shared|shared::cta? b8x16 b6x16_p32|b4x16_p64 : vx,m",
        ],
    ),
    (
        Op::Stmatrix,
        &[
            "sync aligned m8n8 x1|x2|x4 trans? shared|shared::cta? b16 : m,vx",
            "sync aligned m16n8 x1|x2|x4 trans shared|shared::cta? b8 : m,vx",
        ],
    ),
    (Op::Movmatrix, &["sync aligned m8n8 trans b16 : d,r"]),
    // 9.7.15
    (
        Op::WgmmaMmaAsync,
        &[
            "sync aligned? m64k16 f16|f32 f16 f16 : vg,y,r64,p,i,i,i,i?",
            "sync aligned? m64k16 f32 bf16 bf16 : vg,y,r64,p,i,i,i,i?",
            "sync aligned? m64k8 f32 tf32 tf32 : vg,y,r64,p,i,i",
            "sync aligned? m64k32 f16|f32 $f8 $f8 : vg,y,r64,p,i,i",
            "sync aligned? m64k32 satfinite? s32 s8|u8 s8|u8 : vg,y,r64,p",
            "sync aligned? m64k256 s32 b1 b1 and popc : vg,y,r64,p",
        ],
    ),
    (
        Op::WgmmaMmaAsyncSp,
        &[
            "sync aligned? m64k32 f16|f32 f16 f16 : vg,y,r64,r32,i,p,i,i,i,i?",
            "sync aligned? m64k32 f32 bf16 bf16 : vg,y,r64,r32,i,p,i,i,i,i?",
            "sync aligned? m64k16 f32 tf32 tf32 : vg,y,r64,r32,i,p,i,i",
            "sync aligned? m64k64 f16|f32 $f8 $f8 : vg,y,r64,r32,i,p,i,i",
            "sync aligned? m64k64 satfinite? s32 s8|u8 s8|u8 : vg,y,r64,r32,i,p",
        ],
    ),
    (Op::WgmmaFence, &["sync aligned? : "]),
    (Op::WgmmaCommitGroup, &["sync aligned? : "]),
    (Op::WgmmaWaitGroup, &["sync aligned? : i"]),
    // 9.7.16
    (
        Op::Tcgen05Alloc,
        &["$group sync aligned shared::cta? b32 : m,r32"],
    ),
    (Op::Tcgen05Dealloc, &["$group sync aligned b32 : r32,r32"]),
    (
        Op::Tcgen05RelinquishAllocPermit,
        &["$group sync aligned : "],
    ),
    (
        Op::Tcgen05Ld,
        &[
            "sync aligned? 16x64b|16x128b|16x256b|32x32b $times pack::16b? b32 : vx,m32",
            "sync aligned? 16x32bx2 $times pack::16b? b32 : vx,m32,i",
        ],
    ),
    (
        Op::Tcgen05St,
        &[
            "sync aligned? 16x64b|16x128b|16x256b|32x32b $times unpack::16b? b32 : m32,vx",
            "sync aligned? 16x32bx2 $times unpack::16b? b32 : m32,i,vx",
        ],
    ),
    (Op::Tcgen05WaitLd, &["sync aligned : "]),
    (Op::Tcgen05WaitSt, &["sync aligned : "]),
    (
        Op::Tcgen05Cp,
        &[
            "$group 128x256b|4x256b|128x128b : m32,r64",
            "$group 128x256b|4x256b|128x128b b8x16 b6x16_p32|b4x16_p64 : m32,r64",
            "$group 64x128b warpx2::02_13|warpx2::01_23 : m32,r64",
            "$group 64x128b warpx2::02_13|warpx2::01_23 b8x16 b6x16_p32|b4x16_p64 : m32,r64",
            "$group 32x128b warpx4 : m32,r64",
            "$group 32x128b warpx4 b8x16 b6x16_p32|b4x16_p64 : m32,r64",
        ],
    ),
    (Op::Tcgen05Shift, &["$group down : m32"]),
    (
        Op::Tcgen05Mma,
        &[
            "$group $kind $collector? : m32,z,r64,r32,vt?,p,i?",
            "$group $kind ashift $collector? : m32,m32,r64,r32,vt?,p,i?",
            "$group kind::mxf8f6f4 block_scale scale_vec::1X|block32? $collector? : m32,z,r64,r32,m32,m32,p",
            "$group kind::mxf4 block_scale scale_vec::2X|block32? $collector? : m32,z,r64,r32,m32,m32,p",
            "$group kind::mxf4nvf4 block_scale scale_vec::2X|scale_vec::4X|block16|block32 $collector? \
             : m32,z,r64,r32,m32,m32,p",
        ],
    ),
    (
        Op::Tcgen05MmaSp,
        &[
            "$group $kind $collector? : m32,z,r64,m32,r32,vt?,p,i?",
            "$group $kind ashift $collector? : m32,m32,r64,m32,r32,vt?,p,i?",
            "$group kind::mxf8f6f4 block_scale scale_vec::1X|block32? $collector? : m32,z,r64,m32,r32,m32,m32,p",
            "$group kind::mxf4 block_scale scale_vec::2X|block32? $collector? : m32,z,r64,m32,r32,m32,m32,p",
            "$group kind::mxf4nvf4 block_scale scale_vec::2X|scale_vec::4X|block16|block32 $collector? \
             : m32,z,r64,m32,r32,m32,m32,p",
        ],
    ),
    (
        Op::Tcgen05MmaWs,
        &["cta_group::1 $kind $bcollector? : m32,z,r64,r32,p,r64?"],
    ),
    (
        Op::Tcgen05MmaWsSp,
        &["cta_group::1 $kind $bcollector? : m32,z,r64,m32,r32,p,r64?"],
    ),
    (Op::Tcgen05FenceBefore, &[": "]),
    (Op::Tcgen05FenceAfter, &[": "]),
    (
        Op::Tcgen05Commit,
        &[
            "$group mbarrier::arrive::one shared::cluster? b64 : m",
            "$group mbarrier::arrive::one shared::cluster? multicast::cluster b64 : m,r16",
        ],
    ),
];

/// `mma.sp`.
const SPARSE: &[&str] = &[
    "sync aligned m16n8k16|m16n8k32 row col f16 f16 f16 f16 : vd,va,vb,vc,r32,i",
    "sync aligned m16n8k16|m16n8k32 row col f32 f16 f16 f32 : vd,va,vb,vc,r32,i",
    "sync aligned m16n8k16|m16n8k32 row col f32 bf16 bf16 f32 : vd,va,vb,vc,r32,i",
    "sync aligned m16n8k8|m16n8k16 row col f32 tf32 tf32 f32 : vd,va,vb,vc,r32,i",
    "sync aligned m16n8k32|m16n8k64 row col satfinite? s32 s8|u8 s8|u8 s32 : vd,va,vb,vc,r32,i",
    "sync aligned m16n8k64|m16n8k128 row col satfinite? s32 s4|u4 s4|u4 s32 : vd,va,vb,vc,r32,i",
    "sync aligned m16n8k64 row col f16 $f8 $f8 f16 : vd,va,vb,vc,r32,i",
    "sync aligned m16n8k64 row col f32 $f8 $f8 f32 : vd,va,vb,vc,r32,i",
    "sync aligned m16n8k64 row col kind::f8f6f4 f16 $f8f6f4 $f8f6f4 f16 : vd,va,vb,vc,r32,i",
    "sync aligned m16n8k64 row col kind::f8f6f4 f32 $f8f6f4 $f8f6f4 f32 : vd,va,vb,vc,r32,i",
    "sync aligned m16n8k128 row col kind::mxf4 block_scale scale_vec::2X? f32 e2m1 e2m1 f32 ue8m0 \
     : vd,va,vb,vc,r32,i,r32,v,r32,v",
    "sync aligned m16n8k128 row col kind::mxf4nvf4 block_scale scale_vec::2X|scale_vec::4X f32 e2m1 e2m1 f32 \
     ue8m0 : vd,va,vb,vc,r32,i,r32,v,r32,v",
    "sync aligned m16n8k128 row col kind::mxf4nvf4 block_scale scale_vec::4X f32 e2m1 e2m1 f32 ue4m3 \
     : vd,va,vb,vc,r32,i,r32,v,r32,v",
    "sync aligned m16n8k64 row col kind::mxf8f6f4 block_scale scale_vec::1X? f32 $f8f6f4 $f8f6f4 f32 ue8m0 \
     : vd,va,vb,vc,r32,i,r32,v,r32,v",
];
