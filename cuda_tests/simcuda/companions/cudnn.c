/*
 * A stand-in for cuDNN, libcudnn.so.9: it tells a version and makes handles, which XLA insists on before it compiles
 * anything. There is no operation in it: a program that asks for one does not find the function, and fails.
 */
#include <stdlib.h>

#define EXPORTED __attribute__((visibility("default")))

enum {
	VERSION_MAJOR = 9,
	VERSION_MINOR = 19,
	VERSION_PATCH = 0,
};

enum cudnn_status { /* cudnnStatus_t */
		    CUDNN_STATUS_SUCCESS = 0,
		    CUDNN_STATUS_NOT_INITIALIZED = 1001,
		    CUDNN_STATUS_BAD_PARAM = 2000,
};

enum { PROPERTY_MAJOR, PROPERTY_MINOR, PROPERTY_PATCH }; /* libraryPropertyType */

struct cudnn {
	void *stream;
};

EXPORTED size_t cudnnGetVersion(void);
EXPORTED int cudnnGetProperty(int property, int *value);
EXPORTED int cudnnCreate(struct cudnn **handle);
EXPORTED int cudnnDestroy(struct cudnn *handle);
EXPORTED int cudnnSetStream(struct cudnn *handle, void *stream);
EXPORTED int cudnnGetStream(struct cudnn *handle, void **stream);
EXPORTED const char *cudnnGetErrorString(int status);

size_t cudnnGetVersion(void)
{
	return VERSION_MAJOR * 10000 + VERSION_MINOR * 100 + VERSION_PATCH;
}

int cudnnGetProperty(int property, int *value)
{
	static const int values[] = {
	    [PROPERTY_MAJOR] = VERSION_MAJOR, [PROPERTY_MINOR] = VERSION_MINOR, [PROPERTY_PATCH] = VERSION_PATCH};

	if (property < PROPERTY_MAJOR || property > PROPERTY_PATCH || !value)
		return CUDNN_STATUS_BAD_PARAM;
	*value = values[property];
	return CUDNN_STATUS_SUCCESS;
}

int cudnnCreate(struct cudnn **handle)
{
	if (!handle)
		return CUDNN_STATUS_BAD_PARAM;
	*handle = calloc(1, sizeof(**handle));
	return *handle ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_INITIALIZED;
}

int cudnnDestroy(struct cudnn *handle)
{
	free(handle);
	return CUDNN_STATUS_SUCCESS;
}

int cudnnSetStream(struct cudnn *handle, void *stream)
{
	if (!handle)
		return CUDNN_STATUS_BAD_PARAM;
	handle->stream = stream;
	return CUDNN_STATUS_SUCCESS;
}

int cudnnGetStream(struct cudnn *handle, void **stream)
{
	if (!handle || !stream)
		return CUDNN_STATUS_BAD_PARAM;
	*stream = handle->stream;
	return CUDNN_STATUS_SUCCESS;
}

const char *cudnnGetErrorString(int status)
{
	return status == CUDNN_STATUS_SUCCESS ? "CUDNN_STATUS_SUCCESS" : "not supported by the simulated device";
}
