//! Files to kernels: reading, parsing once, choosing the entry, lowering.

use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::diag::{Diagnostic, Source};
use crate::kernel::{self, Kernel, LowerError, LowerWarning};
use crate::ptx::{self, Function, Id, Module};
use crate::report::{Entry, Failure, SiteReport};
use crate::spec::KernelSpec;

/// A parsed file.
#[derive(Debug)]
pub struct File {
    /// Its text.
    pub source: Arc<Source>,
    /// Its syntax tree.
    pub module: Module,
}

type Slot = Arc<Mutex<Option<Result<Arc<File>, Failure>>>>;

/// Files by path: one that is named twice is read and parsed once.
#[derive(Debug, Default)]
pub struct Files {
    slots: Mutex<HashMap<PathBuf, Slot>>,
}

impl Files {
    /// A cache without files.
    pub fn new() -> Files {
        Files::default()
    }

    /// The parsed file at a path.
    pub fn open(&self, path: &Path) -> Result<Arc<File>, Failure> {
        let slot = {
            let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
            slots.entry(path.to_path_buf()).or_default().clone()
        };
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        slot.get_or_insert_with(|| read(path)).clone()
    }
}

/// Files above this many bytes are not read; the offsets of a source have 32 bits.
const LONGEST: u64 = i32::MAX as u64;

/// The bytes of a file. A pipe or a device could hold the reader for ever or never end, and a
/// manifest may come from anyone: only regular files, and links to them, are read.
pub fn bytes(path: &Path) -> Result<Vec<u8>, Failure> {
    let refuse = |why: &dyn std::fmt::Display| {
        Failure::new("", format!("cannot read `{}`: {why}", path.display()))
    };
    let about = std::fs::metadata(path).map_err(|e| refuse(&e))?;
    if !about.is_file() {
        let what = match about.is_dir() {
            true => "it is a folder; name the file in it",
            false => "it is a pipe or a device; write it to a file first",
        };
        return Err(refuse(&what));
    }
    let mut out = Vec::new();
    let file = std::fs::File::open(path).map_err(|e| refuse(&e))?;
    let done = file.take(LONGEST).read_to_end(&mut out);
    match done {
        Err(e) => Err(refuse(&e)),
        Ok(n) if n as u64 >= LONGEST => Err(refuse(&"it is longer than 2 GiB")),
        Ok(_) => Ok(out),
    }
}

/// Reads a text file.
pub fn text(path: &Path) -> Result<Arc<Source>, Failure> {
    let name = path.display().to_string();
    let bytes = bytes(path)?;
    let source = Source::from_bytes(name, bytes).map_err(|e| Failure::new("", e.to_string()))?;
    Ok(Arc::new(source))
}

fn read(path: &Path) -> Result<Arc<File>, Failure> {
    let source = text(path)?;
    match ptx::parse(&source) {
        Ok(module) => Ok(Arc::new(File { source, module })),
        Err(errors) => {
            let diagnostics = errors.iter().map(Diagnostic::from).collect();
            Err(Failure::at(&source, diagnostics))
        }
    }
}

/// A kernel with what its text gave rise to.
#[derive(Debug)]
pub struct Lowered {
    /// The kernel.
    pub kernel: Kernel,
    /// Warnings about its text.
    pub warnings: Vec<Entry>,
}

/// The kernel that a specification names.
pub fn lower(files: &Files, spec: &KernelSpec) -> Result<Lowered, Failure> {
    let file = files.open(&spec.file)?;
    let mut lowered = lower_entry(&file, spec.entry.as_deref())?;
    for w in &mut lowered.warnings {
        w.kernel = Some(spec.which);
    }
    Ok(lowered)
}

/// An entry of a file, by its name or a unique part of it.
pub fn lower_entry(file: &File, entry: Option<&str>) -> Result<Lowered, Failure> {
    let entry = kernel::select_entry(&file.module, entry).map_err(|e| refuse(file, &[e]))?;
    lower_function(file, entry)
}

/// Every entry of a file.
pub fn lower_all(file: &File) -> Result<Vec<Kernel>, Failure> {
    let entries = file.module.entries();
    let kernels = entries.map(|(id, _)| Ok(lower_function(file, id)?.kernel));
    kernels.collect()
}

fn lower_function(file: &File, entry: Id<Function>) -> Result<Lowered, Failure> {
    let lowered =
        kernel::lower(&file.module, &file.source, entry).map_err(|errors| refuse(file, &errors))?;
    let warning = |w: &LowerWarning| Entry {
        kernel: None,
        kind: w.code(),
        message: w.to_string(),
        count: 1,
        sites: vec![SiteReport::new(&file.source, w.span(), "")],
        difference: None,
    };
    Ok(Lowered {
        warnings: lowered.warnings.iter().map(warning).collect(),
        kernel: lowered.kernel,
    })
}

fn refuse(file: &File, errors: &[LowerError]) -> Failure {
    let diagnostics = errors.iter().map(LowerError::diagnostic).collect();
    Failure::at(&file.source, diagnostics)
}
