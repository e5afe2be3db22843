//! Text to kernels.
//!
//! * [`ptx`]: text to [`ptx::Module`], the whole of PTX ISA 9.0 as a spanned tree.
//! * [`kernel`]: one entry to [`kernel::Kernel`]: names become indices, opcodes an enum, calls are expanded, labels are
//!   program counters.

use volta_base::{answer, diag, scalar};

pub mod kernel;
pub mod ptx;
