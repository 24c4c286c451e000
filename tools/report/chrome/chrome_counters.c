#include "chrome_counters.h"

#include "store/database/schema.h"

#include <inttypes.h>
#include <math.h>

#define PERCENT_SCALE 1000        /* thousandths of a percent */
#define MOST_PERCENT 1e12         /* no error means anything beyond */
#define MOST_SMS INT64_C(1000000) /* so that sums of them stay numbers */

static int add(struct kc__counter *counter, int64_t time_ns, int64_t change)
{
	if (counter->is_shown && time_ns < counter->last_ns)
		time_ns = counter->last_ns;
	return kc__queue_put(&counter->queue, (struct kc__happening){time_ns, change});
}

/* 1: the earliest is taken, and was at this time. */
static int take_at(struct kc__counter *counter, int64_t time_ns, struct kc__happening *out)
{
	if (!kc__queue_count(&counter->queue) || kc__queue_first(&counter->queue)->time_ns != time_ns)
		return 0;
	*out = kc__queue_take(&counter->queue);
	return 1;
}

/* Up to the value, which the caller adds. */
static void begin_value(struct kc__counters *counters, const char *name, int64_t time_ns)
{
	struct kc__chrome_text *text = &counters->out->text;

	kc__chrome_begin(counters->out, "C", counters->process, 0);
	kc__chrome_key(text, "ts");
	kc__chrome_put_us(text, kc_plus_ns(time_ns, counters->offset_ns));
	kc__chrome_key(text, "name");
	kc__chrome_put(text, name);
}

static void put_in_use(struct kc__counters *counters, const struct kc__device_counters *of, int kind, int64_t time_ns)
{
	static const char *const names[] = {"\"SMs in use, predicted\"", "\"SMs in use, measured\""};
	struct kc__chrome_text *text = &counters->out->text;

	begin_value(counters, names[kind], time_ns);
	kc__chrome_put(text, ",\"id\":\"device ");
	kc__chrome_put_integer(text, of->device);
	kc__chrome_put(text, "\",\"args\":{\"SMs\":");
	kc__chrome_put_integer(text, of->in_use[kind].shown);
	kc__chrome_put(text, "}}");
}

/* What happened first, with all else at that time. */
static void step_in_use(struct kc__counters *counters, struct kc__device_counters *of, int kind)
{
	struct kc__counter *counter = of->in_use + kind;
	int64_t time_ns = kc__queue_first(&counter->queue)->time_ns, in_use;
	struct kc__happening next;

	while (take_at(counter, time_ns, &next))
		counter->value += next.change;
	in_use = counter->value < of->sms ? counter->value : of->sms;
	counter->last_ns = time_ns;
	if (counter->is_shown && in_use == counter->shown)
		return;
	counter->is_shown = 1;
	counter->shown = in_use;
	put_in_use(counters, of, kind, time_ns);
}

/* Of launches that began together, the largest. */
static void step_error(struct kc__counters *counters)
{
	struct kc__happening first = kc__queue_take(&counters->error.queue), other;
	struct kc__chrome_text *text = &counters->out->text;

	while (take_at(&counters->error, first.time_ns, &other)) {
		if (other.change > first.change)
			first = other;
	}
	counters->error.last_ns = first.time_ns;
	counters->error.is_shown = 1;
	begin_value(counters, "\"error\"", first.time_ns);
	kc__chrome_put(text, ",\"args\":{\"percent\":");
	kc__chrome_put_us(text, first.change); /* thousandths in front of the point, too */
	kc__chrome_put(text, "}}");
}

static void finish(struct kc__counters *counters)
{
	for (size_t i = 0; i < counters->device_count; i++) {
		for (int kind = 0; kind < 2; kind++) {
			while (kc__queue_count(&counters->devices[i].in_use[kind].queue))
				step_in_use(counters, counters->devices + i, kind);
		}
	}
	while (kc__queue_count(&counters->error.queue))
		step_error(counters);
}

static void forget(struct kc__counter *counter)
{
	struct kc__queue queue = counter->queue;

	kc__queue_clear(&queue);
	*counter = (struct kc__counter){.queue = queue};
}

void kc__counters_of(struct kc__counters *counters, int64_t process, int64_t offset_ns)
{
	finish(counters);
	for (size_t i = 0; i < counters->device_count; i++) {
		for (int kind = 0; kind < 2; kind++)
			forget(counters->devices[i].in_use + kind);
	}
	forget(&counters->error);
	counters->device_count = 0;
	counters->process = process;
	counters->offset_ns = offset_ns;
}

void kc__counters_free(struct kc__counters *counters)
{
	for (size_t i = 0; i < KC__COUNTER_DEVICES; i++) {
		for (int kind = 0; kind < 2; kind++)
			kc__queue_free(&counters->devices[i].in_use[kind].queue);
	}
	kc__queue_free(&counters->error.queue);
}

static struct kc__device_counters *counters_on(struct kc__counters *counters, int64_t device, int64_t sms)
{
	struct kc__device_counters *of;

	for (size_t i = 0; i < counters->device_count; i++) {
		if (counters->devices[i].device == device)
			return counters->devices + i;
	}
	if (counters->device_count == KC__COUNTER_DEVICES)
		return NULL;
	of = counters->devices + counters->device_count++;
	of->device = device;
	of->sms = sms < MOST_SMS ? sms : MOST_SMS;
	return of;
}

int kc__counters_ran(struct kc__counters *counters, enum kc__track_kind kind, int64_t device, int64_t sms,
		     int64_t blocks, int64_t start_ns, int64_t end_ns)
{
	struct kc__device_counters *of = sms > 0 && blocks > 0 ? counters_on(counters, device, sms) : NULL;
	struct kc__counter *counter;
	int64_t taken;
	int rc;

	if (!of || end_ns <= start_ns)
		return 0;
	counter = of->in_use + kind;
	taken = blocks < of->sms ? blocks : of->sms;
	rc = add(counter, start_ns, taken);
	if (rc == 0)
		rc = add(counter, end_ns, -taken);
	while (rc == 0 && kc__queue_count(&counter->queue) > KC__COUNTER_WINDOW)
		step_in_use(counters, of, kind);
	return rc;
}

int kc__counters_erred(struct kc__counters *counters, int64_t start_ns, double error_percent)
{
	double shown = error_percent < MOST_PERCENT ? error_percent : MOST_PERCENT;
	int rc = add(&counters->error, start_ns, (int64_t)llround(shown * PERCENT_SCALE));

	while (rc == 0 && kc__queue_count(&counters->error.queue) > KC__COUNTER_WINDOW)
		step_error(counters);
	return rc;
}
