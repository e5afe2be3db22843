//! Every kernel of the repository lowers without an instruction that is not modelled, and texts that
//! are damaged at random give an error or a kernel, never a panic.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use proptest::prelude::*;

use super::{check, lower_text, module_of};
use crate::diag::Source;
use crate::kernel::indirect::NO_TARGET;
use crate::kernel::{lower_with, param_uses};
use crate::ptx;

fn ptx_files(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            ptx_files(&path, found);
        } else if path.extension().is_some_and(|e| e == "ptx") {
            found.push(path);
        }
    }
}

#[test]
fn the_kernels_of_the_repository_lower() {
    let mut files = Vec::new();
    ptx_files(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels"),
        &mut files,
    );
    files.sort();
    for path in files {
        let text = std::fs::read_to_string(&path).expect("a text");
        let source = Arc::new(Source::new(path.display().to_string(), text).expect("short"));
        let module = ptx::parse(&source).unwrap_or_else(|e| panic!("{path:?}: {e:?}"));
        // Their manifests say of functions without a body that they are pure; others are known by name.
        let bare = module.functions().filter(|(_, f)| f.body.is_none());
        let bare: Vec<&str> = bare.map(|(_, f)| module.text(f.name)).collect();
        let is_known = |f: &&str| matches!(*f, "vprintf" | "__assertfail");
        let pure: Vec<&str> = bare.into_iter().filter(|f| !is_known(f)).collect();
        for (id, _) in module.entries() {
            let lowered = lower_with(&module, &source, id, &pure)
                .unwrap_or_else(|e| panic!("{path:?}: {e:?}"));
            let k = lowered.kernel;
            check(&k);
            // Behind every call through a register stands what is left over.
            let mut texts = k.texts.iter();
            let left = texts.find(|text| !text.contains(NO_TARGET));
            assert!(left.is_none(), "{path:?}: {left:?}");
            // Code that was not optimised keeps its parameters in memory.
            let kept = path.to_string_lossy().contains("unoptimized");
            // Tensor maps are parameters that no load reads.
            let is_map = |p: &crate::kernel::Param| p.bytes == 128;
            let maps = k.params.iter().any(is_map);
            let uses = !param_uses(&k).is_empty() || k.params.is_empty() || maps;
            assert!(uses || kept, "{path:?}");
        }
    }
}

/// One line for each family.
const LINES: [&str; 24] = [
    "add . cc . u32 %r1 , %r2 , %r3 ;",
    "mad . wide . s32 %rd1 , %r2 , 4 , %rd2 ;",
    "lop3 . or . b32 %r1 | %p1 , %r2 , %r3 , %r4 , 128 , !%p2 ;",
    "fma . rn . ftz . f32 %f1 , %f2 , 0f3F800000 , %f3 ;",
    "setp . lt . and . f32 %p1 | %p2 , %f1 , %f2 , !%p3 ;",
    "selp . b32 %r1 , 1 , %r2 , %p1 ;",
    "cvt . rn . f16x2 . f32 %r1 , %f1 , %f2 ;",
    "mov . b64 { %r1 , _ } , %rd1 ;",
    "mov . u32 %r1 , %tid.x ;",
    "mov . u64 %rd1 , tile+4 ;",
    "ld . global . v2 . f32 { %f1 , %f2 } , [ %rd1 + 8 ] ;",
    "st . shared . b32 tile[ %r1 ] , %r2 ;",
    "ld . param . u64 %rd1 , [ a ] ;",
    "atom . global . cas . b32 %r1 , [ %rd1 ] , %r2 , %r3 ;",
    "@%p1 bar . red . popc . u32 %r1 , 0 , 64 , !%p2 ;",
    "shfl . sync . down . b32 %r1 | %p1 , %r2 , 1 , 31 , -1 ;",
    "@!%p1 bra END ;",
    "{ .reg .b32 %r<4> ; .local .b8 t[8] ; L : bra L ; mov . u32 %r1 , t ; }",
    "{ L : bra END ; @%p1 trap ; }",
    "T : .branchtargets END , END ; brx.idx %r1 , T ;",
    "call ( %f1 ) , inc , ( %f2 , 5 ) ;",
    "{ .param .b64 p0 ; st.param.b64 [ p0 ] , %rd1 ; call byval , ( p0 ) ; }",
    ".pragma \"used_bytes_mask 3\" ; .loc 1 2 3",
    "and . b64 %rd3 , %rd1 , 15 ; cvta . to . global . u64 %rd2 , %rd1 ;",
];

const FUNCTIONS: &str = ".global .u64 g[2] = {g, 5};
    .func (.reg .f32 o) inc(.reg .f32 i, .reg .b32 k) { add.f32 o, i, 1.0; ret; }
    .func byval(.param .b64 v) { .reg .b64 %rd<2>; mov.b64 %rd1, v; call byval, (v); ret; }";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn damaged_texts_do_not_panic(
        lines in prop::collection::vec(0..LINES.len(), 1..12),
        swaps in prop::collection::vec((any::<u16>(), any::<u16>()), 0..3),
        drops in prop::collection::vec(any::<u16>(), 0..2),
    ) {
        let text: Vec<&str> = lines.iter().map(|l| LINES[*l]).collect();
        let mut tokens: Vec<String> = text
            .join(" ")
            .split(' ')
            .map(str::to_string)
            .collect();
        for (a, b) in swaps {
            // Words change places with words, so that most texts still parse.
            let n = tokens.len();
            let (a, b) = (usize::from(a) % n, usize::from(b) % n);
            if tokens[a].len().min(tokens[b].len()) > 1 {
                tokens.swap(a, b);
            }
        }
        for at in drops {
            let n = tokens.len();
            let at = usize::from(at) % n;
            if tokens[at].len() > 1 {
                tokens[at] = "%r1".to_string();
            }
        }
        let body = format!("{} END: ret;", tokens.join(" ").replace(" . ", "."));
        let text = module_of(FUNCTIONS, &body);
        let source = Source::new("fuzz.ptx", &text[..]).expect("short");
        if ptx::parse(&source).is_ok() {
            match lower_text(&text) {
                Ok(lowered) => {
                    check(&lowered.kernel);
                    let _ = lowered.kernel.listing().to_string();
                    let _ = param_uses(&lowered.kernel);
                }
                Err(errors) => {
                    prop_assert!(!errors.is_empty());
                    for error in errors {
                        prop_assert!(error.diagnostic().render(&source, false).len() > 5);
                    }
                }
            }
        }
    }
}
