//! Arrays in NumPy's file format.
//!
//! Source: NumPy's documentation, "NPY format", versions 1.0 to 3.0: a magic string, the version, the
//! length of a header, the header (a Python dictionary with `descr`, `fortran_order` and `shape`), then
//! the elements. Formats that NumPy lacks are held as their bits: bf16 as u16, fp8 as u8.

use super::ElemTy;
use crate::kernel::Fmt;

const MAGIC: &[u8] = b"\x93NUMPY";

/// The header starts so that the elements after it are aligned to this many bytes.
const ALIGN: usize = 64;

/// The letter and the bytes of an element type, as `descr` says them.
fn descr(elem: ElemTy) -> (char, u64) {
    let letter = match elem {
        ElemTy::Float(Fmt::F16 | Fmt::F32 | Fmt::F64) => 'f',
        ElemTy::Float(_) => 'u',
        ElemTy::Int { signed: true, .. } => 'i',
        ElemTy::Int { signed: false, .. } => 'u',
    };
    (letter, elem.bytes())
}

fn full_descr(elem: ElemTy) -> String {
    let (letter, bytes) = descr(elem);
    let order = if bytes == 1 { '|' } else { '<' };
    format!("{order}{letter}{bytes}")
}

/// The bytes of the elements of a file, row by row, if it holds an array of this type and shape.
pub fn read(file: &[u8], elem: ElemTy, shape: &[u64]) -> Result<Vec<u8>, String> {
    let broken = || "it is no .npy file".to_string();
    let rest = file.strip_prefix(MAGIC).ok_or_else(broken)?;
    let (&[major, _minor], rest) = rest.split_first_chunk::<2>().ok_or_else(broken)?;
    let (length, rest) = match major {
        1 => rest
            .split_first_chunk::<2>()
            .map(|(n, r)| (u32::from(u16::from_le_bytes(*n)), r)),
        2 | 3 => rest
            .split_first_chunk::<4>()
            .map(|(n, r)| (u32::from_le_bytes(*n), r)),
        _ => return Err(format!("version {major} of the .npy format is not known")),
    }
    .ok_or_else(broken)?;
    let (header, data) = rest.split_at_checked(length as usize).ok_or_else(broken)?;
    let header = std::str::from_utf8(header).map_err(|_| broken())?;
    let Header {
        descr: given,
        columns,
        shape: held,
    } = Header::parse(header).ok_or("its header is not that of an array of numbers")?;
    let wanted = full_descr(elem);
    // A file of bytes may name an order too.
    let same = given == wanted || elem.bytes() == 1 && given.get(1..) == wanted.get(1..);
    if !same {
        let bits = match (elem, descr(elem).0) {
            (ElemTy::Float(_), 'u') => " (its bits)",
            _ => "",
        };
        return Err(format!(
            "it holds elements of type `{given}`, and {} is `{wanted}`{bits}",
            elem.name()
        ));
    }
    if held != shape {
        return Err(format!(
            "it has the shape {held:?}, and the array {shape:?}"
        ));
    }
    let count: u64 = shape.iter().product();
    if Some(data.len() as u64) != count.checked_mul(elem.bytes()) {
        return Err("it does not hold as many bytes as its header says".into());
    }
    Ok(match columns {
        false => data.to_vec(),
        true => by_rows(data, elem.bytes() as usize, shape),
    })
}

/// Elements that stand column by column, row by row.
fn by_rows(data: &[u8], size: usize, shape: &[u64]) -> Vec<u8> {
    let mut out = Vec::with_capacity(data.len());
    for i in 0..data.len() / size {
        let (mut rest, mut index) = (i as u64, Vec::with_capacity(shape.len()));
        for &extent in shape.iter().rev() {
            index.push(rest % extent);
            rest /= extent;
        }
        // The last dimension is the first of the list, and the slowest of the file.
        let at = index
            .iter()
            .zip(shape.iter().rev())
            .fold(0, |at, (i, extent)| at * extent + i);
        let at = at as usize * size;
        out.extend_from_slice(&data[at..at + size]);
    }
    out
}

/// A file that holds an array.
pub fn write(elem: ElemTy, shape: &[u64], data: &[u8]) -> Vec<u8> {
    let dims: Vec<String> = shape.iter().map(|d| format!("{d},")).collect();
    let mut header = format!(
        "{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
        full_descr(elem),
        dims.join(" ")
    );
    let before = MAGIC.len() + 4;
    let padding = (ALIGN - (before + header.len() + 1) % ALIGN) % ALIGN;
    header.extend(std::iter::repeat_n(' ', padding));
    header.push('\n');
    let mut out = MAGIC.to_vec();
    out.extend([1, 0]);
    out.extend((header.len() as u16).to_le_bytes());
    out.extend_from_slice(header.as_bytes());
    out.extend_from_slice(data);
    out
}

/// What a header says.
struct Header {
    descr: String,
    columns: bool,
    shape: Vec<u64>,
}

impl Header {
    /// Reads a dictionary with these three keys, in any order.
    fn parse(text: &str) -> Option<Header> {
        let mut rest = text.trim().strip_prefix('{')?;
        let (mut descr, mut columns, mut shape) = (None, None, None);
        loop {
            rest = rest.trim_start();
            if let Some(end) = rest.strip_prefix('}') {
                end.trim().is_empty().then_some(())?;
                break;
            }
            let (key, after) = quoted(rest)?;
            let value = after.trim_start().strip_prefix(':')?.trim_start();
            rest = match key {
                "descr" => {
                    let (said, after) = quoted(value)?;
                    descr = Some(said.to_string());
                    after
                }
                "fortran_order" => {
                    let yes = value.strip_prefix("True");
                    columns = Some(yes.is_some());
                    yes.or_else(|| value.strip_prefix("False"))?
                }
                "shape" => {
                    let (list, after) = value.strip_prefix('(')?.split_once(')')?;
                    let dims = list.split(',').map(str::trim).filter(|d| !d.is_empty());
                    shape = Some(dims.map(|d| d.parse().ok()).collect::<Option<Vec<u64>>>()?);
                    after
                }
                _ => return None,
            };
            rest = rest.trim_start();
            rest = rest.strip_prefix(',').unwrap_or(rest);
        }
        Some(Header {
            descr: descr?,
            columns: columns?,
            shape: shape?,
        })
    }
}

/// The string at the start of a text, and what follows it.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    text[1..].split_once(quote)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elem(name: &str) -> ElemTy {
        ElemTy::parse(name).expect("a type")
    }

    #[test]
    fn what_is_written_is_read() {
        for (name, ty) in ElemTy::NAMES {
            let data: Vec<u8> = (0..6 * ty.bytes() as u8).collect();
            let file = write(ty, &[2, 3], &data);
            assert_eq!((file.len() - data.len()) % ALIGN, 0);
            assert_eq!(read(&file, ty, &[2, 3]), Ok(data.clone()), "{name}");
            assert!(read(&file, ty, &[3, 2]).is_err());
            assert!(read(&file, ty, &[6]).is_err());
            assert!(read(&file[..file.len() - 1], ty, &[2, 3]).is_err());
        }
        let file = write(elem("bf16"), &[1], &[1, 2]);
        assert!(read(&file, elem("u16"), &[1]).is_ok());
        assert!(read(&file, elem("f16"), &[1]).is_err());
        assert!(read(&file, elem("s16"), &[1]).is_err());
    }

    #[test]
    fn columns_become_rows() {
        let mut file = write(elem("u8"), &[2, 3], &[1, 4, 2, 5, 3, 6]);
        let at = file.windows(5).position(|w| w == b"False").expect("False");
        file.splice(at..at + 5, *b"True ");
        assert_eq!(read(&file, elem("u8"), &[2, 3]), Ok(vec![1, 2, 3, 4, 5, 6]));
    }

    #[test]
    fn hostile_headers() {
        for file in [
            &b""[..],
            b"\x93NUMPY",
            b"\x93NUMPY\x01\x00\xff\xff{",
            b"\x93NUMPY\x02\x00\xff\xff\xff\xff{",
            b"\x93NUMPY\x09\x00\x00\x00",
            b"\x93NUMPY\x01\x00\x02\x00{}",
            b"\x93NUMPY\x01\x00\x10\x00{'descr': [('a',",
        ] {
            assert!(read(file, elem("u8"), &[1]).is_err());
        }
    }
}
