//! Reasons for `unknown`.

use super::kinds;

kinds! {
    /// Why nothing is claimed.
    UnknownKind of Unknown {
        DataDependentBranch "data-dependent-branch" {
            "A branch or a side effect depends on the data.",
            "Threads part on a value that no binding gives, in a way that is not followed on both sides.",
            "while (a[i] < key) i++;",
            hint: "bind integer parameters with --arg, give arrays of integers contents (--arg 'KEY=in:i32[4]=[0,2,3,3]'), or say with --assume 'KEY in A..B' in which small range they lie"
        }
        DataDependentAddress "data-dependent-address" {
            "An address depends on the data.",
            "Which element is accessed is chosen by a value that no binding gives.",
            "y[index[t]] += x[t];",
            hint: "bind integer parameters with --arg, give arrays of integers contents (--arg 'KEY=in:i32[4]=[0,2,3,3]'), or say with --assume 'KEY in A..B' in which range they lie"
        }
        UnsupportedInstruction "unsupported-instruction" {
            "An instruction that is executed is not modelled.",
            "Nothing is skipped, so that nothing is claimed from there on. The message names the instruction and its line.",
            "tex.2d.v4.f32.f32 {f1, f2, f3, f4}, [t, {f5, f6}];"
        }
        MissingBinding "missing-binding" {
            "An integer parameter without a value decides a branch or an address.",
            "One run names all of them with the flag for each.",
            "volta race k.ptx --threads 128          # for (i = 0; i < n; i++) with n unbound"
        }
        Undecided "undecided" {
            "An element was neither proved nor refuted.",
            "The message shows where the expressions of the kernels differ.",
            "y = sinf(x) against a polynomial for it"
        }
        NotLifted "not-lifted" {
            "An output has no formula.",
            "Its elements are not alike in a way that a formula can say, or hold something that formulas lack; the message says what.",
            "y[i] = x[perm[i]], with a permutation that follows no rule",
            hint: "lift a smaller size, or bind the arrays with their real shapes"
        }
        Undefined "undefined" {
            "An operation may be undefined where the kernels are compared.",
            "For example a quotient whose divisor may be 0, or a reference that is a number on no input that was tried.",
            "y[t] = x[t] / (x[t] - x[t]);"
        }
        NotANumber "not-a-number" {
            "A NaN meets arithmetic.",
            "Values are reals; what becomes of a NaN is followed only where a kernel tests for it.",
            "m = fmaxf(__int_as_float(0x7fffffff), x) + 1;"
        }
        MixedBytes "mixed-bytes" {
            "Bytes of different values meet in one.",
            "A value is read whose bytes were written by different stores of numbers that are not known bit by bit.",
            "st.shared.f32 [s], a;  st.shared.f32 [s+4], b;  ld.shared.f32 v, [s+2];"
        }
        BitsOfRounded "bits-of-rounded" {
            "Bits of a computed number matter.",
            "How the kernels compute the number differs or is not known, and its bits decide an output, a branch or an address.",
            "y[t] = __float_as_int(x[t] * w) & 1;"
        }
        UnspecifiedLayout "unspecified-layout" {
            "A layout that PTX leaves open matters.",
            "Elements of a `wmma` fragment are used one by one; `--wmma-layout` assumes the layout of an architecture.",
            "frag.x[0] *= 2;   // and only that one"
        }
        NondeterministicValue "nondeterministic-value" {
            "A value that depends on the schedule or on the machine matters.",
            "For example the result of an atomic, a clock, or the contents of an uninitialised register that decides something.",
            "i = atomicAdd(&counter, 1); y[i] = x[t];"
        }
        OrderDependent "order-dependent" {
            "The bits of a result depend on the order of atomic operations.",
            "Asked for by `--bits`: sums of floats by several atomics have no one value.",
            "volta check --bits ref.ptx opt.ptx      # atomicAdd(float *, ...)"
        }
        DifferentOrder "different-order" {
            "The same operations are applied in another order, and no input was found whose bits differ.",
            "Asked for by `--bits`; the first operation that differs is shown in both kernels.",
            "(a + b) + c against a + (b + c)"
        }
        Contraction "contraction" {
            "Whether a product and a sum become one operation is left to the assembler.",
            "Asked for by `--bits`: `mul` without a rounding modifier that feeds an `add` may be contracted.",
            "mul.f32 f1, a, b;  add.f32 f2, f1, c;"
        }
        UnboundedLoop "unbounded-loop" {
            "A loop has no bound that is known.",
            "How often it runs depends on sizes or data that nothing bounds.",
            "volta race --any k.ptx                  # while (n >>= 1) with n unbound"
        }
        CallDepth "call-depth" {
            "Calls nest too deep.",
            "Calls are expanded; a recursion that no constant ends is not.",
            "__device__ int f(int n) { return n ? f(n - 1) : 0; }"
        }
        NothingToCompare "nothing-to-compare" {
            "No element is compared.",
            "Neither kernel writes an array that counts as an output, or `--only` leaves nothing.",
            "volta check a.ptx b.ptx --arg 0=scratch:f32[4]",
            hint: "check that both kernels write an array that is not bound `scratch:`"
        }
        Limit "limit" {
            "Time, a budget of work, memory or a bound of volta ran out, or the run was interrupted.",
            "What was found until then is in the report; nothing else is claimed.",
            "volta check ref.ptx opt.ptx --timeout 1",
            hint: "give more with --timeout, --budget or --memory-limit, or check a smaller instance"
        }
    }
}

impl UnknownKind {
    /// True if it may be settled by more knowledge of what arrays hold: by contents that facts allow, or by an input on
    /// which something shows. Two of these may be about one way of a branch that data decide.
    pub fn is_of_data(self) -> bool {
        use UnknownKind::*;
        matches!(
            self,
            DataDependentBranch | DataDependentAddress | MixedBytes | Undecided | Undefined
        )
    }
}
