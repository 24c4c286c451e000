#include "ptx_names.h"

#include "predictor/math/hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BUCKETS 256u
#define NUMBER_DIGITS 9u

static uint32_t hash_of(const char *text, size_t length)
{
	return (uint32_t)kc_fnv(KC_FNV_OFFSET, text, length);
}

int kc__names_init(struct kc__names *names, size_t limit_bytes)
{
	*names = (struct kc__names){.mask = FIRST_BUCKETS - 1};
	kc_arena_init(&names->arena, limit_bytes);
	names->buckets = calloc(FIRST_BUCKETS, sizeof(*names->buckets));
	names->scopes = calloc(KC__SCOPES_MAX, sizeof(*names->scopes));
	return names->buckets && names->scopes ? 0 : -ENOMEM;
}

void kc__names_free(struct kc__names *names)
{
	kc_arena_free(&names->arena);
	free(names->buckets);
	free(names->scopes);
}

int kc__names_enter(struct kc__names *names)
{
	if (names->depth + 1 == KC__SCOPES_MAX)
		return -E2BIG;
	names->scopes[++names->depth] = NULL;
	return 0;
}

/* Names of a scope come before all those of outer scopes in their bucket. */
void kc__names_leave(struct kc__names *names)
{
	for (struct kc__name *name = names->scopes[names->depth]; name; name = name->in_scope) {
		names->buckets[name->hash & names->mask] = name->in_bucket;
		names->count--;
	}
	names->depth--;
}

/* Oldest first, so that the youngest come first in their bucket again. */
static void put_back(struct kc__names *names, struct kc__name *scope)
{
	struct kc__name *reversed = NULL;

	for (struct kc__name *name = scope, *next; name; name = next) {
		next = name->in_scope;
		name->in_scope = reversed;
		reversed = name;
	}
	for (struct kc__name *name = reversed, *next, *before = NULL; name; before = name, name = next) {
		struct kc__name **bucket = &names->buckets[name->hash & names->mask];

		next = name->in_scope;
		name->in_scope = before;
		name->in_bucket = *bucket;
		*bucket = name;
	}
}

static int grow(struct kc__names *names)
{
	uint32_t size = (names->mask + 1) * 4;
	struct kc__name **buckets = calloc(size, sizeof(*buckets));

	if (!buckets)
		return -ENOMEM;
	free(names->buckets);
	names->buckets = buckets;
	names->mask = size - 1;
	for (uint32_t depth = 0; depth <= names->depth; depth++)
		put_back(names, names->scopes[depth]);
	return 0;
}

int kc__names_add(struct kc__names *names, const char *text, size_t length, uint32_t kind, uint32_t number,
		  uint32_t count)
{
	struct kc__name *name = kc_arena_take(&names->arena, sizeof(*name));
	struct kc__name **bucket;

	if (!name || (names->count > 2 * names->mask && grow(names)))
		return -ENOMEM;
	*name = (struct kc__name){.text = text, .length = length, .kind = kind, .number = number, .count = count};
	name->hash = hash_of(text, length);
	name->depth = names->depth;
	bucket = &names->buckets[name->hash & names->mask];
	name->in_bucket = *bucket;
	*bucket = name;
	name->in_scope = names->scopes[names->depth];
	names->scopes[names->depth] = name;
	names->count++;
	return 0;
}

const struct kc__name *kc__names_find(const struct kc__names *names, const char *text, size_t length)
{
	uint32_t hash = hash_of(text, length);
	const struct kc__name *name = names->buckets[hash & names->mask];

	while (name && (name->hash != hash || name->length != length || memcmp(name->text, text, length)))
		name = name->in_bucket;
	return name;
}

/* %r12 of %r<30>. The prefix may end in a digit, so that the number may begin at any digit. */
int kc__names_register(const struct kc__names *names, const char *text, size_t length, uint32_t *number)
{
	const struct kc__name *name = kc__names_find(names, text, length);
	uint32_t index = 0, unit = 1;

	if (name && name->kind == KC__NAME_REGISTER) {
		*number = name->number;
		return 0;
	}
	for (unsigned digits = 1; digits <= NUMBER_DIGITS && digits < length; digits++, unit *= 10) {
		unsigned digit = (unsigned char)text[length - digits] - (unsigned)'0';

		if (digit > 9)
			break;
		index += digit * unit;
		name = kc__names_find(names, text, length - digits);
		if (name && name->kind == KC__NAME_REGISTERS && index < name->count) {
			*number = name->number + index;
			return 0;
		}
	}
	return -ENOENT;
}
