//! What arrays hold after a run, as tables.

use std::fmt::Write;

use serde_json::Value;

use crate::answer::Written;

/// Rows and columns of a table that people are shown.
const SHOWN: usize = 8;

/// One array as a table: rows along the last dimension, the first ones of each.
pub(super) fn values(array: &Written) -> String {
    let dims: Vec<String> = array.shape.iter().map(u64::to_string).collect();
    let mut out = format!("{} = {}[{}]\n", array.name, array.r#type, dims.join(","));
    let columns = array.shape.last().map_or(1, |&n| n.max(1) as usize);
    let rows: Vec<&[Value]> = array.values.chunks(columns).collect();
    let cells: Vec<Vec<String>> = rows
        .iter()
        .take(SHOWN)
        .map(|row| row.iter().take(SHOWN).map(cell).collect())
        .collect();
    let width = cells.iter().flatten().map(String::len).max().unwrap_or(0);
    for (row, cells) in rows.iter().zip(&cells) {
        out.push_str("   ");
        for cell in cells {
            // Writing to a string cannot fail.
            let _ = write!(out, " {cell:>width$}");
        }
        if row.len() > SHOWN {
            out.push_str(" ...");
        }
        out.push('\n');
    }
    if rows.len() > SHOWN {
        let _ = writeln!(out, "    ... {} more rows", rows.len() - SHOWN);
    }
    out
}

/// An element; what is no integer has the digits that a float of 32 bits needs.
fn cell(value: &Value) -> String {
    match value {
        Value::Null => "-".to_string(),
        Value::String(text) => text.clone(),
        Value::Number(n) if n.is_f64() => format!("{}", n.as_f64().unwrap_or(0.0) as f32),
        other => other.to_string(),
    }
}
