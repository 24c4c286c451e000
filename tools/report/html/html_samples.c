#include "html_internal.h"

#include <stdlib.h>

#define BEFORE_LOST (KC__HTML_WINDOW / 4) /* launches that are shown before the one that lost most time */

/* The process that most of the drawn launches are of: their range in the list. */
static void find_longest(const struct kc_sample *drawn, size_t *first, size_t *count)
{
	const struct kc_sample_launch *all = drawn->launches.at;
	size_t begin = 0;

	*first = *count = 0;
	for (size_t i = 1; i <= drawn->launches.count; i++) {
		if (i < drawn->launches.count && all[i].process == all[begin].process)
			continue;
		if (i - begin > *count) {
			*first = begin;
			*count = i - begin;
		}
		begin = i;
	}
}

static int add_window(struct kc__html *page, const char *title, int64_t process, int64_t sequence)
{
	struct kc__html_window *window = page->windows + page->window_count++;

	window->title = title;
	return kc_sample_window(page->store, process, sequence, KC__HTML_WINDOW, &window->sample);
}

/* What the first window ends with. */
static int64_t end_of_first(const struct kc__html *page)
{
	const struct kc_sample_launch *all = page->windows[0].sample.launches.at;
	int64_t last = 0;

	for (size_t i = 0; i < page->windows[0].sample.launches.count; i++)
		last = all[i].sequence > last ? all[i].sequence : last;
	return last;
}

static int add_windows(struct kc__html *page)
{
	const struct kc_sample_launch *all = page->drawn.launches.at;
	size_t first, count;
	int64_t process, middle, lost = page->lost_sequence - (int64_t)BEFORE_LOST;
	int rc;

	find_longest(&page->drawn, &first, &count);
	if (!count)
		return 0;
	process = all[first].process;
	middle = all[first + count / 2].sequence;
	rc = add_window(page, "the beginning", process, all[first].sequence);
	if (rc == 0 && middle > end_of_first(page))
		rc = add_window(page, "the middle", process, middle);
	if (rc == 0 && page->lost_process)
		rc = add_window(page, "around the launch that lost most", page->lost_process, lost > 0 ? lost : 0);
	return rc;
}

int kc__html_samples(struct kc__html *page)
{
	int rc = kc_sample_draw(page->store, page->selection, page->filter, KC__HTML_LAUNCHES, &page->drawn);

	return rc ? rc : add_windows(page);
}

void kc__html_samples_free(struct kc__html *page)
{
	free(page->drawn.launches.at);
	for (size_t i = 0; i < page->window_count; i++)
		free(page->windows[i].sample.launches.at);
}
