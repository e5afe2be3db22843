//! What the fields of operations are: registers read or written, and text.
//!
//! The problem: last uses, flow analyses and listings need the operands of every operation. The type of a field says what it
//! is: a [`RegId`] is written, a [`Src`], an [`Addr`] and a [`Guard`] are read, and all else is a modifier. So a row of the
//! [table of operations](super::op) names its fields and no more.
//!
//! Not claimed: the operands of [`Op::Unsupported`](super::Op) are not known, so an analysis must treat it as an end of what it
//! can say.

use std::fmt::{self, Debug, Display, Formatter, LowerHex};
use std::ops::Deref;

use super::listing::Listing;
use super::{
    Access, Addr, AtomOp, BarKind, BoolOp, Cmp, Collector, FloatMods, FloatOp, FloatTest, Fmt,
    Guard, IntOp, IntTy, Lanes, MapField, MatrixForm, NumTy, Pc, RegId, Restricted, Rnd, Scope,
    Scoped, Sem, ShflMode, Space, Special, Src, TensorCopy, TensorKind, VoteMode,
};

/// A field of an operation.
pub(super) trait Field {
    /// Calls `f` with each register that it reads.
    fn uses(&self, _: &mut impl FnMut(RegId)) {}

    /// Calls `f` with each register that it writes.
    fn defs(&self, _: &mut impl FnMut(RegId)) {}

    /// Its text, given its name; the alternate form is empty where it is what an operation ordinarily has.
    fn text(&self, name: &str, list: &Listing<'_>, f: &mut Formatter<'_>) -> fmt::Result;
}

/// A field of an operation, its name and the listing that it is shown in.
pub(super) struct Text<'a, T: ?Sized>(pub &'a T, pub &'a str, pub &'a Listing<'a>);

impl<T: Field + ?Sized> Display for Text<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.text(self.1, self.2, f)
    }
}

impl<T: LowerHex> LowerHex for Text<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        LowerHex::fmt(self.0, f)
    }
}

impl Field for RegId {
    fn defs(&self, f: &mut impl FnMut(RegId)) {
        f(*self);
    }

    fn text(&self, _: &str, list: &Listing<'_>, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(list.reg(*self))
    }
}

/// `_` where there is none; as a further result, nothing.
impl Field for Option<RegId> {
    fn defs(&self, f: &mut impl FnMut(RegId)) {
        self.iter().for_each(|r| f(*r));
    }

    fn text(&self, _: &str, list: &Listing<'_>, f: &mut Formatter<'_>) -> fmt::Result {
        match (self, f.alternate()) {
            (Some(r), true) => write!(f, "|{}", list.reg(*r)),
            (Some(r), false) => f.write_str(list.reg(*r)),
            (None, true) => Ok(()),
            (None, false) => f.write_str("_"),
        }
    }
}

impl Field for Src {
    fn uses(&self, f: &mut impl FnMut(RegId)) {
        if let Src::Reg(r) = self {
            f(*r);
        }
    }

    fn text(&self, _: &str, list: &Listing<'_>, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&list.src(*self))
    }
}

impl Field for Addr {
    fn uses(&self, f: &mut impl FnMut(RegId)) {
        self.base.uses(f);
    }

    fn text(&self, _: &str, list: &Listing<'_>, f: &mut Formatter<'_>) -> fmt::Result {
        let base = list.src(self.base);
        match self.offset {
            0 => write!(f, "[{base}]"),
            at => write!(f, "[{base}{at:+}]"),
        }
    }
}

impl Field for Guard {
    fn uses(&self, f: &mut impl FnMut(RegId)) {
        f(self.reg);
    }

    fn text(&self, _: &str, list: &Listing<'_>, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(if self.negated { "!" } else { "" })?;
        f.write_str(list.reg(self.reg))
    }
}

/// A predicate that a comparison is combined with.
impl Field for Option<(BoolOp, Guard)> {
    fn uses(&self, f: &mut impl FnMut(RegId)) {
        self.iter().for_each(|(_, g)| g.uses(f));
    }

    fn text(&self, name: &str, list: &Listing<'_>, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Some((op, g)) => write!(f, " {op:?} {}", Text(g, name, list)),
            None => Ok(()),
        }
    }
}

/// Elements of a vector, of which some may be skipped.
impl Field for Vec<Option<Src>> {
    fn uses(&self, f: &mut impl FnMut(RegId)) {
        self.iter().for_each(|s| s.uses(f));
    }

    fn text(&self, _: &str, list: &Listing<'_>, f: &mut Formatter<'_>) -> fmt::Result {
        let all = self
            .iter()
            .map(|s| s.map_or("_".to_string(), |s| list.src(s)));
        f.write_str(&all.collect::<Vec<_>>().join(", "))
    }
}

/// A list of fields of one type is each of them, between commas.
macro_rules! lists {
    ($([$($of:tt)*] $list:ty;)*) => { $(
        impl<$($of)*> Field for $list {
            fn uses(&self, f: &mut impl FnMut(RegId)) {
                self.iter().for_each(|x| x.uses(f));
            }

            fn defs(&self, f: &mut impl FnMut(RegId)) {
                self.iter().for_each(|x| x.defs(f));
            }

            fn text(&self, name: &str, list: &Listing<'_>, f: &mut Formatter<'_>) -> fmt::Result {
                for (i, x) in self.iter().enumerate() {
                    f.write_str(if i == 0 { "" } else { ", " })?;
                    x.text(name, list, f)?;
                }
                Ok(())
            }
        }
    )* };
}

lists! {
    [] Vec<RegId>;
    [] Vec<Option<RegId>>;
    [] Vec<Src>;
    [T: Field, const N: usize] [T; N];
}

/// Registers that are read.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadRegs(pub Vec<RegId>);

/// Registers that are read and written.
#[derive(Clone, Debug, PartialEq)]
pub struct UpdatedRegs(pub Vec<RegId>);

impl Deref for ReadRegs {
    type Target = Vec<RegId>;

    fn deref(&self) -> &Vec<RegId> {
        &self.0
    }
}

impl Deref for UpdatedRegs {
    type Target = Vec<RegId>;

    fn deref(&self) -> &Vec<RegId> {
        &self.0
    }
}

impl Field for ReadRegs {
    fn uses(&self, f: &mut impl FnMut(RegId)) {
        self.0.defs(f);
    }

    fn text(&self, name: &str, list: &Listing<'_>, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.text(name, list, f)
    }
}

impl Field for UpdatedRegs {
    fn uses(&self, f: &mut impl FnMut(RegId)) {
        self.0.defs(f);
    }

    fn defs(&self, f: &mut impl FnMut(RegId)) {
        self.0.defs(f);
    }

    fn text(&self, name: &str, list: &Listing<'_>, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.text(name, list, f)
    }
}

/// A place in a state space.
impl Field for (Space, Addr) {
    fn uses(&self, f: &mut impl FnMut(RegId)) {
        self.1.uses(f);
    }

    fn text(&self, name: &str, list: &Listing<'_>, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.text(name, list, f)?;
        self.1.text(name, list, f)
    }
}

/// What an operation may have beside its other operands is written after its name, and nothing where there is none.
macro_rules! optional {
    ($($of:ty),*) => { $(
        impl Field for Option<$of> {
            fn uses(&self, f: &mut impl FnMut(RegId)) {
                self.iter().for_each(|x| x.uses(f));
            }

            fn text(&self, name: &str, list: &Listing<'_>, f: &mut Formatter<'_>) -> fmt::Result {
                match self {
                    Some(x) => write!(f, ", {name} {}", Text(x, name, list)),
                    None => Ok(()),
                }
            }
        }
    )* };
}

optional!(Src, Guard, [Addr; 2]);

/// An operand of several kinds: each is its word and its parts.
macro_rules! choices {
    ($name:ident { $($variant:ident $(($($part:ident),*))? $({ $($field:ident),* })?),* }) => {
        impl $crate::kernel::field::Field for $name {
            fn uses(&self, f: &mut impl FnMut(RegId)) {
                match self { $(
                    $name::$variant $(($($part),*))? $({ $($field),* })? => {
                        $($($crate::kernel::field::Field::uses($part, f);)*)?
                        $($($crate::kernel::field::Field::uses($field, f);)*)?
                    }
                )* }
            }

            fn text(
                &self,
                _: &str,
                list: &$crate::kernel::listing::Listing<'_>,
                f: &mut std::fmt::Formatter<'_>,
            ) -> std::fmt::Result {
                use $crate::kernel::field::Text;
                match self { $(
                    $name::$variant $(($($part),*))? $({ $($field),* })? => {
                        f.write_str(stringify!($variant))?;
                        $($(write!(f, " {}", Text($part, stringify!($part), list))?;)*)?
                        $($(write!(f, " {}", Text($field, stringify!($field), list))?;)*)?
                        Ok(())
                    }
                )* }
            }
        }
    };
}

pub(super) use choices;

impl<T: Field> Field for Box<T> {
    fn uses(&self, f: &mut impl FnMut(RegId)) {
        (**self).uses(f);
    }

    fn defs(&self, f: &mut impl FnMut(RegId)) {
        (**self).defs(f);
    }

    fn text(&self, name: &str, list: &Listing<'_>, f: &mut Formatter<'_>) -> fmt::Result {
        (**self).text(name, list, f)
    }
}

impl Field for BarKind {
    fn uses(&self, f: &mut impl FnMut(RegId)) {
        match self {
            BarKind::Sync | BarKind::Arrive => {}
            BarKind::RedPopc { src, .. } | BarKind::RedBool { src, .. } => src.uses(f),
        }
    }

    fn defs(&self, f: &mut impl FnMut(RegId)) {
        match self {
            BarKind::Sync | BarKind::Arrive => {}
            BarKind::RedPopc { dst, .. } | BarKind::RedBool { dst, .. } => f(*dst),
        }
    }

    fn text(&self, name: &str, list: &Listing<'_>, f: &mut Formatter<'_>) -> fmt::Result {
        let (how, dst, src) = match self {
            BarKind::Sync | BarKind::Arrive => return Ok(()),
            BarKind::RedPopc { dst, src } => ("popc", dst, src),
            BarKind::RedBool { dst, src, all } => (if *all { "and" } else { "or" }, dst, src),
        };
        write!(f, ".{how} {}, {},", list.reg(*dst), Text(src, name, list))
    }
}

/// A modifier that is written or not.
impl Field for bool {
    fn text(&self, name: &str, _: &Listing<'_>, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            true => write!(f, ".{name}"),
            false => Ok(()),
        }
    }
}

/// A number; in the alternate form a factor, which is left out where it is one.
impl Field for u8 {
    fn text(&self, _: &str, _: &Listing<'_>, f: &mut Formatter<'_>) -> fmt::Result {
        match (f.alternate(), self) {
            (true, 1) => Ok(()),
            (true, n) => write!(f, "x{n}"),
            (false, n) => write!(f, "{n}"),
        }
    }
}

/// The width of elements where it is not the ordinary one.
impl Field for Option<u8> {
    fn text(&self, _: &str, _: &Listing<'_>, f: &mut Formatter<'_>) -> fmt::Result {
        self.map_or(Ok(()), |n| write!(f, ".b{n}"))
    }
}

impl Field for u16 {
    fn text(&self, _: &str, _: &Listing<'_>, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl Field for u32 {
    fn text(&self, _: &str, _: &Listing<'_>, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl Field for Option<u32> {
    fn text(&self, name: &str, _: &Listing<'_>, f: &mut Formatter<'_>) -> fmt::Result {
        self.map_or(Ok(()), |n| write!(f, " {name} {n}"))
    }
}

impl Field for Pc {
    fn text(&self, _: &str, _: &Listing<'_>, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Enums whose variants have the words of PTX for names.
macro_rules! words {
    ($($ty:ty),*) => { $(
        impl Field for $ty {
            fn text(&self, _: &str, _: &Listing<'_>, f: &mut Formatter<'_>) -> fmt::Result {
                Debug::fmt(self, f)
            }
        }
    )* };
}

words!(
    AtomOp, BoolOp, Cmp, Collector, FloatOp, FloatTest, IntOp, Lanes, MapField, Scope, Sem,
    ShflMode, Special, TensorCopy, TensorKind, VoteMode
);

/// A scope where one is written.
impl Field for Scoped {
    fn text(&self, _: &str, _: &Listing<'_>, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Scoped::Cta => f.write_str(".cta"),
            Scoped::Unsaid => Ok(()),
            Scoped::Cluster => f.write_str(".cluster"),
        }
    }
}

impl Field for Option<Restricted> {
    fn text(&self, _: &str, _: &Listing<'_>, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            None => Ok(()),
            Some(Restricted::Own) => f.write_str(" sync_restrict::shared::cta"),
            Some(Restricted::Cluster) => f.write_str(" sync_restrict::shared::cluster"),
        }
    }
}

/// What is done to memory instead of overwriting it.
impl Field for Option<AtomOp> {
    fn text(&self, _: &str, _: &Listing<'_>, f: &mut Formatter<'_>) -> fmt::Result {
        self.map_or(Ok(()), |op| write!(f, ".{op:?}"))
    }
}

impl Field for Option<(AtomOp, Option<NumTy>)> {
    fn text(&self, name: &str, list: &Listing<'_>, f: &mut Formatter<'_>) -> fmt::Result {
        let Some((op, ty)) = self else {
            return Ok(());
        };
        write!(f, ".{op:?}")?;
        ty.map_or(Ok(()), |ty| write!(f, ".{}", Text(&ty, name, list)))
    }
}

impl Field for Rnd {
    fn text(&self, _: &str, _: &Listing<'_>, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Rnd::None => Ok(()),
            rnd => write!(f, ".{rnd:?}"),
        }
    }
}

impl Field for IntTy {
    fn text(&self, _: &str, _: &Listing<'_>, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.signed { 's' } else { 'u' }, self.width)
    }
}

impl Field for Fmt {
    fn text(&self, _: &str, _: &Listing<'_>, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Field for NumTy {
    fn text(&self, name: &str, list: &Listing<'_>, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            NumTy::Int(ty) => ty.text(name, list, f),
            NumTy::Float(fmt) => fmt.text(name, list, f),
        }
    }
}

impl Field for Space {
    fn text(&self, _: &str, _: &Listing<'_>, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Space::Generic => "generic",
            Space::Global => "global",
            Space::Shared => "shared",
            Space::SharedCluster => "shared::cluster",
            Space::Local => "local",
            Space::Const => "const",
            Space::Param => "param",
        })
    }
}

/// The modifiers of which a list says whether they are written.
fn flags(f: &mut Formatter<'_>, list: &[(bool, &str)]) -> fmt::Result {
    let mut written = list.iter().filter(|(set, _)| *set);
    written.try_for_each(|(_, name)| write!(f, ".{name}"))
}

impl Field for Access {
    fn text(&self, name: &str, list: &Listing<'_>, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, ".{}", Text(&self.space, name, list))?;
        if self.sem != Sem::Weak {
            write!(f, ".{:?}.{:?}", self.sem, self.scope)?;
        }
        flags(f, &[(self.volatile, "volatile"), (self.nc, "nc")])?;
        match (self.untyped, self.ty) {
            (true, ty) => write!(f, ".b{}", ty.bits()),
            (false, ty) => write!(f, ".{}", Text(&ty, name, list)),
        }
    }
}

impl Field for FloatMods {
    fn text(&self, name: &str, list: &Listing<'_>, f: &mut Formatter<'_>) -> fmt::Result {
        self.rnd.text(name, list, f)?;
        let written = [
            (self.sat, "sat"),
            (self.relu, "relu"),
            (self.ftz, "ftz"),
            (self.approx, "approx"),
            (self.nan, "NaN"),
            (self.xorsign_abs, "xorsign.abs"),
            (self.abs, "abs"),
            (self.oob, "oob"),
        ];
        flags(f, &written)
    }
}

impl Field for MatrixForm {
    fn text(&self, _: &str, _: &Listing<'_>, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            MatrixForm::Rows => "",
            MatrixForm::Columns => ".trans",
            MatrixForm::Square => ".trans.m16n16",
            MatrixForm::Pairs => ".trans.m16n8",
        })
    }
}

/// The format of the first sources, where it is not that of the result.
pub(super) fn other(of: Fmt, result: Fmt) -> String {
    match of == result {
        true => String::new(),
        false => format!(".{}", of.name()),
    }
}

/// Which bytes of an access are used, where not all are.
pub(super) fn used_bytes(mask: u32) -> String {
    match mask {
        u32::MAX => String::new(),
        mask => format!(" used {mask:#x}"),
    }
}
