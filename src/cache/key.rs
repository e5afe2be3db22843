//! The secret that authenticates cached results.
//!
//! It is the user's: the text of `VOLTA_CACHE_KEY`, or a file in the user's folder of settings (XDG base
//! directory specification) that is made with the first cache, readable by its owner alone.

use std::path::PathBuf;

/// Bytes of a secret that is made.
const LENGTH: usize = 32;

/// Fewest and most bytes of a secret that is read.
const ACCEPTED: std::ops::RangeInclusive<u64> = 16..=4096;

/// The secret; `None` if the user has none and none can be made.
pub(super) fn secret() -> Option<Vec<u8>> {
    if let Some(text) = std::env::var_os("VOLTA_CACHE_KEY") {
        let bytes = text.into_encoded_bytes();
        return ACCEPTED.contains(&(bytes.len() as u64)).then_some(bytes);
    }
    let absolute = |name: &str| {
        let path = PathBuf::from(std::env::var_os(name)?);
        path.is_absolute().then_some(path)
    };
    let base = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")))?;
    file::secret(&base.join("volta"))
}

#[cfg(unix)]
mod file {
    use std::fs::{DirBuilder, File, OpenOptions};
    use std::io::{Read, Write};
    use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
    use std::path::Path;

    use super::{ACCEPTED, LENGTH};

    /// The secret in a folder of settings; it is made if there is none.
    pub(super) fn secret(dir: &Path) -> Option<Vec<u8>> {
        let path = dir.join("cache.key");
        if let Some(known) = read(&path) {
            return Some(known);
        }
        let mut folder = DirBuilder::new();
        folder.recursive(true).mode(0o700).create(dir).ok()?;
        let mut fresh = [0; LENGTH];
        File::open("/dev/urandom")
            .ok()?
            .read_exact(&mut fresh)
            .ok()?;
        // Two that make one at the same time: the second reads that of the first.
        let mut new = OpenOptions::new();
        let made = new.write(true).create_new(true).mode(0o600).open(&path);
        match made {
            Ok(mut file) => file.write_all(&fresh).ok()?,
            Err(_) => return read(&path),
        }
        Some(fresh.to_vec())
    }

    /// The secret in a file, if the file is this user's and nobody else can read it.
    fn read(path: &Path) -> Option<Vec<u8>> {
        let about = std::fs::symlink_metadata(path).ok()?;
        let own = about.is_file()
            && about.uid() == nix::unistd::geteuid().as_raw()
            && about.mode() & 0o077 == 0
            && ACCEPTED.contains(&about.len());
        own.then(|| std::fs::read(path).ok()).flatten()
    }
}

#[cfg(not(unix))]
mod file {
    /// Where files have no owners that can be asked for, only the environment gives a secret.
    pub fn secret(_: &std::path::Path) -> Option<Vec<u8>> {
        None
    }
}
