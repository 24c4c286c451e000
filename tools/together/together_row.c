#include "together_row.h"

#include "tools/output/format.h"

#include <math.h>
#include <stdio.h>

#define FIELD(key, head, unit, member, ...) KC_FIELD_OF(struct kc_together_row, key, head, unit, member, __VA_ARGS__)

#define PREDICTED                                                                                                      \
	FIELD(NULL, "pair", TEXT, label, 0, ""), FIELD("first", NULL, NAME, first, 0),                                 \
	    FIELD("second", NULL, NAME, second, 0), FIELD("first_ns", NULL, NS, first_ns, 0),                          \
	    FIELD("second_ns", NULL, NS, second_ns, 0), FIELD("serial_ns", "in turn", NS, serial_ns, 0),               \
	    FIELD("together_ns", NULL, NS, ns, 0), FIELD("together_low_ns", "together", NS, low_ns, 0),                \
	    FIELD("together_high_ns", "to", NS, high_ns, 0), FIELD("gain", NULL, PERCENT, gain, 0),                    \
	    FIELD("gain_low", "gain", PERCENT, gain_low, 0), FIELD("gain_high", "to", PERCENT, gain_high, 0),          \
	    FIELD("answer", "better", TEXT, answer, 0), FIELD("why", NULL, TEXT, why, 0),                              \
	    FIELD("first_resource", NULL, TEXT, first_resource, 0),                                                    \
	    FIELD("first_share", NULL, PERCENT, first_share, 0),                                                       \
	    FIELD("second_resource", NULL, TEXT, second_resource, 0),                                                  \
	    FIELD("second_share", NULL, PERCENT, second_share, 0), FIELD("first_bytes", NULL, BYTES, first_bytes, 0),  \
	    FIELD("second_bytes", NULL, BYTES, second_bytes, 0), FIELD("cache_bytes", NULL, BYTES, cache_bytes, 0)

static const struct kc_field predicted[] = {PREDICTED, FIELD("note", NULL, NOTE, note, 0)};
static const struct kc_field with_measured[] = {
    PREDICTED,
    FIELD("measured", "measured", COUNT64, measured, 0),
    FIELD("measured_by_themselves", NULL, COUNT64, by_themselves, 0),
    FIELD("measured_gain", "gain then", PERCENT, measured_gain, 0),
    FIELD("note", NULL, NOTE, note, 0),
};

const struct kc_fields kc_together_fields = KC_FIELDS(predicted, struct kc_together_row);
const struct kc_fields kc_together_measured_fields = KC_FIELDS(with_measured, struct kc_together_row);

static double gain_of(const struct kc_together *t, double ns)
{
	return 1 - ns / t->serial_ns;
}

static void say_cache(const char *cache, const struct kc_together *t, char *out, size_t size)
{
	char first[KC_FORMAT_BYTES], second[KC_FORMAT_BYTES], all[KC_FORMAT_BYTES];

	snprintf(out, size, "both have %s and %s in %s, which holds %s: %s",
		 kc_format_bytes((uint64_t)t->held_bytes[0], first),
		 kc_format_bytes((uint64_t)t->held_bytes[1], second), cache,
		 kc_format_bytes((uint64_t)t->cache_bytes, all),
		 t->is_slower ? "slower than in turn" : "gain not known");
}

static void say_resources(const struct kc_together *t, const char *const names[2], char *out, size_t size)
{
	const char *first = kc_resource_name(t->resource[0]), *second = kc_resource_name(t->resource[1]);
	char share[KC_FORMAT_BYTES], other[KC_FORMAT_BYTES];

	kc_format_percent(100 * t->share[0], share);
	kc_format_percent(100 * t->share[1], other);
	if (t->why == KC_TOGETHER_SAME)
		snprintf(out, size, "both need %s: %s and %s", first, share, other);
	else if (t->resource[0] == t->resource[1])
		snprintf(out, size, "both need %s: %s and %s", first, share, other);
	else
		snprintf(out, size, "%s needs %s (%s), %s %s (%s)", names[0], first, share, names[1], second, other);
}

static void say_unknown(const struct kc_together *t, const char *const names[2], char *out, size_t size)
{
	if (t->is_unknown[0] && t->is_unknown[1])
		snprintf(out, size, "gain not known: what they need is not");
	else
		snprintf(out, size, "gain not known: what %s needs is not", names[!t->is_unknown[0]]);
}

static void say_why(const struct kc_together *t, const char *const names[2], char *out, size_t size)
{
	switch (t->why) {
	case KC_TOGETHER_APART:
	case KC_TOGETHER_SAME:
		say_resources(t, names, out, size);
		break;
	case KC_TOGETHER_TAIL:
		snprintf(out, size, "%s fills the GPU: only its tail overlaps", names[0]);
		break;
	case KC_TOGETHER_NO_ROOM:
		snprintf(out, size, "%s leaves no room, and its blocks end all at once", names[0]);
		break;
	case KC_TOGETHER_L1:
		say_cache("L1", t, out, size);
		break;
	case KC_TOGETHER_L2:
		say_cache("L2", t, out, size);
		break;
	default:
		say_unknown(t, names, out, size);
	}
}

/* One after the other, unless a gain is sure. */
static const char *answer_of(const struct kc_together *t)
{
	return gain_of(t, t->high_ns) >= KC_TOGETHER_LEAST_GAIN ? "together" : "in turn";
}

static int is_of_resources(const struct kc_together *t)
{
	return t->why == KC_TOGETHER_APART || t->why == KC_TOGETHER_SAME;
}

static int is_of_caches(const struct kc_together *t)
{
	return t->why == KC_TOGETHER_L1 || t->why == KC_TOGETHER_L2;
}

static void fill_why(struct kc_together_row *row, const struct kc_together *t)
{
	row->why = kc_together_why_key(t->why);
	row->first_resource = is_of_resources(t) ? kc_resource_key(t->resource[0]) : NULL;
	row->second_resource = is_of_resources(t) ? kc_resource_key(t->resource[1]) : NULL;
	row->first_share = is_of_resources(t) ? t->share[0] : NAN;
	row->second_share = is_of_resources(t) ? t->share[1] : NAN;
	row->first_bytes = is_of_caches(t) ? t->held_bytes[0] : NAN;
	row->second_bytes = is_of_caches(t) ? t->held_bytes[1] : NAN;
	row->cache_bytes = is_of_caches(t) ? t->cache_bytes : NAN;
}

void kc_together_row(struct kc_together_row *row, const struct kc_together *t, const struct kc_neighbour *first,
		     const struct kc_neighbour *second, const char *const names[2])
{
	row->first_ns = first->solo_ns;
	row->second_ns = second->solo_ns;
	row->serial_ns = t->serial_ns;
	row->ns = t->ns;
	row->low_ns = t->low_ns;
	row->high_ns = t->high_ns;
	row->gain = gain_of(t, t->ns);
	row->gain_low = gain_of(t, t->high_ns);
	row->gain_high = gain_of(t, t->low_ns);
	row->answer = answer_of(t);
	fill_why(row, t);
	row->measured_gain = NAN;
	snprintf(row->label_text, sizeof(row->label_text), "%s + %s", names[0], names[1]);
	row->label = row->label_text;
	say_why(t, names, row->note_text, sizeof(row->note_text));
	row->note = row->note_text;
}
