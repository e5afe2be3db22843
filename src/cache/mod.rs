//! Texts that need not be made again, in a folder that anyone may write to.
//!
//! A folder of texts may come from anyone, with the pull request that it is to judge. So every entry carries a
//! message authentication code (HMAC, RFC 2104) under a key of the user's own, which no flag and no manifest
//! names; what does not verify, or is no regular file, is no entry. Without a key nothing is kept. Writing an entry is an
//! attempt: a cache that cannot be written only costs time.

use std::io::Write;
use std::path::{Path, PathBuf};

use hmac::{Hmac, Mac};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

mod key;

/// Bytes of an entry that is read back.
const LONGEST: u64 = 64 << 20;

/// A folder of texts of one kind.
#[derive(Clone, Debug)]
pub struct Store {
    dir: PathBuf,
    /// The kind of the texts and the version of their form.
    format: &'static str,
    secret: Vec<u8>,
}

impl Store {
    /// The texts of a kind in a folder; `None` if the user has no key.
    pub fn open(dir: &Path, format: &'static str) -> Option<Store> {
        Some(Store {
            dir: dir.to_path_buf(),
            format,
            secret: key::secret()?,
        })
    }

    /// The name of what all of these parts decide.
    pub fn name<'a>(&self, parts: impl IntoIterator<Item = &'a str>) -> String {
        let mut hash = Sha256::new();
        for part in [self.format].into_iter().chain(parts) {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        hex(&hash.finalize())
    }

    fn path(&self, name: &str) -> PathBuf {
        let (head, _) = name.split_at(name.len().min(2));
        self.dir.join(head).join(format!("{name}.json"))
    }

    /// What authenticates a text under a name.
    fn code(&self, name: &str, body: &str) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.secret).ok()?;
        for part in [self.format, name, body] {
            mac.update(&(part.len() as u64).to_le_bytes());
            mac.update(part.as_bytes());
        }
        Some(mac)
    }

    /// The text under a name.
    pub fn get(&self, name: &str) -> Option<String> {
        let path = self.path(name);
        // A link may lead to a device, and a pipe never ends.
        let about = std::fs::symlink_metadata(&path).ok()?;
        if !about.is_file() || about.len() > LONGEST {
            return None;
        }
        let text = std::fs::read_to_string(path).ok()?;
        let entry: Value = serde_json::from_str(&text).ok()?;
        // The body is kept as text, so that its code is that of the same bytes.
        let body = entry["body"].as_str()?;
        let code = unhex(entry["mac"].as_str()?)?;
        self.code(name, body)?.verify_slice(&code).ok()?;
        Some(body.to_string())
    }

    /// Keeps a text.
    pub fn put(&self, name: &str, body: &str) {
        let Some(mac) = self.code(name, body) else {
            return;
        };
        let mac = hex(&mac.finalize().into_bytes());
        let entry = json!({"format": self.format, "mac": mac, "body": body});
        let path = self.path(name);
        // Others may read and write at the same time: a file appears whole or not at all.
        let store = || -> std::io::Result<()> {
            let dir = path.parent().unwrap_or(&self.dir);
            std::fs::create_dir_all(dir)?;
            let draft = dir.join(format!(".{name}.{}", std::process::id()));
            let mut file = std::fs::File::create(&draft)?;
            file.write_all(entry.to_string().as_bytes())?;
            drop(file);
            std::fs::rename(&draft, &path)
        };
        let _ = store();
    }
}

/// Where texts are kept if the user names no folder: the cache folder of the XDG base directory
/// specification.
pub fn default_dir() -> Option<PathBuf> {
    let absolute = |name: &str| {
        let path = PathBuf::from(std::env::var_os(name)?);
        path.is_absolute().then_some(path)
    };
    let base = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(base.join("volta"))
}

/// Hexadecimal digits of bytes.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else {
        return None;
    };
    let byte = |p: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(p).ok()?, 16).ok();
    pairs.iter().map(byte).collect()
}
