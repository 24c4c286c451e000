#include "slow_search.h"
#include "tools/command.h"
#include "tools/system/database.h"

#include "store/database/schema.h"
#include "store/query/renumbered.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- which runs */

static int unreadable(const struct kc_slow_search *s, int rc)
{
	if (rc == -ENOMEM)
		kc_error("%s", strerror(ENOMEM));
	else
		kc_database_unreadable(s->this.path, rc);
	return KC_EXIT_FAILED;
}

/* Keeps the latest ones that have no more launches than are asked for, this run's included. */
static int drop_too_large(struct kc_slow_search *s, uint64_t most)
{
	struct kc_side *earlier = &s->earlier;
	uint64_t sum, one;
	size_t first = earlier->count;
	int rc = kc_measured_launches(s->this.store, s->this.ids[0], &sum);

	for (; rc == 0 && first > 0; first--) {
		rc = kc_measured_launches(earlier->store, earlier->ids[first - 1], &one);
		if (rc < 0 || sum + one > most)
			break;
		sum += one;
	}
	s->too_large = (int)first;
	earlier->count -= first;
	memmove(earlier->ids, earlier->ids + first, earlier->count * sizeof(*earlier->ids));
	return rc;
}

static int select_earlier(struct kc_slow_search *s, const struct kc_slow_asked *asked)
{
	struct kc_side *earlier = &s->earlier;
	int n, rc;

	kc_side_borrow(earlier, s->this.store, s->this.path);
	if (asked->old) {
		int status = kc_side_select_listed(earlier, "--old", asked->old);

		return status == KC_EXIT_OK ? kc_side_check(earlier, &s->this) : status;
	}
	n = kc_measured_earlier(earlier->store, s->this.ids[0], earlier->ids, KC_SIDE_EARLIER_MOST);
	earlier->count = n < 0 ? 0 : (size_t)n;
	rc = n < 0 ? n : asked->most ? drop_too_large(s, asked->most) : 0;
	return rc < 0 ? unreadable(s, rc) : KC_EXIT_OK;
}

/* Durations on other devices say nothing about this one. */
static void drop_other_devices(struct kc_slow_search *s)
{
	struct kc_side *earlier = &s->earlier;
	size_t kept = 0;

	for (size_t i = 0; i < earlier->read; i++) {
		if (strcmp(earlier->runs[i].devices, s->this.runs[0].devices) != 0) {
			kc_measured_run_free(earlier->runs + i);
			s->other_devices++;
		} else {
			earlier->runs[kept++] = earlier->runs[i];
		}
	}
	earlier->count = earlier->read = kept;
}

static int read_runs(struct kc_slow_search *s, const struct kc_slow_asked *asked)
{
	int status = kc_side_select(&s->this, asked->run);

	s->this.with_steps = s->earlier.with_steps = asked->with_steps;
	if (status == KC_EXIT_OK && !(asked->old && !strcmp(asked->old, "none")))
		status = select_earlier(s, asked);
	if (status == KC_EXIT_OK)
		status = kc_side_read(&s->this, asked->filter, 1, &s->names);
	if (status == KC_EXIT_OK)
		status = kc_side_read(&s->earlier, NULL, 1, &s->names);
	if (status == KC_EXIT_OK)
		drop_other_devices(s);
	return status;
}

/* --- what is slow */

static int find_overlapped(const struct kc_slow_runs *runs, struct kc_slow *slow)
{
	double *longer_ns = calloc(runs->run->launches.count + 1, sizeof(*longer_ns));

	if (!longer_ns)
		return -ENOMEM;
	for (size_t i = 0; i < slow->found_count; i++)
		longer_ns[slow->found[i].place] = slow->found[i].parts_ns[KC_SLOW_OVERLAP];
	kc_slow_find_overlapped(&slow->intervals, longer_ns, &slow->overlapped);
	free(longer_ns);
	return 0;
}

static int find(struct kc_slow_search *s, const struct kc_diff_limits *limits)
{
	const struct kc_diff_input inputs[KC_SIDES] = {
	    {s->earlier.runs, s->earlier.read, NULL, 0},
	    {s->this.runs, 1, NULL, 0},
	};
	int has_earlier = s->earlier.read > 0, rc = kc_measured_names_tell_apart(&s->names);

	s->runs = (struct kc_slow_runs){&s->names, s->earlier.runs, s->earlier.read, s->this.runs};
	if (has_earlier && rc == 0)
		rc = kc_measured_renumber(&s->names, s->earlier.runs, s->earlier.read, s->this.runs);
	if (has_earlier && rc == 0)
		rc = kc_diff_compare(&s->names, inputs, limits, &s->diff);
	if (rc == 0)
		rc = kc_slow_find(&s->runs, has_earlier ? &s->diff : NULL, limits, &s->slow);
	if (rc == 0)
		rc = find_overlapped(&s->runs, &s->slow);
	return rc;
}

int kc_slow_search(struct kc_slow_search *s, const struct kc_slow_asked *asked)
{
	struct kc_database_working comparing;
	int status = read_runs(s, asked), rc;

	if (status != KC_EXIT_OK)
		return status;
	kc_database_working_begin(&comparing, s->this.path, "compared", 1);
	rc = find(s, &asked->limits);
	if (rc == 0)
		rc = kc_slow_gpu_states(s->this.store, s->this.runs, &s->slow, &s->gpu_states);
	kc_database_working_end(&comparing);
	return rc < 0 ? unreadable(s, rc) : KC_EXIT_OK;
}

/* --- where it was */

static int locate(struct kc_slow_search *s, const struct kc_slow_found *found, struct kc_slow_where *out)
{
	const struct kc_measured_moment *moment =
	    (const struct kc_measured_moment *)s->this.runs[0].moments.at + found->place;
	struct kc_slow_place *place = kc_slow_place_of(&s->slow.places, moment);

	out->found = found;
	out->names = place ? kc_slow_place_names(s->this.store, s->this.ids[0], place) : NULL;
	if (!out->names)
		return -ENOMEM;
	out->after_ns = kc_minus_ns(moment->start_ns, s->slow.intervals.earliest_ns);
	kc_slow_find_beside(&s->slow.intervals, found->place, &out->beside);
	return kc_measured_origin(s->this.store, moment->id, &out->origin);
}

static int locate_worst(struct kc_slow_search *s, size_t most, size_t alike)
{
	size_t *met = calloc(s->names.kernels.count * KC_SLOW_CAUSES + 1, sizeof(*met));
	int rc = 0;

	if (most > s->slow.found_count)
		most = s->slow.found_count;
	s->worst = calloc(most + 1, sizeof(*s->worst));
	if (!s->worst || !met)
		rc = -ENOMEM;
	for (size_t i = 0; rc == 0 && i < s->slow.found_count && s->worst_count < most; i++) {
		const struct kc_slow_found *found = s->slow.found + i;
		size_t kernel = kc_measured_shape(&s->names, found->shape)->kernel;

		if (alike && met[kernel * KC_SLOW_CAUSES + found->cause]++ >= alike)
			continue;
		rc = locate(s, found, s->worst + s->worst_count);
		s->worst_count++;
	}
	free(met);
	return rc;
}

int kc_slow_search_worst(struct kc_slow_search *s, size_t most, size_t alike)
{
	struct kc_database_working locating;
	int rc;

	kc_database_working_begin(&locating, s->this.path, "compared", 1);
	rc = locate_worst(s, most, alike);
	kc_database_working_end(&locating);

	return rc < 0 ? unreadable(s, rc) : KC_EXIT_OK;
}

void kc_slow_search_free(struct kc_slow_search *s)
{
	free(s->worst);
	kc_slow_free(&s->slow);
	kc_diff_free(&s->diff);
	kc_side_close(&s->earlier);
	kc_side_close(&s->this);
	kc_measured_names_free(&s->names);
}
