//! PTX text to a spanned syntax tree.
