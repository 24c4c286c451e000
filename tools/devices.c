#include "command.h"
#include "tools/input/common_options.h"
#include "tools/system/database.h"
#include "tools/input/device_spec.h"
#include "tools/output/json.h"
#include "tools/output/table.h"

#include "store/query/query.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct argp_option options[] = {
    KC_JSON_OPTION,
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	return kc_common_option(state->input, key, arg, state);
}

/* "-": not known. unit: how many of the value make one of the column. */
static void put(char *text, size_t size, uint64_t value, double unit)
{
	if (value)
		snprintf(text, size, "%.0f", (double)value / unit);
	else
		snprintf(text, size, "-");
}

/* GPUs of less than 1 GiB do not exist any more, but files may tell of them. */
static void put_gib(char *text, size_t size, uint64_t bytes)
{
	double gib = (double)bytes / (1u << 30);

	if (bytes && gib < 10)
		snprintf(text, size, "%.1f", gib);
	else
		put(text, size, bytes, 1u << 30);
}

static void add_row(struct kc_table *table, const char *alias, const struct kc_device *d)
{
	char cc[24] = "-", sms[16], clock[16], bandwidth[32], memory[32], shared[32];

	if (d->cc_major)
		snprintf(cc, sizeof(cc), "%u.%u", d->cc_major, d->cc_minor);
	put(sms, sizeof(sms), d->sm_count, 1);
	put(clock, sizeof(clock), d->clock_khz, 1000);
	put(bandwidth, sizeof(bandwidth), d->memory_bytes_per_s, 1e9);
	put_gib(memory, sizeof(memory), d->memory_bytes);
	put(shared, sizeof(shared), d->shared_per_sm_bytes, 1024);
	kc_table_row(table, (const char *const[]){d->name, alias, cc, sms, clock, bandwidth, memory, shared});
}

/* predictor/prior/README.md has the figures. */
static const char prior_card[] =
    "First guesses of kernels that were never measured and whose code is not known were learned from PyTorch "
    "programs on V100, A100, P100 and RTX 2080 Ti. Of other recorded programs, half of the first launches were "
    "predicted at least 42 % too long or too short, on H100 and B200 34 %. Long matrix products and attention come out "
    "too short. Kernels that are not of PyTorch, Triton, cuBLAS, cuDNN or CUTLASS have a guess by the device's speed "
    "alone. GPUs older than Pascal and Jetsons were not among those that the guesses were tried on.";

static int print_table(const struct kc_device_row *rows, size_t count)
{
	static const struct kc_column columns[] = {
	    {"device", KC_LEFT, 1}, {"--device", KC_LEFT, 0}, {"cc", KC_RIGHT, 0},
	    {"SMs", KC_RIGHT, 0},   {"MHz", KC_RIGHT, 0},     {"GB/s", KC_RIGHT, 0},
	    {"GiB", KC_RIGHT, 0},   {"KiB/SM", KC_RIGHT, 0},  {0},
	};
	const struct kc_device *builtin;
	struct kc_table table;

	kc_table_init(&table, columns);
	for (size_t i = 0; i < count; i++)
		add_row(&table, "(recorded)", &rows[i].device);
	for (unsigned i = 0; (builtin = kc_device_builtin_at(i)); i++)
		add_row(&table, kc_device_builtin_alias(i), builtin);
	if (kc_table_finish(&table, 0))
		return KC_EXIT_FAILED;
	putchar('\n');
	kc_print_wrapped(prior_card, 0);
	return kc_output_finish();
}

/* A 0 is mostly an attribute that nobody told. Some are 0 by the compute capability; a driver may tell of no copy
 * engine. A damaged row can have more than any device (kc__device_row_read). */
static int is_known(const struct kc_device *d, const char *field, uint64_t value, int by_driver)
{
	static const char *const may_be_0[] = {"cc_minor", "shared_per_block_optin_bytes",
					       "shared_reserved_per_block_bytes"};

	if (value)
		return value <= INT64_MAX;
	for (size_t i = 0; i < sizeof(may_be_0) / sizeof(may_be_0[0]); i++) {
		if (!strcmp(field, may_be_0[i]))
			return d->cc_major != 0;
	}
	return by_driver && !strcmp(field, "copy_engines");
}

static json_t *describe(const struct kc_device *d, int by_driver)
{
	json_t *out = json_object();
	const char *field;
	uint64_t value;

	json_object_set_new(out, "name", kc_json_text(d->name));
	for (unsigned i = 0; (field = kc_device_field(d, i, &value)); i++)
		json_object_set_new(
		    out, field, is_known(d, field, value, by_driver) ? json_integer((json_int_t)value) : json_null());
	json_object_set_new(out, "simulated", json_boolean(d->simulated));
	return out;
}

static int print_json(const struct kc_device_row *rows, size_t count)
{
	json_t *out = kc_json_document("devices", 1), *recorded = json_array(), *builtins = json_array();
	const struct kc_device *builtin;

	for (size_t i = 0; i < count; i++) {
		uint32_t version = rows[i].driver_version;
		json_t *one = describe(&rows[i].device, version != 0);

		json_object_set_new(one, "id", json_integer(rows[i].id));
		json_object_set_new(one, "driver_version", version ? json_integer(version) : json_null());
		json_array_append_new(recorded, one);
	}
	for (unsigned i = 0; (builtin = kc_device_builtin_at(i)); i++) {
		json_t *one = describe(builtin, 0);

		json_object_set_new(one, "short_name", kc_json_text(kc_device_builtin_alias(i)));
		json_object_set_new(one, "source", kc_json_text(kc_device_builtin_source(i)));
		json_array_append_new(builtins, one);
	}
	json_object_set_new(out, "recorded", recorded);
	json_object_set_new(out, "built_in", builtins);
	return kc_json_print(out);
}

static int devices_main(int argc, char **argv, const struct kc_command *self)
{
	struct kc_common_options asked = {.may_be_several = 1};
	struct kc_device_row *rows = NULL;
	struct kc_store *store = NULL;
	char path[PATH_MAX];
	size_t count = 0;
	int rc = 0, status = KC_EXIT_FAILED;

	kc_output_guard();
	kc_command_parse(self, argc, argv, 0, parse, &asked);
	kc_database_path(kc_common_database(&asked), path, sizeof(path));
	if (asked.database || access(path, F_OK) == 0) { /* without a database, only built-in devices are listed */
		store = kc_database_read(path);
		if (!store)
			return KC_EXIT_FAILED;
		rc = kc_query_devices(store, &rows, &count);
	}
	if (rc < 0)
		kc_database_unreadable(path, rc);
	else
		status = asked.json ? print_json(rows, count) : print_table(rows, count);
	free(rows);
	kc_store_close(store);
	return status;
}

const struct kc_command kc_command_devices = {
    .group = KC_GROUP_TUNE,
    .name = "devices",
    .summary = "lists known devices, recorded and built-in",
    .arguments = "[DB...]",
    .options = options,
    .run = devices_main,
    .manual =
	"Lists the devices recorded in the databases, if there are any, and the built-in ones, with the short names\n"
	"that the option\n"
	".Fl -device\n"
	"of other commands takes.\n"
	"That option also takes full names, in upper or lower case, and parts of names that fit one device only:\n"
	".Dq RTX 4090 ,\n"
	".Dq 4090 ,\n"
	".Dq a100-80 .\n",
};
