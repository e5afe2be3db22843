//! Kinds of warnings.

use super::{Kind, kinds};

/// How unordered writes agree that were computed by different operations.
pub const REAL_EQUAL: &str = "values that are equal over the reals only";

kinds! {
    /// What a user should know beside the verdict; `--deny` makes the exit status 1.
    WarningKind of Warning {
        SameValueWrite "same-value-write" {
            "Threads that nothing orders write the same bits to one place.",
            "All of them compute the value by the same operations on the same operands, so that it does not matter which write comes last.",
            "flag[0] = 1;   // by every thread",
            hint: "--strict counts this as a data race"
        }
        RealEqualWrite "real-equal-write" {
            "Threads that nothing orders write values that are equal over the reals only.",
            "The values come from sums in different orders, so that their bits may differ and the last write wins; over the reals nothing changes.",
            "y[0] = v;   // by every lane, after a butterfly of shuffles",
            hint: "--strict counts this as a data race"
        }
        UnusedRead "unused-read" {
            "A read races with a write, and what is read reaches nothing.",
            "The racing value is multiplied away, selected against, or never used; the race is there, its outcome is not.",
            "float v = s[t + 1];      // another thread writes it\ny[t] = t < 31 ? v : 0;  // that thread does not use it",
            hint: "--strict counts this as a data race"
        }
        OrderedByValue "ordered-by-value" {
            "A read and an unordered write whose value is made from what was read.",
            "The write cannot come before the read, because its own value needs the read to have happened; PTX promises no more.",
            "v = s[t]; v += __shfl_xor_sync(~0, v, 16);  ...  s[0] = v;",
            hint: "--strict counts this as a data race"
        }
        MissingWait "missing-wait" {
            "Tensor memory is used again after `tcgen05.ld` without `tcgen05.wait::ld`.",
            "Every register of the load was in an access to memory that was over by then, so the load was; PTX promises nothing there.",
            "tcgen05.ld.sync.aligned.32x32b.x1.b32 {r}, [t];\nst.global.b32 [y], r;   // and no wait\nbar.sync 0;\ntcgen05.dealloc.cta_group::1.sync.aligned.b32 t, 32;",
            hint: "--strict counts this as a data race"
        }
        MissingInval "missing-inval" {
            "An mbarrier's memory is used again without `mbarrier.inval`.",
            "PTX wants an mbarrier to be invalidated before its memory holds anything else.",
            "mbarrier.init.shared.b64 [s], 1;  ...  st.shared.b64 [s], 0;",
            hint: "--strict counts this as a defect"
        }
        MissingFence "missing-fence" {
            "A fence that PTX asks for is left out, as compilers do on purpose.",
            "The pattern is one that Triton, TileLang and CUTLASS leave out on purpose; `volta explain protocols` has the rules, and which want of a fence is a data race.",
            "cp.async.bulk over shared memory that threads read, after a barrier, without fence.proxy.async",
            hint: "--strict counts this as a data race"
        }
        DefaultScope "default-scope" {
            "An arrival at an mbarrier, or a wait for one, has no scope and orders what another CTA of the cluster does.",
            "PTX reads no scope as .cta, which orders nothing for other CTAs; CUTLASS, Triton and TileLang write it so for asynchronous copies and products.",
            "mbarrier.arrive.shared::cluster.b64 _, [peer];   // frees a stage that the other CTA refills",
            hint: "--strict counts this as a data race; write .release.cluster or .acquire.cluster"
        }
        CopyArrival "copy-arrival" {
            "`cp.async.mbarrier.arrive` publishes stores in a kernel that has no `cp.async`.",
            "It arrives after the thread's earlier cp.async, and PTX orders no other access of the thread before it; TileLang writes it so.",
            "st.shared.b32 [stage], 0;  cp.async.mbarrier.arrive.noinc.shared.b64 [full];",
            hint: "--strict counts this as a data race; mbarrier.arrive publishes stores"
        }
        PhaseLag "phase-lag" {
            "A thread that waits for each phase of an mbarrier can be overtaken by the next one.",
            "A wait tells the current phase and the one before apart, and no more; nothing that the thread does comes before the end of the next phase, so it can miss one and wait for good.",
            "// a warp that waits for `full` and never arrives at `empty`",
            hint: "--strict counts this as a deadlock"
        }
        PendingArrival "pending-arrival" {
            "A warp arrives at a named barrier, and the CTA ends before any warp waits for it.",
            "Warpgroups that take turns hand on once more than there are turns; nothing waits, so nothing hangs.",
            "bar.arrive 1, 256;   // the last turn hands on to no warp"
        }
        WriteToInput "write-to-input" {
            "An array that is bound as an input is written.",
            "What is written is compared like an output. Bind the array `inout:` if the kernel is meant to change it.",
            "volta race k.ptx --arg 0=in:f32[64]     # the kernel stores to parameter 0"
        }
        UninitializedRead "uninitialized-read" {
            "A value that was never written is read and reaches nothing.",
            "It is a defect as soon as an output, a branch or an address depends on it.",
            "float v = s[t];          // not written for t = 31\ny[t] = t < 31 ? v : 0;"
        }
        UnknownOpcode "unknown-opcode" {
            "An instruction that volta does not know stands in the file and is not executed by this launch.",
            "If it were executed the answer would be `unknown`.",
            "@never frobnicate.b32 r1, r2;"
        }
        PartialGrid "partial-grid" {
            "The answer speaks of some CTAs of the grid only.",
            "`--cta` names one CTA; the others may do anything.",
            "volta race k.ptx --grid 4 --cta 0"
        }
        Narrower "narrower" {
            "The optimized kernel rounds to a narrower format than the reference.",
            "Over the reals that makes no difference, so that the verdict does not see it; in floating point it does. `--precision` lists all places.",
            "acc = __float2half(acc + x);   // the reference sums in f32"
        }
        Residual "residual" {
            "A correction by the rounding error of a value cancels over the reals, so that it was not checked.",
            "Compensated sums and split constants add what rounding has lost; over the reals that is 0 whatever stands there.",
            "c = (t - s) - y;   // Kahan's correction"
        }
        Range "range" {
            "The optimized kernel can overflow where the reference cannot.",
            "Over the reals both are equal; on large inputs the machine gives an infinity or a NaN in the optimized kernel alone.",
            "expf(x) / sum(expf(x)) instead of expf(x - m) / sum(expf(x - m))"
        }
        ThinCoverage "thin-coverage" {
            "A loop or a guard was looked at in one way only, and another size could change that.",
            "A loop ran at most once, or a guard never took both values in this launch; the sizes to try are named.",
            "for (i = t; i < n; i += 128) ...   // with n = 64"
        }
        LessAccurate "less-accurate" {
            "The error of the optimized kernel is above twice that of the reference.",
            "Found by `--rounding` on sampled inputs.",
            "volta check ref.ptx opt.ptx --rounding"
        }
        IllConditioned "ill-conditioned" {
            "There are inputs on which the reference itself loses its digits.",
            "Found by `--rounding`: a difference of roundings says nothing there.",
            "var = mean(x*x) - mean(x)*mean(x)"
        }
        Note "note" {
            "Something else that is worth knowing.",
            "The message says all of it.",
            ".version 9.9   // newer than what volta knows"
        }
    }
}

impl WarningKind {
    /// True for kinds that `--strict` makes defects.
    pub fn is_strict(self) -> bool {
        use WarningKind::*;
        match self {
            SameValueWrite | RealEqualWrite | UnusedRead | OrderedByValue | MissingWait
            | MissingInval | MissingFence | DefaultScope | CopyArrival | PhaseLag => true,
            PendingArrival | WriteToInput | UninitializedRead | UnknownOpcode | PartialGrid
            | Narrower | Residual | Range | ThinCoverage | LessAccurate | IllConditioned | Note => {
                false
            }
        }
    }

    /// True for writes that are no race because what they write is equal.
    pub fn is_of_equal_writes(self) -> bool {
        matches!(
            self,
            WarningKind::SameValueWrite | WarningKind::RealEqualWrite
        )
    }

    /// The words of all, for messages.
    pub fn words() -> Vec<&'static str> {
        Self::ALL.iter().map(|k| k.name()).collect()
    }
}
