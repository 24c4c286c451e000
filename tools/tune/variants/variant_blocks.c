#include "variants.h"

#include "tools/command.h"
#include "tools/output/format.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define BLOCKS_BYTES ((size_t)16 << 20)
#define WARP 32u
#define THREADS_MOST 1024u
#define DEPTH_MOST 64u   /* of a block in z */
#define GRID_MOST 65535u /* of a grid in y and z */

static const char *number(struct kc_variants *v, uint32_t value)
{
	char text[KC_FORMAT_BYTES];

	snprintf(text, sizeof(text), "%u", value);
	return kc_arena_text(&v->arena, text, strlen(text));
}

static uint64_t blocks(uint64_t threads, uint32_t block)
{
	return (threads + block - 1) / block;
}

/* The grid covers as many threads in each dimension, or up to one block more. */
static int add(struct kc_variants *v, const struct kc_variant *first, const uint64_t threads[3],
	       const uint32_t block[3])
{
	struct kc_variant variant = *first;
	char key[4 * KC_VARIANT_KEY_EXTRA];

	variant.line = v->count + 1;
	variant.values = kc_arena_array(&v->arena, 3, sizeof(*variant.values));
	if (!variant.values)
		return -ENOMEM;
	for (unsigned d = 0; d < 3; d++) {
		variant.block[d] = block[d];
		variant.grid[d] = (uint32_t)blocks(threads[d], block[d]);
		variant.values[d] = number(v, block[d]);
		if (!variant.values[d])
			return -ENOMEM;
	}
	kc_variants_key(v, variant.values, key, sizeof(key));
	variant.key = kc_arena_text(&v->arena, key, strlen(key));
	return variant.key ? kc_variants_add(v, &variant) : -ENOMEM;
}

/* In dimension d, where the block of the launch has `own` threads. */
static int is_allowed(const struct kc_block_freedom *freedom, unsigned d, uint64_t threads, uint32_t block,
		      uint32_t own)
{
	if (block > threads || (d > 0 && blocks(threads, block) > GRID_MOST))
		return 0;
	return !freedom || ((!freedom->fixed[d] || block == own) && (!freedom->counted[d] || threads % block == 0));
}

/* Whole warps, of no more threads in a dimension than there are, and not that of the launch, which is there. */
static int is_worth_it(const struct kc_blocks_asked *asked, const uint64_t threads[3], const uint32_t block[3])
{
	const uint32_t *own = asked->launch->block, size = block[0] * block[1] * block[2],
		       most = asked->freedom ? asked->freedom->max_threads : 0;

	if (memcmp(block, own, 3 * sizeof(*own)) == 0 || (most && size > most))
		return 0;
	for (unsigned d = 0; d < 3; d++)
		if (!is_allowed(asked->freedom, d, threads[d], block[d], own[d]))
			return 0;
	return size % WARP == 0 && size <= THREADS_MOST;
}

/* The sizes in a dimension: powers of two, or that of the launch where it must be that. 0: no more. */
static uint32_t next_size(const struct kc_blocks_asked *asked, unsigned d, uint32_t size)
{
	if (asked->freedom && asked->freedom->fixed[d])
		return size ? 0 : asked->launch->block[d];
	size = size ? 2 * size : 1;
	return size <= (d == 2 ? DEPTH_MOST : THREADS_MOST) ? size : 0;
}

static int add_all(struct kc_variants *v, const struct kc_blocks_asked *asked, const struct kc_variant *first,
		   const uint64_t threads[3])
{
	int rc = add(v, first, threads, first->block);

	for (uint32_t z = 0; (z = next_size(asked, 2, z));)
		for (uint32_t y = 0; (y = next_size(asked, 1, y));)
			for (uint32_t x = 0; rc == 0 && (x = next_size(asked, 0, x));)
				if (is_worth_it(asked, threads, (const uint32_t[]){x, y, z}))
					rc = add(v, first, threads, (const uint32_t[]){x, y, z});
	return rc;
}

/* "x and y" */
static void name_fixed(const struct kc_block_freedom *freedom, char *out, size_t size)
{
	static const char *const names[] = {"x", "y", "z"};
	unsigned left = freedom->fixed[0] + freedom->fixed[1] + freedom->fixed[2];

	*out = '\0';
	for (unsigned d = 0; d < 3; d++)
		if (freedom->fixed[d])
			kc_add_text(out, size, "%s%s", names[d], --left > 1 ? ", " : left == 1 ? " and " : "");
}

static int assume(struct kc_variants *v, const struct kc_blocks_asked *asked, const uint64_t threads[3])
{
	const struct kc_block_freedom *freedom = asked->freedom;
	char text[512], fixed[16];

	snprintf(text, sizeof(text),
		 "each grid covers %llu x %llu x %llu threads, or up to a block more in each dimension",
		 (unsigned long long)threads[0], (unsigned long long)threads[1], (unsigned long long)threads[2]);
	if (!freedom)
		kc_add_text(text, sizeof(text), ", and the kernel takes the size of its block from blockDim");
	else if (*freedom->why) {
		name_fixed(freedom, fixed, sizeof(fixed));
		kc_add_text(text, sizeof(text), "; blocks keep their size in %s, as %s", fixed, freedom->why);
	}
	v->assumed = kc_arena_text(&v->arena, text, strlen(text));
	return v->assumed ? 0 : -ENOMEM;
}

int kc_variants_blocks(struct kc_variants *v, const struct kc_blocks_asked *asked)
{
	const struct kc_explain_launch *launch = asked->launch;
	const char *slash = strrchr(asked->path, '/');
	struct kc_variant first = {
	    .file = slash ? slash + 1 : asked->path,
	    .kernel = asked->kernel,
	    .arguments = asked->arguments,
	    .dynamic_shared_bytes = launch->dynamic_shared_bytes,
	    .occupancy = NAN,
	    .measured_ns = NAN,
	    .ns = NAN,
	    .low_ns = NAN,
	    .high_ns = NAN,
	};
	uint64_t threads[3];
	int rc;

	for (unsigned d = 0; d < 3; d++) {
		threads[d] = (uint64_t)launch->grid[d] * launch->block[d];
		first.block[d] = launch->block[d];
	}
	v->path = asked->path;
	kc_arena_init(&v->arena, BLOCKS_BYTES);
	v->names[0] = "block_x";
	v->names[1] = "block_y";
	v->names[2] = "block_z";
	v->parameters = 3;
	rc = assume(v, asked, threads);
	if (rc == 0)
		rc = add_all(v, asked, &first, threads);
	if (rc < 0)
		kc_error("%s", strerror(-rc));
	return rc < 0 ? rc : kc_variants_sort(v);
}
