//! Which bytes of the reference's parameters stand for which of the optimized kernel's.
//!
//! Source: the section "Bindings" of the command-line contract. `--map` pairs whole parameters or
//! fields; the rest is paired by position where the types are the same. A [`ByteRange`] is a whole
//! parameter or a range of its bytes. A binding of `--arg` is for the bytes that its key names in the
//! reference and for their partner; [`targets`] says where that is in each kernel.
//!
//! Sound: a pairing says that both kernels are given the same argument. What has no partner is an
//! argument of one kernel alone, which can only lose proofs.

use crate::answer::kinds::near;
use crate::kernel::{Kernel, Param, ParamKind};

use super::SpecError;
use super::binding::{ArgValue, ArrayDecl, Key, ParamKey};
use super::fit::{Side, show_type};

/// A range of bytes of one parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ByteRange {
    /// Index of the parameter.
    pub param: usize,
    /// First byte.
    pub start: u32,
    /// Number of bytes.
    pub bytes: u32,
}

impl ByteRange {
    /// The byte after the last.
    pub(super) fn end(self) -> u32 {
        self.start.saturating_add(self.bytes)
    }

    fn meets(self, other: ByteRange) -> bool {
        self.param == other.param && self.start < other.end() && other.start < self.end()
    }

    fn has(self, param: usize, offset: u32) -> bool {
        self.param == param && (self.start..self.end()).contains(&offset)
    }
}

/// Bytes of the reference, or of the only kernel, and of the optimized kernel.
pub(super) type Pair = [Option<ByteRange>; 2];

/// The index of the parameter that a key names.
pub(super) fn find(kernel: &Kernel, key: &Key) -> Option<usize> {
    match &key.param {
        ParamKey::Position(p) => ((*p as usize) < kernel.params.len()).then_some(*p as usize),
        ParamKey::Name(name) => kernel.params.iter().position(|p| p.is_named(name)),
    }
}

pub(super) fn show_key(key: &Key) -> String {
    let param = match &key.param {
        ParamKey::Position(p) => p.to_string(),
        ParamKey::Name(name) => name.clone(),
    };
    match key.offset {
        Some(offset) => format!("{param}+{offset}"),
        None => param,
    }
}

pub(super) fn list_params(kernel: &Kernel) -> String {
    let each = kernel.params.iter().enumerate();
    let list: Vec<String> = each
        .map(|(i, p)| format!("{i} = {} ({})", p.name, show_type(p)))
        .collect();
    if list.is_empty() {
        "none".into()
    } else {
        list.join(", ")
    }
}

/// The parameter or variable whose name is nearest to that of a key, as a question.
pub(super) fn nearest(kernels: &[&Kernel], key: &Key) -> String {
    let ParamKey::Name(name) = &key.param else {
        return String::new();
    };
    let params = kernels.iter().flat_map(|k| &k.params);
    let params = params.flat_map(|p| [p.name.as_str(), p.symbol.as_str()]);
    let variables = kernels.iter().flat_map(|k| &k.globals);
    let names: Vec<&str> = params.chain(variables.map(|g| g.name.as_str())).collect();
    match near(name, &names)[..] {
        [] => String::new(),
        [first, ..] => format!(" (did you mean `{first}`?)"),
    }
}

/// The parameters of one kernel, or of a pair cut into parts that stand for each other.
pub(super) fn pair_up(sides: &[Side], map: &[(Key, Key)]) -> Result<Vec<Pair>, SpecError> {
    let whole = |kernel: &Kernel, p: usize| ByteRange {
        param: p,
        start: 0,
        bytes: kernel.params[p].bytes,
    };
    let [reference, optimized] = sides else {
        let params = sides.first().into_iter();
        let params = params.flat_map(|s| (0..s.kernel.params.len()).map(|p| whole(s.kernel, p)));
        return Ok(params.map(|part| [Some(part), None]).collect());
    };
    let maps = [maps_of(reference), maps_of(optimized)];
    let mut pairs: Vec<Pair> = Vec::new();
    for (a, b) in map {
        let text = format!("{}={}", show_key(a), show_key(b));
        let [i, j] = [(reference, a), (optimized, b)].map(|(side, key)| {
            find(side.kernel, key).ok_or_else(|| SpecError::NoSuchMapped {
                text: text.clone(),
                kernel: side.kernel.name.clone(),
                params: list_params(side.kernel),
            })
        });
        let (i, j) = (i?, j?);
        let types = || SpecError::MappedTypes {
            text: text.clone(),
            reference: show_type(&reference.kernel.params[i]),
            optimized: show_type(&optimized.kernel.params[j]),
        };
        let pair = if a.offset.is_none() && b.offset.is_none() {
            if !same_type(sides, &maps, i, j) {
                return Err(types());
            }
            [whole(reference.kernel, i), whole(optimized.kernel, j)]
        } else {
            let bytes = field_bytes([(reference, i, a), (optimized, j, b)]).ok_or_else(types)?;
            [(i, a), (j, b)].map(|(param, key)| ByteRange {
                param,
                start: key.offset.unwrap_or(0),
                bytes,
            })
        };
        let taken = |p: &Pair| (0..2).any(|s| p[s].is_some_and(|q| q.meets(pair[s])));
        if pairs.iter().any(taken) {
            return Err(SpecError::MappedTwice { text });
        }
        pairs.push(pair.map(Some));
    }
    rest(sides, &maps, &mut pairs);
    pairs.sort_by_key(|p| p.map(|q| q.map_or((usize::MAX, 0), |q| (q.param, q.start))));
    Ok(pairs)
}

/// Pairs by position what `--map` has left, and leaves alone what has no partner.
fn rest(sides: &[Side], maps: &[Vec<bool>; 2], pairs: &mut Vec<Pair>) {
    let named = pairs.clone();
    let counts = [0, 1].map(|s| sides[s].kernel.params.len());
    for p in 0..counts[0].max(counts[1]) {
        let present = [0, 1].map(|s| p < counts[s]);
        let bytes = |s: usize| sides[s].kernel.params[p].bytes;
        let left = |s: usize| match present[s] {
            true => outside(&named, s, p, bytes(s)),
            false => Vec::new(),
        };
        let free = [left(0), left(1)];
        let whole = |s: usize| matches!(free[s][..], [(0, end)] if end == bytes(s));
        let same = present == [true, true] && same_type(sides, maps, p, p);
        let part = |(start, end): (u32, u32)| {
            Some(ByteRange {
                param: p,
                start,
                bytes: end - start,
            })
        };
        if same && whole(0) && whole(1) {
            // A tensor map and a pointer differ in size.
            pairs.push([part(free[0][0]), part(free[1][0])]);
            continue;
        }
        if !same {
            pairs.extend(free[0].iter().map(|&range| [part(range), None]));
            pairs.extend(free[1].iter().map(|&range| [None, part(range)]));
            continue;
        }
        let mut cuts: Vec<u32> = free.iter().flatten().flat_map(|r| [r.0, r.1]).collect();
        cuts.sort_unstable();
        cuts.dedup();
        for range in cuts.windows(2).map(|w| (w[0], w[1])) {
            let inside = |s: usize| free[s].iter().any(|f| f.0 <= range.0 && range.1 <= f.1);
            match (inside(0), inside(1)) {
                (true, true) => pairs.push([part(range), part(range)]),
                (a, b) => {
                    pairs.extend(a.then(|| [part(range), None]));
                    pairs.extend(b.then(|| [None, part(range)]));
                }
            }
        }
    }
}

/// The ranges of a parameter that no pair has.
fn outside(pairs: &[Pair], side: usize, param: usize, bytes: u32) -> Vec<(u32, u32)> {
    let taken = pairs.iter().filter_map(|p| p[side]);
    let mut taken: Vec<ByteRange> = taken.filter(|q| q.param == param).collect();
    taken.sort_by_key(|q| q.start);
    let mut out = Vec::new();
    let mut at = 0;
    for q in taken {
        if q.start > at {
            out.push((at, q.start));
        }
        at = at.max(q.end());
    }
    if at < bytes {
        out.push((at, bytes));
    }
    out
}

/// Which parameters are bound as tensor maps.
fn maps_of(side: &Side) -> Vec<bool> {
    let mut out = vec![false; side.kernel.params.len()];
    for arg in &side.spec.args {
        if let ArgValue::Array(ArrayDecl { map: Some(_), .. }) = arg.value
            && let Some(p) = find(side.kernel, &arg.key)
        {
            out[p] = arg.key.offset.is_none();
        }
    }
    out
}

fn same_type(sides: &[Side], maps: &[Vec<bool>; 2], i: usize, j: usize) -> bool {
    let (a, b) = (&sides[0].kernel.params[i], &sides[1].kernel.params[j]);
    let pointer = |p: &Param| p.bytes == 8 && !matches!(p.kind, ParamKind::Float(_));
    match (maps[0][i], maps[1][j]) {
        (true, true) => return true,
        (true, false) => return pointer(b),
        (false, true) => return pointer(a),
        (false, false) => {}
    }
    match (a.kind, b.kind) {
        (ParamKind::Int { width: w, .. }, ParamKind::Int { width: v, .. }) => w == v,
        // Some compilers wrap a pointer in an array of eight bytes, and a half in one of two.
        (ParamKind::Int { .. }, ParamKind::Bytes) | (ParamKind::Bytes, ParamKind::Int { .. }) => {
            a.bytes == b.bytes && [2, 8].contains(&a.bytes)
        }
        (ParamKind::Float(f), ParamKind::Float(g)) => f == g,
        (ParamKind::Bytes, ParamKind::Bytes) => a.bytes == b.bytes,
        (ParamKind::Float(_), _) | (_, ParamKind::Float(_)) => false,
    }
}

/// The size of two fields that are one: that of a scalar parameter or of a pointer, else that of the
/// loads; `None` if nothing tells it, if both say different ones, or if a field ends behind its
/// parameter.
fn field_bytes(fields: [(&Side, usize, &Key); 2]) -> Option<u32> {
    let known = fields.map(|(side, p, key)| {
        let param = &side.kernel.params[p];
        match key.offset {
            None => [1, 2, 4, 8].contains(&param.bytes).then_some(param.bytes),
            Some(offset) => {
                let loads = side.uses.at(p, offset);
                loads.filter(|l| l.param.is_some()).map(|l| l.bytes).min()
            }
        }
    });
    let bytes = match known {
        [Some(a), Some(b)] if a != b => return None,
        [a, b] => a.or(b)?,
    };
    let fits = |(side, p, key): &(&Side, usize, &Key)| {
        let start = key.offset.unwrap_or(0);
        let param = &side.kernel.params[*p];
        let field = key.offset.is_none() || param.kind == ParamKind::Bytes;
        field
            && start
                .checked_add(bytes)
                .is_some_and(|end| end <= param.bytes)
    };
    fields.iter().all(fits).then_some(bytes)
}

/// A place that a binding is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Target {
    /// Which kernel.
    pub side: usize,
    /// Index of the parameter.
    pub param: usize,
    /// Byte offset, where the binding is of a field.
    pub offset: Option<u32>,
}

/// The places that a key is for (`own`: of one kernel alone), those of a pair together: the bytes that the key names and
/// their partner. Where the bytes have none, the key is one of each kernel alone.
pub(super) fn targets(
    sides: &[Side],
    pairs: &[Pair],
    owner: usize,
    key: &Key,
    own: bool,
) -> Vec<Vec<Target>> {
    let place = |side: usize| {
        let param = find(sides[side].kernel, key)?;
        let offset = key.offset;
        Some(Target {
            side,
            param,
            offset,
        })
    };
    if own || sides.len() == 1 {
        return place(owner).into_iter().map(|t| vec![t]).collect();
    }
    let places = [place(0), place(1)];
    let mut out: Vec<Vec<Target>> = Vec::new();
    for target in places.into_iter().flatten() {
        let partner = partner(sides, pairs, target);
        // The reference's reading of a key comes first.
        if target.side == 1
            && (partner.is_some() || out.iter().any(|g| g.len() > 1))
            && !out.is_empty()
        {
            continue;
        }
        out.push([Some(target), partner].into_iter().flatten().collect());
    }
    out
}

/// What stands for a place in the other kernel.
pub(super) fn partner(sides: &[Side], pairs: &[Pair], t: Target) -> Option<Target> {
    let other = 1 - t.side;
    let at = t.offset.unwrap_or(0);
    let pair = pairs
        .iter()
        .find(|p| p[t.side].is_some_and(|q| q.has(t.param, at)))?;
    let (here, there) = (pair[t.side]?, pair[other]?);
    let kernel = sides.get(other)?.kernel;
    let whole = there.start == 0 && there.bytes == kernel.params[there.param].bytes;
    let structure = kernel.params[there.param].kind == ParamKind::Bytes;
    let field = t.offset.is_some_and(|o| structure || o > here.start);
    let at = there.start + (at - here.start);
    Some(Target {
        side: other,
        param: there.param,
        offset: (!whole || field).then_some(at),
    })
}
