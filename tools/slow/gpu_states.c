#include "gpu_states.h"
#include "tools/output/format.h"

#include "store/journal/journal.h"
#include "store/query/rows.h"
#include "predictor/math/order.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLOCK_LOWER 0.02      /* clocks waver by a step or two of 15 MHz */
#define TOLD 0.1              /* of the time */
#define STATES_MOST "1048576" /* of a run; a process has a sixteenth at most */

void kc_slow_gpu_state_compare(struct kc_slow_gpu_state *at, size_t count)
{
	for (size_t first = 0, end; first < count; first = end) {
		uint32_t highest_mhz = 0, fewest = UINT32_MAX;

		for (end = first; end < count && at[end].device == at[first].device; end++) {
			highest_mhz = at[end].sm_mhz > highest_mhz ? at[end].sm_mhz : highest_mhz;
			fewest = at[end].others < fewest ? at[end].others : fewest;
		}
		for (size_t i = first; i < end; i++) {
			at[i].highest_mhz = highest_mhz;
			at[i].fewest = fewest;
		}
	}
}

/* The state that the GPU had then; NULL: not known. */
static const struct kc_slow_gpu_state *held_at(const struct kc_slow_gpu_state *at, size_t count, int64_t device,
					       int64_t at_ns)
{
	size_t later = KC_FIRST(i, count, at[i].device > device || (at[i].device == device && at[i].at_ns > at_ns));

	return later && at[later - 1].device == device ? at + later - 1 : NULL;
}

static void add_clock(struct kc_slow_gpu_states *sums, const struct kc_slow_gpu_state *state, double lost_ns)
{
	double lower = state->highest_mhz ? 1 - (double)state->sm_mhz / state->highest_mhz : 0;

	if (!state->sm_mhz || lower <= CLOCK_LOWER)
		return;
	sums->lower = (sums->lower * sums->clock_ns + lower * lost_ns) / (sums->clock_ns + lost_ns);
	sums->clock_ns += lost_ns;
	if (state->slowed & (KC_SLOWED_THERMAL | KC_SLOWED_THERMAL_HARDWARE))
		sums->thermal_ns += lost_ns;
	else if (state->slowed & (KC_SLOWED_POWER_CAP | KC_SLOWED_POWER_BRAKE))
		sums->power_ns += lost_ns;
	else if (state->slowed & KC_SLOWED_HARDWARE)
		sums->hardware_ns += lost_ns;
}

void kc_slow_gpu_state_add(struct kc_slow_gpu_states *sums, const struct kc_slow_gpu_state *at, size_t count,
			   int64_t device, int64_t at_ns, double lost_ns)
{
	const struct kc_slow_gpu_state *held = held_at(at, count, device, at_ns);

	if (!held)
		return;
	sums->known_ns += lost_ns;
	add_clock(sums, held, lost_ns);
	if (held->others > held->fewest)
		sums->others_ns += lost_ns;
}

/* --- from the database */

static int add_state(sqlite3_stmt *row, void *arg)
{
	struct kc_slow_gpu_state *state = kc__list_add(arg, sizeof(*state));

	if (!state)
		return -ENOMEM;
	*state = (struct kc_slow_gpu_state){
	    .device = sqlite3_column_int64(row, 0),
	    .at_ns = sqlite3_column_int64(row, 1),
	    .sm_mhz = (uint32_t)sqlite3_column_int64(row, 2),
	    .slowed = sqlite3_column_int64(row, 3),
	    .others = (uint32_t)sqlite3_column_int64(row, 4),
	};
	return 0;
}

static int read_states(struct kc_store *store, int64_t run, struct kc__list *states)
{
	const struct kc_selection of_run = {run, run};

	return kc__select(
	    store, &of_run,
	    "SELECT g.device, p.started_ns + g.time_ns AS at, g.sm_mhz, g.slowed, g.others FROM gpu_state g"
	    " JOIN process p ON p.id = g.id >> 40 WHERE p.run BETWEEN ?1 AND ?2 ORDER BY g.device, at"
	    " LIMIT " STATES_MOST,
	    add_state, states);
}

/* The rows of the run's devices, by their numbers; asked for once for each. */
static int device_of(struct kc_store *store, const struct kc_measured_moment *moment, struct kc__list *devices,
		     int64_t *out)
{
	struct kc_measured_origin origin;
	int64_t *device;
	int rc;

	while (devices->count <= moment->device)
		if (!kc__list_add(devices, sizeof(*device)))
			return -ENOMEM;
	device = (int64_t *)devices->at + moment->device;
	if (!*device) {
		rc = kc_measured_origin(store, moment->id, &origin);
		if (rc < 0)
			return rc;
		*device = origin.device ? origin.device : -1;
	}
	*out = *device;
	return 0;
}

int kc_slow_gpu_states(struct kc_store *store, const struct kc_measured_run *run, const struct kc_slow *slow,
		       struct kc_slow_gpu_states *out)
{
	struct kc__list states = {0}, devices = {0};
	int rc = slow->causes[KC_SLOW_DRIFT].launches ? read_states(store, run->id, &states) : 0;

	*out = (struct kc_slow_gpu_states){0};
	kc_slow_gpu_state_compare(states.at, states.count);
	for (size_t i = 0; rc == 0 && states.count && i < slow->found_count; i++) {
		const struct kc_slow_found *found = slow->found + i;
		const struct kc_measured_moment *moment =
		    (const struct kc_measured_moment *)run->moments.at + found->place;
		int64_t device;

		if (!(found->parts_ns[KC_SLOW_DRIFT] > 0) || !moment->device)
			continue;
		rc = device_of(store, moment, &devices, &device);
		if (rc == 0)
			kc_slow_gpu_state_add(out, states.at, states.count, device, moment->start_ns,
					      found->parts_ns[KC_SLOW_DRIFT]);
	}
	free(states.at);
	free(devices.at);
	return rc;
}

/* --- in words */

static const char *why(const struct kc_slow_gpu_states *states)
{
	double most = fmax(states->power_ns, fmax(states->thermal_ns, states->hardware_ns));

	if (most < states->clock_ns / 2 || !(most > 0))
		return "";
	return most == states->power_ns     ? " (power cap)"
	       : most == states->thermal_ns ? " (thermal)"
					    : " (hardware slowdown)";
}

char *kc_slow_gpu_text(const struct kc_slow_gpu_states *states, char out[static KC_SLOW_WHY_BYTES])
{
	char lower[KC_FORMAT_BYTES], share[KC_FORMAT_BYTES];
	int used = 0;

	*out = '\0';
	if (states->clock_ns > TOLD * states->known_ns)
		used = snprintf(out, KC_SLOW_WHY_BYTES, "the GPU's clock was %s lower%s for %s of it",
				kc_format_percent(states->lower * 100, lower), why(states),
				kc_format_percent(states->clock_ns / states->known_ns * 100, share));
	if (states->others_ns > TOLD * states->known_ns)
		snprintf(out + used, KC_SLOW_WHY_BYTES - (size_t)used, "%sother processes used %s for %s%s",
			 used ? ", " : "", used ? "it" : "the GPU",
			 kc_format_percent(states->others_ns / states->known_ns * 100, share), used ? "" : " of it");
	return out;
}
