//! Where nvcc is.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::answer::Failure;

use super::refused;

/// The wheels that hold nvcc and what it needs.
const WHEELS: &str =
    "nvidia-cuda-nvcc nvidia-nvvm nvidia-cuda-crt nvidia-cuda-runtime nvidia-cuda-cccl";

/// Where the toolkit is installed by its own installer.
const INSTALLED: &str = "/usr/local/cuda/bin/nvcc";

/// The path of nvcc: `NVCC`, `CUDA_HOME`, `CUDA_PATH`, `PATH`, the wheels of the Python that runs here, the place of its installer.
pub(super) fn nvcc() -> Option<PathBuf> {
    let named = |key: &str| std::env::var_os(key).filter(|v| !v.is_empty());
    if let Some(path) = named("NVCC") {
        // Another one than the user names would compile something else.
        return Some(PathBuf::from(path));
    }
    let homes = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(named);
    let homes = homes.map(|home| Path::new(&home).join("bin/nvcc"));
    let path = named("PATH").unwrap_or_default();
    let path: Vec<PathBuf> = std::env::split_paths(&path)
        .map(|p| p.join("nvcc"))
        .collect();
    let runs = |path: &PathBuf| path.is_file();
    let first = homes.chain(path).find(runs);
    first
        .or_else(|| wheels()?.into_iter().find(runs))
        .or_else(|| Some(PathBuf::from(INSTALLED)).filter(runs))
}

/// Places in the packages of the Python on the path of the shell, the newest toolkit first.
fn wheels() -> Option<Vec<PathBuf>> {
    let print = "import sys; print('\\n'.join(p for p in sys.path if p))";
    // No file of the folder that is judged is run: `sys` is built in.
    let mut python = Command::new("python3");
    python.args(["-c", print]).stdin(Stdio::null());
    let done = python.stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8(done.stdout).ok()?;
    let mut out = Vec::new();
    for packages in text.lines().map(|line| Path::new(line).join("nvidia")) {
        let folders = std::fs::read_dir(&packages).into_iter().flatten().flatten();
        let mut folders: Vec<PathBuf> = folders.map(|f| f.path()).collect();
        folders.sort();
        out.extend(folders.iter().rev().map(|f| f.join("bin/nvcc")));
    }
    Some(out)
}

/// What is said where there is none.
pub(super) fn missing(path: &Path) -> Failure {
    refused(
        path,
        &format!(
            "nvcc was not found: put it on PATH, name it in NVCC or its toolkit in CUDA_HOME, or install its wheels, which need no GPU \
             (pip install {WHEELS}); or compile it elsewhere (nvcc -ptx -lineinfo) and give the .ptx"
        ),
    )
}
