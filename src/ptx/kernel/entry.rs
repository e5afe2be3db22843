//! Which entry of a module is meant.
//!
//! The problem: symbols of C++ are long, and nobody writes them. An entry may be named as its source prints it, with its
//! template arguments (`scale<128>`), without them where no other instance is there, or by any part of its symbol that no
//! other entry has. An exact name wins over a part of one.

use super::error::{EntryName, LowerError};
use crate::ptx::{Function, Id, Module};

/// Bytes of a name that is demangled.
const LONGEST_NAME: usize = 4096;

/// The name of a function or a variable as its C++ source has it; `None` for a name of another language.
pub fn demangled(symbol: &str) -> Option<String> {
    if !symbol.starts_with("_Z") || symbol.len() > LONGEST_NAME {
        return None;
    }
    cpp_demangle::Symbol::new(symbol).ok()?.demangle().ok()
}

/// A function of C++ as its source prints it: `ns::scale<128>`; `None` for a name of another language.
pub fn printed(symbol: &str) -> Option<String> {
    let full = plain(&demangled(symbol)?);
    Some(path(&full).to_string())
}

/// A spelling without what sources leave out: blanks beside punctuation, casts and suffixes of constants.
fn plain(text: &str) -> String {
    let words = |c: char| c.is_alphanumeric() || c == '_';
    let mut out = String::with_capacity(text.len());
    let mut rest = text.trim();
    while let Some(c) = rest.chars().next() {
        if rest.starts_with("(bool)1") || rest.starts_with("(bool)0") {
            out.push_str(if rest.starts_with("(bool)1") {
                "true"
            } else {
                "false"
            });
            rest = &rest["(bool)1".len()..];
            continue;
        }
        if c == '('
            && out.ends_with(['<', ','])
            && let Some(end) = rest.find(')')
            && rest[end + 1..].starts_with(|c: char| c.is_ascii_digit() || c == '-')
        {
            rest = &rest[end + 1..];
            continue;
        }
        if c.is_ascii_digit() && !out.ends_with(words) {
            let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let tail = rest[digits..].trim_start_matches(['u', 'U', 'l', 'L']);
            if !tail.starts_with(words) {
                out.push_str(&rest[..digits]);
                rest = tail;
                continue;
            }
        }
        rest = &rest[c.len_utf8()..];
        if c.is_whitespace() {
            rest = rest.trim_start();
            if out.ends_with(words) && rest.starts_with(words) {
                out.push(' ');
            }
            continue;
        }
        out.push(c);
    }
    out
}

/// The name in a plain spelling of a function, without its result and its parameters.
fn path(full: &str) -> &str {
    const ANONYMOUS: &str = "(anonymous namespace)";
    let (mut depth, mut start, mut at) = (0usize, 0, 0);
    while let Some(c) = full[at..].chars().next() {
        if full[at..].starts_with(ANONYMOUS) {
            at += ANONYMOUS.len();
            continue;
        }
        match c {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            ' ' if depth == 0 => start = at + 1,
            '(' if depth == 0 => return &full[start..at],
            _ => {}
        }
        at += c.len_utf8();
    }
    &full[start..]
}

/// A name without its last template arguments.
fn base(path: &str) -> &str {
    path.split_once('<').map_or(path, |(base, _)| base)
}

/// Whether a name is another one, or ends it behind a namespace.
fn names(wanted: &str, path: &str) -> bool {
    let scope = path.strip_suffix(wanted);
    scope.is_some_and(|scope| scope.is_empty() || scope.ends_with("::"))
}

/// An entry with its spellings.
struct Spelled<'a> {
    id: Id<Function>,
    symbol: &'a str,
    /// As its source has it, with result and parameters.
    full: String,
}

/// The entry that a name means; without a name, the only entry of the module.
///
/// # Errors
///
/// Where there is no such entry, or several.
pub fn select_entry(module: &Module, name: Option<&str>) -> Result<Id<Function>, LowerError> {
    let all = module.entries().map(|(id, f)| {
        let symbol = module.text(f.name);
        let full = demangled(symbol).map_or_else(|| symbol.to_string(), |full| plain(&full));
        Spelled { id, symbol, full }
    });
    let all: Vec<Spelled> = all.collect();
    let list = |some: &[&Spelled]| some.iter().map(|s| s.name(module, &all)).collect();
    let each: Vec<&Spelled> = all.iter().collect();
    let Some(name) = name else {
        return match &all[..] {
            [] => Err(LowerError::NoEntry),
            [only] => Ok(only.id),
            _ => Err(LowerError::AmbiguousEntry {
                entries: list(&each),
            }),
        };
    };
    let wanted = plain(name);
    let ways: [&dyn Fn(&Spelled) -> bool; 4] = [
        &|s| s.symbol == name,
        &|s| s.full == wanted || names(&wanted, path(&s.full)),
        &|s| names(&wanted, base(path(&s.full))),
        // A part of a name has no arguments and no scope: those are of a whole one.
        &|s| {
            s.symbol.contains(name)
                || !wanted.contains(['<', ':']) && path(&s.full).contains(&wanted)
        },
    ];
    for fits in ways {
        let fit: Vec<&Spelled> = all.iter().filter(|s| fits(s)).collect();
        match fit[..] {
            [] => {}
            [only] => return Ok(only.id),
            _ => {
                return Err(LowerError::AmbiguousEntry {
                    entries: list(&fit),
                });
            }
        }
    }
    match all.is_empty() {
        true => Err(LowerError::NoEntry),
        false => Err(LowerError::UnknownEntry {
            name: name.to_string(),
            entries: list(&each),
        }),
    }
}

impl Spelled<'_> {
    /// The shortest name that means it alone, with its place.
    fn name(&self, module: &Module, all: &[Spelled]) -> EntryName {
        let short = path(&self.full);
        let alike = all.iter().filter(|s| path(&s.full) == short).count();
        let text = if alike > 1 { self.symbol } else { short };
        EntryName {
            text: text.to_string(),
            span: module[self.id].name_span,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_and_scopes_are_of_whole_names() {
        let text = ".version 9.0\n.target sm_80\n.address_size 64\n.entry _Z7upscaleILi128EEvPf() { ret; }\n\
                    .entry _ZN1a5scaleILi64EEEvPf() { ret; }\n";
        let source = std::sync::Arc::new(crate::diag::Source::new("e.ptx", text).expect("short"));
        let module = crate::ptx::parse(&source).expect("parses");
        let name = |wanted| {
            let found = select_entry(&module, Some(wanted)).ok()?;
            printed(module.text(module[found].name))
        };
        assert_eq!(name("scale<64>").as_deref(), Some("a::scale<64>"));
        assert_eq!(name("scale").as_deref(), Some("a::scale<64>"));
        assert_eq!(name("upsc").as_deref(), Some("upscale<128>"));
        for other in ["scale<128>", "::upscale<64>", "b::scale<64>"] {
            assert_eq!(name(other), None, "{other}");
        }
    }

    #[test]
    fn names_are_those_of_the_source() {
        let cases = [
            ("_Z5scaleILi128EEvPKfPfif", "scale<128>"),
            ("_Z5scaleILj128ELb1EEvPf", "scale<128,true>"),
            ("_ZN2ns5scaleIfLin4EEEvPT_", "ns::scale<float,-4>"),
            ("_Z4sum1PKfPfi", "sum1"),
            ("_ZN12_GLOBAL__N_11kEPf", "(anonymous namespace)::k"),
        ];
        for (symbol, name) in cases {
            assert_eq!(printed(symbol).as_deref(), Some(name), "{symbol}");
        }
        assert_eq!(printed("add_kernel"), None);
        assert_eq!(plain(" scale < 128u , (bool)0 > "), "scale<128,false>");
        assert_eq!(plain("k<float const*, 0x1f>"), "k<float const*,0x1f>");
    }
}
