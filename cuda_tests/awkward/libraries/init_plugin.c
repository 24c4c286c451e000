/* Initialises CUDA while it is being loaded: the loader's lock is held. */
#include <cuda.h>

#include <stdlib.h>

__attribute__((constructor)) static void at_load(void)
{
	if (cuInit(0))
		exit(4);
}
