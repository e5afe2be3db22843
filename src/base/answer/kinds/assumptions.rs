//! Kinds of assumptions.

use super::kinds;

/// What is taken for granted of requests to cancel launches: an answer that says so is about this schedule alone.
pub const ONE_SCHEDULE: &str = "of the schedules with clusterlaunchcontrol.try_cancel one is run: the first cluster of \
    the grid cancels those after it, all but the last of three or more, and every other request fails";

kinds! {
    /// What an answer takes for granted.
    AssumptionKind of Assumption {
        Finite "finite" {
            "Inputs without known contents are finite numbers.",
            "Where a test for a NaN or an infinity of an input is decided by that, its line is named.",
            "if (isnan(x[t])) y[t] = 0; else y[t] = x[t];"
        }
        WithinFormat "within-format" {
            "No number is beyond its format.",
            "A test that only an overflow could decide comes out as over the reals; its line is named.",
            "if (x[t] * x[t] == INFINITY) ..."
        }
        NotVanishing "not-vanishing" {
            "No number but 0 is rounded to 0.",
            "A test for 0 comes out as over the reals; its line is named.",
            "if (expf(x[t]) > 0) ..."
        }
        OneWinner "one-winner" {
            "Of equal values that threads write unordered, all who read the place afterwards see the same one.",
            "The values are equal over the reals, and their bits may differ: two warps that read them then compute the same.",
            "if (lane < 2) s[0] = lane ? b + (a + c) : (a + b) + c; __syncwarp(); y[t] = s[0];"
        }
        PositiveLogarithm "positive-logarithm" {
            "Arguments of logarithms are positive, not 0.",
            "Where a logarithm of 0 is an infinity on the machine, the reals have no value to compare.",
            "y[t] = logf(x[t] * x[t]);"
        }
        Defined "defined" {
            "The kernels are compared where the reference is defined.",
            "Inputs on which a divisor is 0 or a root is negative are left out, as the message says.",
            "y[t] = 1 / x[t];"
        }
        Constant "constant" {
            "A float constant is read as the number that it is a rounding of.",
            "The message names the bits and the number; --exact-constants takes every constant as it is written.",
            "0f3FB8AA3B is read as log2(e)"
        }
        LibraryFunction "library-function" {
            "The code of a function of the CUDA library computes that function of the reals.",
            "nvcc expands such functions inline; the code is recognised as a whole.",
            "y[t] = erff(x[t]);"
        }
        Mask "mask" {
            "A large constant that masks what it is added to is added over the reals.",
            "On the machine a sum with it rounds the other operand away.",
            "s = masked ? s + -1e9f : s;"
        }
        Alignment "alignment" {
            "An array or a variable begins at a multiple of some number of bytes.",
            "Allocations do (256 bytes); a declaration or /alignN says otherwise.",
            "float4 v = *(float4 *)x;"
        }
        Extent "extent" {
            "An array is large enough for every access.",
            "No binding gives its extent, so that nothing can be out of its bounds.",
            "volta race k.ptx --threads 64           # without --arg 0=in:f32[64]"
        }
        AddressSpace "address-space" {
            "Where arrays can lie in the address space.",
            "For example not within 2^40 bytes of its end, so that an index cannot wrap.",
            "p + n < p"
        }
        LeftOut "left-out" {
            "Elements of an output are not compared.",
            "Said by --only; the message names what is compared.",
            "volta check a.ptx b.ptx --only 'y[0..2]'"
        }
        Place "place" {
            "Places that data choose lie in their array.",
            "Say the extent of the array, and with --assume in which range the data lie.",
            "volta race a.ptx --assume '0 in 0..100'"
        }
        NoWrap "no-wrap" {
            "In the reference no integer wraps on the way to a place that data choose.",
            "With --assume, ranges of the data say so.",
            "volta check a.ptx b.ptx --assume '0 in 0..100'"
        }
        NoOverlap "no-overlap" {
            "Different pointer parameters point to arrays that do not overlap.",
            "Give --alias for those that are the same array.",
            "volta check a.ptx b.ptx                 # with two pointers"
        }
        Alias "alias" {
            "Two pointers are the same array.",
            "Said by --alias; all other pointer parameters are different arrays that do not overlap.",
            "volta check a.ptx b.ptx --alias 0=2"
        }
        InitialValue "initial-value" {
            "What the variables of a module hold when the first kernel starts.",
            "An initialiser still holds. An integer without one that only atomics and stores of constants touch is 0; any other \
             variable without one may hold anything. `--arg NAME=inout:u32[1]=0` says what the host puts there.",
            "__device__ unsigned count;  __device__ float scale = 2;"
        }
        Visibility "visibility" {
            "What one proxy wrote is visible to another one without the fence that PTX asks for.",
            "Compilers leave such fences out where hardware keeps the order; the message names the operations.",
            "st.global, then cp.async.bulk of the same bytes"
        }
        Scheduling "scheduling" {
            "A thread is not held up for ever between two of its steps.",
            "A thread that only waits sees the end of each phase of an mbarrier before the next one ends.",
            "mbarrier.try_wait in a loop by a warp that does nothing else"
        }
        Machine "machine" {
            "What the manual leaves open is as known hardware has it.",
            "The message names the instruction and what is taken for granted.",
            "elect.sync elects the lowest lane"
        }
        WmmaLayout "wmma-layout" {
            "Fragments of wmma are laid out as on the architecture that was named.",
            "Said by --wmma-layout.",
            "volta check a.ptx b.ptx --wmma-layout sm_80"
        }
        Probability "probability" {
            "Elements were compared at random points.",
            "Accepted by --probabilistic; the message bounds the chance that they differ all the same.",
            "volta check a.ptx b.ptx --probabilistic"
        }
        Written "written" {
            "Memory that is read was written before.",
            "`race --any` shows that no two threads conflict in any launch; that each byte was written is looked at in the launches that are run.",
            "__shared__ float s[64]; y[t] = s[t];    // race --any"
        }
        Contraction "contraction" {
            "Where the assembler joins a product and a sum into one operation, it does so alike.",
            "Asked for by `--bits`: at one place of one kernel always or never; with `--assume contracts-alike` in both kernels.",
            "mul.f32 f1, a, b;  add.f32 f2, f1, c;"
        }
        Fact "fact" {
            "Something that the user said about the data.",
            "Given by --assume.",
            "volta race k.ptx --assume '2 in 1..128'"
        }
    }
}
