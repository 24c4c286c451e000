#include "html_internal.h"
#include "sha256.h"
#include "tools/output/format.h"
#include "tools/output/names/plain_name.h"
#include "predictor/math/order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define KERNEL_COLUMNS 1024u    /* the page makes short forms of whole names; longer ones are cut */
#define KERNELS_COLUMNS 262144u /* likewise, those of all kernels together */
#define COLUMN_BYTES 2u         /* at most, in the mean */
#define TEXT_COLUMNS 240u
#define HASH_BYTES 5u /* of a hashed name: 10 digits, the same for two of 10^6 names by luck */

struct kc__html_kernel {
	int64_t row, place;
};

/* Whoever knows a name can tell its hash: it hides names from those who do not. */
static void hash_name(const char *name, char *out, size_t size)
{
	uint8_t hash[KC_SHA256_BYTES];
	char digits[2 * HASH_BYTES + 1];

	kc_sha256(name, strlen(name), hash);
	for (size_t i = 0; i < HASH_BYTES; i++)
		snprintf(digits + 2 * i, 3, "%02x", hash[i]);
	snprintf(out, size, "kernel %s", digits);
}

static int replace(char **name, const char *by)
{
	char *copy = strdup(by);

	if (!copy)
		return -ENOMEM;
	free(*name);
	*name = copy;
	return 0;
}

static size_t kernel_columns(const struct kc__html *page)
{
	size_t kernels = page->data->kernels.count, columns = KERNEL_COLUMNS;

	if (kernels > KC__HTML_KERNELS)
		kernels = KC__HTML_KERNELS;
	return kernels * columns > KERNELS_COLUMNS ? KERNELS_COLUMNS / kernels : columns;
}

int kc__html_name(const struct kc__html *page, char **name)
{
	char shown[COLUMN_BYTES * KERNEL_COLUMNS];
	size_t columns = kernel_columns(page);

	if (page->request->anonymous)
		hash_name(*name, shown, sizeof(shown));
	else
		kc_shorten_name(*name, columns, shown, COLUMN_BYTES * columns);
	return replace(name, shown);
}

static int shorten(char **text)
{
	char shown[COLUMN_BYTES * TEXT_COLUMNS];

	return replace(text, kc_shorten_middle(*text, TEXT_COLUMNS, shown, sizeof(shown)));
}

/* A path, a command line or a message. */
static int clean_text(const struct kc__html *page, char **text)
{
	return page->request->anonymous ? replace(text, "") : shorten(text);
}

/* --- how many */

static json_t *trimmed(size_t *count, size_t most)
{
	size_t of = *count;

	if (*count > most)
		*count = most;
	return json_pack("{s:I,s:I}", "shown", (json_int_t)*count, "of", (json_int_t)of);
}

static void free_groups(struct kc_groups *groups, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++) {
		free(groups->at[i].name);
		groups->at[i].name = NULL;
	}
}

static json_t *trim_groups(struct kc_groups *groups, size_t most)
{
	size_t of = groups->count;
	json_t *out = trimmed(&groups->count, most);

	free_groups(groups, groups->count, of);
	return out;
}

static json_t *trim_streams(struct kc_activity *activity)
{
	size_t of = activity->stream_count;
	json_t *out = trimmed(&activity->stream_count, KC__HTML_STREAMS);

	for (size_t i = activity->stream_count; i < of; i++)
		free(activity->streams[i].name);
	return out;
}

static json_t *trim_places(struct kc_activity *activity)
{
	size_t of = activity->place_count;
	json_t *out = trimmed(&activity->place_count, KC__HTML_PROCESSES);

	for (size_t i = activity->place_count; i < of; i++)
		free(activity->places[i].name);
	return out;
}

static json_t *trim_processes(struct kc_report *data)
{
	size_t of = data->process_count;
	json_t *out = trimmed(&data->process_count, KC__HTML_PROCESSES);

	for (size_t i = data->process_count; i < of; i++)
		kc_process_row_clear(data->processes + i);
	return out;
}

static json_t *trim_messages(struct kc_report *data)
{
	size_t of = data->message_count;
	json_t *out = trimmed(&data->message_count, KC__HTML_MESSAGES);

	for (size_t i = data->message_count; i < of; i++) {
		free(data->messages[i].code);
		free(data->messages[i].text);
	}
	return out;
}

/* --- kernels by row */

KC_ORDER(compare_rows, struct kc__html_kernel, KC_UP(row))

static int index_kernels(struct kc__html *page)
{
	const struct kc_groups *kernels = &page->data->kernels;

	page->kernels = calloc(kernels->count + 1, sizeof(*page->kernels));
	if (!page->kernels)
		return -ENOMEM;
	for (size_t i = 0; i < kernels->count; i++)
		page->kernels[i] = (struct kc__html_kernel){kernels->at[i].id, (int64_t)i};
	page->kernel_count = kernels->count;
	qsort(page->kernels, page->kernel_count, sizeof(*page->kernels), compare_rows);
	return 0;
}

int64_t kc__html_place(const struct kc__html *page, int64_t kernel)
{
	const struct kc__html_kernel wanted = {.row = kernel},
				     *found = bsearch(&wanted, page->kernels, page->kernel_count,
						      sizeof(*page->kernels), compare_rows);

	return found ? found->place : -1;
}

/* --- names */

static int clean_groups(const struct kc__html *page, struct kc_groups *groups)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < groups->count; i++)
		rc = kc__html_name(page, &groups->at[i].name);
	return rc;
}

int kc__html_groups(const struct kc__html *page, struct kc_groups *kernels)
{
	json_decref(trim_groups(kernels, KC__HTML_KERNELS));
	return clean_groups(page, kernels);
}

/* "train.json (pid 4102), stream 7" becomes "pid 4102, stream 7". */
static int clean_origin(const struct kc__html *page, char **name)
{
	char *pid = page->request->anonymous ? strstr(*name, " (pid ") : NULL, *next, *close;

	while (pid && (next = strstr(pid + 1, " (pid "))) /* the file may be called so, too */
		pid = next;
	close = pid ? strchr(pid, ')') : NULL;
	if (close) {
		memmove(close, close + 1, strlen(close));
		memmove(*name, pid + 2, strlen(pid + 2) + 1);
	}
	return shorten(name);
}

static int clean_processes(const struct kc__html *page)
{
	struct kc_process_row *at = page->data->processes;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < page->data->process_count; i++) {
		char **const texts[] = {&at[i].command_line, &at[i].host, &at[i].container, &at[i].visible_devices,
					&at[i].job};

		rc = clean_origin(page, &at[i].name);
		for (size_t k = 0; rc == 0 && k < sizeof(texts) / sizeof(*texts); k++)
			rc = clean_text(page, texts[k]);
		rc = rc ? rc : shorten(&at[i].ended);
		rc = rc ? rc : shorten(&at[i].measure);
	}
	return rc;
}

static int clean_messages(const struct kc__html *page)
{
	struct kc_message_row *at = page->data->messages;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < page->data->message_count; i++) {
		rc = clean_text(page, &at[i].text);
		rc = rc ? rc : shorten(&at[i].code);
	}
	return rc;
}

static int clean_streams(const struct kc__html *page)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < page->data->streams.count; i++)
		rc = clean_origin(page, &page->data->streams.at[i].name);
	for (size_t i = 0; rc == 0 && i < page->activity->stream_count; i++)
		rc = clean_origin(page, &page->activity->streams[i].name);
	return rc;
}

/* What is no kernel is called by a word of ours. */
static int clean_side(const struct kc__html *page, const struct kc_interval *interval, struct kc_gap_side *side)
{
	int rc = interval->is_copy || interval->is_graph ? 0 : kc__html_name(page, &side->name);

	return rc ? rc : clean_origin(page, &side->stream);
}

static int clean_times(const struct kc__html *page)
{
	struct kc_activity *activity = page->activity;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < activity->place_count; i++)
		rc = clean_origin(page, &activity->places[i].name);
	for (size_t i = 0; rc == 0 && i < activity->gap_count; i++) {
		struct kc_gap_activity *gap = activity->gaps + i;

		rc = clean_origin(page, &gap->process_name);
		rc = rc ? rc : clean_side(page, &gap->gap.before, &gap->before);
		rc = rc ? rc : clean_side(page, &gap->gap.after, &gap->after);
	}
	return rc;
}

static void clean_device(const struct kc__html *page, struct kc_device_row *row)
{
	char name[sizeof(row->device.name)], gpu[sizeof(row->gpu)];
	size_t number = strlen("GPU ");

	memcpy(row->device.name, kc_printable_text(row->device.name, name, sizeof(name)), sizeof(name));
	memcpy(row->gpu, kc_printable_text(row->gpu, gpu, sizeof(gpu)), sizeof(gpu));
	if (!page->request->anonymous)
		return;
	row->uuid[0] = row->bus[0] = '\0';
	if (strlen(row->gpu) > number)
		row->gpu[number + strspn(row->gpu + number, "0123456789")] = '\0';
}

static int clean(const struct kc__html *page)
{
	int rc = clean_groups(page, &page->data->kernels);

	if (rc == 0)
		rc = clean_processes(page);
	if (rc == 0)
		rc = clean_messages(page);
	if (rc == 0)
		rc = clean_streams(page);
	if (rc == 0)
		rc = clean_times(page);
	for (size_t i = 0; i < page->data->device_count; i++)
		clean_device(page, page->data->devices + i);
	return rc;
}

int kc__html_trim(struct kc__html *page, json_t **counts)
{
	struct kc_report *data = page->data;
	int rc;

	*counts = json_object();
	json_object_set_new(*counts, "kernels", trim_groups(&data->kernels, KC__HTML_KERNELS));
	json_object_set_new(*counts, "streams", trim_groups(&data->streams, KC__HTML_STREAMS));
	json_decref(trim_groups(&data->ranks, 0)); /* the page does not show them */
	json_decref(trim_groups(&data->gpus, 0));
	json_object_set_new(*counts, "processes", trim_processes(data));
	json_object_set_new(*counts, "messages", trim_messages(data));
	json_object_set_new(*counts, "stream_times", trim_streams(page->activity));
	json_object_set_new(*counts, "places", trim_places(page->activity));
	kc_activity_keep_gaps(page->activity, KC__HTML_GAPS);
	json_object_set_new(*counts, "devices", trimmed(&data->device_count, KC__HTML_DEVICES));
	rc = index_kernels(page);
	return rc ? rc : clean(page);
}
