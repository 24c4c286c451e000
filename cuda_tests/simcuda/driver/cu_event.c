/* cuEvent*. An event refers to the operation that recorded it last. */
#include "cuda_tests/simcuda/gpu/engine.h"

#include <math.h>
#include <stdlib.h>

#define MS_PER_NS 1e-6

static int is_event(CUevent event)
{
	return event && event->magic == SIM_EVENT;
}

static CUresult create(CUevent *out, unsigned flags)
{
	CUcontext context = sim_context();
	CUevent event;

	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	event = calloc(1, sizeof(*event));
	if (!event)
		return CUDA_ERROR_OUT_OF_MEMORY;
	event->magic = SIM_EVENT;
	event->flags = flags;
	event->context = context;
	*out = event;
	return CUDA_SUCCESS;
}
SIM_API(cuEventCreate, (CUevent * event, unsigned int flags), create(event, flags))

static CUresult destroy(CUevent event)
{
	if (!is_event(event))
		return CUDA_ERROR_INVALID_HANDLE;
	sim_lock();
	sim_take_in(); /* no pending operation may refer to it */
	sim_op_release(event->recorded);
	event->magic = 0;
	sim_unlock();
	sim_capture_forget_event(event);
	free(event);
	return CUDA_SUCCESS;
}
SIM_API(cuEventDestroy, (CUevent event), destroy(event))
SIM_API(cuEventDestroy_v2, (CUevent event), destroy(event))

static CUresult record(CUevent event, CUstream stream, unsigned flags)
{
	struct sim_work work = {.kind = SIM_DO_RECORD, .event = event, .external = flags == CU_EVENT_RECORD_EXTERNAL};

	if (!is_event(event))
		return CUDA_ERROR_INVALID_HANDLE;
	if (flags & ~CU_EVENT_RECORD_EXTERNAL)
		return CUDA_ERROR_INVALID_VALUE;
	if (stream && !stream->capture && event->capture)
		sim_capture_forget_event(event);
	return sim_stream_do(stream, &work);
}
SIM_API_PTSZ(cuEventRecord, (CUevent event, CUstream stream), record(event, sim_stream(stream, per_thread), 0))
SIM_API_PTSZ(cuEventRecordWithFlags, (CUevent event, CUstream stream, unsigned int flags),
	     record(event, sim_stream(stream, per_thread), flags))

static CUresult query(CUevent event)
{
	CUresult result;

	if (!is_event(event))
		return CUDA_ERROR_INVALID_HANDLE;
	if (event->capture)
		return CUDA_ERROR_CAPTURED_EVENT;
	sim_lock();
	sim_advance_locked();
	result = sim_is_done(event->recorded) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
	sim_unlock();
	sim_deliver();
	return sim_failed() ? sim_failed() : result;
}
SIM_API(cuEventQuery, (CUevent event), query(event))

static CUresult synchronize(CUevent event)
{
	if (!is_event(event))
		return CUDA_ERROR_INVALID_HANDLE;
	if (event->capture)
		return CUDA_ERROR_CAPTURED_EVENT;
	sim_lock();
	sim_take_in();
	sim_wait_for(event->recorded);
	sim_unlock();
	sim_deliver();
	return sim_failed();
}
SIM_API(cuEventSynchronize, (CUevent event), synchronize(event))

static CUresult elapsed(float *ms, CUevent start, CUevent end)
{
	CUresult result = CUDA_SUCCESS;

	if (!ms)
		return CUDA_ERROR_INVALID_VALUE;
	if (!is_event(start) || !is_event(end) || ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING))
		return CUDA_ERROR_INVALID_HANDLE;
	sim_lock();
	sim_advance_locked();
	if (!start->recorded || !end->recorded)
		result = CUDA_ERROR_INVALID_HANDLE;
	else if (!sim_is_done(start->recorded) || !sim_is_done(end->recorded))
		result = CUDA_ERROR_NOT_READY;
	else
		*ms = (end->recorded->end_ns - start->recorded->end_ns) * MS_PER_NS;
	sim_unlock();
	return result;
}
SIM_API(cuEventElapsedTime, (float *ms, CUevent start, CUevent end), elapsed(ms, start, end))
SIM_API(cuEventElapsedTime_v2, (float *ms, CUevent start, CUevent end), elapsed(ms, start, end))
