//! CUDA files to PTX, by the nvcc of the user.
//!
//! What nvcc makes is decided by the text after its preprocessor, its flags, the variables that it reads and its toolkit: PTX is
//! kept under a hash of these, so that a changed header is seen and an unchanged file is compiled once. nvcc hands its arguments to a shell, so that a file name
//! that a shell would take for itself is refused. What is claimed of a CUDA file is claimed of the PTX that this nvcc makes
//! with these flags.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use crate::answer::{ErrorKind, Failure};
use crate::cache::Store;
use crate::diag::Source;
use crate::diag::foreign::visible;
use crate::input::Compile;
use crate::spec::build::{Build, DEFAULT_ARCH, is_plain};
use crate::spec::limits;

mod find;
mod said;

/// How long nvcc may take for one file.
const LIMIT: Duration = Duration::from_secs(300);
/// How often nvcc is looked at.
const LOOK: Duration = Duration::from_millis(5);

/// The form of the texts that are kept.
const FORMAT: &str = "volta-ptx/1";

/// The compiler of CUDA files.
#[derive(Debug)]
pub struct Nvcc {
    /// Where it is, once it was looked for.
    found: OnceLock<Option<PathBuf>>,
    /// Where its results are kept.
    store: Option<Store>,
}

impl Nvcc {
    /// The compiler of this user, which is looked for when the first file needs it. It keeps what it makes in a folder.
    pub fn new(cache: Option<&Path>) -> Nvcc {
        Nvcc {
            found: OnceLock::new(),
            store: cache.and_then(|dir| Store::open(dir, FORMAT)),
        }
    }
}

impl Compile for Nvcc {
    fn ptx(&self, cuda: &Arc<Source>, path: &Path, build: &Build) -> Result<Source, Failure> {
        let found = self.found.get_or_init(find::nvcc).as_deref();
        let nvcc = found.ok_or_else(|| find::missing(path))?;
        let arch = build.arch.as_deref().unwrap_or(DEFAULT_ARCH);
        for text in [path.to_str().unwrap_or("\0"), arch] {
            if !is_plain(text) {
                return Err(refused(
                    path,
                    "nvcc hands it to a shell: use letters, digits and -_./=+:,@% alone",
                ));
            }
        }
        let job = Job {
            nvcc,
            cuda,
            path,
            flags: ["-ptx".to_string(), format!("-arch={arch}")]
                .into_iter()
                .chain(build.flags.iter().cloned())
                .collect(),
        };
        let name = match &self.store {
            Some(store) => job.name(store)?,
            None => None,
        };
        let kept = |store: &Store| store.get(name.as_deref()?);
        let text = match self.store.as_ref().and_then(kept) {
            Some(text) => text,
            None => {
                let text = job.compiled()?;
                if let (Some(store), Some(name)) = (&self.store, &name) {
                    store.put(name, &text);
                }
                text
            }
        };
        let name = format!("{}.ptx", cuda.name);
        Source::new(name, text).map_err(|e| Failure::new(ErrorKind::File, e.to_string()))
    }
}

/// One file with what it is compiled by.
struct Job<'a> {
    nvcc: &'a Path,
    cuda: &'a Arc<Source>,
    path: &'a Path,
    flags: Vec<String>,
}

impl Job<'_> {
    /// The name under which its PTX is kept; `None` where its preprocessor fails, so that the compiler says why.
    fn name(&self, store: &Store) -> Result<Option<String>, Failure> {
        // The text of a file of flags is not known here.
        let reads_flags = |flag: &String| {
            let flag = flag.trim_start_matches('-');
            flag.starts_with("optf") || flag.starts_with("options-file")
        };
        if self.flags.iter().any(reads_flags) {
            return Ok(None);
        }
        let done = self.run(&["-E"])?;
        let Some(text) = done.out.filter(|text| !text.is_empty()) else {
            return Ok(None);
        };
        let itself = format!("{:?}", (toolkit(self.nvcc), surroundings()));
        let parts = [itself.as_str(), &self.cuda.name, &self.cuda.text, &text];
        let flags = self.flags.iter().map(String::as_str);
        Ok(Some(store.name(parts.into_iter().chain(flags))))
    }

    /// What it is compiled to.
    fn compiled(&self) -> Result<String, Failure> {
        let done = self.run(&["-lineinfo"])?;
        let text = done
            .out
            .ok_or_else(|| said::failure(self.cuda, &done.said))?;
        match text.contains(".entry") {
            true => Ok(self.named_by_user(&text)),
            false => Err(Failure::new(
                ErrorKind::Entry,
                format!(
                    "{}: there is no kernel in it: a __global__ template is compiled only where the file names its arguments, as in \
                     `template __global__ void k<128>(float*);`",
                    visible(&self.cuda.name)
                ),
            )),
        }
    }

    /// The text with the names of files as the user has them, not from the root of the system.
    fn named_by_user(&self, text: &str) -> String {
        let own = std::fs::canonicalize(self.path).ok();
        let here = std::env::current_dir().ok();
        let rename = |line: &str| -> Option<String> {
            let (head, rest) = line.split_once('"')?;
            let (name, tail) = rest.rsplit_once('"')?;
            let path = Path::new(name);
            let new = match own.is_some() && std::fs::canonicalize(path).ok() == own {
                true => self.path,
                false => path.strip_prefix(here.as_ref()?).ok()?,
            };
            Some(format!("{head}\"{}\"{tail}", new.to_str()?))
        };
        let mut out = String::with_capacity(text.len());
        for line in text.split_inclusive('\n') {
            match line.trim_start().starts_with(".file") {
                true => out.push_str(&rename(line).unwrap_or_else(|| line.to_string())),
                false => out.push_str(line),
            }
        }
        out
    }

    /// Runs nvcc with further flags.
    fn run(&self, more: &[&str]) -> Result<Ran, Failure> {
        let cannot = |e: &dyn std::fmt::Display| {
            let nvcc = self.nvcc.display().to_string();
            let why = format!("cannot run {}: {e}", visible(&nvcc));
            refused(self.path, &why)
        };
        let folder = tempfile::tempdir().map_err(|e| cannot(&e))?;
        let [out, log] = ["out", "log"].map(|name| folder.path().join(name));
        let said = File::create(&log).map_err(|e| cannot(&e))?;
        let again = said.try_clone().map_err(|e| cannot(&e))?;
        let mut command = Command::new(self.nvcc);
        command.args(&self.flags).args(more).arg("-o").arg(&out);
        // A name that begins with a dash is no flag.
        command.arg(Path::new(".").join(self.path));
        command.stdin(Stdio::null()).stdout(said).stderr(again);
        let is_done = waited(command).map_err(|e| cannot(&e))?;
        Ok(Ran {
            out: is_done.then(|| std::fs::read_to_string(out).ok()).flatten(),
            said: String::from_utf8_lossy(&std::fs::read(log).unwrap_or_default()).into_owned(),
        })
    }
}

/// The parts of a toolkit that decide what is made, each with its length and the time at which it was written.
fn toolkit(nvcc: &Path) -> Vec<(PathBuf, Option<(u64, SystemTime)>)> {
    let nvcc = std::fs::canonicalize(nvcc).unwrap_or_else(|_| nvcc.to_path_buf());
    let bin = nvcc.parent().unwrap_or(Path::new("."));
    let others = ["nvcc.profile", "../nvvm/bin/cicc", "../nvvm/libdevice"];
    let others = others.map(|part| bin.join(part));
    let parts = std::iter::once(nvcc.clone()).chain(others);
    let about = |part: PathBuf| {
        let about = std::fs::metadata(&part).ok();
        let about = about.and_then(|a| Some((a.len(), a.modified().ok()?)));
        (part, about)
    };
    parts.map(about).collect()
}

/// What else nvcc reads: its folder, and variables that hold flags of it and of its parts.
fn surroundings() -> (PathBuf, Vec<(OsString, OsString)>) {
    let is_read = |name: &OsString| {
        let name = name.to_string_lossy();
        ["NVCC", "NVVM", "CICC", "CUDA"]
            .iter()
            .any(|n| name.starts_with(n))
    };
    let mut all: Vec<_> = std::env::vars_os()
        .filter(|(name, _)| is_read(name))
        .collect();
    all.sort();
    (std::env::current_dir().unwrap_or_default(), all)
}

/// What a run of nvcc came to.
struct Ran {
    /// What it wrote, if it succeeded.
    out: Option<String>,
    /// What it said.
    said: String,
}

/// Runs a command to its end, and whether it succeeded. nvcc starts others, so that it has a group of its own, which an end
/// before its time ends too.
fn waited(mut command: Command) -> std::io::Result<bool> {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let begun = Instant::now();
    let mut child = command.spawn()?;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.success());
        }
        let why = match (limits::interrupted(), begun.elapsed() > LIMIT) {
            (true, _) => "an interrupt came".to_string(),
            (_, true) => format!("it took more than {} s", LIMIT.as_secs()),
            _ => {
                std::thread::sleep(LOOK);
                continue;
            }
        };
        #[cfg(unix)]
        let _ = nix::sys::signal::killpg(
            nix::unistd::Pid::from_raw(child.id() as i32),
            nix::sys::signal::Signal::SIGKILL,
        );
        let _ = child.kill();
        let _ = child.wait();
        return Err(std::io::Error::other(why));
    }
}

fn refused(path: &Path, why: &str) -> Failure {
    let path = path.display().to_string();
    let message = format!("cannot compile `{}`: {why}", visible(&path));
    Failure::new(ErrorKind::File, message)
}
