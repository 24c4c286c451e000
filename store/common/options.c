#include "options.h"

#include "store/common/job/job.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <regex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static const struct kc_option_info table[KC_OPTION_COUNT] = {
#define KC_OPTION_ROW(field, env, flag, arg, value, help) [KC_OPTION_##field] = {#field, env, flag, arg, value, help},
    KC_OPTION_TABLE(KC_OPTION_ROW)
#undef KC_OPTION_ROW
};

const struct kc_option_info *kc_option_info(enum kc_option option)
{
	return (unsigned)option < KC_OPTION_COUNT ? &table[option] : NULL;
}

int kc_parse_bytes(const char *text, uint64_t *bytes)
{
	unsigned shift = 0;
	char *end;
	unsigned long long value;

	if (!text || !isdigit((unsigned char)text[0]))
		return -EINVAL;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno)
		return -EINVAL;
	switch (toupper((unsigned char)*end)) {
	case 'K':
		shift = 10;
		break;
	case 'M':
		shift = 20;
		break;
	case 'G':
		shift = 30;
		break;
	}
	if (shift)
		end++;
	if (*end || value > UINT64_MAX >> shift)
		return -EINVAL;
	*bytes = (uint64_t)value << shift;
	return 0;
}

static int parse_flag(const char *text, int *out)
{
	static const char *const yes[] = {"1", "yes", "true", "on"};
	static const char *const no[] = {"0", "no", "false", "off"};

	for (size_t i = 0; i < 4; i++) {
		if (!strcasecmp(text, yes[i]) || !strcasecmp(text, no[i])) {
			*out = !strcasecmp(text, yes[i]);
			return 0;
		}
	}
	return -EINVAL;
}

static int parse_measure(const char *text, enum kc_measure *out)
{
	if (!strcmp(text, "all"))
		*out = KC_MEASURE_ALL;
	else if (!strcmp(text, "kernels"))
		*out = KC_MEASURE_KERNELS;
	else if (!strcmp(text, "adaptive"))
		*out = KC_MEASURE_ADAPTIVE;
	else if (!strcmp(text, "off"))
		*out = KC_MEASURE_NOTHING;
	else
		return -EINVAL;
	return 0;
}

static int parse_graphs(const char *text, enum kc_graphs *out)
{
	*out = !strcmp(text, "whole") ? KC_GRAPHS_WHOLE : KC_GRAPHS_NODES;
	return *out == KC_GRAPHS_WHOLE || !strcmp(text, "nodes") ? 0 : -EINVAL;
}

static int parse_ms(const char *text, uint32_t *out)
{
	uint64_t value;

	if (kc_parse_bytes(text, &value) || value > INT_MAX || !isdigit((unsigned char)text[strlen(text) - 1]))
		return -EINVAL;
	*out = (uint32_t)value;
	return 0;
}

/* 10 s at most: the application waits. */
static int parse_wait(const char *text, int64_t *out)
{
	int64_t ns;

	*out = 0;
	if (!strcmp(text, "0"))
		return 0;
	if (kc_parse_duration(text, &ns) || ns > 10000000000ll)
		return -EINVAL;
	*out = ns;
	return 0;
}

/* Not so often that the answers take a part of the time. */
static int parse_interval(const char *text, int64_t *out)
{
	int64_t ns;

	*out = 0;
	if (!strcmp(text, "off"))
		return 0;
	if (kc_parse_duration(text, &ns) || ns < 10000000ll || ns > 86400000000000ll)
		return -EINVAL;
	*out = ns;
	return 0;
}

static int copy_text(const char *text, char *out, size_t size)
{
	if (strlen(text) >= size)
		return -EINVAL;
	strcpy(out, text);
	return 0;
}

static int parse_path(const char *text, char *out, size_t size)
{
	char directory[PATH_MAX];
	int n;

	if (text[0] == '/')
		return copy_text(text, out, size);
	if (!text[0] || !getcwd(directory, sizeof(directory)))
		return -EINVAL;
	n = snprintf(out, size, "%s/%s", strcmp(directory, "/") ? directory : "", text);
	if (n < 0 || (size_t)n >= size) {
		out[0] = 0;
		return -EINVAL;
	}
	return 0;
}

static int parse_regex(const char *text, char *out, size_t size)
{
	regex_t regex;

	/* First: regcomp() takes more stack for every parenthesis. */
	if (copy_text(text, out, size))
		return -EINVAL;
	if (!text[0])
		return 0;
	if (regcomp(&regex, text, REG_EXTENDED | REG_NOSUB)) {
		out[0] = 0;
		return -EINVAL;
	}
	regfree(&regex);
	return 0;
}

static int parse_every(const char *text, uint32_t *out)
{
	struct kc_extent n;

	if (kc_parse_extent(text, &n) || n.ns || !n.launches || n.launches > INT_MAX)
		return -EINVAL;
	*out = (uint32_t)n.launches;
	return 0;
}

static int parse_extent(const char *text, struct kc_extent *out)
{
	*out = (struct kc_extent){0};
	return text[0] ? kc_parse_extent(text, out) : 0;
}

static int parse_optional_path(const char *text, char *out, size_t size)
{
	out[0] = 0;
	return text[0] ? parse_path(text, out, size) : 0;
}

static int parse_signal(const char *text, int *out)
{
	*out = !strcasecmp(text, "usr1") ? SIGUSR1 : !strcasecmp(text, "usr2") ? SIGUSR2 : 0;
	return *out || !text[0] ? 0 : -EINVAL;
}

static int parse(struct kc_options *options, enum kc_option option, const char *text)
{
	switch (option) {
	case KC_OPTION_db:
		return parse_path(text, options->db, sizeof(options->db));
	case KC_OPTION_measure:
		return parse_measure(text, &options->measure);
	case KC_OPTION_graphs:
		return parse_graphs(text, &options->graphs);
	case KC_OPTION_journal_max:
		return kc_parse_bytes(text, &options->journal_max_bytes);
	case KC_OPTION_flush_ms:
		return parse_ms(text, &options->flush_ms);
	case KC_OPTION_cupti:
		return copy_text(text, options->cupti, sizeof(options->cupti));
	case KC_OPTION_fresh:
		return parse_flag(text, &options->fresh);
	case KC_OPTION_prior:
		return parse_optional_path(text, options->prior, sizeof(options->prior));
	case KC_OPTION_caches:
		return parse_flag(text, &options->caches);
	case KC_OPTION_wait_ns:
		return parse_wait(text, &options->wait_ns);
	case KC_OPTION_gpu_state_ns:
		return parse_interval(text, &options->gpu_state_ns);
	case KC_OPTION_quiet:
		return parse_flag(text, &options->quiet);
	case KC_OPTION_kernel:
		return parse_regex(text, options->kernel, sizeof(options->kernel));
	case KC_OPTION_every:
		return parse_every(text, &options->every);
	case KC_OPTION_after:
		return parse_extent(text, &options->after);
	case KC_OPTION_lasting:
		return parse_extent(text, &options->lasting);
	case KC_OPTION_gate:
		return parse_optional_path(text, options->gate, sizeof(options->gate));
	case KC_OPTION_toggle:
		return parse_signal(text, &options->toggle);
	case KC_OPTION_keep:
		options->keep = (struct kc_keep){0};
		return text[0] ? kc_parse_keep(text, &options->keep) : 0;
	case KC_OPTION_ranks:
		if (text[0] && kc_ranks_check(text))
			return -EINVAL;
		return copy_text(text, options->ranks, sizeof(options->ranks));
	case KC_OPTION_command:
		return copy_text(text, options->command, sizeof(options->command));
	case KC_OPTION_run:
		return copy_text(text, options->run, sizeof(options->run));
	case KC_OPTION_caller:
		return copy_text(text, options->caller, sizeof(options->caller));
	case KC_OPTION_unnamed:
		return parse_flag(text, &options->unnamed);
	case KC_OPTION_disable:
		return parse_flag(text, &options->disable);
	case KC_OPTION_COUNT:
		break;
	}
	return -EINVAL;
}

int kc_option_check(enum kc_option option, const char *text)
{
	struct kc_options scratch;

	return parse(&scratch, option, text);
}

const char *kc_option_values(enum kc_option option)
{
	return table[option].arg ? table[option].arg : "0 or 1";
}

const char kc_option_whole_adaptive[] = "--graphs=whole does not go with --measure=adaptive, which decides by the "
					"times of single kernels (KERNCAST_GRAPHS, "
					"KERNCAST_MEASURE)";

int kc_options_read(struct kc_options *options, char *why, size_t why_size)
{
	int result = 0, by_default = 0;

	memset(options, 0, sizeof(*options));
	if (why_size)
		why[0] = 0;
	for (unsigned i = 0; i < KC_OPTION_COUNT; i++) {
		const char *text = getenv(table[i].env);
		int missing = parse(options, i, table[i].value);

		/* An empty variable is treated as one that is not set. */
		if (text && text[0] && parse(options, i, text) == 0)
			continue;
		by_default |= i == KC_OPTION_db;
		if (!missing && !(text && text[0]))
			continue;
		if (!missing)
			parse(options, i, table[i].value);
		if (!result)
			snprintf(why, why_size, "invalid value for %s: \"%.100s\" (expected %s); using %s",
				 table[i].env, text ? text : "", kc_option_values(i),
				 missing || !table[i].value[0] ? "nothing" : table[i].value);
		result = -EINVAL;
	}
	options->unnamed |= by_default;
	if (options->graphs == KC_GRAPHS_WHOLE && options->measure == KC_MEASURE_ADAPTIVE) {
		options->graphs = KC_GRAPHS_NODES;
		if (!result)
			snprintf(why, why_size, "%s", kc_option_whole_adaptive);
		result = -EINVAL;
	}
	return result;
}
