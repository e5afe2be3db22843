//! Names of parameters as the CUDA source has them.
//!
//! PTX numbers the parameters of a kernel (`_Z5scalePf_param_0`). Where `.loc` names the source file of a kernel and the file is
//! at hand, the parameter list of the definition whose name stands on just that line gives the names back. They are for people: reports print them and keys may be them, while the PTX
//! name of a parameter stays a key. A list that does not fit the parameters of the kernel one by one, in number and type, names
//! none of them. Triton leaves out arguments that are constants and adds some of its own, so that a Python list fits only by
//! chance and is not read.

use crate::kernel::{Kernel, Param, ParamKind, printed};

/// Names the parameters of a kernel by the text of its source.
pub(super) fn name_params(kernel: &mut Kernel, text: &str) {
    let Some(names) = found(kernel, &without_comments(text)) else {
        return;
    };
    let symbols: Vec<&str> = kernel.params.iter().map(|p| p.symbol.as_str()).collect();
    let variables = kernel.globals.iter().map(|g| g.name.as_str());
    let taken: Vec<&str> = symbols.into_iter().chain(variables).collect();
    let is_taken = |name: &String| taken.contains(&name.as_str());
    if names.iter().flatten().any(is_taken) {
        return;
    }
    for (param, name) in kernel.params.iter_mut().zip(names) {
        if let Some(name) = name {
            param.name = name;
        }
    }
}

/// The source file of a kernel and the line of its name there, as the `.loc` that an entry begins with says it.
pub(super) fn place(kernel: &Kernel) -> Option<(&str, u32)> {
    let first = kernel.locs.first().filter(|l| l.inlined_from.is_empty())?;
    Some((&first.file, first.line))
}

/// The names in the parameter list of the kernel that fits; `None` for a parameter that has none.
fn found(kernel: &Kernel, text: &str) -> Option<Vec<Option<String>>> {
    let (_, line) = place(kernel)?;
    let printed = printed(&kernel.name);
    let printed = printed.as_deref().unwrap_or(&kernel.name);
    let path = printed.split('<').next()?;
    let own = path.rsplit("::").next()?;
    let lists = text.match_indices(own).filter_map(|(at, _)| {
        let list = list(text, at, own)?;
        let begins = text[..at].matches('\n').count() as u32 + 1;
        let names = read(list, &kernel.params)?;
        Some((begins, names))
    });
    let mut here = lists.filter(|(begins, _)| *begins == line);
    let (_, names) = here.next()?;
    // Of two on one line neither is known to be it.
    here.next().is_none().then_some(names)
}

/// The parameter list of a function of this name, if the definition of a kernel stands at a byte.
fn list<'t>(text: &'t str, at: usize, name: &str) -> Option<&'t str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let (before, after) = (&text[..at], &text[at + name.len()..]);
    if before.ends_with(is_word) || after.starts_with(is_word) {
        return None;
    }
    let open = after.trim_start().strip_prefix('(')?;
    let end = closed(open)?;
    let head = before.rfind([';', '}']).map_or(before, |i| &before[i..]);
    let is_defined = open[end + 1..].trim_start().starts_with('{');
    (head.contains("__global__") && is_defined).then_some(&open[..end])
}

/// Where the parenthesis closes that was opened before a text.
fn closed(text: &str) -> Option<usize> {
    let mut depth = 0usize;
    for (i, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' if depth == 0 => return Some(i),
            ')' | ']' | '}' => depth = depth.checked_sub(1)?,
            _ => {}
        }
    }
    None
}

/// The names of a list, if it fits the parameters.
fn read(list: &str, params: &[Param]) -> Option<Vec<Option<String>>> {
    let parts = split(list);
    if parts.len() != params.len() || list.contains('#') {
        return None;
    }
    let named = parts.iter().zip(params).map(|(part, param)| {
        let part = part.split('=').next().unwrap_or_default().trim();
        let (ty, name) = declared(part);
        fits(ty, param).then_some(name.map(str::to_string))
    });
    let names: Vec<Option<String>> = named.collect::<Option<_>>()?;
    let mut all: Vec<&String> = names.iter().flatten().collect();
    all.sort_unstable();
    let are_apart = all.windows(2).all(|w| w[0] != w[1]);
    are_apart.then_some(names)
}

/// The declarations of a list.
fn split(list: &str) -> Vec<&str> {
    let (mut depth, mut start, mut out) = (0usize, 0, Vec::new());
    for (i, c) in list.char_indices() {
        match c {
            '(' | '[' | '{' | '<' => depth += 1,
            ')' | ']' | '}' | '>' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                out.push(&list[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    out.push(&list[start..]);
    out.retain(|part| !part.trim().is_empty());
    out
}

/// Words that are types or part of one.
const TYPES: [&str; 16] = [
    "int",
    "float",
    "double",
    "char",
    "short",
    "long",
    "unsigned",
    "signed",
    "bool",
    "void",
    "half",
    "const",
    "volatile",
    "__restrict__",
    "__restrict",
    "auto",
];

/// The type and the name of a declaration without its default: `const float *__restrict__ x`.
fn declared(part: &str) -> (&str, Option<&str>) {
    let whole = part;
    let part = part.split('[').next().unwrap_or_default().trim_end();
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let ty = part.trim_end_matches(is_word);
    let name = &part[ty.len()..];
    let is_name = !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && !TYPES.contains(&name)
        && !ty.trim().is_empty();
    match is_name && !part.ends_with(')') {
        true => (
            if whole.len() > part.len() { whole } else { ty },
            Some(name),
        ),
        false => (whole, None),
    }
}

/// Whether a parameter may have a type.
fn fits(ty: &str, param: &Param) -> bool {
    let is_float = matches!(param.kind, ParamKind::Float(_));
    if ty.contains(['*', '&', '[', '(']) {
        return param.bytes == 8 && !is_float;
    }
    let words: Vec<&str> = ty.split_whitespace().filter(|w| *w != "const").collect();
    match words[..] {
        ["float"] => param.bytes == 4 && is_float,
        ["double"] => param.bytes == 8 && is_float,
        ["int" | "unsigned" | "uint" | "int32_t" | "uint32_t"] | ["unsigned", "int"] => {
            param.bytes == 4 && !is_float
        }
        ["size_t" | "int64_t" | "uint64_t"] | ["long", "long"] | ["unsigned", "long", "long"] => {
            param.bytes == 8 && !is_float
        }
        // A name of the program's own.
        _ => true,
    }
}

/// A text whose comments are blanks: every byte stays where it is.
fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let end = match rest {
            _ if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            _ if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |i| i + 2),
            _ => {
                let plain = rest.find('/').unwrap_or(rest.len()).max(1);
                out.push_str(&rest[..plain]);
                rest = &rest[plain..];
                continue;
            }
        };
        out.extend(
            rest[..end]
                .bytes()
                .map(|b| if b == b'\n' { '\n' } else { ' ' }),
        );
        rest = &rest[end..];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn param(bytes: u32, is_float: bool) -> Param {
        Param {
            name: String::new(),
            symbol: String::new(),
            offset: 0,
            bytes,
            align: bytes,
            kind: match is_float {
                true => ParamKind::Float(crate::kernel::Fmt::F32),
                false => ParamKind::Int {
                    width: (8 * bytes) as u8,
                    pointer: false,
                    signed: false,
                    untyped: false,
                },
            },
        }
    }

    #[test]
    fn lists_name_parameters_that_they_fit() {
        let params = [(8, false), (8, false), (4, false), (4, true)].map(|(b, f)| param(b, f));
        let names = |list: &str| {
            let found = read(list, &params)?;
            Some(
                found
                    .into_iter()
                    .map(Option::unwrap_or_default)
                    .collect::<Vec<_>>()
                    .join(" "),
            )
        };
        let all = |list: &str, expected: Option<&str>| {
            assert_eq!(names(list).as_deref(), expected, "{list}")
        };
        all(
            "const float* __restrict__ x, T y[4], int n = 3, float s",
            Some("x y n s"),
        );
        all(
            "float *x,\n std::array<int, 2>* y, unsigned int n, float",
            Some("x y n "),
        );
        all(
            "const float*, void (*f)(int, int), int n, const float s",
            Some("  n s"),
        );
        // Another number, another order, one name twice.
        all("float* x, float* y, int n", None);
        all("float* x, float* y, float s, int n", None);
        all("float* x, int n, float* y, float s", None);
        all("float* x, float* x, int n, float s", None);
    }

    #[test]
    fn only_definitions_of_kernels_count() {
        let text = without_comments(
            "/* __global__ void k(int no) {} */\n__global__ void k(int a); // k(int b) {\n\
             template <int N> __global__ void __launch_bounds__(128) k(int c) {}\nvoid f() { k(1); mask(2); }",
        );
        let lists = text
            .match_indices('k')
            .filter_map(|(at, _)| list(&text, at, "k"));
        assert_eq!(lists.collect::<Vec<_>>(), ["int c"]);
    }
}
