//! Decoder of bulk copies and of the operations on tensor maps.
//!
//! Source: PTX ISA 9.0, sections 9.7.9.25.4 to 9.7.9.26, 9.7.13.4 (`fence.proxy.tensormap`) and 9.7.13.16.
//!
//! Not claimed: the modes other than tiled ones (`im2col`) and byte masks. Each is refused by name.

use super::bulk_op::{BulkCopy, BulkEnd, BulkFar, BulkOp, MapField};
use super::lower::Lowerer;
use super::sig::{Decoded, ModSet, Sig, num_type, unsupported};
use super::{Addr, AsyncOp, AtomOp, NumTy, Op, Space, Src};
use crate::ptx::{self, Base, Mod, Op as Opcode, OperandKind, Type};

const DIMENSIONS: [(Mod, usize); 5] = [
    (Mod::D1, 1),
    (Mod::D2, 2),
    (Mod::D3, 3),
    (Mod::D4, 4),
    (Mod::D5, 5),
];

/// What `cp.reduce.async.bulk` and `red.async` do to memory.
pub(super) const REDUCTIONS: [(Mod, AtomOp); 8] = [
    (Mod::Add, AtomOp::Add),
    (Mod::Min, AtomOp::Min),
    (Mod::Max, AtomOp::Max),
    (Mod::Inc, AtomOp::Inc),
    (Mod::Dec, AtomOp::Dec),
    (Mod::And, AtomOp::And),
    (Mod::Or, AtomOp::Or),
    (Mod::Xor, AtomOp::Xor),
];

const COPY: ModSet = ModSet::of(&[
    Mod::BulkGroup,
    Mod::MbarrierCompleteTxBytes,
    Mod::L2CacheHint,
    Mod::MulticastCluster,
    Mod::Add,
    Mod::Min,
    Mod::Max,
    Mod::Inc,
    Mod::Dec,
    Mod::And,
    Mod::Or,
    Mod::Xor,
    Mod::Noftz,
]);
const TENSOR: ModSet = ModSet::of(&[
    Mod::D1,
    Mod::D2,
    Mod::D3,
    Mod::D4,
    Mod::D5,
    Mod::Tile,
    Mod::TileGather4,
    Mod::TileScatter4,
    Mod::CtaGroup1,
    Mod::CtaGroup2,
]);

/// The state spaces of a copy, destination first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Global to shared.
    In,
    /// Shared to global.
    Out,
    /// Shared to shared.
    Across,
}

/// The operation of a copy that reduces, and the type of its elements, which a tensor has by itself.
fn reduction(sig: &Sig, tensor: bool) -> Decoded<(AtomOp, Option<NumTy>)> {
    let op = sig.need(&REDUCTIONS, "its operation")?;
    let ty = match sig.types() {
        [] if tensor => None,
        [ty] if !tensor => match num_type(*ty) {
            Some((ty, 1)) => Some(ty),
            _ => return unsupported("this type"),
        },
        _ => return unsupported("this type"),
    };
    Ok((op, ty))
}

impl Lowerer<'_> {
    fn emit_bulk(&mut self, op: BulkOp) -> Decoded<()> {
        self.emit(Op::Async(Box::new(AsyncOp::Bulk(Box::new(op)))));
        Ok(())
    }

    /// The operations of sections 9.7.9.25.4 to 9.7.9.26 and 9.7.13.16.
    pub(super) fn decode_bulk(&mut self, sig: &Sig) -> Decoded<()> {
        match sig.op {
            Opcode::CpAsyncBulkCommitGroup => {
                sig.only(ModSet::of(&[]))?;
                self.expect(0)?;
                self.emit_bulk(BulkOp::Commit)
            }
            Opcode::CpAsyncBulkWaitGroup => {
                sig.only(const { ModSet::of(&[Mod::Read]) })?;
                self.expect(1)?;
                let Src::Imm(pending) = self.src(0, Type::U32)? else {
                    return unsupported("a number of groups that is not a constant");
                };
                self.emit_bulk(BulkOp::Wait {
                    pending: pending as u32,
                    read: sig.has(Mod::Read),
                })
            }
            // A prefetch changes no value and no order.
            Opcode::CpAsyncBulkPrefetch | Opcode::CpAsyncBulkPrefetchTensor => {
                self.emit(Op::Nop);
                Ok(())
            }
            Opcode::TensormapReplace => self.decode_map_replace(sig),
            Opcode::TensormapCpFenceproxy => {
                let words = const {
                    ModSet::of(&[
                        Mod::TensormapGeneric,
                        Mod::Release,
                        Mod::Cta,
                        Mod::Cluster,
                        Mod::Gpu,
                        Mod::Sys,
                        Mod::Sync,
                        Mod::Aligned,
                    ])
                };
                sig.only(words)?;
                self.expect(3)?;
                let (_, to) = self.address_of_width(0, Some(Space::Global), false)?;
                let (_, from) = self.address(1, Some(Space::Shared))?;
                match self.src(2, Type::U32)? {
                    Src::Imm(128) => self.emit_bulk(BulkOp::MapCopy { to, from }),
                    _ => unsupported("a size other than 128"),
                }
            }
            _ => self.decode_bulk_copy(sig),
        }
    }

    /// `fence.proxy.tensormap::generic.release.scope;` or `.acquire.scope [addr], 128;`
    pub(super) fn decode_map_fence(&mut self, sig: &Sig) -> Decoded<()> {
        let words = const {
            ModSet::of(&[
                Mod::TensormapGeneric,
                Mod::Release,
                Mod::Acquire,
                Mod::Cta,
                Mod::Cluster,
                Mod::Gpu,
                Mod::Sys,
            ])
        };
        sig.only(words)?;
        if sig.has(Mod::Release) {
            self.expect(0)?;
            return self.emit_bulk(BulkOp::MapRelease);
        }
        self.expect(2)?;
        let (_, addr) = self.address_of_width(0, None, false)?;
        self.emit_bulk(BulkOp::MapAcquire { addr })
    }

    fn decode_bulk_copy(&mut self, sig: &Sig) -> Decoded<()> {
        let tensor = matches!(
            sig.op,
            Opcode::CpAsyncBulkTensor | Opcode::CpReduceAsyncBulkTensor
        );
        sig.only(if tensor { COPY.or(TENSOR) } else { COPY })?;
        let shared = |s| {
            use ptx::Space::{Shared, SharedCluster, SharedCta};
            matches!(s, Some(Shared | SharedCta | SharedCluster))
        };
        let global = Some(ptx::Space::Global);
        let way = match (sig.space, sig.from) {
            (to, from) if shared(to) && from == global => Way::In,
            (to, from) if to == global && shared(from) => Way::Out,
            (to, from) if shared(to) && shared(from) => Way::Across,
            _ => return unsupported("a copy between these state spaces"),
        };
        let reduces = matches!(
            sig.op,
            Opcode::CpReduceAsyncBulk | Opcode::CpReduceAsyncBulkTensor
        );
        let reduce = match reduces {
            true => Some(reduction(sig, tensor)?),
            false => None,
        };
        // The operands that every form has, before a mask of CTAs and a cache policy.
        let fixed = match (tensor, way) {
            (true, Way::In) => 3,
            (true, _) => 2,
            (false, Way::Out) => 3,
            (false, _) => 4,
        };
        let multicast = sig.has(Mod::MulticastCluster);
        self.expect(fixed + usize::from(multicast) + usize::from(sig.has(Mod::L2CacheHint)))?;
        let multicast = match multicast {
            true => Some(self.src(fixed, Type::U16)?),
            false => None,
        };
        let (near_at, far_at) = match way {
            Way::In | Way::Across => (0, 1),
            Way::Out => (1, 0),
        };
        let near = self.address(
            near_at,
            Some(in_cluster(match way {
                Way::Out => sig.from,
                Way::In | Way::Across => sig.space,
            })),
        )?;
        let far = match tensor {
            true => self.far_box(sig, far_at, (way, reduce.is_some()))?,
            false => {
                let space = match way {
                    Way::Across => Space::Shared,
                    _ => Space::Global,
                };
                let (space, addr) = self.address_of_width(far_at, Some(space), false)?;
                let bytes = self.src(2, Type::U32)?;
                BulkFar::Run { space, addr, bytes }
            }
        };
        let end = match way {
            Way::Out => BulkEnd::Group,
            _ => {
                let (space, addr) =
                    self.address(if tensor { 2 } else { 3 }, Some(in_cluster(sig.space)))?;
                BulkEnd::Object(space, addr)
            }
        };
        self.emit_bulk(BulkOp::Copy(BulkCopy {
            fill: way != Way::Out,
            near,
            far,
            end,
            reduce,
            multicast,
            pair: sig.has(Mod::CtaGroup2),
        }))
    }

    /// The part of a tensor that a copy goes one way to or from: a box, or four rows of a matrix.
    fn far_box(&mut self, sig: &Sig, i: usize, (way, reduces): (Way, bool)) -> Decoded<BulkFar> {
        let rank = sig.need(&DIMENSIONS, "the number of dimensions")?;
        let (gather, scatter) = (sig.has(Mod::TileGather4), sig.has(Mod::TileScatter4));
        let apart = gather || scatter;
        if gather && way != Way::In || scatter && way != Way::Out {
            return unsupported("four rows in this direction");
        }
        if apart && (rank != 2 || reduces) {
            return unsupported("four rows of other than a matrix");
        }
        self.tensor_box(i, if apart { 5 } else { rank }, apart)
    }

    /// `[map, {c0, c1, ...}]`.
    fn tensor_box(&mut self, i: usize, count: usize, apart: bool) -> Decoded<BulkFar> {
        let operand = self.operand(i)?;
        let OperandKind::Address(id) = operand.kind else {
            return self.wrong(operand.span, "an address with coordinates");
        };
        let address = self.m[id];
        let rest = &self.m[address.rest];
        let [list] = rest else {
            return self.wrong(operand.span, "an address with coordinates");
        };
        let elements = self.elements(list)?;
        if elements.len() != count {
            return self.wrong(list.span, "as many coordinates as dimensions");
        }
        let mut coords = Vec::with_capacity(count);
        for element in &elements {
            coords.push(self.value(element, Type::S32, super::operand::Fit::Exact)?);
        }
        let offset = match address.offset {
            ptx::Offset::None => 0,
            ptx::Offset::Imm(value) => value,
            ptx::Offset::Expr(_) => return unsupported("an offset that is an expression"),
        };
        let (space, base) = match address.base {
            Base::Name(name) => match self.resolve(name, operand.span)? {
                super::scope::Binding::Reg { .. } => {
                    let (reg, _) = self.reg_of(name, None, operand.span)?;
                    (Space::Generic, Src::Reg(reg))
                }
                super::scope::Binding::Var(place) => {
                    let base = match place.at {
                        super::scope::At::Offset(at) => Src::Var(place.space, at, 0),
                        super::scope::At::Global(id) => Src::Global(id, 0),
                    };
                    (place.space, base)
                }
                _ => return self.wrong(operand.span, "the address of a tensor map"),
            },
            _ => return unsupported("the address of a tensor map in this form"),
        };
        Ok(BulkFar::Box {
            space,
            map: Addr { base, offset },
            coords,
            apart,
        })
    }

    /// `tensormap.replace.tile.field{.space}.b1024.type [addr], {ordinal,} value;`
    fn decode_map_replace(&mut self, sig: &Sig) -> Decoded<()> {
        let fields = [
            (Mod::GlobalAddress, 0),
            (Mod::Rank, 1),
            (Mod::BoxDim, 2),
            (Mod::GlobalDim, 3),
            (Mod::GlobalStride, 4),
            (Mod::ElementStride, 5),
            (Mod::Elemtype, 6),
            (Mod::InterleaveLayout, 7),
            (Mod::SwizzleMode, 8),
            (Mod::SwizzleAtomicity, 9),
            (Mod::FillMode, 10),
        ];
        let words = const {
            ModSet::of(&[
                Mod::Tile,
                Mod::GlobalAddress,
                Mod::Rank,
                Mod::BoxDim,
                Mod::GlobalDim,
                Mod::GlobalStride,
                Mod::ElementStride,
                Mod::Elemtype,
                Mod::InterleaveLayout,
                Mod::SwizzleMode,
                Mod::SwizzleAtomicity,
                Mod::FillMode,
            ])
        };
        sig.only(words)?;
        let which = sig.need(&fields, "a field")?;
        let ordered = (2..=5).contains(&which);
        self.expect(2 + usize::from(ordered))?;
        let written = self.written_space(sig)?;
        let (space, addr) = self.address_of_width(0, written, false)?;
        let mut ordinal = 0;
        if ordered {
            let Src::Imm(n @ 0..=4) = self.src(1, Type::U32)? else {
                return unsupported("an ordinal that is not a constant from 0 to 4");
            };
            ordinal = n as u8;
        }
        let wide = matches!(which, 0 | 4);
        let ty = if wide { Type::B64 } else { Type::B32 };
        let value = self.src(1 + usize::from(ordered), ty)?;
        let field = match which {
            0 => MapField::Address,
            1 => MapField::Rank,
            2 => MapField::Box(ordinal),
            3 => MapField::Extent(ordinal),
            4 => MapField::Stride(ordinal),
            5 => MapField::Step(ordinal),
            6 => MapField::Element,
            7 => MapField::Interleave,
            8 => MapField::Swizzle,
            9 => MapField::Atomicity,
            _ => MapField::Fill,
        };
        self.emit_bulk(BulkOp::Replace {
            space,
            addr,
            field,
            value,
        })
    }
}

/// The window of an address of shared memory.
fn in_cluster(written: Option<ptx::Space>) -> Space {
    match written {
        Some(ptx::Space::SharedCluster) => Space::SharedCluster,
        _ => Space::Shared,
    }
}
