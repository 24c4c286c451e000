#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cupti_private.h"

/* The name is kept to be reported to a later subscriber that is refused. */
static CUptiResult subscribe(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc callback, void *user, const char *name)
{
	struct cupti *self = &cupti__self;
	struct CUpti_Subscriber_st *nobody = NULL;
	CUptiResult result;

	if (!handle)
		return CUPTI_ERROR_INVALID_PARAMETER;
	result = cupti__attach();
	if (result)
		return result;
	if (cupti__faults()->cupti_busy)
		return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	pthread_mutex_lock(&self->lock);
	if (self->subscriber) {
		result = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	} else {
		self->the_subscriber.callback = callback;
		self->the_subscriber.user = user;
		snprintf(self->the_subscriber.name, sizeof(self->the_subscriber.name), "CUPTI%s%.*s",
			 name ? " for " : "", CUPTI_SUBSCRIBER_NAME_MAX_LEN, name ? name : "");
		atomic_compare_exchange_strong(&self->subscriber, &nobody, &self->the_subscriber);
		*handle = &self->the_subscriber;
	}
	pthread_mutex_unlock(&self->lock);
	return result;
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc callback, void *user)
{
	return cupti__result(subscribe(handle, callback, user, NULL));
}

CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc callback, void *user,
			      CUpti_SubscriberParams *params)
{
	CUptiResult result;
	const char *holder;

	if (params && params->structSize < CUpti_SubscriberParams_STRUCT_SIZE)
		return cupti__result(CUPTI_ERROR_INVALID_PARAMETER);
	result = subscribe(handle, callback, user, params ? params->subscriberName : NULL);
	if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED && params && params->oldSubscriberName) {
		holder = cupti__faults()->cupti_busy ? "CUPTI for simulated profiler" : cupti__self.the_subscriber.name;
		snprintf(params->oldSubscriberName, params->oldSubscriberSize, "%s", holder);
	}
	return cupti__result(result);
}

static bool valid(CUpti_SubscriberHandle handle)
{
	return handle && handle == cupti__self.subscriber;
}

static void enable_domain(CUpti_CallbackDomain domain, bool enable)
{
	for (int id = 0; id < CUPTI_CBIDS_MAX; id++)
		cupti__self.callback_enabled[domain][id] = enable;
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle handle)
{
	if (!valid(handle))
		return cupti__result(CUPTI_ERROR_INVALID_PARAMETER);
	for (int domain = 0; domain < CUPTI_CB_DOMAIN_SIZE; domain++)
		enable_domain((CUpti_CallbackDomain)domain, false);
	cupti__self.subscriber = NULL;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain,
				CUpti_CallbackId id)
{
	if (!valid(handle) || domain <= CUPTI_CB_DOMAIN_INVALID || domain >= CUPTI_CB_DOMAIN_SIZE ||
	    id >= CUPTI_CBIDS_MAX)
		return cupti__result(CUPTI_ERROR_INVALID_PARAMETER);
	cupti__self.callback_enabled[domain][id] = enable != 0;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain)
{
	if (!valid(handle) || domain <= CUPTI_CB_DOMAIN_INVALID || domain >= CUPTI_CB_DOMAIN_SIZE)
		return cupti__result(CUPTI_ERROR_INVALID_PARAMETER);
	enable_domain(domain, enable != 0);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableAllDomains(uint32_t enable, CUpti_SubscriberHandle handle)
{
	if (!valid(handle))
		return cupti__result(CUPTI_ERROR_INVALID_PARAMETER);
	for (int domain = CUPTI_CB_DOMAIN_INVALID + 1; domain < CUPTI_CB_DOMAIN_SIZE; domain++)
		enable_domain((CUpti_CallbackDomain)domain, enable != 0);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetCallbackState(uint32_t *enable, CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain,
				  CUpti_CallbackId id)
{
	if (!enable || !valid(handle) || domain <= CUPTI_CB_DOMAIN_INVALID || domain >= CUPTI_CB_DOMAIN_SIZE ||
	    id >= CUPTI_CBIDS_MAX)
		return cupti__result(CUPTI_ERROR_INVALID_PARAMETER);
	*enable = cupti__self.callback_enabled[domain][id];
	return CUPTI_SUCCESS;
}

CUptiResult cuptiSupportedDomains(size_t *count, CUpti_DomainTable *table)
{
	static CUpti_CallbackDomain domains[] = {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_RUNTIME_API,
						 CUPTI_CB_DOMAIN_RESOURCE};

	if (!count || !table)
		return cupti__result(CUPTI_ERROR_INVALID_PARAMETER);
	*count = sizeof(domains) / sizeof(domains[0]);
	*table = domains;
	return CUPTI_SUCCESS;
}

static struct CUpti_Subscriber_st *listener(CUpti_CallbackDomain domain, uint32_t id)
{
	struct CUpti_Subscriber_st *subscriber = cupti__self.subscriber;

	if (!subscriber || !subscriber->callback || id >= CUPTI_CBIDS_MAX || domain >= CUPTI_CB_DOMAIN_SIZE)
		return NULL;
	return cupti__self.callback_enabled[domain][id] ? subscriber : NULL;
}

static __thread unsigned callbacks; /* that this thread is in */
static __thread bool ends;          /* with the outermost of them */
static _Atomic unsigned ending;     /* threads for which that holds */

static void call_back(struct CUpti_Subscriber_st *subscriber, CUpti_CallbackDomain domain, CUpti_CallbackId id,
		      const void *data)
{
	callbacks++;
	subscriber->callback(subscriber->user, domain, id, data);
	callbacks--;
	if (!callbacks && ends) {
		ends = false;
		atomic_fetch_sub(&ending, 1);
	}
}

void cupti__ends_with_callback(void)
{
	if (!callbacks || ends)
		return;
	ends = true;
	atomic_fetch_add(&ending, 1);
}

void cupti__check_ended(void)
{
	if (callbacks || !atomic_load(&ending))
		return;
	fprintf(stderr, "simcuda: CUPTI was called while a callback that has called cuptiFinalize() runs\n");
	abort();
}

void cupti__call_back(struct simcuda_call *call, bool leaving)
{
	struct CUpti_Subscriber_st *subscriber = listener((CUpti_CallbackDomain)call->domain, call->cbid);
	CUpti_CallbackData data = {
	    .callbackSite = leaving ? CUPTI_API_EXIT : CUPTI_API_ENTER,
	    .functionName = call->function,
	    .functionParams = call->params,
	    .functionReturnValue = leaving ? &call->result : NULL,
	    .symbolName = call->symbol,
	    .context = call->context,
	    .contextUid = call->context_id,
	    .correlationData = &call->data,
	    .correlationId = call->correlation,
	};

	if (subscriber && (!leaving || call->told || !cupti__faults()->cupti_whole_calls))
		call_back(subscriber, (CUpti_CallbackDomain)call->domain, call->cbid, &data);
	/* Callbacks that are switched off within a call: as CUPTI 13.0 was seen to do (driver 580, H100). */
	if (!leaving) {
		call->told = subscriber != NULL;
		call->sessions = cupti__self.sessions;
	} else {
		call->left_open = call->told && !subscriber && cupti__self.subscriber;
		call->left_open |= cupti__faults()->cupti_stuck_kinds && call->sessions != cupti__self.sessions;
	}
}

void cupti__on_resource(void *user, const struct simcuda_resource *resource)
{
	struct CUpti_Subscriber_st *subscriber = listener(CUPTI_CB_DOMAIN_RESOURCE, resource->cbid);
	CUpti_ModuleResourceData module = {
	    .moduleId = resource->module_id, .cubinSize = resource->image_bytes, .pCubin = resource->image};
	CUpti_GraphData graph = {.graph = resource->graph,
				 .originalGraph = resource->original_graph,
				 .node = resource->node,
				 .originalNode = resource->original_node,
				 .nodeType = (CUgraphNodeType)resource->node_type,
				 .dependency = resource->dependency,
				 .graphExec = resource->graph_exec};
	CUpti_ResourceData data = {.context = resource->context, .resourceHandle.stream = resource->stream};

	(void)user;
	if (!subscriber)
		return;
	if (resource->cbid >= CUPTI_CBID_RESOURCE_MODULE_LOADED &&
	    resource->cbid <= CUPTI_CBID_RESOURCE_MODULE_PROFILED)
		data.resourceDescriptor = &module;
	else if (resource->cbid >= CUPTI_CBID_RESOURCE_GRAPH_CREATED)
		data.resourceDescriptor = &graph;
	call_back(subscriber, CUPTI_CB_DOMAIN_RESOURCE, resource->cbid, &data);
}
