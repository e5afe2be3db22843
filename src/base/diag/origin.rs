//! The files that PTX was compiled from, for excerpts in reports and for names.
//!
//! `.file` of a kernel names them, and whoever wrote the kernel wrote that name: nothing must be shown of a file that has
//! nothing to do with the kernel. Only a file whose own name ends as sources do is opened, and only where it stands below the
//! working folder or below the folder of the kernel, whatever links and `..` lead there. PTX that was built elsewhere finds its
//! source beside it.
//!
//! Not claimed: that the file is what the PTX was compiled from. Where the line is not in it, nothing is shown.

use std::path::{Path, PathBuf};

use super::Source;

/// How the names of sources end.
const ENDINGS: [&str; 12] = [
    "cu", "cuh", "c", "cc", "cpp", "cxx", "h", "hh", "hpp", "hxx", "inl", "py",
];

/// Bytes of the longest file that is read.
const LONGEST: u64 = 8 << 20;

/// The source that the kernel in a file names.
pub fn read(kernel: &str, file: &str) -> Option<Source> {
    let beside = match Path::new(kernel).parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let named = Path::new(file);
    let places = [
        Some(beside.join(named)),
        Some(named.to_path_buf()),
        // A file of that name elsewhere is not it where the one that is named is there.
        named
            .file_name()
            .filter(|_| !named.exists() && !beside.join(named).exists())
            .map(|name| beside.join(name)),
    ];
    let roots = [beside, Path::new(".")].map(|folder| folder.canonicalize().ok());
    let allowed = |place: PathBuf| {
        let real = place.canonicalize().ok()?;
        let ending = real.extension()?.to_str()?;
        // The root of all files would allow all.
        let mut roots = roots.iter().flatten().filter(|r| r.parent().is_some());
        let is_allowed = ENDINGS.contains(&ending) && roots.any(|r| real.starts_with(r));
        // A pipe or a device could hold the reader for ever.
        let about = std::fs::metadata(&real).ok().filter(|_| is_allowed)?;
        (about.is_file() && about.len() <= LONGEST).then_some(real)
    };
    let real = places.into_iter().flatten().find_map(allowed)?;
    let text = std::fs::read(real).ok()?;
    Source::new(file, String::from_utf8_lossy(&text)).ok()
}
