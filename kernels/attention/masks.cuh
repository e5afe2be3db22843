// Which keys a query may see.  CAUSAL: those not after it.  PADDED: the first `length` of them.
//
// MUTANT_OFF_BY_ONE: one key too few.

#if defined(MUTANT_OFF_BY_ONE)
#define LAST_ONE 1
#else
#define LAST_ONE 0
#endif

__device__ __forceinline__ bool visible(int query, int key, int length)
{
#if defined(CAUSAL)
    return key <= query - LAST_ONE || key == 0;
#elif defined(PADDED)
    return key < length - LAST_ONE;
#else
    return key < KEYS - LAST_ONE;
#endif
}
