//! The words of PTX that are not opcodes: types, state spaces and the modifiers of instructions.
//!
//! Source: PTX ISA 9.0, sections 5.1, 5.2 and the syntax of each instruction in 9.7. A word is
//! written after a dot; it is everything up to the next dot, so `.shared::cta` and
//! `.mbarrier::complete_tx::bytes` are one word each.

use std::fmt;

/// Declares an enum of words with their spellings (without the dot).
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u16)]
        pub enum $name { $(#[doc = concat!("`.", $text, "`")] $(#[$vdoc])* $variant,)* }

        impl $name {
            /// All of them, in the order of their declaration.
            pub const ALL: &'static [$name] = &[$($name::$variant,)*];
            const TEXTS: &'static [&'static str] = &[$($text,)*];

            /// The spelling, without the dot.
            pub fn text(self) -> &'static str {
                Self::TEXTS[self as usize]
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.text())
            }
        }
    };
}

words! {
    /// A type of PTX ISA 9.0, sections 5.2 and 5.3 and the matrix and texture instructions.
    Type {
        Pred = "pred",
        B1 = "b1", B8 = "b8", B16 = "b16", B32 = "b32", B64 = "b64", B128 = "b128",
        B1024 = "b1024",
        U2 = "u2", U4 = "u4", U8 = "u8", U16 = "u16", U32 = "u32", U64 = "u64",
        S2 = "s2", S4 = "s4", S8 = "s8", S16 = "s16", S32 = "s32", S64 = "s64",
        U16x2 = "u16x2", S16x2 = "s16x2", U8x4 = "u8x4", S8x4 = "s8x4",
        F16 = "f16", F16x2 = "f16x2", F32 = "f32", F32x2 = "f32x2", F64 = "f64",
        Bf16 = "bf16", Bf16x2 = "bf16x2", Tf32 = "tf32",
        E4m3 = "e4m3", E5m2 = "e5m2", E2m3 = "e2m3", E3m2 = "e3m2", E2m1 = "e2m1",
        E4m3x2 = "e4m3x2", E5m2x2 = "e5m2x2", E2m3x2 = "e2m3x2", E3m2x2 = "e3m2x2",
        E2m1x2 = "e2m1x2",
        E4m3x4 = "e4m3x4", E5m2x4 = "e5m2x4", E2m3x4 = "e2m3x4", E3m2x4 = "e3m2x4",
        E2m1x4 = "e2m1x4",
        Ue8m0 = "ue8m0", Ue8m0x2 = "ue8m0x2", Ue4m3 = "ue4m3",
        B8x16 = "b8x16", B6x16P32 = "b6x16_p32", B4x16P64 = "b4x16_p64",
        Texref = "texref", Samplerref = "samplerref", Surfref = "surfref",
    }
}

/// What the bits of a type mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TypeClass {
    /// `.pred`.
    Predicate,
    /// Untyped bits.
    Bits,
    /// Unsigned integers.
    Unsigned,
    /// Signed integers.
    Signed,
    /// Floats of any format.
    Float,
    /// A handle of a texture, sampler or surface.
    Opaque,
}

impl Type {
    /// What the bits mean.
    pub fn class(self) -> TypeClass {
        use Type::*;
        match self {
            Pred => TypeClass::Predicate,
            B1 | B8 | B16 | B32 | B64 | B128 | B1024 | B8x16 | B6x16P32 | B4x16P64 => {
                TypeClass::Bits
            }
            U2 | U4 | U8 | U16 | U32 | U64 | U16x2 | U8x4 => TypeClass::Unsigned,
            S2 | S4 | S8 | S16 | S32 | S64 | S16x2 | S8x4 => TypeClass::Signed,
            Texref | Samplerref | Surfref => TypeClass::Opaque,
            _ => TypeClass::Float,
        }
    }

    /// Whether values are floats (of any format, packed ones included).
    pub fn is_float(self) -> bool {
        self.class() == TypeClass::Float
    }

    /// Whether values are signed integers.
    pub fn is_signed(self) -> bool {
        self.class() == TypeClass::Signed
    }

    /// Number of elements in a packed type, else 1.
    pub fn lanes(self) -> u32 {
        use Type::*;
        match self {
            U16x2 | S16x2 | F16x2 | F32x2 | Bf16x2 | E4m3x2 | E5m2x2 | E2m3x2 | E3m2x2 | E2m1x2
            | Ue8m0x2 => 2,
            U8x4 | S8x4 | E4m3x4 | E5m2x4 | E2m3x4 | E3m2x4 | E2m1x4 => 4,
            B8x16 | B6x16P32 | B4x16P64 => 16,
            _ => 1,
        }
    }

    /// Size in bits of the register or memory cell that holds a value; 6-bit floats take 8 each
    /// when packed, 4-bit ones 4; handles take 64.
    pub fn bits(self) -> u32 {
        use Type::*;
        match self {
            Pred | B1 => 1,
            U2 | S2 => 2,
            U4 | S4 | E2m1 => 4,
            E2m3 | E3m2 => 6,
            B8 | U8 | S8 | E4m3 | E5m2 | Ue8m0 | Ue4m3 | E2m1x2 => 8,
            B16 | U16 | S16 | F16 | Bf16 | E4m3x2 | E5m2x2 | E2m3x2 | E3m2x2 | Ue8m0x2 | E2m1x4 => {
                16
            }
            B32 | U32 | S32 | U16x2 | S16x2 | U8x4 | S8x4 | F16x2 | F32 | Bf16x2 | Tf32
            | E4m3x4 | E5m2x4 | E2m3x4 | E3m2x4 => 32,
            B64 | U64 | S64 | F64 | F32x2 | Texref | Samplerref | Surfref => 64,
            B128 | B8x16 | B6x16P32 | B4x16P64 => 128,
            B1024 => 1024,
        }
    }

    /// Size in bytes, rounded up.
    pub fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }
}

words! {
    /// A state space (PTX ISA 9.0, section 5.1), with its sub-qualifier where one is written.
    Space {
        Reg = "reg", Sreg = "sreg", Const = "const", Global = "global", Local = "local",
        Param = "param", ParamEntry = "param::entry", ParamFunc = "param::func",
        Shared = "shared", SharedCta = "shared::cta", SharedCluster = "shared::cluster",
        Tex = "tex",
    }
}

impl Space {
    /// `.shared` or `.shared::cta`, which mean the same.
    pub fn is_shared_cta(self) -> bool {
        matches!(self, Space::Shared | Space::SharedCta)
    }
}

/// A matrix shape `.mMnNkK`; `k` is 0 where the word names two dimensions only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Shape {
    /// Rows.
    pub m: u16,
    /// Columns.
    pub n: u16,
    /// Inner dimension, or 0.
    pub k: u16,
}

impl Shape {
    /// Reads `m16n8k16` or `m8n8`; numbers have no leading zeros.
    pub fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix('m')?;
        let (m, rest) = number(rest)?;
        let (n, rest) = number(rest.strip_prefix('n')?)?;
        if rest.is_empty() {
            return Some(Self { m, n, k: 0 });
        }
        let (k, rest) = number(rest.strip_prefix('k')?)?;
        rest.is_empty().then_some(Self { m, n, k })
    }
}

fn number(text: &str) -> Option<(u16, &str)> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    if digits.starts_with('0') {
        return None;
    }
    Some((digits.parse().ok()?, rest))
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "m{}n{}", self.m, self.n)?;
        if self.k != 0 {
            write!(f, "k{}", self.k)?;
        }
        Ok(())
    }
}

words! {
    /// A modifier of an instruction that is neither a type, a state space nor a matrix shape.
    Mod {
        // Rounding, saturation and the like.
        Rn = "rn", Rz = "rz", Rm = "rm", Rp = "rp", Rna = "rna", Rs = "rs",
        Rni = "rni", Rzi = "rzi", Rmi = "rmi", Rpi = "rpi",
        Ftz = "ftz", Noftz = "noftz", Sat = "sat", Satfinite = "satfinite", Relu = "relu",
        Approx = "approx", Full = "full", NaN = "NaN", Xorsign = "xorsign", Abs = "abs",
        Oob = "oob",
        // Integer arithmetic.
        Wide = "wide", Hi = "hi", Lo = "lo", Cc = "cc", Shiftamt = "shiftamt",
        Clamp = "clamp", Wrap = "wrap",
        // Classes of `testp`.
        Finite = "finite", Infinite = "infinite", Number = "number",
        Notanumber = "notanumber", Normal = "normal", Subnormal = "subnormal",
        // Comparisons; `.lo` and `.hi` stand above.
        Eq = "eq", Ne = "ne", Lt = "lt", Le = "le", Gt = "gt", Ge = "ge", Ls = "ls", Hs = "hs",
        Equ = "equ", Neu = "neu", Ltu = "ltu", Leu = "leu", Gtu = "gtu", Geu = "geu",
        Num = "num", Nan = "nan",
        // Operations of `set`, `lop3`, `atom`, `red`, `redux`, `bar.red`, video instructions.
        And = "and", Or = "or", Xor = "xor", Popc = "popc", Add = "add", Inc = "inc",
        Dec = "dec", Min = "min", Max = "max", Cas = "cas", Exch = "exch",
        // Shifts, `prmt` and `shfl`.
        L = "l", R = "r", F4e = "f4e", B4e = "b4e", Rc8 = "rc8", Ecl = "ecl", Ecr = "ecr",
        Rc16 = "rc16", Up = "up", Down = "down", Bfly = "bfly", Idx = "idx",
        // Memory order, scopes and proxies.
        Weak = "weak", Relaxed = "relaxed", Acquire = "acquire", Release = "release",
        AcqRel = "acq_rel", Sc = "sc", Volatile = "volatile", Mmio = "mmio",
        Cta = "cta", Cluster = "cluster", Gpu = "gpu", Sys = "sys", Gl = "gl",
          Alias = "alias", Async = "async",
        AsyncGeneric = "async::generic", TensormapGeneric = "tensormap::generic",
        SyncRestrictSharedCta = "sync_restrict::shared::cta",
        SyncRestrictSharedCluster = "sync_restrict::shared::cluster",

        // Caches.
        Ca = "ca", Cg = "cg", Cs = "cs", Lu = "lu", Cv = "cv", Wb = "wb", Wt = "wt", Nc = "nc",
        L1 = "L1", L2 = "L2",
        L1EvictNormal = "L1::evict_normal", L1EvictUnchanged = "L1::evict_unchanged",
        L1EvictFirst = "L1::evict_first", L1EvictLast = "L1::evict_last",
        L1NoAllocate = "L1::no_allocate",
        L2EvictNormal = "L2::evict_normal", L2EvictUnchanged = "L2::evict_unchanged",
        L2EvictFirst = "L2::evict_first", L2EvictLast = "L2::evict_last",
        L2CacheHint = "L2::cache_hint",
        L2Size64 = "L2::64B", L2Size128 = "L2::128B", L2Size256 = "L2::256B",
        Fractional = "fractional", Range = "range", Cvt = "cvt", Tensormap = "tensormap",
        // Vectors and addresses.
        V2 = "v2", V4 = "v4", V8 = "v8",   To = "to",
        // Asynchronous copies.
          BulkGroup = "bulk_group",
        MbarrierCompleteTxBytes = "mbarrier::complete_tx::bytes",
        MulticastCluster = "multicast::cluster", MulticastClusterAll = "multicast::cluster::all",
        CpMask = "cp_mask", Noinc = "noinc", Read = "read",
        Tile = "tile", TileGather4 = "tile::gather4", TileScatter4 = "tile::scatter4",
        Im2col = "im2col", Im2colW = "im2col::w", Im2colW128 = "im2col::w::128",
        Im2colNoOffs = "im2col_no_offs",
        CtaGroup1 = "cta_group::1", CtaGroup2 = "cta_group::2",
        // Fields of `tensormap.replace`.
        GlobalAddress = "global_address", Rank = "rank", BoxDim = "box_dim",
        GlobalDim = "global_dim", GlobalStride = "global_stride",
        ElementStride = "element_stride", Elemtype = "elemtype",
        InterleaveLayout = "interleave_layout", SwizzleMode = "swizzle_mode",
        SwizzleAtomicity = "swizzle_atomicity", FillMode = "fill_mode",
        // Multimem accumulators.
        AccF32 = "acc::f32", AccF16 = "acc::f16",
        // Textures and surfaces.
        D1 = "1d", D2 = "2d", D3 = "3d", D4 = "4d", D5 = "5d", A1d = "a1d", A2d = "a2d",
        Cube = "cube", Acube = "acube", D2ms = "2dms", A2dms = "a2dms",
        Base = "base", Level = "level", Grad = "grad",
        G = "g", B = "b", A = "a", P = "p", C = "c", D = "d",
        Width = "width", Height = "height", Depth = "depth",
        ChannelDataType = "channel_data_type", ChannelOrder = "channel_order",
        NormalizedCoords = "normalized_coords",
        ForceUnnormalizedCoords = "force_unnormalized_coords", FilterMode = "filter_mode",
        AddrMode0 = "addr_mode_0", AddrMode1 = "addr_mode_1", AddrMode2 = "addr_mode_2",
        ArraySize = "array_size", NumMipmapLevels = "num_mipmap_levels",
        NumSamples = "num_samples", MemoryLayout = "memory_layout",
        Trap = "trap", Zero = "zero",
        // Control flow, barriers and votes.
        Uni = "uni", Sync = "sync", Aligned = "aligned", Arrive = "arrive",
        Red = "red", All = "all", Any = "any", Ballot = "ballot",
        // mbarrier.
        NoComplete = "noComplete", ExpectTx = "expect_tx", Parity = "parity",
        // Cluster launch control.
        IsCanceled = "is_canceled", GetFirstCtaid = "get_first_ctaid",
        GetFirstCtaidX = "get_first_ctaid::x", GetFirstCtaidY = "get_first_ctaid::y",
        GetFirstCtaidZ = "get_first_ctaid::z",
        // Matrices.
        Row = "row", Col = "col", Trans = "trans", X1 = "x1", X2 = "x2", X4 = "x4", X8 = "x8",
        X16 = "x16", X32 = "x32", X64 = "x64", X128 = "x128",
            BlockScale = "block_scale",
        ScaleVec1X = "scale_vec::1X", ScaleVec2X = "scale_vec::2X", ScaleVec4X = "scale_vec::4X",
        Block16 = "block16", Block32 = "block32",
        KindMxf8f6f4 = "kind::mxf8f6f4", KindMxf4 = "kind::mxf4",
        KindMxf4nvf4 = "kind::mxf4nvf4", KindF8f6f4 = "kind::f8f6f4", KindF16 = "kind::f16",
        KindTf32 = "kind::tf32", KindI8 = "kind::i8",
        // Tensor memory.
        Lanes16x64b = "16x64b", Lanes16x128b = "16x128b", Lanes16x256b = "16x256b",
        Lanes32x32b = "32x32b", Lanes16x32bx2 = "16x32bx2",
        Lanes128x256b = "128x256b", Lanes4x256b = "4x256b", Lanes128x128b = "128x128b",
        Lanes64x128b = "64x128b", Lanes32x128b = "32x128b",
        Warpx2Even = "warpx2::02_13", Warpx2Halves = "warpx2::01_23", Warpx4 = "warpx4",
        Pack16b = "pack::16b", Unpack16b = "unpack::16b", Ashift = "ashift",
        MbarrierArriveOne = "mbarrier::arrive::one",
        CollectorAFill = "collector::a::fill", CollectorAUse = "collector::a::use",
        CollectorALastuse = "collector::a::lastuse", CollectorADiscard = "collector::a::discard",
        CollectorB0Fill = "collector::b0::fill", CollectorB0Use = "collector::b0::use",
        CollectorB0Lastuse = "collector::b0::lastuse",
        CollectorB0Discard = "collector::b0::discard",
        CollectorB1Fill = "collector::b1::fill", CollectorB1Use = "collector::b1::use",
        CollectorB1Lastuse = "collector::b1::lastuse",
        CollectorB1Discard = "collector::b1::discard",
        CollectorB2Fill = "collector::b2::fill", CollectorB2Use = "collector::b2::use",
        CollectorB2Lastuse = "collector::b2::lastuse",
        CollectorB2Discard = "collector::b2::discard",
        CollectorB3Fill = "collector::b3::fill", CollectorB3Use = "collector::b3::use",
        CollectorB3Lastuse = "collector::b3::lastuse",
        CollectorB3Discard = "collector::b3::discard",
        // Video instructions and the rest.
        Po = "po", Shr7 = "shr7", Shr15 = "shr15", Mask = "mask",
    }
}
