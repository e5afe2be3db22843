// Counters that wrap at a bound, in any order, and a mark that all set to the same.  MUTANT_BOUNDS gives each
// thread a bound of its own, where the order matters.
extern "C" __global__ void ENTRY(unsigned *up, unsigned *down, int *mark)
{
    unsigned bound = 10;
#ifdef MUTANT_BOUNDS
    bound += threadIdx.x;
#endif
#ifdef PLAIN
    for (int i = 0; i < 32; i++) {
        *up = *up >= bound ? 0 : *up + 1;
        *down = *down == 0 || *down > bound ? bound : *down - 1;
    }
    *mark = 7;
#else
    atomicInc(up, bound);
    atomicDec(down, bound);
    atomicExch(mark, 7);
#endif
}
