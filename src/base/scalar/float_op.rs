//! Operations on floats, their modifiers and tests.

/// Float operations; over the reals they mean what their names say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FloatOp {
    /// a + b.
    Add,
    /// a - b.
    Sub,
    /// a * b.
    Mul,
    /// a * b + c.
    Fma,
    /// a / b.
    Div,
    /// 1 / a.
    Rcp,
    /// Square root.
    Sqrt,
    /// 1 / square root.
    Rsqrt,
    /// 2 to the a.
    Ex2,
    /// Base-2 logarithm.
    Lg2,
    /// Sine.
    Sin,
    /// Cosine.
    Cos,
    /// Hyperbolic tangent.
    Tanh,
    /// -a.
    Neg,
    /// |a|.
    Abs,
    /// min(a, b).
    Min,
    /// max(a, b).
    Max,
    /// min(a, b, c).
    Min3,
    /// max(a, b, c).
    Max3,
    /// Magnitude of b with the sign of a.
    Copysign,
}

impl FloatOp {
    /// True for an operation whose result is one of its operands, up to the sign.
    pub fn is_exact(self, mods: &FloatMods) -> bool {
        self.selects() && !(mods.ftz || mods.sat || mods.relu || mods.oob)
    }

    /// True for an operation that, without modifiers, computes one of its operands, up to the sign.
    pub fn selects(self) -> bool {
        use FloatOp::*;
        match self {
            Neg | Abs | Min | Max | Min3 | Max3 | Copysign => true,
            Add | Sub | Mul | Fma | Div | Rcp | Sqrt | Rsqrt | Ex2 | Lg2 | Sin | Cos | Tanh => {
                false
            }
        }
    }

    /// True for an operation whose result is the number that it computes, rounded at most once.
    pub fn rounds_once(self, mods: &FloatMods) -> bool {
        use FloatOp::*;
        match self {
            Add | Sub | Mul | Fma => true,
            Div | Rcp | Sqrt => !(mods.approx || mods.full),
            Rsqrt | Ex2 | Lg2 | Sin | Cos | Tanh => false,
            Neg | Abs | Min | Max | Min3 | Max3 | Copysign => true,
        }
    }

    /// Number of sources that the operation reads.
    pub fn arity(self) -> usize {
        use FloatOp::*;
        match self {
            Rcp | Sqrt | Rsqrt | Ex2 | Lg2 | Sin | Cos | Tanh | Neg | Abs => 1,
            Add | Sub | Mul | Div | Min | Max | Copysign => 2,
            Fma | Min3 | Max3 => 3,
        }
    }
}

/// Modifiers of a float operation that change its meaning over the reals or in floats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FloatMods {
    /// `.sat`: clamp to [0, 1].
    pub sat: bool,
    /// `.relu`: clamp below at 0.
    pub relu: bool,
    /// `.ftz`.
    pub ftz: bool,
    /// `.approx` or `.full`: the result has the stated error of an approximation.
    pub approx: bool,
    /// `.full`, an approximation of its own.
    pub full: bool,
    /// `.NaN`: min and max propagate NaN.
    pub nan: bool,
    /// `.xorsign.abs` of min and max.
    pub xorsign_abs: bool,
    /// `.abs` alone on the sources of min and max.
    pub abs: bool,
    /// `.oob`.
    pub oob: bool,
    /// Directed or explicit rounding.
    pub rnd: Rnd,
}

/// Rounding modifier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Rnd {
    /// None written.
    #[default]
    None,
    /// To nearest even.
    Rn,
    /// Toward zero.
    Rz,
    /// Toward minus infinity.
    Rm,
    /// Toward plus infinity.
    Rp,
    /// To nearest, ties away.
    Rna,
    /// Stochastic.
    Rs,
    /// To an integer, nearest even.
    Rni,
    /// To an integer, toward zero.
    Rzi,
    /// To an integer, toward minus infinity.
    Rmi,
    /// To an integer, toward plus infinity.
    Rpi,
}

/// Properties that `testp` tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FloatTest {
    /// Neither infinite nor NaN.
    Finite,
    /// Infinite.
    Infinite,
    /// Not NaN.
    Number,
    /// NaN.
    NotANumber,
    /// Normal (zeros count).
    Normal,
    /// Subnormal.
    Subnormal,
}
