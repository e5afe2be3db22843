//! How a CUDA file becomes PTX.

use serde::de::{Deserialize, Deserializer, Error};

/// The architecture for which CUDA is compiled if nothing is said.
pub const DEFAULT_ARCH: &str = "sm_80";

/// Architecture and flags of a compiler.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Build {
    /// The architecture, such as `sm_90a`.
    pub arch: Option<String>,
    /// Flags as nvcc takes them, in order.
    pub flags: Vec<String>,
}

/// The flags of nvcc that a file may ask for: names of macros, folders of headers, the language, and arithmetic. Others choose
/// programs that are run or files that are written, which only the command line may.
const OF_FILES: [&str; 24] = [
    "-D",
    "--define-macro=",
    "-U",
    "--undefine-macro=",
    "-I",
    "--include-path=",
    "-isystem=",
    "-include=",
    "--pre-include=",
    "-std=",
    "--std=",
    "-O",
    "-use_fast_math",
    "--use_fast_math",
    "-fmad=",
    "--fmad=",
    "-ftz=",
    "--ftz=",
    "-prec-div=",
    "--prec-div=",
    "-prec-sqrt=",
    "--prec-sqrt=",
    "--expt-relaxed-constexpr",
    "--expt-extended-lambda",
];

/// Reads the flags of nvcc in a manifest.
pub(super) fn flags<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<String>, D::Error> {
    let flags = Vec::<String>::deserialize(d)?;
    let stray = |flag: &&String| !OF_FILES.iter().any(|&f| fits(flag, f));
    match flags.iter().find(stray) {
        None => Ok(flags),
        Some(flag) => Err(D::Error::custom(format!(
            "a file may not pass `{flag}` to nvcc: it may pass {}; any other stands on the command line, --nvcc-flag={flag}",
            OF_FILES.join(" ")
        ))),
    }
}

/// Whether a flag is one of a kind: joined with its value, where the kind ends in `=` or takes one without.
fn fits(flag: &str, kind: &str) -> bool {
    if !is_plain(flag) {
        return false;
    }
    match kind {
        "-D" | "-U" | "-I" | "-O" => flag.strip_prefix(kind).is_some_and(|v| !v.is_empty()),
        _ if kind.ends_with('=') => flag.starts_with(kind),
        _ => flag == kind,
    }
}

/// Whether a shell takes a text for itself: nvcc hands what it is given to one.
pub fn is_plain(text: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || "_-./=+:,@% ".contains(c);
    text.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::super::Settings;

    #[test]
    fn a_file_chooses_no_program_and_writes_no_file() {
        let read = |flag: &str| toml::from_str::<Settings>(&format!("nvcc-flag = ['{flag}']"));
        for flag in [
            "-DN=64",
            "-Iinclude",
            "-O3",
            "-std=c++20",
            "--use_fast_math",
        ] {
            let settings = read(flag);
            assert_eq!(settings.expect("settings").nvcc_flag, [flag]);
        }
        for flag in [
            "-ccbin=/tmp/x",
            "--compiler-bindir=x",
            "-o",
            "--options-file=x",
            "-Xcompiler=-fplugin=x",
            "--run",
            "-odir=/",
            "-D",
            "-DX=$(touch x)",
            "-DX=`touch x`",
            "-I;touch x",
            "x.cu",
            "--use_fast_math=x",
        ] {
            let why = read(flag).err().map(|e| e.to_string()).unwrap_or_default();
            assert!(why.contains("may not pass"), "{flag}");
        }
    }
}
