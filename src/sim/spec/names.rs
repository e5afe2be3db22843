//! Names that a user gives to parameters and fields (`--name KEY=NAME`).
//!
//! A name is one more spelling of the key that it was given to: every other setting that says it means
//! that key, with the pairing of the key. Reports name the parameter, and its partner, by it. So that
//! a name in a report means one parameter, no other parameter may have it.

use super::SpecError;
use super::binding::{Key, ParamKey};
use super::fit::Side;
use super::manifest::KernelSpec;
use super::pairing::{Pair, Target, list_params, show_key, targets};
use crate::diag::foreign::shows;
use crate::kernel::Kernel;

/// The names that were given, with what each is of.
#[derive(Debug, Default)]
pub(super) struct Names(Vec<(Target, String)>);

/// Reads a name.
pub(super) fn parse(key: &str, name: &str) -> Result<(Key, String), SpecError> {
    let bad = |why: String| SpecError::BadName {
        text: format!("{key}={name}"),
        why,
    };
    let stray = |c: char| c.is_whitespace() || !shows(c) || "+=[]{}(),:;/$`'\"".contains(c);
    let name = name.trim();
    if name.is_empty() || name.contains(stray) || name.bytes().all(|b| b.is_ascii_digit()) {
        let why = format!("`{name}` is no name: use letters, digits and underscores, as in n_rows");
        return Err(bad(why));
    }
    Ok((Key::parse(key.trim()).map_err(bad)?, name.to_string()))
}

/// The key that a key stands for: that of a parameter by position or PTX name.
pub(super) fn meant(given: &[(Key, String)], key: &Key) -> Key {
    let ParamKey::Name(name) = &key.param else {
        return key.clone();
    };
    match given.iter().find(|(_, n)| n == name) {
        None => key.clone(),
        Some((of, _)) => Key {
            param: of.param.clone(),
            offset: match (of.offset, key.offset) {
                (None, at) | (at, None) => at,
                (Some(a), Some(b)) => Some(a.saturating_add(b)),
            },
        },
    }
}

/// What is said about a kernel, with every key spelled without names that were given.
pub(super) fn spelled(spec: &KernelSpec) -> KernelSpec {
    let mut out = spec.clone();
    let meant = |key: &Key| meant(&spec.names, key);
    out.args.iter_mut().for_each(|a| a.key = meant(&a.key));
    for (a, b) in &mut out.alias {
        (*a, *b) = (meant(a), meant(b));
    }
    out.only.iter_mut().for_each(|o| o.key = meant(&o.key));
    out.assume.iter_mut().for_each(|f| f.spell(meant));
    out
}

impl Names {
    /// The places that names were given to.
    pub(super) fn of(sides: &[Side], pairs: &[Pair]) -> Result<Names, SpecError> {
        let mut out: Vec<(Target, String)> = Vec::new();
        let given = sides.first().map_or(&[][..], |s| &s.spec.names[..]);
        for (key, name) in given {
            let bad = |why: String| SpecError::BadName {
                text: format!("{}={name}", show_key(key)),
                why,
            };
            let groups = targets(sides, pairs, 0, key, false);
            let places: Vec<Target> = groups.into_iter().flatten().collect();
            if places.is_empty() {
                let all = sides.iter().map(|s| list_params(s.kernel));
                let all: Vec<String> = all.collect();
                let why = format!(
                    "it is of no parameter; the parameters are {}",
                    all.join("; ")
                );
                return Err(bad(why));
            }
            for place in places {
                let kernel = sides[place.side].kernel;
                let offset = place.offset.unwrap_or(0);
                if offset >= kernel.params[place.param].bytes {
                    let bytes = kernel.params[place.param].bytes;
                    return Err(bad(format!("the parameter has {bytes} bytes")));
                }
                if let Some((_, other)) = out.iter().find(|(p, _)| *p == place) {
                    return Err(bad(format!("it has the name `{other}` already")));
                }
                let mut others = out.iter().filter(|(p, _)| p.side == place.side);
                if others.any(|(_, n)| n == name) {
                    return Err(bad(format!("`{name}` is given twice")));
                }
                out.push((place, name.clone()));
            }
        }
        let names = Names(out);
        names.apart(sides, given)?;
        Ok(names)
    }

    /// A parameter that keeps its PTX name must not be called as another one is.
    fn apart(&self, sides: &[Side], given: &[(Key, String)]) -> Result<(), SpecError> {
        for (side, s) in sides.iter().enumerate() {
            for (key, name) in given {
                let Some(param) = s.kernel.params.iter().position(|p| p.is_named(name)) else {
                    continue;
                };
                let keeps = |(p, _): &(Target, String)| (p.side, p.param) != (side, param);
                if self.0.iter().all(keeps) {
                    return Err(SpecError::BadName {
                        text: format!("{}={name}", show_key(key)),
                        why: format!(
                            "it is the PTX name of parameter {param} of `{}`: give that one a name too",
                            s.kernel.name
                        ),
                    });
                }
            }
        }
        Ok(())
    }

    /// How reports call a parameter, or the bytes of it that begin at an offset.
    pub(super) fn label(&self, kernel: &Kernel, of: Target) -> String {
        let mut all = self
            .0
            .iter()
            .filter(|(p, _)| (p.side, p.param) == (of.side, of.param));
        if let Some((_, name)) = all.clone().find(|(p, _)| p.offset == of.offset) {
            return name.clone();
        }
        let whole = all.find(|(p, _)| p.offset.is_none());
        let name = whole.map_or(&kernel.params[of.param].name, |(_, name)| name);
        match of.offset {
            Some(start) => format!("{name}+{start}"),
            None => name.clone(),
        }
    }
}
