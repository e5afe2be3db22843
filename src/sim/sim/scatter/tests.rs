//! Writes and reads at places that data choose, against a model of memory on all small contents.

use std::sync::Arc;

use crate::diag::Source;
use crate::kernel;
use crate::sim::{self, Outcome, Side};
use crate::spec::{self, Layers, Limits, Settings, Value, Which};
use crate::term::ArrayId;
use crate::term::eval::{self, Inputs, Mode};
use volta_ptx::ptx;

/// Elements that are written, and those that data choose among.
const N: usize = 3;
const SIZE: usize = 4;

/// One step of a program: what is done with the element that an index chooses.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// `t[index] = x[k]`.
    Put(usize),
    /// `t[index] += x[k]`, by an atomic.
    Add(usize),
    /// The larger of both, by an atomic; the old value goes to the output.
    Max(usize),
    /// `t[k] = x[k]`, at a known place.
    Known(usize),
    /// The element goes to the output.
    Get,
}

/// The PTX of a program of one thread: the step i takes its index from `ids[i]`, and gives output i.
fn text(steps: &[Step], shared: bool) -> String {
    let mut body = String::new();
    for (i, s) in steps.iter().enumerate() {
        let at = match shared {
            true => "mov.u32 %b, t;\nmad.lo.s32 %a, %r1, 4, %b;\n",
            false => "mad.wide.s32 %rd5, %r1, 4, %rd3;\n",
        };
        let (t, space) = match shared {
            true => ("[%a]", "shared"),
            false => ("[%rd5]", "global"),
        };
        let known = |k: usize| match shared {
            true => format!("[t+{}]", 4 * k),
            false => format!("[%rd3+{}]", 4 * k),
        };
        body += &format!("ld.global.u32 %r1, [%rd1+{}];\n{at}", 4 * i);
        let x = |k: usize| format!("ld.global.u32 %r2, [%rd2+{}];\n", 4 * k);
        body += &match *s {
            Step::Put(k) => format!("{}st.{space}.u32 {t}, %r2;\n", x(k)),
            Step::Add(k) => format!("{}red.{space}.add.u32 {t}, %r2;\n", x(k)),
            Step::Max(k) => format!(
                "{}atom.{space}.max.u32 %r3, {t}, %r2;\nst.global.u32 [%rd4+{}], %r3;\n",
                x(k),
                4 * i
            ),
            Step::Known(k) => format!("{}st.{space}.u32 {}, %r2;\n", x(k), known(k)),
            Step::Get => format!(
                "ld.{space}.u32 %r3, {t};\nst.global.u32 [%rd4+{}], %r3;\n",
                4 * i
            ),
        };
    }
    // Shared memory begins as what the array holds, and ends in it.
    let (mut before, mut after) = (String::new(), String::new());
    for k in (0..SIZE).filter(|_| shared) {
        let k = 4 * k;
        before += &format!("ld.global.u32 %r2, [%rd3+{k}];\nst.shared.u32 [t+{k}], %r2;\n");
        after += &format!("ld.shared.u32 %r2, [t+{k}];\nst.global.u32 [%rd3+{k}], %r2;\n");
    }
    format!(
        ".version 9.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 ids, .param .u64 x, .param .u64 t0, \
         .param .u64 out)\n{{\n.reg .b32 %r<4>;\n.reg .b32 %a;\n.reg .b32 %b;\n.reg .b64 %rd<6>;\n\
         .shared .align 4 .b8 t[16];\nld.param.u64 %rd1, [ids];\nld.param.u64 %rd2, [x];\nld.param.u64 %rd3, [t0];\n\
         ld.param.u64 %rd4, [out];\n{before}{body}{after}ret;\n}}\n"
    )
}

/// The outcome of a program, and its arrays.
fn run(text: String) -> (Outcome, [ArrayId; 4]) {
    let source = Arc::new(Source::new("k.ptx", text).expect("a source"));
    let module = ptx::parse(&source).expect("a module");
    let entry = kernel::select_entry(&module, None).expect("one entry");
    let lowered = kernel::lower(&module, &source, entry).expect("a kernel");
    let settings = format!(
        "kernel = \"k.ptx\"\nthreads = 1\nargs = {{ 0 = \"in:u32[8]\", 1 = \"in:u32[4]\", 2 = \"inout:u32[{SIZE}]\", 3 = \
         \"inout:u32[8]\" }}\n"
    );
    let settings: Settings = toml::from_str(&settings).expect("settings");
    let spec = Layers(&[&settings])
        .kernel(Which::Kernel)
        .expect("a kernel");
    let setup = spec::resolve(&[(&lowered.kernel, &spec)], &[]).expect("bindings");
    let resolved = &setup.kernels[0];
    let limits = Limits::NONE;
    let (kernel, r) = (&lowered.kernel, resolved);
    let side = Side::Reference;
    let outcome = sim::run(kernel, &r.launch, &r.bindings, &r.arrays, side, &limits);
    let array = |param: u32| {
        let field = r.bindings.fields.iter().find(|f| f.param == param);
        match field.map(|f| f.value) {
            Some(Value::Pointer(a, _)) => a,
            _ => ArrayId(u32::MAX),
        }
    };
    (outcome, [0, 1, 2, 3].map(array))
}

/// What memory and the output hold after a program, by the steps one after the other.
fn model(steps: &[Step], ids: &[usize], x: &[u32], t: &mut [u32], out: &mut [u32]) {
    for (i, s) in steps.iter().enumerate() {
        let at = ids[i];
        match *s {
            Step::Put(k) => t[at] = x[k],
            Step::Add(k) => t[at] = t[at].wrapping_add(x[k]),
            Step::Max(k) => {
                out[i] = t[at];
                t[at] = t[at].max(x[k]);
            }
            Step::Known(k) => t[k] = x[k],
            Step::Get => out[i] = t[at],
        }
    }
}

/// For each program and every choice of its indices, what the terms say is what the model does.
#[test]
fn every_content_gives_what_the_steps_do() {
    let programs: [&[Step]; 6] = [
        &[Step::Put(0), Step::Put(1), Step::Put(2), Step::Get],
        &[Step::Put(0), Step::Get, Step::Put(1), Step::Get],
        &[Step::Add(0), Step::Add(1), Step::Put(2), Step::Get],
        &[Step::Max(0), Step::Max(1), Step::Add(2), Step::Max(0)],
        &[Step::Known(1), Step::Put(0), Step::Known(2), Step::Get],
        &[Step::Put(2), Step::Known(0), Step::Add(1), Step::Max(2)],
    ];
    let x = [7u32, 0xffff_fff0, 41];
    let before = [100u32, 200, 300, 400];
    for (steps, shared) in programs.iter().flat_map(|p| [(p, false), (p, true)]) {
        let (outcome, [ids, xs, t0, out]) = run(text(steps, shared));
        assert!(
            outcome.defects.is_empty() && outcome.unknowns.is_empty(),
            "{steps:?} {shared}"
        );
        let mut written: Vec<(ArrayId, u64, crate::term::TermId)> = Vec::new();
        for (&a, w) in &outcome.writes {
            written.extend(w.iter().map(|(&off, &t)| (a, off, t)));
        }
        let roots: Vec<_> = written.iter().map(|w| w.2).collect();
        for content in 0..SIZE.pow(steps.len() as u32) {
            let chosen: Vec<usize> = (0..steps.len() as u32)
                .map(|i| content / SIZE.pow(i) % SIZE)
                .collect();
            let mut inputs = Inputs::default();
            for (i, &c) in chosen.iter().enumerate() {
                inputs.set(ids, 4 * i as u64, 4, c as u64);
            }
            for (i, &v) in x.iter().enumerate().take(N) {
                inputs.set(xs, 4 * i as u64, 4, v.into());
            }
            let (mut t, mut o) = (before, [0u32; 8]);
            for (i, &v) in t.iter().enumerate() {
                inputs.set(t0, 4 * i as u64, 4, v.into());
            }
            model(steps, &chosen, &x, &mut t, &mut o);
            let values = eval::evaluate(&outcome.store, &roots, &inputs, Mode::exact(64));
            for (&(a, off, _), v) in written.iter().zip(values) {
                let at = off as usize / 4;
                let expected = if a == t0 { t[at] } else { o[at] };
                assert!(a == t0 || a == out);
                assert_eq!(
                    v,
                    eval::Value::Bits(expected.into()),
                    "{steps:?} {chosen:?} {shared}"
                );
            }
        }
    }
}
