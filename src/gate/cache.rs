//! Results that need not be computed again.
//!
//! A result is kept under a hash of everything that it depends on: the texts of the kernels as they were read to be
//! judged, how they are launched and bound, every option, and the executable itself, so that another build of
//! volta shares nothing with this one. Results that a limit cut short are not kept. Writing one is an attempt: a
//! cache that cannot be written only costs time.
//!
//! A folder of results may come from anyone, with the pull request that it is to judge. So every entry carries a
//! message authentication code (HMAC, RFC 2104) under a key of the user's own, which no flag and no manifest
//! names; what does not verify, or is no regular file, is no entry. Without a key nothing is kept.

use std::io::Write;
use std::path::{Path, PathBuf};

use hmac::{Hmac, Mac};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::key;
use crate::answer::{Answer, Report, UnknownKind};
use crate::input::{self, Files, Written};
use crate::report::human;
use crate::spec::{Layers, Which};

const FORMAT: &str = "volta-cache/4";

/// Bytes of a result that is read back.
const LONGEST: u64 = 64 << 20;

/// A folder of results.
#[derive(Clone, Debug)]
pub struct Cache {
    dir: PathBuf,
    executable: String,
    secret: Vec<u8>,
}

impl Cache {
    /// The cache in a folder; `None` if the executable cannot be read, without which no result
    /// is known to be its own, or if the user has no key.
    pub fn open(dir: &Path) -> Option<Cache> {
        let path = std::env::current_exe().ok()?;
        let bytes = std::fs::read(path).ok()?;
        Some(Cache {
            dir: dir.to_path_buf(),
            executable: hex(&bytes),
            secret: key::secret()?,
        })
    }

    /// The key of a check (of two kernels, or of one and a formula) or a race; `None` if something cannot be read.
    pub fn key(&self, layers: Layers, sides: &[Which], files: &Files) -> Option<String> {
        let mut hash = Sha256::new();
        let mut add = |part: &str| {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        };
        add(FORMAT);
        add(&self.executable);
        add(&format!("{:?}", layers.options().ok()?));
        let formula = match sides.contains(&Which::Reference) {
            true => layers.formula().ok()?,
            false => None,
        };
        if let Some(formula) = &formula {
            add("formula");
            add(&Written::read(formula).ok()?.source.text);
        }
        for &side in sides {
            if formula.is_some() && side == Which::Reference {
                continue;
            }
            for spec in input::launches(layers, side, files).ok()? {
                add(&files.open(&spec.file).ok()?.source.text);
                add(&format!("{spec:?}"));
            }
        }
        Some(show(&hash.finalize()))
    }

    fn path(&self, key: &str) -> PathBuf {
        let (head, _) = key.split_at(key.len().min(2));
        self.dir.join(head).join(format!("{key}.json"))
    }

    /// What authenticates a result under a key.
    fn code(&self, key: &str, body: &str) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.secret).ok()?;
        for part in [FORMAT, key, body] {
            mac.update(&(part.len() as u64).to_le_bytes());
            mac.update(part.as_bytes());
        }
        Some(mac)
    }

    /// The result under a key.
    pub fn get(&self, key: &str) -> Option<Answer> {
        let path = self.path(key);
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
        self.code(key, body)?.verify_slice(&code).ok()?;
        let (report, text): (Report, String) = serde_json::from_str(body).ok()?;
        Some(Answer {
            report,
            text: Some(text),
            cached: true,
            parts: Vec::new(),
        })
    }

    /// Keeps a result, if it is one that any run would come to.
    pub fn put(&self, key: &str, answer: &Answer) {
        let mut reasons = answer.report.unknown.iter();
        if reasons.any(|u| u.kind == UnknownKind::Limit) {
            return;
        }
        let Ok(body) = serde_json::to_string(&(&answer.report, human::answer(answer))) else {
            return;
        };
        let Some(mac) = self.code(key, &body) else {
            return;
        };
        let mac = show(&mac.finalize().into_bytes());
        let entry = json!({"format": FORMAT, "mac": mac, "body": body});
        let path = self.path(key);
        // Others may read and write at the same time: a file appears whole or not at all.
        let store = || -> std::io::Result<()> {
            let dir = path.parent().unwrap_or(&self.dir);
            std::fs::create_dir_all(dir)?;
            let draft = dir.join(format!(".{key}.{}", std::process::id()));
            let mut file = std::fs::File::create(&draft)?;
            file.write_all(entry.to_string().as_bytes())?;
            drop(file);
            std::fs::rename(&draft, &path)
        };
        let _ = store();
    }
}

/// Where results are kept if the user names no folder: the cache folder of the XDG base directory
/// specification.
pub fn default_dir() -> Option<PathBuf> {
    let absolute = |name: &str| {
        let path = PathBuf::from(std::env::var_os(name)?);
        path.is_absolute().then_some(path)
    };
    let base = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(base.join("volta"))
}

fn hex(bytes: &[u8]) -> String {
    show(&Sha256::digest(bytes))
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else {
        return None;
    };
    let byte = |p: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(p).ok()?, 16).ok();
    pairs.iter().map(byte).collect()
}

fn show(digest: &[u8]) -> String {
    digest.iter().map(|b| format!("{b:02x}")).collect()
}
