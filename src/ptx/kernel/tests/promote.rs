//! Variables of calls as registers.

use super::kernel_of;
use crate::kernel::Kernel;
use crate::kernel::promote::promoted;

fn in_memory(kernel: &Kernel) -> usize {
    let texts = |k: &Kernel| -> Vec<String> {
        let listing = k.listing();
        let all = 0..k.insts.len() as u32;
        all.map(|pc| listing.text(crate::kernel::Pc(pc))).collect()
    };
    let out = promoted(kernel);
    assert_eq!(out.insts.len(), kernel.insts.len());
    texts(&out).iter().filter(|t| t.contains(".local")).count()
}

#[test]
fn whole_pieces_become_registers() {
    let k = kernel_of(
        ".func (.param .b64 r) id(.param .b64 a, .param .b32 b) { .reg .b64 %x; .reg .b32 %y; ld.param.u64 %x, [a];
            ld.param.s32 %y, [b]; st.param.b64 [r], %x; ret; }",
        "{ .param .b64 p; .param .b32 q; .param .b64 o; st.param.b64 [p], %rd1; st.param.b32 [q], %r1;
           call (o), id, (p, q); ld.param.b64 %rd2, [o]; } ret;",
    );
    assert_eq!(in_memory(&k), 0);
}

#[test]
fn pieces_that_overlap_stay_in_memory() {
    let k = kernel_of(
        "",
        "{ .param .align 8 .b8 p[16]; st.param.b64 [p], %rd1; st.param.b64 [p+8], %rd1;
           ld.param.b32 %r1, [p+4]; ld.param.b64 %rd2, [p+8]; } ret;",
    );
    assert_eq!(in_memory(&k), 2);
}

#[test]
fn what_an_address_leads_to_stays_in_memory() {
    let k = kernel_of(
        "",
        "{ .param .align 4 .b8 p[8]; st.param.b32 [p], %r1; mov.u64 %rd1, p; ld.local.b32 %r2, [%rd1];
           .param .b32 q; st.param.b32 [q], %r1; ld.param.b32 %r2, [q]; } ret;",
    );
    assert_eq!(in_memory(&k), 2);
}
