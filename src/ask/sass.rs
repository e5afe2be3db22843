//! What the assembler makes of products and sums that it may join, read from the code that it builds.
//!
//! Problem: a `mul` and an `add` without rounding modifiers have two possible values, and PTX does not say which. With
//! `--sass` the kernel is built by `ptxas` for a target, with the lines of the PTX kept, and `nvdisasm` lists the code: an
//! addition whose line has only fused multiply-adds was joined, one whose line has only additions was not.
//!
//! Sound: this is said of code for that target by that `ptxas` alone, and the report names both. A line with both kinds, with
//! none (the code was removed or moved), with several additions of the PTX, or with a multiply-add by a literal 1, which
//! is an addition in disguise, settles nothing. Both programs are looked for where toolkits and the packages of Python
//! put them; nothing is downloaded.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::answer;
use crate::bits::joined::{Made, Settled};
use crate::kernel::contraction;
use crate::kernel::{Kernel, Pc};
use crate::spec::Numbered;

/// Time that one run of a program may take.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(5);

/// Folders of programs below a `site-packages`.
const PACKAGES: [&str; 4] = [
    "nvidia/cu13/bin",
    "nvidia/cuda_nvcc/bin",
    "nvidia/cuda_nvdisasm/bin",
    "triton/backends/nvidia/bin",
];

/// What became of the kernels of a pair, numbered as their runs are.
pub struct Pair {
    /// What the report says.
    pub answer: Option<answer::Sass>,
    /// What is settled.
    pub settled: Settled,
    /// Why nothing is.
    pub missing: Option<String>,
}

impl Pair {
    /// Adds to a report what is settled, or why nothing is.
    pub fn tell(&self, report: &mut answer::Report) {
        report.sass = self.answer.clone();
        if let Some(built) = &self.answer
            && !self.settled.is_empty()
        {
            let message = format!(
                "the kernels are built by {} for {} as they were here",
                built.tool, built.target
            );
            report.assumptions.push(answer::Assumption {
                kind: answer::AssumptionKind::Contraction,
                message,
                sites: Vec::new(),
            });
        }
        if let Some(why) = &self.missing {
            let message = format!("--sass: {why}; what the assembler joins is not known");
            let note = answer::Finding::new(answer::Part::Pair, answer::WarningKind::Note, message);
            report.warnings.push(note);
        }
    }
}

/// Builds the kernels of a pair.
pub fn pair(kernels: &[(&Kernel, Numbered)], target: Option<&str>) -> Pair {
    let mut pair = Pair {
        answer: None,
        settled: Settled::new(),
        missing: None,
    };
    let tools = match Tools::found() {
        Ok(tools) => tools,
        Err(why) => {
            pair.missing = Some(why);
            return pair;
        }
    };
    let mut sites: Vec<answer::Site> = Vec::new();
    let mut targets: Vec<String> = Vec::new();
    for (kernel, number) in kernels {
        let built = match build(&tools, kernel, target) {
            Ok(built) => built,
            Err(why) => {
                pair.missing = Some(why);
                return pair;
            }
        };
        for (&pc, &made) in &built.additions {
            pair.settled.insert(number.place(pc), made);
            if made == Made::Joined {
                sites.push(answer::Site::new(&kernel.source, kernel.span(pc), "joined"));
            }
        }
        if !targets.contains(&built.target) {
            targets.push(built.target);
        }
    }
    pair.answer = Some(answer::Sass {
        tool: tools.name,
        target: targets.join(", "),
        contracted: sites.len() as u64,
        pairs: sites,
    });
    pair
}

/// The programs that build code and list it.
struct Tools {
    ptxas: PathBuf,
    nvdisasm: PathBuf,
    /// The assembler, with its version.
    name: String,
}

impl Tools {
    fn found() -> Result<Tools, String> {
        let ptxas = find("ptxas").ok_or("ptxas was not found")?;
        let nvdisasm = find("nvdisasm").ok_or("nvdisasm was not found")?;
        let version = output(&ptxas, &["--version"], &Folder::new()?)?;
        let version = version.lines().rev().find(|l| l.contains("release"));
        let version = version.unwrap_or_default().trim();
        Ok(Tools {
            name: format!("ptxas ({version})"),
            ptxas,
            nvdisasm,
        })
    }
}

/// A kernel as it was built.
#[derive(Clone, Debug)]
struct Built {
    /// The target.
    target: String,
    /// What became of the additions that may be joined, where that is settled.
    additions: BTreeMap<Pc, Made>,
}

/// Builds a kernel for a target (its own if none is named) and reads what became of its additions.
///
/// # Errors
///
/// A sentence, where a program is not found or does not end well.
fn build(tools: &Tools, kernel: &Kernel, target: Option<&str>) -> Result<Built, String> {
    let text = &kernel.source.text;
    let own = text.lines().find_map(|l| l.trim().strip_prefix(".target"));
    let own = own.and_then(|l| l.split([',', ' ', '\t']).find(|w| !w.is_empty()));
    let target = target.or(own).ok_or("the PTX names no target")?.to_string();
    let folder = Folder::new()?;
    let [ptx, cubin] = ["kernel.ptx", "kernel.cubin"].map(|n| folder.0.join(n));
    std::fs::write(&ptx, text).map_err(|e| format!("the PTX could not be written: {e}"))?;
    let arch = format!("-arch={target}");
    let [from, to] = [&ptx, &cubin].map(|p| p.to_string_lossy().into_owned());
    output(
        &tools.ptxas,
        &[&arch, "-lineinfo", &from, "-o", &to],
        &folder,
    )?;
    let listing = output(&tools.nvdisasm, &["-c", "-gp", &to], &folder)?;
    Ok(Built {
        target,
        additions: additions(kernel, &made(&listing, &kernel.name)),
    })
}

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Folder, String> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let n = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("volta-sass-{}-{n}", std::process::id()));
        std::fs::create_dir(&path).map_err(|e| format!("no folder for the code: {e}"))?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A program on the path, in a toolkit, or in a package of a Python whose programs are on the path.
fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    for toolkit in ["CUDA_HOME", "CUDA_PATH"] {
        folders.extend(std::env::var_os(toolkit).map(|t| Path::new(&t).join("bin")));
    }
    folders.push("/usr/local/cuda/bin".into());
    let mut environments: Vec<PathBuf> = std::env::var_os("VIRTUAL_ENV")
        .map(PathBuf::from)
        .into_iter()
        .collect();
    environments.extend(
        folders
            .iter()
            .filter_map(|f| f.parent().map(Path::to_path_buf)),
    );
    for environment in environments {
        let Ok(versions) = std::fs::read_dir(environment.join("lib")) else {
            continue;
        };
        let mut versions: Vec<PathBuf> = versions.flatten().map(|v| v.path()).collect();
        versions.sort();
        let packages = |v: &PathBuf| PACKAGES.map(|p| v.join("site-packages").join(p));
        folders.extend(versions.iter().flat_map(packages));
    }
    folders
        .into_iter()
        .map(|f| f.join(name))
        .find(|p| p.is_file())
}

/// What a program prints.
fn output(program: &Path, args: &[&str], folder: &Folder) -> Result<String, String> {
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    let failed = |e: io::Error| format!("{name} could not be run: {e}");
    let files = ["out", "err"].map(|n| folder.0.join(n));
    let mut child = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .stdout(std::fs::File::create(&files[0]).map_err(failed)?)
        .stderr(std::fs::File::create(&files[1]).map_err(failed)?)
        .spawn()
        .map_err(failed)?;
    let start = Instant::now();
    let status = loop {
        match child.try_wait().map_err(failed)? {
            Some(status) => break status,
            None if start.elapsed() > PATIENCE => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!(
                    "{name} did not end within {} s",
                    PATIENCE.as_secs()
                ));
            }
            None => std::thread::sleep(PAUSE),
        }
    };
    let text = |p: &Path| std::fs::read(p).map(|b| String::from_utf8_lossy(&b).into_owned());
    if !status.success() {
        let said = text(&files[1]).unwrap_or_default();
        let first = said.lines().next().unwrap_or("no message");
        return Err(format!("{name} failed: {first}"));
    }
    text(&files[0]).map_err(failed)
}

/// For each line of the PTX, what the additions are that a listing has for it; `None` where that is not one thing.
fn made(listing: &str, entry: &str) -> BTreeMap<u32, Option<Made>> {
    let own = format!(".text.{entry}:");
    let (mut inside, mut line) = (false, None);
    let mut all: BTreeMap<u32, Option<Made>> = BTreeMap::new();
    for text in listing.lines().map(str::trim) {
        if text.starts_with(".text.") && text.ends_with(':') {
            (inside, line) = (text == own, None);
        } else if text.starts_with("//##") {
            let number = text.split("line ").nth(1);
            line = number.and_then(|n| {
                let digits = n.split(|c: char| !c.is_ascii_digit()).next()?;
                digits.parse::<u32>().ok()
            });
        } else if let (true, Some(line), Some(made)) = (inside, line, instruction(text)) {
            let known = all.entry(line).or_insert(made);
            if *known != made {
                *known = None;
            }
        }
    }
    all
}

/// Whether an instruction of a listing adds or multiplies and adds; inside, `None` if it looks like the one and is the other.
fn instruction(text: &str) -> Option<Option<Made>> {
    let (_, rest) = text.strip_prefix("/*")?.split_once("*/")?;
    let mut words = rest.split_whitespace();
    let first = words.next()?;
    let name = if first.starts_with('@') {
        words.next()?
    } else {
        first
    };
    let one = rest
        .split([',', ' ', ';'])
        .any(|w| matches!(w.trim(), "1" | "-1" | "1.0" | "-1.0"));
    match name.split('.').next()? {
        "FADD" | "FADD2" | "FADD32I" | "DADD" | "HADD2" | "HADD2_32" => Some(Some(Made::Apart)),
        "FFMA" | "FFMA2" | "FFMA32I" | "DFMA" | "HFMA2" | "HFMA2_32" if one => Some(None),
        "FFMA" | "FFMA2" | "FFMA32I" | "DFMA" | "HFMA2" | "HFMA2_32" => Some(Some(Made::Joined)),
        _ => None,
    }
}

/// What became of each addition that may be joined and stands alone on its line.
fn additions(kernel: &Kernel, made: &BTreeMap<u32, Option<Made>>) -> BTreeMap<Pc, Made> {
    let joins = contraction::joins(kernel);
    // Functions are expanded where they are called, so that one instruction of the text may be several.
    let mut on: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    let lines: Vec<u32> = (kernel.spans.iter())
        .map(|span| {
            let line = kernel.source.position(span.start).line;
            on.entry(line).or_default().push(span.start);
            line
        })
        .collect();
    let alone = |line: &u32| {
        let starts = on.get(line).map_or(&[][..], |all| all);
        starts.iter().all(|s| *s == starts[0])
    };
    let settled = (0..joins.len()).filter(|&pc| joins[pc] && alone(&lines[pc]));
    settled
        .filter_map(|pc| Some((Pc(pc as u32), (*made.get(&lines[pc])?)?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTING: &str = r#"
.text.other:
	//## File ".nv_debug_ptx_txt", line 7
        /*0010*/                   FADD R7, R0, R7 ;
.text.k:
	//## File ".nv_debug_ptx_txt", line 7
        /*0010*/                   FFMA R7, R0, R5, R7 ;
	//## File ".nv_debug_ptx_txt", line 8
        /*0020*/              @!P0 FADD.FTZ R7, R6, R7 ;
        /*0030*/                   MOV R1, R2 ;
	//## File ".nv_debug_ptx_txt", line 9
        /*0040*/                   FFMA R7, R0, R5, R7 ;
        /*0050*/                   FADD R7, R6, R7 ;
	//## File ".nv_debug_ptx_txt", line 10
        /*0060*/                   HFMA2.MMA R7, R6, 1, 1, R7 ;
"#;

    /// A line is settled by instructions of one kind, of the entry alone, that are what they look like.
    #[test]
    fn lines_of_one_kind_are_settled() {
        let all = made(LISTING, "k");
        assert_eq!(all[&7], Some(Made::Joined));
        assert_eq!(all[&8], Some(Made::Apart));
        assert_eq!(all[&9], None);
        assert_eq!(all[&10], None);
    }
}
