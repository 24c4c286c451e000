#include <stddef.h>

#include "cudart.h"

struct cudart cudart__self = {.once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER};

static __thread struct {
	int device; /* the device whose context a thread without one gets */
	cudaError_t last_error;
} thread;

static void load_once(void)
{
	struct cudart *self = &cudart__self;

	self->load_error = cudart__load_driver(&self->driver);
	if (!self->load_error)
		self->load_error = (cudaError_t)self->driver.cuInit(0);
	if (!self->load_error)
		self->load_error = (cudaError_t)self->driver.cuDeviceGetCount(&self->device_count);
	if (self->device_count > CUDART_MAX_DEVICES)
		self->device_count = CUDART_MAX_DEVICES;
}

const struct cudart_driver *cudart__driver(void)
{
	return &cudart__self.driver;
}

/* The device's primary context, retained once per copy of this library. No lock
 * is held across the call: a profiler's callback may call the runtime. */
static CUresult primary_context(int device, CUcontext *context)
{
	struct cudart *self = &cudart__self;
	CUcontext fresh = NULL;
	CUresult result;

	pthread_mutex_lock(&self->lock);
	*context = self->primary[device];
	pthread_mutex_unlock(&self->lock);
	if (*context)
		return CUDA_SUCCESS;
	result = self->driver.cuDevicePrimaryCtxRetain(&fresh, device);
	if (result)
		return result;
	pthread_mutex_lock(&self->lock);
	*context = self->primary[device];
	if (!*context)
		self->primary[device] = fresh;
	pthread_mutex_unlock(&self->lock);
	if (*context) /* another thread has retained it meanwhile */
		return self->driver.cuDevicePrimaryCtxRelease(device);
	*context = fresh;
	return CUDA_SUCCESS;
}

CUresult cudart__use_device(int device)
{
	CUcontext context;
	CUresult result;

	if (device < 0 || device >= cudart__self.device_count)
		return CUDA_ERROR_INVALID_DEVICE;
	result = primary_context(device, &context);
	return result ? result : cudart__self.driver.cuCtxSetCurrent(context);
}

static CUresult need_context(void)
{
	CUcontext context = NULL;
	CUresult result = cudart__self.driver.cuCtxGetCurrent(&context);

	if (result || context)
		return result;
	return cudart__use_device(thread.device);
}

CUresult cudart__enter(struct simcuda_call *call, enum cudart_need need)
{
	struct cudart *self = &cudart__self;

	pthread_once(&self->once, load_once);
	if (self->load_error)
		return (CUresult)self->load_error;
	if (self->driver.api_enter)
		self->driver.api_enter(call);
	return need == CUDART_CONTEXT ? need_context() : CUDA_SUCCESS;
}

/* Runtime and driver number their errors alike; these few differ in meaning. */
static cudaError_t runtime_error(CUresult result)
{
	switch (result) {
	case CUDA_ERROR_INVALID_CONTEXT:
		return cudaErrorDeviceUninitialized;
	case CUDA_ERROR_DEINITIALIZED:
		return cudaErrorCudartUnloading;
	default:
		return (cudaError_t)result;
	}
}

cudaError_t cudart__leave(struct simcuda_call *call, CUresult result)
{
	cudaError_t error = runtime_error(result);

	if (call->correlation)
		cudart__self.driver.api_leave(call, (int)error);
	return cudart__fail(error);
}

/* "Not ready" is an answer and no failure, so it does not become the last error. */
cudaError_t cudart__fail(cudaError_t error)
{
	if (error && error != cudaErrorNotReady)
		thread.last_error = error;
	return error;
}

cudaError_t cudart__peek_error(bool clear)
{
	cudaError_t error = thread.last_error;

	if (clear)
		thread.last_error = cudaSuccess;
	return error;
}

int cudart__device(void)
{
	CUcontext context = NULL;
	CUdevice device;

	if (!cudart__self.driver.cuCtxGetCurrent(&context) && context && !cudart__self.driver.cuCtxGetDevice(&device))
		return device;
	return thread.device;
}

void cudart__set_thread_device(int device)
{
	thread.device = device;
}
