//! Files to kernels: reading, parsing once, choosing the entry, lowering.

use std::collections::{HashMap, HashSet};
use std::fs::Metadata;
use std::io::{ErrorKind as ErrorOf, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::answer::{ErrorKind, Failure, Finding, Part, Site, WarningKind};
use crate::diag::{Diagnostic, Source, origin, visible};
use crate::formula::{self, Formula, Trouble};
use crate::kernel::{self, Kernel, LowerError, LowerWarning, Op, Pc, retries};
use crate::ptx::{self, Function, Id, Module};
use crate::source_names;
use crate::spec::contents::Sources;
use crate::spec::facts::Fact;
use crate::spec::limits;
use crate::spec::{Build, FormulaText, KernelSpec, Layers, Mode, Which};

/// A parsed file.
#[derive(Debug)]
pub struct File {
    /// Its text.
    pub source: Arc<Source>,
    /// Its syntax tree.
    pub module: Module,
    /// Its path, if it is a file of the user's: only then are the sources looked at that it names.
    pub path: Option<PathBuf>,
}

/// Makes PTX of CUDA.
pub trait Compile: std::fmt::Debug + Send + Sync {
    /// The PTX of the text at a path.
    ///
    /// # Errors
    ///
    /// Where there is no compiler, or the text is none that it compiles.
    fn ptx(&self, cuda: &Arc<Source>, path: &Path, build: &Build) -> Result<Source, Failure>;
}

type Slot = Arc<Mutex<Option<Result<Arc<File>, Failure>>>>;

/// The bytes of a file, or why it cannot be read.
type Bytes = Result<Arc<[u8]>, String>;

/// Files by path: one that is named twice is read and parsed once.
#[derive(Debug, Default)]
pub struct Files {
    slots: Mutex<HashMap<(PathBuf, Build), Slot>>,
    /// Files of contents, or why they cannot be read.
    contents: Mutex<HashMap<PathBuf, Bytes>>,
    /// Paths that the user gave on the command line, who may name a pipe.
    given: HashSet<PathBuf>,
    /// The compiler of CUDA files, if they may be compiled.
    compiler: Option<Arc<dyn Compile>>,
}

impl Files {
    /// A cache without files.
    pub fn new() -> Files {
        Files::default()
    }

    /// A cache without files for a user who gave some paths himself: `-` among them is the standard input, and
    /// pipes are read.
    pub fn given<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Files {
        Files {
            given: paths.into_iter().map(Path::to_path_buf).collect(),
            ..Files::default()
        }
    }

    /// The same cache, which compiles CUDA files.
    pub fn compiling(self, compiler: Arc<dyn Compile>) -> Files {
        Files {
            compiler: Some(compiler),
            ..self
        }
    }

    /// Puts a file, or what is wrong with it, under a name of its own.
    pub fn insert(&self, key: &Path, file: Result<Arc<File>, Failure>) {
        self.insert_built(key, &Build::default(), file);
    }

    /// The same of what a CUDA file is compiled to in one way.
    pub fn insert_built(&self, key: &Path, build: &Build, file: Result<Arc<File>, Failure>) {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (key.to_path_buf(), build.clone());
        slots.insert(key, Arc::new(Mutex::new(Some(file))));
    }

    /// The parsed file at a path: PTX, or what CUDA is compiled to.
    pub fn open(&self, path: &Path, build: &Build) -> Result<Arc<File>, Failure> {
        let is_cuda = is_cuda(path);
        let build = match is_cuda {
            true => build.clone(),
            false => Build::default(),
        };
        let slot = {
            let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
            let key = (path.to_path_buf(), build.clone());
            slots.entry(key).or_default().clone()
        };
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        let given = self.given.contains(path);
        let read = || {
            let text = read(path, given)?;
            let text = match is_cuda {
                true => Arc::new(self.compiled(&text, path, &build)?),
                false => text,
            };
            let path = Some(path.to_path_buf());
            parsed(text).map(|file| Arc::new(File { path, ..file }))
        };
        slot.get_or_insert_with(read).clone()
    }

    /// The PTX of a CUDA file.
    fn compiled(&self, cuda: &Arc<Source>, path: &Path, build: &Build) -> Result<Source, Failure> {
        let compiler = self.compiler.as_ref().ok_or_else(|| {
            let why = "CUDA is compiled here only where `volta serve --compile` was said, since an #include may name any file; \
                       compile it first: nvcc -ptx -lineinfo";
            refuse(path, &why)
        })?;
        compiler.ptx(cuda, path, build)
    }

    /// The bytes of a file of contents, which is read once.
    fn contents(&self, path: &Path) -> Result<Arc<[u8]>, String> {
        let mut files = self.contents.lock().unwrap_or_else(PoisonError::into_inner);
        let known = files.entry(path.to_path_buf());
        let read = || match bytes(path) {
            Ok(bytes) => Ok(bytes.into()),
            Err(e) => Err(e.message().to_string()),
        };
        known.or_insert_with(read).clone()
    }
}

/// True for the name of a CUDA file.
pub fn is_cuda(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "cu")
}

/// What the layers say about a kernel, with the contents of its arrays; `seed` is that of contents that
/// are drawn, for a command that draws.
pub fn spec(
    layers: Layers,
    which: Which,
    files: &Files,
    seed: Option<u64>,
) -> Result<KernelSpec, Failure> {
    let mut spec = layers.kernel(which)?;
    spec.load(Sources {
        read: &|path| files.contents(path),
        seed,
    })?;
    Ok(spec)
}

/// The same of each launch of one side.
pub fn launches(layers: Layers, which: Which, files: &Files) -> Result<Vec<KernelSpec>, Failure> {
    let mut specs = layers.launches(which)?;
    for spec in &mut specs {
        spec.load(Sources {
            read: &|path| files.contents(path),
            seed: None,
        })?;
    }
    Ok(specs)
}

/// Files above this many bytes are not read; the offsets of a source have 32 bits.
const LONGEST: u64 = i32::MAX as u64;
/// The same of manifests.
const LONGEST_SETTINGS: usize = 8 << 20;

/// How long a pipe may have no writer, and how often one is looked at that has nothing to read.
const WRITER: Duration = Duration::from_secs(1);
const PIPE_LOOK: Duration = Duration::from_millis(5);

/// Folders whose files are no files: what the system tells of itself, and devices.
const SYSTEM: [&str; 3] = ["/proc", "/sys", "/dev"];

/// The bytes of a file that somebody's manifest, specification or kernel names. A pipe or a device could hold the
/// reader for ever or never end, and what the system tells of the process is nobody's kernel: only
/// regular files, and links to them, are read.
fn bytes(path: &Path) -> Result<Vec<u8>, Failure> {
    let about = std::fs::metadata(path).map_err(|e| refuse(path, &e))?;
    if !about.is_file() {
        return Err(no_file(path, &about));
    }
    let real = std::fs::canonicalize(path).map_err(|e| refuse(path, &e))?;
    if SYSTEM.iter().any(|folder| real.starts_with(folder)) {
        return Err(refuse(
            path,
            &"it is no file but something that the system tells",
        ));
    }
    given_bytes(path)
}

/// Bytes that are read of one file: what is made of it has to fit beside it.
fn longest() -> u64 {
    let held = limits::process().map_or(LONGEST, |most| most / 2);
    held.min(LONGEST)
}

/// The bytes of whatever the user names himself; `-` is the standard input.
fn given_bytes(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut out = Vec::new();
    let longest = longest();
    let too_long = || {
        let why =
            format!("it is longer than {longest} bytes, which is what one file may have here");
        refuse(path, &why)
    };
    let done = match path == Path::new("-") {
        true => std::io::stdin().take(longest).read_to_end(&mut out),
        false => {
            let about = std::fs::metadata(path).map_err(|e| refuse(path, &e))?;
            if !about.is_file() && !is_pipe(&about) {
                return Err(no_file(path, &about));
            }
            if about.len() >= longest {
                return Err(too_long());
            }
            let file = opened(path).map_err(|e| refuse(path, &e))?;
            // The name may lead to another file by now.
            let about = file.metadata().map_err(|e| refuse(path, &e))?;
            match (about.is_file(), is_pipe(&about)) {
                (true, _) => file.take(longest).read_to_end(&mut out),
                (_, true) => read_pipe(file, longest, &mut out),
                _ => return Err(no_file(path, &about)),
            }
        }
    };
    match done {
        Err(e) => Err(refuse(path, &e)),
        Ok(n) if n as u64 >= longest => Err(too_long()),
        Ok(_) => Ok(out),
    }
}

/// A file that is read; to open a pipe waits for no writer.
fn opened(path: &Path) -> std::io::Result<std::fs::File> {
    let mut options = std::fs::OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, nix::libc::O_NONBLOCK);
    options.open(path)
}

/// Reads a pipe to its end. One that nobody opens for writing, or that nothing comes out of, is an error.
fn read_pipe(mut file: std::fs::File, longest: u64, out: &mut Vec<u8>) -> std::io::Result<usize> {
    let begun = Instant::now();
    let mut heard = begun;
    let mut part = vec![0; 1 << 16];
    loop {
        match file.read(&mut part) {
            // Without a writer, a pipe looks as if it had ended.
            Ok(0) if out.is_empty() && begun.elapsed() < WRITER => {}
            Ok(0) if out.is_empty() => {
                return Err(std::io::Error::other("nobody writes to this pipe"));
            }
            Ok(0) => return Ok(out.len()),
            Ok(n) => {
                out.extend_from_slice(&part[..n]);
                heard = Instant::now();
                if out.len() as u64 >= longest {
                    return Ok(out.len());
                }
                continue;
            }
            Err(e) if e.kind() == ErrorOf::Interrupted => continue,
            Err(e) if e.kind() != ErrorOf::WouldBlock => return Err(e),
            Err(_) if heard.elapsed() > limits::DEFAULT_TIMEOUT => {
                return Err(std::io::Error::other("nothing comes out of this pipe"));
            }
            Err(_) => {}
        }
        if limits::interrupted() {
            return Err(std::io::Error::other("an interrupt came"));
        }
        std::thread::sleep(PIPE_LOOK);
    }
}

/// Whether it is a pipe, which a shell makes for the output of a command.
fn is_pipe(about: &Metadata) -> bool {
    #[cfg(unix)]
    let pipe = std::os::unix::fs::FileTypeExt::is_fifo(&about.file_type());
    #[cfg(not(unix))]
    let pipe = false;
    pipe
}

fn no_file(path: &Path, about: &Metadata) -> Failure {
    let what = match about.is_dir() {
        true => "it is a folder; name the file in it",
        false => "it is a pipe or a device; write it to a file first",
    };
    refuse(path, &what)
}

fn refuse(path: &Path, why: &dyn std::fmt::Display) -> Failure {
    let path = path.display().to_string();
    Failure::new(
        ErrorKind::File,
        format!("cannot read `{}`: {why}", visible(&path)),
    )
}

/// Reads a text file that is named by anyone.
pub fn text(path: &Path) -> Result<Arc<Source>, Failure> {
    source(path, bytes(path)?)
}

/// Reads a manifest or a specification, of which nobody writes more than a few megabytes: what reads them takes many
/// times their size.
pub fn settings_text(path: &Path) -> Result<Arc<Source>, Failure> {
    let text = bytes(path)?;
    match text.len() > LONGEST_SETTINGS {
        true => Err(refuse(
            path,
            &"a manifest has 8 MiB at most; `include` joins several",
        )),
        false => source(path, text),
    }
}

fn source(path: &Path, bytes: Vec<u8>) -> Result<Arc<Source>, Failure> {
    let name = path.display().to_string();
    let source = Source::from_bytes(name, bytes)
        .map_err(|e| Failure::new(ErrorKind::File, e.to_string()))?;
    Ok(Arc::new(source))
}

fn read(path: &Path, given: bool) -> Result<Arc<Source>, Failure> {
    let bytes = match given {
        true => given_bytes(path)?,
        false => bytes(path)?,
    };
    source(path, bytes)
}

/// Parses a text.
pub fn parse(source: Arc<Source>) -> Result<Arc<File>, Failure> {
    parsed(source).map(Arc::new)
}

fn parsed(source: Arc<Source>) -> Result<File, Failure> {
    match ptx::parse(&source) {
        Ok(module) => Ok(File {
            source,
            module,
            path: None,
        }),
        Err(errors) => {
            let diagnostics = errors.iter().map(Diagnostic::from).collect();
            Err(Failure::at(ErrorKind::Syntax, &source, diagnostics))
        }
    }
}

/// A formula with its text.
#[derive(Clone, Debug)]
pub struct Written {
    /// The text.
    pub source: Arc<Source>,
    /// Its tree.
    pub formula: Formula,
}

impl Written {
    /// Reads a formula.
    pub fn read(text: &FormulaText) -> Result<Written, Failure> {
        let source = match text {
            FormulaText::File(path) => self::text(path)?,
            FormulaText::Text(text) => {
                let source = Source::new("formula", text.as_str());
                Arc::new(source.map_err(|e| Failure::new(ErrorKind::Formula, e.to_string()))?)
            }
        };
        match formula::parse(&source.text) {
            Ok(formula) => Ok(Written { source, formula }),
            Err(troubles) => Err(wrong(&source, &troubles)),
        }
    }
}

/// What is wrong with a formula.
pub fn wrong(source: &Arc<Source>, troubles: &[Trouble]) -> Failure {
    let found = troubles.iter().map(Diagnostic::from).collect();
    Failure::at(ErrorKind::Formula, source, found).about(Part::Formula)
}

/// A kernel with what its text gave rise to.
#[derive(Debug)]
pub struct Lowered {
    /// The kernel.
    pub kernel: Kernel,
    /// The kernel with loops around a compare-and-swap as the updates that they are over the reals, if it has such.
    merged: Option<Kernel>,
    /// Warnings about its text.
    pub warnings: Vec<Finding<WarningKind>>,
}

impl Lowered {
    /// The kernel with loops as updates, where that is so bit for bit: all of them are updates that commute so.
    pub fn exact(&self) -> &Kernel {
        let pairs = |merged: &&Kernel| {
            let both = self.kernel.insts.iter().zip(&merged.insts);
            let mut new = both.filter(|(a, b)| a.op != b.op).map(|(_, b)| &b.op);
            new.all(|op| match op {
                Op::Atom { op, access, .. } => kernel::commutes_bit_for_bit(*op, access.ty),
                _ => true,
            })
        };
        self.merged.as_ref().filter(pairs).unwrap_or(&self.kernel)
    }

    /// The loads that loops which are updates begin with: what one reads in a race with such updates, the exchange checks
    /// again, and nothing else is made of it.
    pub fn rechecked(&self) -> Vec<Pc> {
        let Some(merged) = &self.merged else {
            return Vec::new();
        };
        let both = self.kernel.insts.iter().zip(&merged.insts).enumerate();
        let loads = |op: &Op| matches!(op, Op::Ld { .. });
        let left_out = both.filter(|(_, (a, b))| loads(&a.op) && !loads(&b.op));
        left_out.map(|(pc, _)| Pc(pc as u32)).collect()
    }

    /// True if both are one entry of one text.
    pub(crate) fn is_one(&self, other: &Lowered) -> bool {
        let [a, b] = [self, other].map(|l| &l.kernel);
        a.name == b.name && a.source.text == b.source.text
    }

    /// The kernel that is run in a mode.
    pub fn run_by(&self, mode: &Mode) -> &Kernel {
        let merged = self.merged.as_ref();
        let merged = merged.filter(|_| mode.has_plain_reals());
        merged.unwrap_or(&self.kernel)
    }
}

/// The kernel that a specification names.
pub fn lower(files: &Files, spec: &KernelSpec) -> Result<Lowered, Failure> {
    let part = spec.which.part();
    let pure: Vec<&str> = spec.assume.iter().filter_map(Fact::pure).collect();
    let lower = || {
        let file = files.open(&spec.file, &spec.build)?;
        let entry = entry_of(&file, spec).map_err(|e| {
            let flag = match spec.which {
                Which::Kernel => "--entry",
                Which::Reference => "--ref-entry",
                Which::Optimized => "--opt-entry",
            };
            Failure::at(e.kind(), &file.source, vec![e.diagnostic_by(flag)])
        })?;
        lower_function(&file, entry, &pure, &spec.without)
    };
    let mut lowered = lower().map_err(|e| e.about(part))?;
    for w in &mut lowered.warnings {
        w.kernel = part;
    }
    Ok(lowered)
}

/// An entry of a file, by its name or a unique part of it.
pub fn lower_entry(file: &File, entry: Option<&str>) -> Result<Lowered, Failure> {
    let entry = kernel::select_entry(&file.module, entry).map_err(|e| rejected(file, &[e]))?;
    lower_function(file, entry, &[], &[])
}

/// The entry that a specification names. A file that stands alone in a check holds both kernels: of two the first is the
/// reference, and the one that is not named is the other one.
fn entry_of(file: &File, spec: &KernelSpec) -> Result<Id<Function>, LowerError> {
    let select = |name: Option<&str>| kernel::select_entry(&file.module, name);
    let Some(other) = &spec.beside else {
        return select(spec.entry.as_deref());
    };
    let all = in_source(file);
    let other = other
        .as_deref()
        .map(|name| select(Some(name)))
        .transpose()?;
    let own = match (&spec.entry, &all[..]) {
        (Some(name), _) => select(Some(name))?,
        (None, [_]) => return Err(LowerError::OneEntry),
        (None, &[a, b]) => match (other, spec.which) {
            (Some(other), _) => [a, b].into_iter().find(|&e| e != other).unwrap_or(a),
            (None, Which::Optimized) => b,
            (None, _) => a,
        },
        (None, _) => select(None)?,
    };
    match other == Some(own) {
        true => Err(LowerError::SameEntry {
            name: file.module.text(file.module[own].name).to_string(),
        }),
        false => Ok(own),
    }
}

/// Every entry of a file, in the order of the source.
pub fn lower_all(file: &File) -> Result<Vec<Kernel>, Failure> {
    let lower = |id| Ok(lower_function(file, id, &[], &[])?.kernel);
    in_source(file).into_iter().map(lower).collect()
}

/// The entries of a file in the order of their source, where one source holds them all: compilers write templates behind
/// what is no template.
fn in_source(file: &File) -> Vec<Id<Function>> {
    let all: Vec<Id<Function>> = file.module.entries().map(|(id, _)| id).collect();
    let place = |&id: &Id<Function>| {
        let kernel = lower_function(file, id, &[], &[]).ok()?.kernel;
        let (name, line) = source_names::place(&kernel)?;
        Some((name.to_string(), line))
    };
    let Some(places) = all.iter().map(place).collect::<Option<Vec<_>>>() else {
        return all;
    };
    if places.windows(2).any(|w| w[0].0 != w[1].0) {
        return all;
    }
    let mut out: Vec<(u32, Id<Function>)> = places.iter().map(|p| p.1).zip(all).collect();
    out.sort_by_key(|(line, _)| *line);
    out.into_iter().map(|(_, id)| id).collect()
}

fn lower_function(
    file: &File,
    entry: Id<Function>,
    pure: &[&str],
    without: &[u32],
) -> Result<Lowered, Failure> {
    let mut lowered = kernel::lower_with(&file.module, &file.source, entry, pure)
        .map_err(|errors| rejected(file, &errors))?;
    let warning = |w: &LowerWarning| {
        let site = Site::new(&file.source, w.span(), "");
        Finding::new(Part::Kernel, w.kind(), w.to_string()).at(vec![site])
    };
    lowered.kernel.leave_out(without);
    if let Some(text) = file
        .path
        .as_deref()
        .and_then(|path| own_source(path, &lowered.kernel))
    {
        source_names::name_params(&mut lowered.kernel, &text.text);
    }
    Ok(Lowered {
        warnings: lowered.warnings.iter().map(warning).collect(),
        merged: retries::merged(&lowered.kernel),
        kernel: lowered.kernel,
    })
}

/// The source file of a kernel, where it is at hand.
fn own_source(path: &Path, kernel: &Kernel) -> Option<Source> {
    let (name, _) = source_names::place(kernel)?;
    origin::read(path.to_str()?, name)
}

fn rejected(file: &File, errors: &[LowerError]) -> Failure {
    let diagnostics = errors.iter().map(LowerError::diagnostic).collect();
    let kind = errors.first().map_or(ErrorKind::Syntax, LowerError::kind);
    Failure::at(kind, &file.source, diagnostics)
}
