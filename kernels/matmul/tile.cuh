// What all matrix products of this folder have in common.
//
//     C = alpha * A * B + beta * C      A is M x K, B is K x N, C is M x N, all row-major
//
// M, N and K are fixed at compile time.  CTA (x, y) computes the BM x BN tile of C whose upper left element is
// (y * BM, x * BN); BM divides M, BN divides N, and BK, the depth of what is staged at a time, divides K.

#ifndef M
#define M BM
#endif
#ifndef N
#define N BN
#endif

// Two of the mutants that every kernel can be given: a term of the product is left out, beta is lost.
#ifdef MUTANT_DROPPED_TERM
#define DEPTH (K - 1)
#else
#define DEPTH K
#endif

#ifdef MUTANT_NO_BETA
#define RESULT(ACC, OLD) (alpha * (ACC) + (OLD))
#elif defined(MUTANT_ALPHA_TWICE)
#define RESULT(ACC, OLD) (alpha * (ACC) + alpha * (OLD))
#else
#define RESULT(ACC, OLD) (alpha * (ACC) + beta * (OLD))
#endif
