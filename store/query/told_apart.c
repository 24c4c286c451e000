#include "told_apart.h"
#include "predictor/math/order.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct member {
	struct kc_namesake *of;
	const char *trait;
	size_t part; /* of those with its name: the members that no trait so far tells apart have the same */
};

KC_ORDER(by_name, struct member, strcmp(*x->of->name, *y->of->name))

KC_ORDER(by_part_and_trait, struct member, KC_UP(part) ?: strcmp(x->trait, y->trait))

/* Divides the parts by one more trait. Returns how many there are then. */
static size_t divide(struct member *members, size_t count, unsigned trait)
{
	size_t part = 0;

	for (size_t i = 0; i < count; i++)
		members[i].trait = members[i].of->traits[trait] ? members[i].of->traits[trait] : "";
	qsort(members, count, sizeof(*members), by_part_and_trait);
	for (size_t i = 0, old; i < count; i++) {
		bool is_another =
		    i > 0 && (members[i].part != old || strcmp(members[i].trait, members[i - 1].trait) != 0);

		old = members[i].part;
		part += is_another;
		members[i].part = part;
	}
	return part + 1;
}

/* used: bits of the traits that are told. */
static int rename_one(struct kc_namesake *one, unsigned used)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);
	bool any = false;

	if (!to)
		return -ENOMEM;
	fputs(*one->name, to);
	for (unsigned trait = 0; trait < KC_TRAITS; trait++) {
		if (!(used & 1u << trait) || !one->traits[trait] || !*one->traits[trait])
			continue;
		fputs(any ? ", " : " [", to);
		fputs(one->traits[trait], to);
		any = true;
	}
	if (any)
		fputc(']', to);
	if (fclose(to) != 0) {
		free(text);
		return -ENOMEM;
	}
	free(*one->name);
	*one->name = text;
	return 0;
}

static int rename_all(struct member *members, size_t count)
{
	unsigned used = 0;
	size_t parts = 1;
	int rc = 0;

	for (size_t i = 0; i < count; i++)
		members[i].part = 0;
	for (unsigned trait = 0; trait < KC_TRAITS && parts < count; trait++) {
		size_t divided = divide(members, count, trait);

		used |= divided > parts ? 1u << trait : 0;
		parts = divided;
	}
	for (size_t i = 0; rc == 0 && used && i < count; i++)
		rc = rename_one(members[i].of, used);
	return rc;
}

int kc_tell_apart(struct kc_namesake *all, size_t count)
{
	struct member *members = calloc(count + 1, sizeof(*members));
	int rc = members ? 0 : -ENOMEM;

	for (size_t i = 0; members && i < count; i++)
		members[i].of = all + i;
	if (members && count)
		qsort(members, count, sizeof(*members), by_name);
	for (size_t from = 0, to; rc == 0 && from < count; from = to) {
		for (to = from + 1; to < count && by_name(members + to, members + from) == 0;)
			to++;
		if (to - from > 1)
			rc = rename_all(members + from, to - from);
	}
	free(members);
	return rc;
}
