//! Arrays of pointers (`in:ptr[3]=[$a,$b,$c+64]`) and the buffers that they point to (`--buffer a=in:f32[64]`).
//!
//! A buffer is an array that no parameter is. An entry is `$NAME`, `$NAME+BYTES` or 0, which is null.

use crate::term::ArrayId;

use super::binding::{ArrayDecl, View};
use super::pair::Table;
use super::{Array, Origin, Role, SpecError};

/// An entry of an array of pointers; `None` is null.
pub type Entry = Option<(String, u64)>;

/// Entries of one array.
const MOST: u64 = 1 << 16;

/// Reads an array of pointers; `None` if the text is no such array.
pub fn parse(text: &str) -> Option<Result<ArrayDecl, String>> {
    let (role, rest) = match text.split_once(':') {
        Some((role, rest)) => (Some(role), rest),
        None => (None, text),
    };
    rest.trim()
        .starts_with("ptr[")
        .then(|| entries(role, rest.trim()))
}

fn entries(role: Option<&str>, rest: &str) -> Result<ArrayDecl, String> {
    let Some((shape, list)) = rest.split_once('=') else {
        return Err("an array of pointers says where they point: ptr[2]=[$a,$b+16]".into());
    };
    // Apart from what its entries are, it is an array of as many words.
    let words = format!("u64{}", &shape.trim_end()["ptr".len()..]);
    let words = match role {
        Some(role) => format!("{role}:{words}"),
        None => words,
    };
    let mut decl = ArrayDecl::parse(&words)?;
    if decl.map.is_some() {
        return Err("an array of pointers has no tensor map".into());
    }
    if decl.role == Some(Role::Out) {
        return Err("an `out:` array has no content before the launch; bind it as `inout:`".into());
    }
    let list = list
        .trim()
        .strip_prefix('[')
        .and_then(|l| l.strip_suffix(']'));
    let list = list.ok_or("the pointers stand in brackets: [$a,$b+16,0]")?;
    let mut all = Vec::new();
    if !list.trim().is_empty() {
        for part in list.split(',') {
            all.push(entry(part.trim())?);
        }
    }
    let count = decl.extent / 8;
    if all.len() as u64 != count || count > MOST {
        let n = all.len();
        return Err(format!("there are {n} pointers for an array of {count}"));
    }
    decl.targets = Some(all);
    Ok(decl)
}

fn entry(text: &str) -> Result<Entry, String> {
    match text {
        "0" => Ok(None),
        _ => view(text).map(|v| Some((v.buffer, v.offset))),
    }
}

/// Reads `$NAME` or `$NAME+BYTES`.
pub fn view(text: &str) -> Result<View, String> {
    let bad = || format!("`{text}` is no pointer: use $NAME, $NAME+BYTES, or 0");
    let text = text.strip_prefix('$').ok_or_else(bad)?;
    let (name, offset) = match text.split_once('+') {
        Some((name, offset)) => (name, offset.trim().parse().map_err(|_| bad())?),
        None => (text, 0),
    };
    let name = name.trim();
    match is_name(name) {
        true => Ok(View {
            buffer: name.to_string(),
            offset,
        }),
        false => Err(bad()),
    }
}

/// Whether a text can be the name of a buffer.
fn is_name(text: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !text.is_empty() && text.chars().all(word)
}

/// Where an entry of an array of pointers lies, and where it points to: an array and an offset in it,
/// or nowhere.
pub type Pointer = (u64, Option<(ArrayId, u64)>);

impl Table {
    /// Adds the buffers that no parameter is.
    pub(super) fn add_buffers(&mut self, buffers: &[(String, ArrayDecl)]) -> Result<(), SpecError> {
        let handed_on = self.is_sequence;
        for (name, decl) in buffers {
            let id = self.push(Array {
                name: name.clone(),
                origin: Origin::Pointer,
                role: decl.role,
                elem: Some(decl.elem),
                shape: decl.shape.clone(),
                extent: Some(decl.extent),
                initial: decl.contents.as_ref().and_then(|c| c.bytes().cloned()),
                only: None,
                align: decl.align,
                pointers: None,
                handed_on,
            });
            self.buffers.insert(name.clone(), id);
        }
        for (name, decl) in buffers {
            self.point(self.buffers[name], decl)?;
        }
        Ok(())
    }

    /// The buffer of a view, or why there is no such view.
    pub(super) fn view(&self, view: &View) -> Result<ArrayId, String> {
        let Some(&id) = self.buffers.get(&view.buffer) else {
            let known: Vec<String> = self.buffers.keys().map(|b| format!("`{b}`")).collect();
            let known = match known.is_empty() {
                true => "none is declared: say `buffers = { NAME = \"in:f32[64]\" }`".to_string(),
                false => format!("the buffers are {}", known.join(", ")),
            };
            return Err(format!("no buffer is called `{}`; {known}", view.buffer));
        };
        let extent = self.merged[id.0 as usize].extent.unwrap_or(0);
        match view.offset > extent {
            true => Err(format!(
                "the view begins at byte {} of `{}`, which has {extent}",
                view.offset, view.buffer
            )),
            false => Ok(id),
        }
    }

    /// Gives an array the pointers that its binding says.
    pub(super) fn point(&mut self, id: ArrayId, decl: &ArrayDecl) -> Result<(), SpecError> {
        let Some(targets) = &decl.targets else {
            return Ok(());
        };
        let i = id.0 as usize;
        let name = self.merged[i].name.clone();
        let bad = |why: String| SpecError::BadPointers {
            array: name.clone(),
            why,
        };
        let mut out = Vec::new();
        for (at, entry) in targets.iter().enumerate() {
            let Some((buffer, offset)) = entry else {
                out.push((8 * at as u64, None));
                continue;
            };
            let to = self.buffers.get(buffer).copied();
            let to = to.ok_or_else(|| bad(format!("no --buffer is called `{buffer}`")))?;
            let extent = self.merged[to.0 as usize].extent.unwrap_or(0);
            if *offset > extent {
                return Err(bad(format!("`{buffer}` has {extent} bytes, not {offset}")));
            }
            out.push((8 * at as u64, Some((to, *offset))));
        }
        let all: std::sync::Arc<[_]> = out.into();
        let known = &self.merged[i].pointers;
        if known.as_ref().is_some_and(|k| *k != all) {
            return Err(bad("the kernels see different pointers in it".into()));
        }
        self.merged[i].pointers = Some(all.clone());
        self.views
            .iter_mut()
            .for_each(|v| v[i].pointers = Some(all.clone()));
        Ok(())
    }
}

/// Reads a buffer.
pub(super) fn buffer(name: &str, text: &str) -> Result<(String, ArrayDecl), SpecError> {
    let bad = |why: String| SpecError::BadArg {
        text: format!("{name}={text}"),
        why,
    };
    let name = name.trim();
    if !is_name(name) {
        return Err(bad(format!("`{name}` is no name for a buffer")));
    }
    let decl = parse(text.trim())
        .unwrap_or_else(|| ArrayDecl::parse(text))
        .map_err(bad)?;
    match decl.map {
        Some(_) => Err(bad("a buffer is memory, and no tensor map".into())),
        None => Ok((name.to_string(), decl)),
    }
}
