//! The table of operations: one row gives fields, text and effects.
//!
//! A row is `Variant { fields } = (text), effects;`. The text is a format string over the fields by name, each shown as
//! [`Field::text`](super::field::Field) says; `{field:#}` leaves out the ordinary case. It may have further arguments, in
//! which a field is `field.0` and the listing has the name that the table gives it. The effects are an expression over the
//! fields as references. The macro makes the enum and its functions, so that a variant without one of them does not compile.

macro_rules! operations {
    (($list:ident) $(#[$outer:meta])* pub enum $name:ident { $(
        $(#[$doc:meta])*
        $variant:ident
            $({ $($(#[$about:meta])* $field:ident: $ty:ty,)* })?
            $(($inner:ident: $of:ty))?
            = ($($text:tt)*), $effects:expr;
    )* }) => {
        $(#[$outer])*
        pub enum $name { $(
            $(#[$doc])*
            $variant $({ $($(#[$about])* $field: $ty,)* })? $(($of))?,
        )* }

        impl $name {
            /// Calls `f` with each register that it reads, in the order of its fields.
            pub fn uses(&self, f: &mut impl FnMut(RegId)) {
                match self { $(
                    $name::$variant { $($($field,)*)? $(0: $inner)? } => {
                        $($($crate::kernel::field::Field::uses($field, f);)*)?
                        $($crate::kernel::field::Field::uses($inner, f);)?
                    }
                )* }
            }

            /// Calls `f` with each register that it writes, in the order of its fields.
            pub fn defs(&self, f: &mut impl FnMut(RegId)) {
                match self { $(
                    $name::$variant { $($($field,)*)? $(0: $inner)? } => {
                        $($($crate::kernel::field::Field::defs($field, f);)*)?
                        $($crate::kernel::field::Field::defs($inner, f);)?
                    }
                )* }
            }

            /// Its row of effects.
            #[inline]
            #[allow(unused_variables)]
            pub fn effects(&self) -> $crate::kernel::effects::Effects {
                match self { $(
                    $name::$variant { $($($field,)*)? $(0: $inner)? } => $effects,
                )* }
            }

            /// Writes it as a line of a listing.
            #[allow(unused_variables)]
            pub(super) fn write(
                &self,
                $list: &$crate::kernel::print::Listing<'_>,
                w: &mut impl std::fmt::Write,
            ) -> std::fmt::Result {
                use $crate::kernel::field::Text;
                match self { $(
                    $name::$variant { $($($field,)*)? $(0: $inner)? } => {
                        $($(let $field = Text($field, stringify!($field), $list);)*)?
                        $(let $inner = Text($inner, stringify!($inner), $list);)?
                        write!(w, $($text)*)
                    }
                )* }
            }
        }
    };
}

pub(super) use operations;
