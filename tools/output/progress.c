#include "progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS INT64_C(1000000000)
#define QUIET_NS (2 * SECOND_NS)     /* shorter work reports nothing */
#define TERMINAL_NS (SECOND_NS / 2)  /* between two lines on a terminal */
#define ELSEWHERE_NS (5 * SECOND_NS) /* between two lines in a log */
#define CLEAR_LINE "\r\033[K"

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * SECOND_NS + now.tv_nsec;
}

void kc_progress_begin(struct kc_progress *p, const char *what, const char *done, uint64_t whole)
{
	p->what = what;
	kc_progress_next(p, done, whole);
	p->terminal = isatty(STDERR_FILENO);
	p->shown = 0;
	p->begin_ns = now_ns();
	p->next_ns = p->begin_ns + (p->terminal ? QUIET_NS : ELSEWHERE_NS);
}

void kc_progress_next(struct kc_progress *p, const char *done, uint64_t whole)
{
	p->done = done;
	p->whole = whole;
}

void kc_progress(struct kc_progress *p, uint64_t done)
{
	int64_t now = now_ns();
	int percent = p->whole ? (int)(100.0 * (double)done / (double)p->whole) : 0;

	if (now < p->next_ns)
		return;
	p->next_ns = now + (p->terminal ? TERMINAL_NS : ELSEWHERE_NS);
	fputs(p->terminal ? CLEAR_LINE : "", stderr);
	if (p->whole)
		fprintf(stderr, "%s: %d %% %s", p->what, percent < 100 ? percent : 100, p->done);
	else
		fprintf(stderr, "%s: %s for %d s", p->what, p->done, (int)((now - p->begin_ns) / SECOND_NS));
	fputs(p->terminal ? "" : "\n", stderr);
	fflush(stderr);
	p->shown = 1;
}

void kc_progress_time(const struct kc_progress *p, struct timespec *next)
{
	next->tv_sec = (time_t)(p->next_ns / SECOND_NS);
	next->tv_nsec = (long)(p->next_ns % SECOND_NS);
}

void kc_progress_end(struct kc_progress *p)
{
	if (p->terminal && p->shown)
		fputs(CLEAR_LINE, stderr);
	fflush(stderr);
	p->shown = 0;
}
