#include "places.h"

#include "store/database/schema.h"

#include <stdlib.h>

struct kc_slow_place *kc_slow_place_of(struct kc_slow_places *places, const struct kc_measured_moment *moment)
{
	const uint32_t key[] = {(uint32_t)(moment->id >> KC_SEQUENCE_BITS), moment->device};
	struct kc_slow_place *at = places->list.at;
	uint32_t number;

	if (places->list.count && at[places->latest].process == key[0] && at[places->latest].device == key[1])
		return at + places->latest;
	number = kc_intern(&places->ids, 'p', key, sizeof(key));
	if (!number || (number > places->list.count && !kc__list_add(&places->list, sizeof(*at))))
		return NULL;
	places->latest = number - 1;
	at = (struct kc_slow_place *)places->list.at + places->latest;
	at->process = key[0];
	at->device = key[1];
	at->launch = moment->id;
	return at;
}

const struct kc_slow_straggler_names *kc_slow_place_names(struct kc_store *s, int64_t run, struct kc_slow_place *place)
{
	const struct kc_slow_process of = {.process = place->process, .launch = place->launch};

	if (!place->names && (place->names = calloc(1, sizeof(*place->names))))
		kc_slow_straggler_name(s, run, &of, place->names);
	return place->names;
}

void kc_slow_places_free(struct kc_slow_places *places)
{
	for (size_t i = 0; i < places->list.count; i++)
		free(((struct kc_slow_place *)places->list.at)[i].names);
	free(places->list.at);
	kc_intern_free(&places->ids);
}
