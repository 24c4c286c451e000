/* cuGetErrorName and cuGetErrorString. errors_table.h is made by driver_errors.awk. */
#include "cuda_tests/simcuda/sim.h"

#include <ctype.h>
#include <string.h>

#define PREFIX "CUDA_ERROR_"
#define TEXT_BYTES 96

static const struct {
	CUresult value;
	const char *name;
} errors[] = {
#define ERROR(error) {error, #error},
#include "errors_table.h"
#undef ERROR
};
#define ERRORS (sizeof(errors) / sizeof(errors[0]))

static char text[ERRORS][TEXT_BYTES];

/* The description of CUDA_ERROR_OUT_OF_MEMORY is "out of memory". */
static void make_texts(void)
{
	size_t i, j;

	for (i = 0; i < ERRORS; i++) {
		const char *name = errors[i].name;

		if (errors[i].value == CUDA_SUCCESS)
			name = "NO_ERROR";
		else if (!strncmp(name, PREFIX, strlen(PREFIX)))
			name += strlen(PREFIX);
		for (j = 0; name[j] && j + 1 < TEXT_BYTES; j++)
			text[i][j] = name[j] == '_' ? ' ' : tolower((unsigned char)name[j]);
	}
}

static CUresult look_up(CUresult error, const char **answer, int as_text)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	size_t i;

	if (!answer)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_once(&once, make_texts);
	*answer = NULL;
	for (i = 0; i < ERRORS; i++)
		if (errors[i].value == error) {
			*answer = as_text ? text[i] : errors[i].name;
			return CUDA_SUCCESS;
		}
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuGetErrorName(CUresult error, const char **name)
{
	return look_up(error, name, 0);
}

CUresult CUDAAPI cuGetErrorString(CUresult error, const char **string)
{
	return look_up(error, string, 1);
}
