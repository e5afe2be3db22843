//! Where a tensor core finds the elements of an operand in shared memory.
//!
//! Source: PTX ISA 9.0, section 9.7.15.5.1 (matrix descriptors, swizzling modes, strides). With S
//! bytes in a row segment (16, 32, 64, 128 for no swizzle and the three swizzles), element size
//! e and T = 16 / e elements in 16 bytes, element (i, k) of an operand whose rows are
//! its outer dimension lies at
//!
//! * K-major, swizzled: (i % 8) S + (i / 8) stride + k e;
//! * K-major, not swizzled: (i % 8) 16 + (i / 8) stride + (k % T) e + (k / T) leading;
//! * outer-major, swizzled, n = S / e: (i % n) e + (i / n) leading + (k % 8) S + (k / 8) stride;
//! * outer-major, not swizzled, n = T: (i % n) e + (i / n) stride + (k % 8) 16 + (k / 8) leading.
//!
//! The swizzle then xors bits of the absolute address from bit 7 on into those from bit 4 on.

/// A decoded descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor {
    start: u64,
    leading: u64,
    stride: u64,
    /// Bytes of a row segment.
    segment: u64,
}

impl Descriptor {
    /// The descriptor of a warpgroup product; `None` for a base offset, which moves the pattern.
    pub fn of_warpgroup(bits: u64) -> Option<Descriptor> {
        let field = |at: u32| (bits >> at & 0x3fff) << 4;
        if bits >> 49 & 7 != 0 {
            return None;
        }
        Some(Descriptor {
            start: field(0),
            leading: field(16),
            stride: field(32),
            segment: [16, 128, 64, 32][(bits >> 62) as usize],
        })
    }

    /// The descriptor of an operand of `tcgen05.mma`, whose fields are the same but for the
    /// swizzle; `None` for a base offset, an absolute leading address, or 32-byte atoms.
    pub fn of_tensor(bits: u64) -> Option<Descriptor> {
        let field = |at: u32| (bits >> at & 0x3fff) << 4;
        if bits >> 49 & 0xfff != 0 || bits >> 46 & 7 > 1 {
            return None;
        }
        let segment = match bits >> 61 {
            0 => 16,
            2 => 128,
            4 => 64,
            6 => 32,
            _ => return None,
        };
        Some(Descriptor {
            start: field(0),
            leading: field(16),
            stride: field(32),
            segment,
        })
    }

    /// Bytes of shared memory after which the layout repeats.
    pub fn pattern(&self) -> u64 {
        match self.segment {
            16 => 16,
            s => 8 * s,
        }
    }

    /// The shared-memory address of element (i, k) of `size` bytes.
    pub fn element(&self, size: u64, along: bool, i: u64, k: u64) -> u64 {
        let (s, lead, stride) = (self.segment, self.leading, self.stride);
        let t = 16 / size;
        let swizzled = s > 16;
        let at = match (along, swizzled) {
            (false, true) => (i % 8) * s + (i / 8) * stride + k * size,
            (false, false) => (i % 8) * 16 + (i / 8) * stride + (k % t) * size + (k / t) * lead,
            (true, true) => {
                let n = s / size;
                (i % n) * size + (i / n) * lead + (k % 8) * s + (k / 8) * stride
            }
            (true, false) => (i % t) * size + (i / t) * stride + (k % 8) * 16 + (k / 8) * lead,
        };
        let a = self.start + at;
        a ^ ((a >> 7) & (s / 16 - 1)) << 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn desc(start: u64, leading: u64, stride: u64, mode: u64) -> Descriptor {
        let bits = start >> 4 | (leading >> 4) << 16 | (stride >> 4) << 32 | mode << 62;
        Descriptor::of_warpgroup(bits).unwrap()
    }

    /// Each layout puts the elements of a tile at distinct places that fill it.
    #[test]
    fn tiles_are_filled() {
        for (mode, segment) in [(0u64, 16u64), (1, 128), (2, 64), (3, 32)] {
            for along in [false, true] {
                let d = match (mode, along) {
                    (0, false) => desc(0, 128, 256, 0),
                    (0, true) => desc(0, 1024, 128, 0),
                    (_, false) => desc(0, 16, 8 * segment, mode),
                    (_, true) => desc(0, 16 * segment, 8 * segment, mode),
                };
                let mut seen = std::collections::HashSet::new();
                for i in 0..64 {
                    for k in 0..16 {
                        let a = d.element(2, along, i, k);
                        assert!(a.is_multiple_of(2) && seen.insert(a), "{mode} {along}");
                    }
                }
            }
        }
    }

    /// The first rows of the 128-byte swizzle: 16-byte pieces are exchanged by the row.
    #[test]
    fn swizzle_of_128_bytes() {
        let d = desc(1024, 16, 1024, 1);
        assert_eq!(d.element(2, false, 0, 8), 1024 + 16);
        assert_eq!(d.element(2, false, 1, 0), 1024 + 128 + 16);
        assert_eq!(d.element(2, false, 1, 8), 1024 + 128);
        assert_eq!(d.element(2, false, 8, 0), 2048);
    }
}
