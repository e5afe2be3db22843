//! Kinds of defects.

use super::kinds;

kinds! {
    /// What is wrong with a kernel under some schedule or input.
    DefectKind of Defect {
        DataRace "data-race" {
            "Two accesses conflict and nothing orders them.",
            "Two threads access the same bytes, one of them writes, and no barrier, fence or atomic puts one access before the other, so that what is read or left depends on the schedule. Both sides are shown with their threads.",
            "s[threadIdx.x] = x;\n__syncwarp();          // orders one warp only\ny = s[threadIdx.x ^ 32];"
        }
        Deadlock "deadlock" {
            "No thread can go on, and some have not returned.",
            "Threads wait at a barrier or on an mbarrier that others never reach. Each group that waits is shown with what it waits for.",
            "if (threadIdx.x < 16) __syncthreads();   // the other threads wait at the next one\n__syncthreads();"
        }
        BarrierMisuse "barrier-misuse" {
            "A barrier or an operation of a whole warp is used in a way that PTX forbids.",
            "For example a barrier with different numbers of threads at the same time, a warp collective whose mask leaves out a thread that executes it, or an mbarrier that is used before it is initialised.",
            "bar.sync 0, 64;   // by one warp\nbar.sync 0, 128;  // by another one at the same time"
        }
        OutOfBounds "out-of-bounds" {
            "An access lies outside of its array.",
            "The extent is that of the declaration, of `--arg KEY=TYPE[...]`, or of `--dynamic-shared`. An access under a guard counts if some input satisfies the guard.",
            "y[blockIdx.x * blockDim.x + threadIdx.x] = v;   // without `if (i < n)`"
        }
        UninitializedRead "uninitialized-read" {
            "A value that was never written is used.",
            "A register, shared or local memory, or an array that is bound `out:` is read before anything wrote it, and the value reaches an output, a branch or an address.",
            "__shared__ float s[33];\nif (t < 32) s[t] = x[t];\n__syncthreads();\ny[t] = s[t + 1];        // s[32] was never written"
        }
        MisalignedAccess "misaligned-access" {
            "An address is not a multiple of the size of the access.",
            "A vector access needs an address that is a multiple of all of its bytes; the base of an array is aligned as its binding says (256 bytes if it says nothing).",
            "float4 v = *(float4 *)(x + 1);"
        }
        Assertion "assertion" {
            "An assertion or a trap is reached.",
            "`__assertfail`, `trap` or `brkpt` is executed under a condition that some input satisfies.",
            "assert(blockDim.x == 256);   // launched with 128 threads"
        }
        OrderDependent "order-dependent" {
            "A volatile load decides an output, and nothing orders it against a write of what it reads.",
            "Two schedules were run in which the load gives different values and the output differs, as a real number or an integer. Both accesses are strong, so that this is no data race by the manual. A barrier between them is missing.",
            "volatile __shared__ float s[64];\ns[t] = x[t];\nif (t == 0) y[0] = s[63];   // without __syncthreads()"
        }
        Lifetime "lifetime" {
            "Memory or a barrier object is used outside of its lifetime.",
            "Tensor memory is used after its end, ended twice, never ended, or ended with another size; or a used mbarrier is initialised again, overwritten without `mbarrier.inval`, or used after it.",
            "tcgen05.dealloc.cta_group::1.sync.aligned.b32 taddr, 64;\ntcgen05.ld.sync.aligned.32x32b.x1.b32 {r}, [taddr];"
        }
    }
}
