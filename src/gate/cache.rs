//! Results that need not be computed again.
//!
//! A result is kept under a hash of everything that it depends on: the texts of the kernels, how
//! they are launched and bound, every option, and the executable itself, so that another build of
//! volta shares nothing with this one. Results that a limit cut short are not kept. An entry that
//! cannot be read, or whose own hash does not fit, is no entry. Writing one is an attempt: a cache
//! that cannot be written only costs time.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::input;
use crate::report::{Answer, Verdict};
use crate::spec::{Layers, Which};

const FORMAT: &str = "volta-cache/1";

/// A folder of results.
#[derive(Clone, Debug)]
pub struct Cache {
    dir: PathBuf,
    executable: String,
}

impl Cache {
    /// The cache in a folder; `None` if the executable cannot be read, without which no result
    /// is known to be its own.
    pub fn open(dir: &Path) -> Option<Cache> {
        let path = std::env::current_exe().ok()?;
        let bytes = std::fs::read(path).ok()?;
        Some(Cache {
            dir: dir.to_path_buf(),
            executable: hex(&bytes),
        })
    }

    /// The key of a check (of two kernels) or a race; `None` if something cannot be read.
    pub fn key(&self, layers: Layers, sides: &[Which]) -> Option<String> {
        let mut hash = Sha256::new();
        let mut add = |part: &str| {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        };
        add(FORMAT);
        add(&self.executable);
        add(&format!("{:?}", layers.options().ok()?));
        for &side in sides {
            let spec = layers.kernel(side).ok()?;
            let text = input::bytes(&spec.file).ok()?;
            add(&hex(&text));
            add(&format!("{spec:?}"));
        }
        Some(show(&hash.finalize()))
    }

    fn path(&self, key: &str) -> PathBuf {
        let (head, _) = key.split_at(key.len().min(2));
        self.dir.join(head).join(format!("{key}.json"))
    }

    /// The result under a key.
    pub fn get(&self, key: &str) -> Option<Answer> {
        let text = std::fs::read_to_string(self.path(key)).ok()?;
        let entry: Value = serde_json::from_str(&text).ok()?;
        // The body is kept as text, so that its hash is that of the same bytes.
        let body = entry["body"].as_str()?;
        let fits = entry["format"] == FORMAT
            && entry["key"] == key
            && entry["hash"] == hex(body.as_bytes()).as_str();
        if !fits {
            return None;
        }
        let body: Value = serde_json::from_str(body).ok()?;
        let object = body.get("object")?.clone();
        Some(Answer {
            verdict: Verdict::parse(object["verdict"].as_str()?)?,
            text: body["text"].as_str()?.to_string(),
            object,
            cached: true,
        })
    }

    /// Keeps a result, if it is one that any run would come to.
    pub fn put(&self, key: &str, answer: &Answer) {
        let mut reasons = answer.object["unknown"].as_array().into_iter().flatten();
        if reasons.any(|u| u["kind"] == "limit") {
            return;
        }
        let body = json!({"object": answer.object, "text": answer.text}).to_string();
        let hash = hex(body.as_bytes());
        let entry = json!({"format": FORMAT, "key": key, "hash": hash, "body": body});
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

fn show(digest: &[u8]) -> String {
    digest.iter().map(|b| format!("{b:02x}")).collect()
}
