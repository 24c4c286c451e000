/* The parts of the page's document, from a report, an activity, samples and rows that were made by hand. */
#include "html_internal.h"
#include "store/database/testing/test_rows.h"

#include <math.h>

struct fixture {
	char *directory;
	struct kc_store *store;
	struct kc_html_request request;
	struct kc_selection selection;
	struct kc__html page;
	json_t *counts;
	uint64_t index; /* of the next entry */
};

static char *text(const char *format, int number)
{
	char *out;

	assert_true(asprintf(&out, format, number) > 0);
	return out;
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->directory = make_scratch();
	f->store = open_scratch(f->directory);
	f->selection = (struct kc_selection){1, 1};
	f->page = (struct kc__html){.request = &f->request,
				    .store = f->store,
				    .selection = &f->selection,
				    .data = calloc(1, sizeof(struct kc_report)),
				    .activity = calloc(1, sizeof(struct kc_activity))};
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	kc__html_samples_free(&f->page);
	kc_report_free(f->page.data);
	kc_activity_free(f->page.activity);
	free(f->page.kernels);
	json_decref(f->counts);
	kc_store_close(f->store);
	remove_scratch(f->directory);
	free(f);
	return 0;
}

/* Kernels with the rows 101, 102, …, the last one first. */
static void give_kernels(struct kc_groups *kernels, size_t count)
{
	kernels->at = calloc(count, sizeof(*kernels->at));
	kernels->count = count;
	for (size_t i = 0; i < count; i++) {
		kernels->at[i].id = (int64_t)(100 + count - i);
		kernels->at[i].name = text("k%d", (int)(count - i));
	}
}

static void trim(struct fixture *f)
{
	assert_int_equal(kc__html_trim(&f->page, &f->counts), 0);
}

/* The element of a document, or of a list in it. */
static json_int_t integer(const json_t *document, const char *key)
{
	const json_t *value = json_object_get(document, key);

	assert_true(json_is_integer(value));
	return json_integer_value(value);
}

static void assert_document(json_t *document, const char *expected)
{
	json_t *wanted = json_loads(expected, 0, NULL);

	assert_non_null(wanted);
	if (!json_equal(document, wanted)) {
		char *shown = json_dumps(document, 0);

		fail_msg("%s, not %s", shown, expected);
	}
	json_decref(wanted);
	json_decref(document);
}

/* --- what the page has room for */

static void assert_counts(const struct fixture *f, const char *what, json_int_t shown, json_int_t of)
{
	const json_t *counts = json_object_get(f->counts, what);

	assert_int_equal(integer(counts, "shown"), shown);
	assert_int_equal(integer(counts, "of"), of);
}

static void give_rows(struct fixture *f, int number)
{
	struct kc_report *data = f->page.data;
	struct kc_activity *activity = f->page.activity;

	data->process_count = data->message_count = data->device_count = activity->stream_count = (size_t)number;
	activity->place_count = activity->gap_count = (size_t)number;
	data->processes = calloc((size_t)number, sizeof(*data->processes));
	data->messages = calloc((size_t)number, sizeof(*data->messages));
	data->devices = calloc((size_t)number, sizeof(*data->devices));
	activity->streams = calloc((size_t)number, sizeof(*activity->streams));
	activity->places = calloc((size_t)number, sizeof(*activity->places));
	activity->gaps = calloc((size_t)number, sizeof(*activity->gaps));
	for (int i = 0; i < number; i++) {
		struct kc_gap_activity *gap = &activity->gaps[i];

		data->processes[i] = (struct kc_process_row){.name = text("rank %d, node (pid 7)", i),
							     .command_line = text("app %d", i),
							     .host = text("node%d", i),
							     .container = text("box%d", i),
							     .visible_devices = text("%d", i),
							     .job = text("job%d", i),
							     .gpus = text("%d", i),
							     .ended = text("exit", i),
							     .measure = text("all", i)};
		data->messages[i].code = text("CODE%d", i);
		data->messages[i].text = text("message %d", i);
		snprintf(data->devices[i].device.name, sizeof(data->devices[i].device.name), "Device\n%d", i);
		snprintf(data->devices[i].gpu, sizeof(data->devices[i].gpu), "GPU %d of node", i);
		snprintf(data->devices[i].uuid, sizeof(data->devices[i].uuid), "GPU-%d", i);
		snprintf(data->devices[i].bus, sizeof(data->devices[i].bus), "0000:%d", i);
		activity->streams[i].name = text("x (pid 8) (pid 7), stream %d", i);
		activity->places[i].name = text("rank %d, node (pid 7)", i);
		gap->process_name = text("rank %d, node (pid 7)", i);
		gap->before = (struct kc_gap_side){.name = text("HtoD", i), .stream = text("stream %d", i)};
		gap->after = (struct kc_gap_side){.name = text("kernel%d", i), .stream = text("stream %d", i)};
		gap->gap.before.is_copy = 1;
	}
}

static void as_many_rows_as_there_is_room_for(void **state)
{
	struct fixture *f = *state;
	struct kc_report *data = f->page.data;

	give_kernels(&data->kernels, 1001);
	give_kernels(&data->streams, 101);
	give_kernels(&data->ranks, 2);
	give_kernels(&data->gpus, 2);
	give_rows(f, 102);
	trim(f);
	assert_counts(f, "kernels", 1000, 1001);
	assert_counts(f, "streams", 100, 101);
	assert_counts(f, "processes", 50, 102);
	assert_counts(f, "messages", 50, 102);
	assert_counts(f, "stream_times", 100, 102);
	assert_counts(f, "places", 50, 102);
	assert_counts(f, "devices", 20, 102);
	assert_int_equal(data->kernels.count, 1000);
	assert_int_equal(data->streams.count, 100);
	assert_int_equal(data->ranks.count + data->gpus.count, 0);
	assert_int_equal(data->process_count, 50);
	assert_int_equal(data->message_count, 50);
	assert_int_equal(f->page.activity->stream_count, 100);
	assert_int_equal(f->page.activity->place_count, 50);
	assert_int_equal(f->page.activity->gap_count, 10);
	data->device_count = 102; /* their rows are one block */
	/* The first of the list has the last row; the last one, of row 101, is left out. */
	assert_int_equal(kc__html_place(&f->page, 101 + 1000), 0);
	assert_int_equal(kc__html_place(&f->page, 102), 999);
	assert_int_equal(kc__html_place(&f->page, 101), -1);
	assert_int_equal(kc__html_place(&f->page, 1102), -1);
}

static void rows_that_there_is_room_for(void **state)
{
	struct fixture *f = *state;
	const struct kc_report *data = f->page.data;
	const struct kc_activity *activity = f->page.activity;

	give_kernels(&f->page.data->kernels, 2);
	give_rows(f, 1);
	trim(f);
	assert_counts(f, "kernels", 2, 2);
	assert_counts(f, "streams", 0, 0);
	assert_counts(f, "processes", 1, 1);
	assert_counts(f, "devices", 1, 1);
	assert_string_equal(data->kernels.at[0].name, "k2");
	assert_string_equal(data->kernels.at[1].name, "k1");
	assert_string_equal(data->processes[0].name, "rank 0, node (pid 7)");
	assert_string_equal(data->processes[0].command_line, "app 0");
	assert_string_equal(data->processes[0].job, "job0");
	assert_string_equal(data->messages[0].text, "message 0");
	assert_string_equal(data->devices[0].device.name, "Device\\n0");
	assert_string_equal(data->devices[0].gpu, "GPU 0 of node");
	assert_string_equal(data->devices[0].uuid, "GPU-0");
	assert_string_equal(data->devices[0].bus, "0000:0");
	assert_string_equal(activity->streams[0].name, "x (pid 8) (pid 7), stream 0");
	assert_string_equal(activity->gaps[0].after.name, "kernel0");
}

/* The first ten digits of "printf k1 | sha256sum", and so on. */
static void names_that_are_not_told(void **state)
{
	struct fixture *f = *state;
	const struct kc_report *data = f->page.data;
	const struct kc_activity *activity = f->page.activity;

	f->request.anonymous = 1;
	give_kernels(&f->page.data->kernels, 2);
	give_rows(f, 1);
	trim(f);
	assert_string_equal(data->kernels.at[0].name, "kernel 015f7e6bc5");
	assert_string_equal(data->kernels.at[1].name, "kernel 6ab9f1eb8f");
	assert_string_equal(data->processes[0].name, "pid 7");
	assert_string_equal(data->processes[0].command_line, "");
	assert_string_equal(data->processes[0].host, "");
	assert_string_equal(data->processes[0].container, "");
	assert_string_equal(data->processes[0].visible_devices, "");
	assert_string_equal(data->processes[0].job, "");
	assert_string_equal(data->processes[0].ended, "exit");
	assert_string_equal(data->processes[0].measure, "all");
	assert_string_equal(data->messages[0].text, "");
	assert_string_equal(data->messages[0].code, "CODE0");
	assert_string_equal(data->devices[0].device.name, "Device\\n0");
	assert_string_equal(data->devices[0].gpu, "GPU 0");
	assert_string_equal(data->devices[0].uuid, "");
	assert_string_equal(data->devices[0].bus, "");
	assert_string_equal(activity->streams[0].name, "pid 7, stream 0");
	assert_string_equal(activity->places[0].name, "pid 7");
	assert_string_equal(activity->gaps[0].process_name, "pid 7");
	assert_string_equal(activity->gaps[0].before.name, "HtoD");
	assert_string_equal(activity->gaps[0].before.stream, "stream 0");
	assert_string_equal(activity->gaps[0].after.name, "kernel 5907b838b1");
}

/* 1,024 columns: 512 of the beginning, an ellipsis, 511 of the end. */
static void long_names(void **state)
{
	struct fixture *f = *state;
	char expected[3 + 1023 + 1];

	give_kernels(&f->page.data->kernels, 2);
	for (size_t i = 0; i < 2; i++) {
		char *name = malloc(1026);

		memset(name, 'a', 1025);
		memset(name + 512, 'b', 513);
		name[1024 + i] = '\0';
		free(f->page.data->kernels.at[i].name);
		f->page.data->kernels.at[i].name = name;
	}
	trim(f);
	memset(expected, 'a', 512);
	memset(expected + 512, 'b', 512);
	expected[1024] = '\0';
	assert_string_equal(f->page.data->kernels.at[0].name, expected);
	memcpy(expected + 512, "\xe2\x80\xa6", 3);
	memset(expected + 515, 'b', 511);
	expected[1026] = '\0';
	assert_string_equal(f->page.data->kernels.at[1].name, expected);
}

/* --- how lambda settled */

/* As many values as `last` says, of a process that begins. id 0: of the device. Those of a kernel are of the launch
 * shape with so many blocks. */
static void put_lambdas(struct fixture *f, uint32_t id, uint32_t blocks, uint32_t first, uint32_t last)
{
	for (uint32_t i = first; i <= last; i++) {
		const struct kc_lambda_entry entry = {.state = (uint32_t)f->index,
						      .level = id ? KC_MODEL_BSP_SHAPE : KC_MODEL_BSP_CODE,
						      .kernel = id,
						      .block = {256, 1, 1},
						      .grid = {blocks, 1, 1},
						      .count = i,
						      .log_value = log(0.25 * (i % 8 + 1)),
						      .time_ns = BASE_NS + i * 7000};

		put_entry(f->store, &f->index, KC_KIND_LAMBDA, &entry, sizeof(entry));
	}
}

static void begin(struct fixture *f, uint32_t pid, uint32_t kernels)
{
	const struct kc_journal_header header = make_header(pid, "run-a");
	int64_t process;

	assert_int_equal(kc_store_process(f->store, &header, &process), 0);
	assert_int_equal(kc_store_begin(f->store), 0);
	put_device_and_streams(f->store, &f->index, 1);
	for (uint32_t k = 1; k <= kernels; k++) {
		char name[16];

		snprintf(name, sizeof(name), "k%u", k);
		put_kernel(f->store, &f->index, k, name, "app");
	}
}

/* The kernels' rows are given to the report, in the order of their names. */
static void give_kernels_of_store(struct fixture *f, size_t count)
{
	give_kernels(&f->page.data->kernels, count);
	for (size_t i = 0; i < count; i++)
		f->page.data->kernels.at[i].id =
		    number_of(f->store, "SELECT id FROM kernel WHERE name = 'k%d'", (int)i + 1);
	trim(f);
}

static json_t *lambdas(struct fixture *f)
{
	json_t *out = NULL;

	assert_int_equal(kc_store_commit(f->store), 0);
	assert_int_equal(kc__html_lambdas_json(&f->page, &out), 0);
	return out;
}

/* Of kernel 1 the longer of two shapes' lines, first or last; of kernel 2 two values are a line, of kernel 3 one is
 * none; kernel -1 of the list is the device. Values are a quarter of their number. */
static void lines_of_lambda(void **state)
{
	struct fixture *f = *state;

	begin(f, 42, 4);
	put_lambdas(f, 1, 64, 1, 2);
	put_lambdas(f, 1, 65, 3, 5);
	put_lambdas(f, 2, 64, 1, 2);
	put_lambdas(f, 3, 64, 1, 1);
	put_lambdas(f, 4, 64, 4, 6);
	put_lambdas(f, 4, 65, 1, 2);
	put_lambdas(f, 0, 0, 1, 2);
	assert_int_equal(kc_store_commit(f->store), 0);
	give_kernels_of_store(f, 4);
	assert_int_equal(kc_store_begin(f->store), 0);
	assert_document(
	    lambdas(f),
	    "{\"read\": 15, \"most\": 20000, \"lines\": ["
	    "{\"kernel\": 0, \"level\": \"bsp-shape\", \"values\": 3, \"points\": "
	    "[[21, 3, 1.0], [28, 4, 1.25], [35, 5, 1.5]]},"
	    "{\"kernel\": 1, \"level\": \"bsp-shape\", \"values\": 2, \"points\": [[7, 1, 0.5], [14, 2, 0.75]]},"
	    "{\"kernel\": 3, \"level\": \"bsp-shape\", \"values\": 3, \"points\": "
	    "[[28, 4, 1.25], [35, 5, 1.5], [42, 6, 1.75]]},"
	    "{\"kernel\": -1, \"level\": \"bsp-code\", \"values\": 2, \"points\": [[7, 1, 0.5], [14, 2, 0.75]]}]}");
}

/* The lines of six kernels and of the device; 240 points of 300 values, the first and the last among them, and in
 * between the (i · 299 / 239)-th, rounded down. */
static void lines_that_are_shown(void **state)
{
	struct fixture *f = *state;
	json_t *document, *lines, *points;

	begin(f, 42, 7);
	for (uint32_t k = 7; k; k--)
		put_lambdas(f, k, 64, 1, k == 1 ? 300 : 2);
	put_lambdas(f, 0, 0, 1, 2);
	assert_int_equal(kc_store_commit(f->store), 0);
	give_kernels_of_store(f, 7);
	assert_int_equal(kc_store_begin(f->store), 0);
	document = lambdas(f);
	lines = json_object_get(document, "lines");
	assert_int_equal(json_array_size(lines), 7);
	for (size_t i = 0; i < 7; i++)
		assert_int_equal(integer(json_array_get(lines, i), "kernel"), i < 6 ? (json_int_t)i : -1);
	points = json_object_get(json_array_get(lines, 0), "points");
	assert_int_equal(integer(json_array_get(lines, 0), "values"), 300);
	assert_int_equal(json_array_size(points), 240);
	for (size_t i = 0; i < 240; i++)
		assert_int_equal(json_integer_value(json_array_get(json_array_get(points, i), 1)), 1 + i * 299 / 239);
	json_decref(document);
}

/* --- launches */

static struct kc_sample_launch *give_sample(struct kc_sample *sample, size_t count)
{
	sample->launches.at = calloc(count, sizeof(struct kc_sample_launch));
	sample->launches.count = count;
	return sample->launches.at;
}

static void drawn_launches(void **state)
{
	struct fixture *f = *state;
	struct kc_sample_launch *l = give_sample(&f->page.drawn, 2);
	json_t *out;

	give_kernels(&f->page.data->kernels, 3);
	trim(f);
	f->page.data->ledger.launches = 9;
	l[0] = (struct kc_sample_launch){.kernel = 102,
					 .launched_ns = 5999,
					 .start_ns = {6000, 6100},
					 .end_ns = {6030, 6140},
					 .has = {1, 1},
					 .low_ns = 25,
					 .high_ns = 35,
					 .slowdown = 1.5,
					 .measured_slowdown = 1.25,
					 .novelty = 2,
					 .overlap = 3};
	l[1] = (struct kc_sample_launch){.kernel = 7, .launched_ns = 1000, .novelty = 1, .overlap = 1};
	assert_int_equal(kc__html_drawn_json(&f->page, &out), 0);
	assert_document(out, "{\"of\": 9, \"shown\": 2, \"rows\": [[1, 5, 30, 40, 25, 35, 2, 3, 1.5, 1.25], "
			     "[-1, 1, null, null, 0, 0, 1, 1]]}");
}

/* The first window's times count from 900 ns, when the second launch was launched; the second one's from 300 ns, when
 * its launch began by its measurement. The third has no launches. */
static void windows_of_the_timeline(void **state)
{
	struct fixture *f = *state;
	struct kc_sample_launch *l;
	json_t *out;

	give_kernels(&f->page.data->kernels, 1);
	give_rows(f, 2);
	f->page.data->processes[1].id = 6;
	f->page.data->processes[1].pid = 77;
	f->page.data->processes[0].id = 5;
	f->page.data->processes[0].pid = 66;
	trim(f);
	f->page.window_count = 3;
	f->page.windows[0].title = "first";
	f->page.windows[1].title = "second";
	l = give_sample(&f->page.windows[0].sample, 3);
	l[0] = (struct kc_sample_launch){.process = 6,
					 .sequence = 4,
					 .stream = 8,
					 .kernel = 101,
					 .launched_ns = 1000,
					 .start_ns = {1100, 1200},
					 .end_ns = {1150, 1260},
					 .has = {1, 1},
					 .novelty = 2};
	l[1] = (struct kc_sample_launch){.process = 6, .sequence = 5, .kernel = 3, .launched_ns = 900};
	l[2] = (struct kc_sample_launch){.process = 6,
					 .sequence = 6,
					 .stream = 9,
					 .launched_ns = 1300,
					 .start_ns = {0, 1310},
					 .end_ns = {0, 1320},
					 .has = {0, 1},
					 .copy_bytes = 4096,
					 .is_copy = 1};
	l = give_sample(&f->page.windows[1].sample, 1);
	l[0] = (struct kc_sample_launch){.process = 7, .launched_ns = 400, .start_ns = {350, 300}, .has = {1, 1}};
	assert_int_equal(kc__html_windows_json(&f->page, &out), 0);
	assert_document(
	    out, "[{\"title\": \"first\", \"pid\": 77, \"process\": \"rank 1, node (pid 7), GPU 1\", \"base_ns\": 900, "
		 "\"rows\": [[8, 0, 200, 250, 300, 360, 100, 4, 2, null], "
		 "[0, -1, null, null, null, null, 0, 5, 0, null], [9, -1, null, null, 410, 420, 400, 6, 0, 4096]]}, "
		 "{\"title\": \"second\", \"pid\": null, \"process\": null, \"base_ns\": 300, "
		 "\"rows\": [[0, -1, 50, -300, 0, -300, 100, 0, 0, null]]}]");
	/* One GPU has no number; nor has a process whose GPUs are not known. */
	f->page.data->processes[1].gpus[0] = '\0';
	assert_int_equal(kc__html_windows_json(&f->page, &out), 0);
	assert_string_equal(json_string_value(json_object_get(json_array_get(out, 0), "process")),
			    "rank 1, node (pid 7)");
	json_decref(out);
	f->page.data->processes[1].gpus[0] = '1';
	f->page.data->device_count = 1;
	assert_int_equal(kc__html_windows_json(&f->page, &out), 0);
	assert_string_equal(json_string_value(json_object_get(json_array_get(out, 0), "process")),
			    "rank 1, node (pid 7)");
	json_decref(out);
}

static void put_launches(struct fixture *f, uint32_t pid, uint64_t first, uint64_t count)
{
	begin(f, pid, 1);
	for (uint64_t i = 0; i < count; i++) {
		const struct kc_slot slot = make_launch(first + i, 1, (int64_t)i * 1000, 100, 120);

		assert_int_equal(kc_store_slot(f->store, &slot), 0);
	}
	assert_int_equal(kc_store_commit(f->store), 0);
}

static void assert_window(const struct fixture *f, size_t n, const char *title, int64_t process, int64_t first,
			  size_t count)
{
	const struct kc_sample_launch *all = f->page.windows[n].sample.launches.at;

	assert_string_equal(f->page.windows[n].title, title);
	assert_int_equal(f->page.windows[n].sample.launches.count, count);
	assert_int_equal(all[0].process, process);
	assert_int_equal(all[0].sequence, first);
	assert_int_equal(all[count - 1].sequence, first + (int64_t)count - 1);
}

/* Of the process with most launches, 1,500 from number 10 on: 700 from the first on, and from the middle one, 760, on.
 * Of a launch that lost most time, 175 before it. */
static void parts_of_the_timeline(void **state)
{
	struct fixture *f = *state;

	put_launches(f, 41, 10, 400);
	put_launches(f, 42, 10, 1500);
	put_launches(f, 43, 10, 1499);
	f->page.lost_process = 3;
	f->page.lost_sequence = 10 + 300;
	assert_int_equal(kc__html_samples(&f->page), 0);
	assert_int_equal(f->page.drawn.launches.count, 400 + 1500 + 1499);
	assert_int_equal(f->page.window_count, 3);
	assert_window(f, 0, "the beginning", 2, 10, 700);
	assert_window(f, 1, "the middle", 2, 760, 700);
	assert_window(f, 2, "around the launch that lost most", 3, 135, 700);
}

/* The middle is in the first part; the launch that lost most is among the first ones. */
static void few_launches(void **state)
{
	struct fixture *f = *state;

	put_launches(f, 41, 10, 1399);
	f->page.lost_process = 1;
	f->page.lost_sequence = 100;
	assert_int_equal(kc__html_samples(&f->page), 0);
	assert_int_equal(f->page.window_count, 2);
	assert_window(f, 0, "the beginning", 1, 10, 700);
	assert_window(f, 1, "around the launch that lost most", 1, 10, 700);
}

static void no_launches(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(kc__html_samples(&f->page), 0);
	assert_int_equal(f->page.window_count, 0);
}

/* Alone 100 ns, then beside another 150 ns, predicted 1.5 times as long. */
static void slowdowns(void **state)
{
	struct fixture *f = *state;
	json_t *out;

	begin(f, 42, 1);
	for (uint64_t i = 0; i < 2; i++) {
		struct kc_slot slot = make_launch(10 + i, 1, (int64_t)i * 10000, 100, i ? 150 : 100);

		slot.launch.overlap = i ? KC_OVERLAP_BEHIND : KC_OVERLAP_NONE;
		slot.launch.concurrency_case = i ? KC_CASE_A : KC_CASE_ALONE;
		slot.launch.slowdown = i ? 1.5f : 1;
		assert_int_equal(kc_store_slot(f->store, &slot), 0);
	}
	assert_int_equal(kc_store_commit(f->store), 0);
	give_kernels_of_store(f, 1);
	assert_int_equal(kc__html_slowdowns_json(&f->page, &out), 0);
	assert_int_equal(json_array_size(out), 1);
	for (size_t i = 0; i < 4; i++) {
		static const json_int_t expected[] = {0, KC_CASE_A, KC_OVERLAP_BEHIND, 1};

		assert_int_equal(json_integer_value(json_array_get(json_array_get(out, 0), i)), expected[i]);
	}
	assert_float_equal(json_number_value(json_array_get(json_array_get(out, 0), 4)), 1.5, 1e-6);
	assert_float_equal(json_number_value(json_array_get(json_array_get(out, 0), 5)), 1.5, 0.015); /* kept to 1 % */
	json_decref(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(as_many_rows_as_there_is_room_for, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(rows_that_there_is_room_for, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(names_that_are_not_told, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(long_names, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(lines_of_lambda, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(lines_that_are_shown, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(drawn_launches, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(windows_of_the_timeline, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(parts_of_the_timeline, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(few_launches, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(no_launches, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(slowdowns, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
