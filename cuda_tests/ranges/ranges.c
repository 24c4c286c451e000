/*
 * Threads that open ranges in all the ways that NVTX has, in each other and across each other, and launch in them. Each
 * launch has a number of blocks of its own, and the program says what it was made in by its own account:
 *
 *	ranges THREADS ROUNDS SEED LATE.SO [killed]    prints a line for each launch: blocks, and the names from the
 *outermost, with tabs in between; killed: by SIGKILL, at the end
 *
 * Between rounds all threads wait for each other, and the first one ends the ranges that the others have started.
 */
#include "cuda_tests/awkward/awkward.h"
#include "late.h"

#include <nvtx3/nvToolsExt.h>

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

enum { THREADS_MAX = 16, OPEN_MAX = 24, ACTIONS = 60, DOMAINS = 2, NAMES = 6 };

struct open {
	int domain; /* from 1; 0: of the program */
	const char *name;
	nvtxRangeId_t started; /* 0: pushed */
};

struct thread {
	struct open open[OPEN_MAX];
	int count;
	unsigned random;
	FILE *log;
	char *text;
	size_t bytes;
};

static const char *const names[NAMES] = {"forward", "backward", "loss", "\303\274ber alles", "optimizer, step", "x"};
static const wchar_t *const wide[NAMES] = {L"forward",         L"backward",        L"loss",
					   L"\u00fcber alles", L"optimizer, step", L"x"};
static const char *const domain_names[DOMAINS] = {"NCCL", "model"};

static struct {
	struct awkward a;
	struct thread threads[THREADS_MAX];
	int thread_count, rounds;
	pthread_barrier_t barrier;
	_Atomic unsigned blocks;
	nvtxDomainHandle_t domains[DOMAINS + 1];
	nvtxStringHandle_t strings[DOMAINS + 1][NAMES];
	int (*late_push)(const char *);
	int (*late_pop)(void);
} all;

static unsigned draw(struct thread *t, unsigned below)
{
	t->random = t->random * 1103515245u + 12345u;
	return (t->random >> 16) % below;
}

static nvtxEventAttributes_t attributes(int message_type)
{
	return (nvtxEventAttributes_t){.version = NVTX_VERSION,
				       .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
				       .colorType = NVTX_COLOR_ARGB,
				       .color = 0xff00ff00,
				       .messageType = message_type};
}

static nvtxEventAttributes_t named(struct thread *t, int domain, unsigned name)
{
	nvtxEventAttributes_t a;

	switch (draw(t, 3)) {
	case 0:
		a = attributes(NVTX_MESSAGE_TYPE_ASCII);
		a.message.ascii = names[name];
		break;
	case 1:
		a = attributes(NVTX_MESSAGE_TYPE_UNICODE);
		a.message.unicode = wide[name];
		break;
	default:
		a = attributes(NVTX_MESSAGE_TYPE_REGISTERED);
		a.message.registered = all.strings[domain][name];
	}
	return a;
}

/* As emit_nvtx does: it is the same name each time. */
static const char *of_call(struct thread *t, unsigned name, char text[64])
{
	snprintf(text, 64, "%s%s%u", names[name], draw(t, 2) ? ", seq = 4, op_id = " : ", op_id = ", draw(t, 100000));
	return text;
}

static void push(struct thread *t)
{
	unsigned name = draw(t, NAMES);
	int domain = (int)draw(t, DOMAINS + 1);
	nvtxEventAttributes_t a = named(t, domain, name);
	char text[64];

	if (domain)
		nvtxDomainRangePushEx(all.domains[domain], &a);
	else if (draw(t, 4) == 0)
		nvtxRangePushA(names[name]);
	else if (draw(t, 3) == 0)
		nvtxRangePushA(of_call(t, name, text));
	else if (draw(t, 3) == 0)
		nvtxRangePushW(wide[name]);
	else if (draw(t, 2) == 0)
		nvtxRangePushEx(&a);
	else
		all.late_push(names[name]);
	t->open[t->count++] = (struct open){domain, names[name], 0};
}

static void close_at(struct thread *t, int at)
{
	memmove(t->open + at, t->open + at + 1, (size_t)(--t->count - at) * sizeof(*t->open));
}

/* The innermost that was pushed in a domain, whatever was opened since in others. */
static void pop(struct thread *t)
{
	int domain = (int)draw(t, DOMAINS + 1), at = t->count - 1;

	while (at >= 0 && (t->open[at].started || t->open[at].domain != domain))
		at--;
	if (domain)
		nvtxDomainRangePop(all.domains[domain]);
	else if (draw(t, 2))
		nvtxRangePop();
	else
		all.late_pop();
	if (at >= 0)
		close_at(t, at);
}

static void start(struct thread *t)
{
	unsigned name = draw(t, NAMES);
	int domain = (int)draw(t, DOMAINS + 1);
	nvtxEventAttributes_t a = named(t, domain, name);
	nvtxRangeId_t id = domain       ? nvtxDomainRangeStartEx(all.domains[domain], &a)
			   : draw(t, 2) ? nvtxRangeStartA(names[name])
					: nvtxRangeStartEx(&a);

	t->open[t->count++] = (struct open){domain, names[name], id};
}

static void end_at(struct thread *t, int at)
{
	if (t->open[at].domain)
		nvtxDomainRangeEnd(all.domains[t->open[at].domain], t->open[at].started);
	else
		nvtxRangeEnd(t->open[at].started);
	close_at(t, at);
}

static void end_some(struct thread *t)
{
	for (int at = 0; at < t->count; at++)
		if (t->open[at].started && draw(t, 2)) {
			end_at(t, at);
			return;
		}
}

static void launch(struct thread *t)
{
	unsigned blocks = ++all.blocks;

	CHECK(awkward_launch(&all.a, NULL, blocks));
	fprintf(t->log, "%u", blocks);
	for (int i = 0; i < t->count; i++)
		fprintf(t->log, "\t%s%s%s", t->open[i].domain ? domain_names[t->open[i].domain - 1] : "",
			t->open[i].domain ? ":" : "", t->open[i].name);
	fputc('\n', t->log);
}

static void *work(void *arg)
{
	struct thread *t = arg;

	CHECK(cuCtxSetCurrent(all.a.context));
	for (int round = 0; round < all.rounds; round++) {
		for (int i = 0; i < ACTIONS; i++) {
			unsigned what = draw(t, 10);

			if (what < 3 && t->count < OPEN_MAX)
				push(t);
			else if (what == 3 && t->count < OPEN_MAX)
				start(t);
			else if (what < 6)
				pop(t);
			else if (what == 6)
				end_some(t);
			else
				launch(t);
		}
		pthread_barrier_wait(&all.barrier);
		for (struct thread *other = all.threads; t == all.threads && other < t + all.thread_count; other++)
			end_some(other);
		pthread_barrier_wait(&all.barrier);
	}
	return NULL; /* with ranges open */
}

static void register_all(void)
{
	for (int domain = 0; domain <= DOMAINS; domain++) {
		all.domains[domain] = domain ? nvtxDomainCreateA(domain_names[domain - 1]) : NULL;
		for (int name = 0; name < NAMES; name++)
			all.strings[domain][name] = nvtxDomainRegisterStringA(all.domains[domain], names[name]);
	}
}

static void load_late(const char *path)
{
	void *late = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!late) {
		printf("%s\n", dlerror());
		exit(2);
	}
	*(void **)&all.late_push = dlsym(late, "late_push");
	*(void **)&all.late_pop = dlsym(late, "late_pop");
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS_MAX];

	if (argc < 5)
		return 2;
	all.thread_count = atoi(argv[1]);
	all.rounds = atoi(argv[2]);
	if (all.thread_count < 1 || all.thread_count > THREADS_MAX)
		return 2;
	register_all();
	nvtxRangePushA("main"); /* before anything of CUDA, and of the first thread alone */
	awkward_start(&all.a);
	load_late(argv[4]);
	pthread_barrier_init(&all.barrier, NULL, (unsigned)all.thread_count);
	for (int i = 0; i < all.thread_count; i++) {
		struct thread *t = &all.threads[i];

		t->random = (unsigned)atoi(argv[3]) * 7919u + (unsigned)i;
		t->log = open_memstream(&t->text, &t->bytes);
	}
	for (int i = 1; i < all.thread_count; i++)
		pthread_create(&threads[i], NULL, work, &all.threads[i]);
	all.threads[0].open[all.threads[0].count++] = (struct open){0, "main", 0};
	work(&all.threads[0]);
	for (int i = 1; i < all.thread_count; i++)
		pthread_join(threads[i], NULL);
	CHECK(cuCtxSynchronize());
	for (int i = 0; i < all.thread_count; i++) {
		fclose(all.threads[i].log);
		fputs(all.threads[i].text, stdout);
	}
	fflush(stdout);
	if (argc > 5)
		kill(getpid(), SIGKILL);
	return 0;
}
