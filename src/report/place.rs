//! Where something stands, for people.

use std::fmt::Write;

use crate::answer::Site;
use crate::diag::foreign::visible;

/// A place on one line.
pub(super) fn place(site: &Site) -> String {
    let mut out = format!(
        "{}:{}: {}",
        visible(&site.file),
        site.line,
        visible(&site.text)
    );
    if let Some(source) = &site.source {
        let (file, line) = source.own();
        let _ = write!(out, ", from {}:{line}", visible(file));
    }
    out
}
