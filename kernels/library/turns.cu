// Sines and cosines of computed arguments.  The slow path of their range reduction reads a table in local memory at an
// index that the exponent of the argument tells.
#define TURN(name, argument, function)                                                              \
    extern "C" __global__ void name(const float *x, float *y) {                                     \
        const float v = x[threadIdx.x];                                                             \
        y[threadIdx.x] = function(argument);                                                        \
    }

TURN(root_turn, sqrtf(v), cosf)
TURN(growth_turn, expf(v), cosf)
TURN(quotient_turn, 1.0f / v, sinf)
TURN(length_turn, fabsf(v), sinf)
TURN(square_turn, __fadd_rn(v, __fmul_rn(v, v)), cosf)
TURN(choice_turn, v > 0.0f ? v : 2.0f * v, sinf)
TURN(tangent_turn, 3.0f * v, tanf)
TURN(half_turns, v + 1.5f, sinpif)

// The same in other words, and of another argument.
TURN(root_turn_twice, 2.0f * sqrtf(v), cosf)
TURN(square_turn_other, v * (1.0f - v), cosf)
