//! The table of operations: one row gives fields, name, text and effects.
//!
//! A row is `Variant { fields } = [name] (text), effects;`. The name is that of PTX without the modifiers that its fields hold.
//! The text follows it in a listing: a format string over the fields by name, each shown as
//! [`Field::text`](super::field::Field) says; `{field:#}` leaves out the ordinary case. It may have further arguments, in
//! which a field is `field.0` and the listing has the name that the table gives it. The name and the effects are expressions
//! over the fields as references. The macro makes the enum and its functions, so that a variant without one of them does not
//! compile. A row may hold another table in a box: that is a field like others.

macro_rules! operations {
    (($list:ident) $(#[$outer:meta])* pub enum $name:ident { $(
        $(#[$doc:meta])*
        $variant:ident
            $({ $($(#[$about:meta])* $field:ident: $ty:ty,)* })?
            $(($inner:ident: $of:ty))?
            = [$called:expr] ($($text:tt)*), $effects:expr;
    )* }) => {
        $(#[$outer])*
        pub enum $name { $(
            $(#[$doc])*
            $variant $({ $($(#[$about])* $field: $ty,)* })? $(($of))?,
        )* }

        impl $name {
            /// Its name.
            #[allow(unused_variables)]
            pub fn name(&self) -> &'static str {
                match self { $(
                    $name::$variant { $($($field,)*)? $(0: $inner)? } => $called,
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

            /// Calls `f` with each register that it reads, in the order of its fields.
            pub fn uses(&self, f: &mut impl FnMut(RegId)) {
                $crate::kernel::field::Field::uses(self, f);
            }

            /// Calls `f` with each register that it writes, in the order of its fields.
            pub fn defs(&self, f: &mut impl FnMut(RegId)) {
                $crate::kernel::field::Field::defs(self, f);
            }
        }

        /// What follows the name is the text.
        impl $crate::kernel::field::Field for $name {
            fn uses(&self, f: &mut impl FnMut(RegId)) {
                match self { $(
                    $name::$variant { $($($field,)*)? $(0: $inner)? } => {
                        $($($crate::kernel::field::Field::uses($field, f);)*)?
                        $($crate::kernel::field::Field::uses($inner, f);)?
                    }
                )* }
            }

            fn defs(&self, f: &mut impl FnMut(RegId)) {
                match self { $(
                    $name::$variant { $($($field,)*)? $(0: $inner)? } => {
                        $($($crate::kernel::field::Field::defs($field, f);)*)?
                        $($crate::kernel::field::Field::defs($inner, f);)?
                    }
                )* }
            }

            #[allow(unused_variables)]
            fn text(
                &self,
                _: &str,
                $list: &$crate::kernel::listing::Listing<'_>,
                w: &mut std::fmt::Formatter<'_>,
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

/// Operands that have one name: a struct of fields, with its text.
macro_rules! operands {
    (($list:ident) $(#[$outer:meta])* pub struct $name:ident {
        $($(#[$about:meta])* pub $field:ident: $ty:ty,)*
    } = ($($text:tt)*);) => {
        $(#[$outer])*
        pub struct $name {
            $($(#[$about])* pub $field: $ty,)*
        }

        impl $crate::kernel::field::Field for $name {
            fn uses(&self, f: &mut impl FnMut(RegId)) {
                $($crate::kernel::field::Field::uses(&self.$field, f);)*
            }

            fn defs(&self, f: &mut impl FnMut(RegId)) {
                $($crate::kernel::field::Field::defs(&self.$field, f);)*
            }

            #[allow(unused_variables)]
            fn text(
                &self,
                _: &str,
                $list: &$crate::kernel::listing::Listing<'_>,
                w: &mut std::fmt::Formatter<'_>,
            ) -> std::fmt::Result {
                use $crate::kernel::field::Text;
                $(let $field = Text(&self.$field, stringify!($field), $list);)*
                write!(w, $($text)*)
            }
        }
    };
}

pub(super) use {operands, operations};
