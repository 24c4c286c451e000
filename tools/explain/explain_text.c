#include "tools/command.h"
#include "explain.h"
#include "tools/output/format.h"
#include "tools/output/table.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define LABEL_WIDTH 16                    /* the longest name of a counter is shared_requests */
#define EXACT_INTEGERS 9007199254740992.0 /* 2^53: from here on a double may skip integers */

/* Prints a label and words, wrapped at blanks; further lines are aligned with the first word. */
static void put_wrapped(unsigned indent, const char *label, const char *text)
{
	size_t begin = indent + LABEL_WIDTH + 2, column = begin, width = kc_page_width();

	printf("%*s%-*s  ", (int)indent, "", LABEL_WIDTH, label);
	for (const char *word = text; *word;) {
		size_t length = strcspn(word, " ");

		if (column > begin && column + length > width) {
			printf("\n%*s", (int)begin, "");
			column = begin;
		}
		printf("%.*s", (int)length, word);
		column += length + 1;
		word += length;
		if (*word == ' ' && column + strcspn(word + 1, " ") <= width)
			putchar(' ');
		word += *word == ' ';
	}
	putchar('\n');
}

static int put_header(const struct kc_explanation *explanation)
{
	char architectures[256], note[KC_EXPLAIN_WHY_BYTES], kernels[KC_FORMAT_BYTES];

	kc_explain_architectures(&explanation->images, architectures, sizeof(architectures));
	printf("%s: %s kernel%s; GPU code for %s; shown is the code that %s%s%u.%u would load\n", explanation->path,
	       kc_format_count(explanation->kernel_count, kernels), explanation->kernel_count == 1 ? "" : "s",
	       architectures, explanation->device ? explanation->device->name : "a device",
	       explanation->device ? ", compute capability " : " of compute capability ", explanation->sm / 10,
	       explanation->sm % 10);
	for (uint32_t i = 0; kc_explain_note(explanation, i, note); i++) {
		if (note[0])
			printf("  %s\n", note);
	}
	return 0;
}

static void put_code(const struct kc_explained *kernel)
{
	const struct kc_cubin_kernel *code = kernel->entry->code;
	char size[KC_FORMAT_BYTES], shared[KC_FORMAT_BYTES], frame[KC_FORMAT_BYTES];

	if (kernel->entry->has_ptx)
		printf("PTX for compute_%u", kernel->ptx_target);
	if (code)
		printf("%ssm_%u code of %s: %u registers per thread, %s shared memory per block, %s stack per thread",
		       kernel->entry->has_ptx ? "; " : "", kernel->entry->code_sm,
		       kc_format_bytes(code->code_bytes, size), code->registers,
		       kc_format_bytes(code->static_shared_bytes, shared), kc_format_bytes(code->local_bytes, frame));
	putchar('\n');
}

/* For kernels without PTX. */
static void put_instructions(const struct kc_sass *sass)
{
	static const char *const reaches[] = {
	    [KC_SASS_STATIC] = "how often a thread executes each is not known",
	    [KC_SASS_AT_MOST] = "a thread executes each at most once",
	    [KC_SASS_EXACT] = "a thread executes each once",
	};
	char text[KC_SASS_CLASS_COUNT * 32];
	size_t used = 0;

	if (!sass->known)
		return;
	for (uint32_t i = 0; i < KC_SASS_CLASS_COUNT && used < sizeof(text); i++) {
		if (sass->of[i])
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %u", used ? ", " : "",
						 kc_sass_class_name(i), sass->of[i]);
	}
	put_wrapped(2, "instructions", used ? text : "none");
	put_wrapped(2, "", reaches[sass->reach]);
}

static void put_params(const struct kc_explained *kernel)
{
	char text[KC_EXPLAIN_ARGUMENTS * 24];
	int has_ptx = kernel->entry->has_ptx;
	uint32_t count = has_ptx ? kernel->param_count : kernel->entry->code->param_count;
	size_t used = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < count && used < sizeof(text); i++) {
		const char *gap = i ? "  " : "";

		if (has_ptx && !kernel->params[i].is_array)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%sp%u:%s", gap, i,
						 kc_explain_type(&kernel->params[i]));
		else
			used +=
			    (size_t)snprintf(text + used, sizeof(text) - used, "%sp%u:%u-bytes", gap, i,
					     has_ptx ? kernel->params[i].bytes : kernel->entry->code->params[i].bytes);
	}
	put_wrapped(2, "parameters", count ? text : "none");
}

static void put_loops(const struct kc_cost_story *story)
{
	for (uint32_t i = 0; i < story->loop_count; i++) {
		const struct kc_cost_loop *loop = &story->loops[i];
		char label[KC_FORMAT_BYTES];

		snprintf(label, sizeof(label), "%*sloop k%u", (int)(loop->depth < 4 ? loop->depth : 4) * 2, "", i);
		put_wrapped(2, label, loop->trips);
	}
}

static void put_formula(const struct kc_cost_story *story)
{
	puts("  per thread:");
	for (uint32_t i = 0; i < KC_COUNTER_COUNT; i++) {
		if (strcmp(story->formula[i], "0") != 0)
			put_wrapped(4, kc_cost_counter_name(i), story->formula[i]);
	}
}

static void put_unknown(const struct kc_cost_story *story)
{
	for (uint32_t i = 0; i < story->unknown_count; i++) {
		const struct kc_cost_unknown *unknown = &story->unknown[i];

		put_wrapped(2, "unknown", unknown->what);
		put_wrapped(2, "  assumed", unknown->assumed);
	}
}

static char *format_total(double total, char out[static KC_FORMAT_BYTES])
{
	if (total < EXACT_INTEGERS)
		return kc_format_count((uint64_t)llround(total), out);
	snprintf(out, KC_FORMAT_BYTES, "%.6g", total);
	return out;
}

static void put_counts_table(const struct kc_counts *counts)
{
	static const struct kc_column columns[] = {
	    {"in this launch", KC_LEFT, 0}, {"per thread", KC_RIGHT, 0}, {"total", KC_RIGHT, 0}, {0}};
	char each[KC_FORMAT_BYTES], total[KC_FORMAT_BYTES];
	struct kc_table table;

	kc_table_init(&table, columns);
	for (uint32_t i = 0; i < KC_COUNTER_COUNT; i++) {
		if (counts->of[i] == 0)
			continue;
		snprintf(each, sizeof(each), "%.6g", counts->of[i]);
		format_total(counts->of[i] * counts->threads, total);
		kc_table_row(&table, (const char *const[]){kc_cost_counter_name(i), each, total});
	}
	kc_table_finish(&table, 4);
}

#define NEARLY 1.05 /* sectors or passes over their minimum: below this ratio nothing is to be gained */

static char *format_each(double value, char out[static KC_FORMAT_BYTES])
{
	snprintf(out, KC_FORMAT_BYTES, value < 10 && value > 0 ? "%.2f" : "%.1f", value);
	if (strlen(out) > 3 && out[strlen(out) - 1] == '0' && out[strlen(out) - 2] != '.')
		out[strlen(out) - 1] = '\0';
	return out;
}

static const char *coalescing(const struct kc_counts *counts)
{
	double sectors = counts->of[KC_COUNT_OF_SECTORS], least = counts->least_sectors;

	if (counts->scattered_sectors > (NEARLY - 1) * sectors)
		return "not coalesced";
	if (sectors * NEARLY < least)
		return "coalesced, and lanes share sectors";
	return sectors > least * NEARLY ? "dense but misaligned" : "coalesced";
}

static void put_memory_hints(const struct kc_counts *counts)
{
	double sectors = kc_counts_sectors_per_request(counts), requests = counts->of[KC_COUNT_OF_SHARED_REQUESTS],
	       degree = kc_counts_bank_conflict_degree(counts);
	char each[KC_FORMAT_BYTES], least[KC_FORMAT_BYTES], text[192];

	if (sectors > 0) {
		snprintf(text, sizeof(text), "%s sectors per request (minimum %s): %s", format_each(sectors, each),
			 format_each(kc_counts_least_sectors_per_request(counts), least), coalescing(counts));
		put_wrapped(4, "global loads and stores", text);
	}
	if (degree > 0 && requests > 0) {
		snprintf(text, sizeof(text), "%s passes per request (minimum %s): %s",
			 format_each(counts->of[KC_COUNT_OF_SHARED_PASSES] / requests, each),
			 format_each(counts->least_passes / requests, least),
			 degree <= NEARLY ? "no bank conflicts" : "bank conflicts");
		put_wrapped(4, "shared loads and stores", text);
	}
	if (counts->active_share > 0 && counts->active_share < 1) {
		snprintf(text, sizeof(text), "%.3g %% of a warp's lanes on average (divergence, partial warps)",
			 counts->active_share * 100);
		put_wrapped(4, "active lanes", text);
	}
	if (counts->longest_warp > NEARLY) {
		snprintf(text, sizeof(text), "%.3g times as many instructions as the mean of all",
			 counts->longest_warp);
		put_wrapped(4, "longest warp", text);
	}
}

static void put_counts(const struct kc_explanation *explanation, const struct kc_counts *counts)
{
	const struct kc_explain_launch *launch = explanation->launch;
	char threads[KC_FORMAT_BYTES];

	printf("  grid %u x %u x %u, block %u x %u x %u: %s threads; the counts are %s\n", launch->grid[0],
	       launch->grid[1], launch->grid[2], launch->block[0], launch->block[1], launch->block[2],
	       format_total(counts->threads, threads),
	       counts->exact     ? "exact"
	       : counts->assumed ? "based on the assumptions above"
				 : "estimated from samples of warps and iterations");
	put_counts_table(counts);
	put_memory_hints(counts);
}

static void put_times(const struct kc_explanation *explanation, const struct kc_explained *kernel)
{
	printf("  on %s, running alone, without launch overhead:\n", explanation->device->name);
	if (kc_models_print(&kernel->times, &kernel->counts, explanation->lambda, 4) < 0)
		kc_error("%s", strerror(ENOMEM));
}

static const char *refused_what(const struct kc_explained *kernel)
{
	if (!kernel->cost)
		return "no formula";
	return kernel->counted < 0 ? "not counted" : "no times";
}

static int put_kernel(const struct kc_explanation *explanation, const struct kc_explained *kernel)
{
	char why[KC_EXPLAIN_WHY_BYTES];

	printf("\n%s\n  ", kernel->readable);
	if (strcmp(kernel->readable, kernel->entry->name) != 0)
		printf("%s\n  ", kernel->entry->name);
	put_code(kernel);
	put_params(kernel);
	if (kernel->cost) {
		put_loops(&kernel->story);
		put_formula(&kernel->story);
		put_unknown(&kernel->story);
	}
	if (!kernel->entry->has_ptx)
		put_instructions(&kernel->entry->code->sass);
	if (kc_explain_refusal(kernel, why))
		put_wrapped(2, refused_what(kernel), why);
	if (kernel->counted == 1)
		put_counts(explanation, &kernel->counts);
	if (kernel->timed == 1)
		put_times(explanation, kernel);
	return 0;
}

static int put_what_is_missing(const struct kc_explanation *explanation)
{
	if (explanation->launch->given && !explanation->device)
		puts("\nFor predicted times, name a device: --device NAME|FILE (`kerncast devices` lists them)");
	else if (explanation->device && !explanation->launch->given)
		puts("\nFor counts and predicted times, give a launch: --grid, --block and --args");
	return kc_output_finish();
}

const struct kc_explain_form kc_explain_text = {put_header, put_kernel, put_what_is_missing};
