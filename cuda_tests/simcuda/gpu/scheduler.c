#include "scheduler.h"

#include <string.h>

#define WORDS (SM_MAX / 64)
#define INSTANT_NS 0.5 /* ends closer than this are simultaneous; doubles round to less up to 2^51 ns */

static double min_double(double a, double b)
{
	return a < b ? a : b;
}

void sm_device_init(struct sm_device *device, const struct sm_limits *limits)
{
	struct sm_class *all = &device->class[0];
	uint32_t i;

	device->limits = *limits;
	device->classes = 1;
	device->grids = 0;
	device->running = NULL;
	device->placed = NULL;
	memset(device->head, 0, sizeof(device->head));
	memset(device->tail, 0, sizeof(device->tail));
	memset(all, 0, sizeof(*all));
	for (i = 0; i < limits->sm_count; i++)
		all->members[i / 64] |= 1ull << (i % 64);
	all->size = limits->sm_count;
	all->free = limits->sm;
	all->rate = 1;
	all->next_ns = SM_NEVER;
}

uint32_t sm_room(const struct sm_resources *free, const struct sm_resources *need)
{
	uint32_t room = free->blocks;

	if (need->threads && free->threads / need->threads < room)
		room = free->threads / need->threads;
	if (need->warps && free->warps / need->warps < room)
		room = free->warps / need->warps;
	if (need->registers && free->registers / need->registers < room)
		room = free->registers / need->registers;
	if (need->shared_bytes && free->shared_bytes / need->shared_bytes < room)
		room = free->shared_bytes / need->shared_bytes;
	return room;
}

void sm_kernel_init(struct sm_kernel *kernel, const struct sm_limits *limits)
{
	uint64_t slots = (uint64_t)sm_room(&limits->sm, &kernel->need) * limits->sm_count;
	double filled = slots < kernel->unplaced ? slots : kernel->unplaced;

	kernel->resident = 0;
	kernel->intensity = 0;
	kernel->speed = 1;
	kernel->start_ns = -1;
	kernel->end_ns = -1;
	kernel->next = NULL;
	kernel->behind = NULL;
	if (kernel->traffic_bytes > 0 && kernel->block_ns > 0)
		kernel->intensity =
		    min_double(1, filled * kernel->traffic_bytes / kernel->block_ns / limits->bytes_per_ns);
}

/* Accounts for the work done since the class was last updated. */
static void catch_up(struct sm_class *class, double now_ns)
{
	double elapsed = now_ns - class->as_of_ns;
	uint32_t i;

	for (i = 0; i < class->groups; i++)
		class->group[i].left_ns -= elapsed * class->rate * class->group[i].kernel->speed;
	class->as_of_ns = now_ns;
}

static void find_next(struct sm_class *class)
{
	double used = 0, next = SM_NEVER;
	uint32_t i;

	for (i = 0; i < class->groups; i++)
		used += class->group[i].count * class->group[i].kernel->share;
	class->rate = used > 1 ? 1 / used : 1;
	for (i = 0; i < class->groups; i++) {
		const struct sm_group *group = &class->group[i];
		double left = group->left_ns > 0 ? group->left_ns : 0;

		next = min_double(next, class->as_of_ns + left / (class->rate * group->kernel->speed));
	}
	class->next_ns = next;
}

static void take(struct sm_resources *free, const struct sm_resources *need, uint32_t count)
{
	free->threads -= need->threads * count;
	free->warps -= need->warps * count;
	free->registers -= need->registers * count;
	free->shared_bytes -= need->shared_bytes * count;
	free->blocks -= count;
}

static void give(struct sm_resources *free, const struct sm_resources *need, uint32_t count)
{
	free->threads += need->threads * count;
	free->warps += need->warps * count;
	free->registers += need->registers * count;
	free->shared_bytes += need->shared_bytes * count;
	free->blocks += count;
}

static void add_blocks(struct sm_class *class, struct sm_kernel *kernel, uint32_t count, double now_ns)
{
	struct sm_group *group;
	uint32_t i;

	catch_up(class, now_ns);
	class->changed = 1;
	take(&class->free, &kernel->need, count);
	kernel->unplaced -= (uint64_t)count * class->size;
	kernel->resident += (uint64_t)count * class->size;
	for (i = 0; i < class->groups; i++) {
		group = &class->group[i];
		if (group->kernel == kernel && group->left_ns == kernel->block_ns) {
			group->count += count;
			return;
		}
	}
	group = &class->group[class->groups++];
	group->kernel = kernel;
	group->count = count;
	group->left_ns = kernel->block_ns;
}

/* Moves the chosen members of the class to a new class of the same state, and
 * returns the class that holds exactly them. */
static struct sm_class *split(struct sm_device *device, struct sm_class *class, const uint64_t chosen[WORDS])
{
	struct sm_class *part;
	uint32_t i, size = 0;

	for (i = 0; i < WORDS; i++)
		size += __builtin_popcountll(class->members[i] & chosen[i]);
	if (size == 0)
		return NULL;
	if (size == class->size)
		return class;
	part = &device->class[device->classes++];
	*part = *class;
	for (i = 0; i < WORDS; i++) {
		part->members[i] &= chosen[i];
		class->members[i] &= ~chosen[i];
	}
	part->size = size;
	class->size -= size;
	return part;
}

/* Places one more block on each of the first `count` SMs, in tie order, that have room for `level` blocks. */
static void place_one_each(struct sm_device *device, struct sm_kernel *kernel, uint32_t level, uint32_t count,
			   double now_ns)
{
	uint64_t chosen[WORDS] = {0};
	uint32_t i, before = device->classes;

	for (i = 0; i < before; i++) {
		struct sm_class *class = &device->class[i];

		if (sm_room(&class->free, &kernel->need) == level)
			for (unsigned w = 0; w < WORDS; w++)
				chosen[w] |= class->members[w];
	}
	for (i = 0; i < WORDS; i++) {
		uint64_t kept = 0, rest = chosen[i];

		for (; rest && count; count--) {
			kept |= rest & -rest;
			rest &= rest - 1;
		}
		chosen[i] = kept;
	}
	for (i = 0; i < before; i++) {
		struct sm_class *part = split(device, &device->class[i], chosen);

		if (part)
			add_blocks(part, kernel, 1, now_ns);
	}
}

/* Returns how many blocks are placed if every SM is filled until only `level` more fit on it. */
static uint64_t blocks_above(const struct sm_device *device, const uint32_t *room, uint32_t level)
{
	uint64_t blocks = 0;
	uint32_t i;

	for (i = 0; i < device->classes; i++)
		if (room[i] > level)
			blocks += (uint64_t)(room[i] - level) * device->class[i].size;
	return blocks;
}

uint64_t sm_place(struct sm_device *device, struct sm_kernel *kernel, double now_ns)
{
	uint32_t room[SM_MAX], i, level, before = device->classes;
	uint64_t wanted = kernel->unplaced, fits, placed;

	for (i = 0; i < before; i++)
		room[i] = sm_room(&device->class[i].free, &kernel->need);
	fits = blocks_above(device, room, 0);
	if (fits == 0 || wanted == 0)
		return 0;
	if (wanted > fits)
		wanted = fits;
	placed = wanted;
	if (kernel->resident == 0) {
		kernel->next = device->running;
		device->running = kernel;
	}
	if (kernel->start_ns < 0) {
		kernel->start_ns = now_ns;
		device->grids++;
	}
	for (level = 0; blocks_above(device, room, level) > wanted; level++)
		;
	wanted -= blocks_above(device, room, level);
	for (i = 0; i < before; i++)
		if (room[i] > level)
			add_blocks(&device->class[i], kernel, room[i] - level, now_ns);
	if (wanted)
		place_one_each(device, kernel, level, wanted, now_ns);
	return placed;
}

static void finish_groups(struct sm_class *class, double now_ns)
{
	uint32_t i, kept = 0;

	catch_up(class, now_ns);
	class->changed = 1;
	for (i = 0; i < class->groups; i++) {
		struct sm_group *group = &class->group[i];
		struct sm_kernel *kernel = group->kernel;

		if (group->left_ns > INSTANT_NS) {
			class->group[kept++] = *group;
			continue;
		}
		give(&class->free, &kernel->need, group->count);
		kernel->resident -= (uint64_t)group->count * class->size;
	}
	class->groups = kept;
}

struct sm_kernel *sm_finish(struct sm_device *device, double now_ns)
{
	struct sm_kernel **link = &device->running, *kernel, *ended = NULL;
	uint32_t i;

	for (i = 0; i < device->classes; i++)
		if (device->class[i].next_ns <= now_ns + INSTANT_NS)
			finish_groups(&device->class[i], now_ns);
	while ((kernel = *link)) {
		if (kernel->resident) {
			link = &kernel->next;
			continue;
		}
		*link = kernel->next;
		kernel->next = NULL;
		if (kernel->unplaced)
			continue;
		kernel->end_ns = now_ns;
		device->grids--;
		kernel->next = ended;
		ended = kernel;
	}
	return ended;
}

static int same_state(struct sm_class *a, struct sm_class *b, double now_ns)
{
	uint32_t i;

	if (a->groups != b->groups || memcmp(&a->free, &b->free, sizeof(a->free)))
		return 0;
	catch_up(a, now_ns);
	catch_up(b, now_ns);
	for (i = 0; i < a->groups; i++) {
		const struct sm_group *x = &a->group[i], *y = &b->group[i];
		double apart = x->left_ns - y->left_ns;

		if (x->kernel != y->kernel || x->count != y->count || apart > INSTANT_NS || apart < -INSTANT_NS)
			return 0;
	}
	return 1;
}

static void join(struct sm_device *device, struct sm_class *into, struct sm_class *from)
{
	uint32_t i;

	for (i = 0; i < WORDS; i++)
		into->members[i] |= from->members[i];
	into->size += from->size;
	into->changed = 1;
	*from = device->class[--device->classes];
}

static void join_equal(struct sm_device *device, double now_ns)
{
	uint32_t i, j;

	for (i = 0; i < device->classes; i++) {
		struct sm_class *into = &device->class[i];

		for (j = i + 1; j < device->classes;) {
			struct sm_class *from = &device->class[j];

			if ((into->changed || from->changed) && same_state(into, from, now_ns))
				join(device, into, from);
			else
				j++;
		}
	}
}

/* Returns the traffic that all resident blocks ask for, divided by the bandwidth. */
static double excess_traffic(const struct sm_device *device)
{
	double asked = 0;
	uint32_t i, g;

	for (i = 0; i < device->classes; i++) {
		const struct sm_class *class = &device->class[i];

		for (g = 0; g < class->groups; g++) {
			const struct sm_kernel *kernel = class->group[g].kernel;

			if (kernel->traffic_bytes > 0)
				asked += class->rate * class->size * class->group[g].count * kernel->traffic_bytes /
					 kernel->block_ns;
		}
	}
	return asked / device->limits.bytes_per_ns;
}

static double speed_under(const struct sm_kernel *kernel, double excess)
{
	return excess > 1 ? 1 / (1 - kernel->intensity + kernel->intensity * excess) : 1;
}

static void set_speeds(struct sm_device *device, double now_ns)
{
	double excess = excess_traffic(device);
	struct sm_kernel *kernel;
	int changed = 0;
	uint32_t i;

	for (kernel = device->running; kernel; kernel = kernel->next)
		changed |= kernel->speed != speed_under(kernel, excess);
	if (!changed)
		return;
	for (i = 0; i < device->classes; i++) /* at the old speeds */
		catch_up(&device->class[i], now_ns);
	for (kernel = device->running; kernel; kernel = kernel->next)
		kernel->speed = speed_under(kernel, excess);
	for (i = 0; i < device->classes; i++)
		find_next(&device->class[i]);
}

static void settle(struct sm_device *device, double now_ns)
{
	uint32_t i;

	join_equal(device, now_ns);
	for (i = 0; i < device->classes; i++) {
		struct sm_class *class = &device->class[i];

		if (!class->changed)
			continue;
		class->changed = 0;
		catch_up(class, now_ns);
		find_next(class);
	}
	set_speeds(device, now_ns);
}

void sm_submit(struct sm_device *device, struct sm_kernel *kernel, unsigned level)
{
	kernel->behind = NULL;
	if (device->tail[level])
		device->tail[level]->behind = kernel;
	else
		device->head[level] = kernel;
	device->tail[level] = kernel;
}

static struct sm_kernel **first_in_line(struct sm_device *device, unsigned *level)
{
	for (*level = 0; *level < SM_LEVELS; ++*level)
		if (device->head[*level])
			return &device->head[*level];
	return NULL;
}

void sm_dispatch(struct sm_device *device, double now_ns)
{
	struct sm_kernel **head;
	unsigned level;

	device->placed = NULL;
	while ((head = first_in_line(device, &level))) {
		struct sm_kernel *kernel = *head;

		if (kernel->start_ns < 0 && device->limits.grids && device->grids >= device->limits.grids)
			break;
		sm_place(device, kernel, now_ns);
		if (kernel->unplaced)
			break;
		*head = kernel->behind;
		if (!*head)
			device->tail[level] = NULL;
		kernel->behind = device->placed;
		device->placed = kernel;
	}
	settle(device, now_ns);
}

double sm_next(const struct sm_device *device)
{
	double next = SM_NEVER;
	uint32_t i;

	for (i = 0; i < device->classes; i++)
		next = min_double(next, device->class[i].next_ns);
	return next;
}

uint32_t sm_resident(const struct sm_device *device, const struct sm_kernel *kernel, uint32_t rank)
{
	uint32_t i, g, count = 0;

	for (i = 0; i < device->classes; i++) {
		const struct sm_class *class = &device->class[i];

		if (!(class->members[rank / 64] >> (rank % 64) & 1))
			continue;
		for (g = 0; g < class->groups; g++)
			if (class->group[g].kernel == kernel)
				count += class->group[g].count;
	}
	return count;
}
