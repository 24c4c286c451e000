#include "tools/command.h"
#include "tools/system/database.h"
#include "experiment.h"
#include "tools/output/table.h"

#include <errno.h>
#include <string.h>

static const char *verdict_word(enum kc_verdict verdict)
{
	return verdict == KC_HOLDS ? "yes" : verdict == KC_FAILS ? "no" : "not measured";
}

static void add_claim(struct kc_table *table, const struct kc_claim *claim)
{
	char note[sizeof(claim->source) + sizeof(claim->why) + 32];

	kc_table_row(table,
		     (const char *const[]){claim->text, claim->paper, claim->here, verdict_word(claim->verdict)});
	snprintf(note, sizeof(note), "%s%s%s", claim->source, *claim->why ? "; " : "", claim->why);
	kc_table_note(table, note);
}

static int print_claims(const struct kc_finding *finding)
{
	static const struct kc_column columns[] = {
	    {"claim", KC_LEFT, 1}, {"paper", KC_LEFT, 0}, {"here", KC_LEFT, 0}, {"holds here", KC_LEFT, 0}, {0},
	};
	struct kc_table table;
	int rc;

	kc_table_init(&table, columns);
	for (uint32_t i = 0; i < finding->claim_count; i++)
		add_claim(&table, &finding->claims[i]);
	rc = kc_table_print(&table, stdout, 2, kc_page_width());
	kc_table_free(&table);
	return rc;
}

static void print_checks(const struct kc_observations *evidence)
{
	uint32_t right = 0, wrong = 0;

	for (uint32_t i = 0; i < evidence->step_count; i++) {
		right += evidence->steps[i].right;
		wrong += evidence->steps[i].wrong;
	}
	if (right + wrong)
		printf("  Results: %u right, %u WRONG.\n", right, wrong);
	if (evidence->unmeasured)
		printf("  %u launches were not measured.\n", evidence->unmeasured);
}

static void print_figures(const struct kc_shown *shown)
{
	if (*shown->figures[0])
		printf("  Figure: %s, %s\n", kc_database_shown(shown->figures[0]), strrchr(shown->figures[1], '/') + 1);
}

int kc_shown_text(const struct kc_shown *shown)
{
	const struct kc_observations *evidence = shown->evidence;

	if (evidence->simulated)
		puts("SIMULATED: these times come from a stand-in device, not from a GPU.");
	printf("%s: %s\n", shown->experiment->name, shown->experiment->title);
	kc_print_wrapped(shown->experiment->paper, 2);
	printf("  on %s; %u of %u steps measured, in %s\n",
	       evidence->step_count ? evidence->device.name : "no device yet", evidence->step_count, evidence->planned,
	       kc_database_shown(shown->database));
	if (print_claims(shown->finding) < 0)
		return kc_failed(-ENOMEM);
	if (*shown->finding->note)
		kc_print_wrapped(shown->finding->note, 2);
	print_checks(evidence);
	print_figures(shown);
	putchar('\n');
	return KC_EXIT_OK;
}
