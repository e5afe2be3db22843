//! Kernels, device functions and call prototypes: everything but their bodies.
//!
//! Source: PTX ISA 9.0, sections 5.1.6, 7.1, 11.2 to 11.4 and 11.7 to 11.9; `.language` is of 9.3 (11.8.2).
//! `.hidden` before a parameter stands in no edition; compilers of tiles write it.

use super::body::body;
use super::recover::{recovered, skip_to_body};
use super::signature::{header, nameless};
use super::token::*;
use crate::ptx::ast::{Function, Linkage};
use crate::ptx::pool::Id;

/// `.entry name (params) directives body`, `.func (results) name (params) directives body`
///
/// An error before the body is reported here, so that the body is read nevertheless.
pub(super) fn function<'a>(linkage: Linkage) -> impl Rule<'a, Id<Function>> {
    move |i: Input<'a>| {
        let header = |i| header(i, linkage);
        let (rest, found) = recovered(header, |_, i| skip_to_body(i)).parse(i)?;
        let mut function = found.unwrap_or_else(|| nameless(rest));
        let none = value(None, opt(symbol(b';')));
        let (rest, body) = alt((map(body, Some), none)).parse(rest)?;
        function.body = body;
        Ok((rest, rest.add(function)))
    }
}
