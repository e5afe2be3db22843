// Each thread reads what its neighbour wrote, and nothing makes it wait; the lines are long and hold tabs and wide letters,
// as those of people do.
__global__ void tile(const float *x, float *y)
{
    __shared__ float s[32];
    const int thread = threadIdx.x;

	s[thread] = x[thread];	/* 語: what a comment says that begins in the line and goes on for longer than any terminal is wide, so that it is cut */



    const float first_of_the_two_values_that_are_read_from_the_tile_of_the_neighbour = s[(thread + 1) % 32]; // neighbour
    y[thread] = first_of_the_two_values_that_are_read_from_the_tile_of_the_neighbour + s[(thread + 1) % 32];
}
