#include "scopes.h"

#include "store/common/growing.h"
#include "store/common/ids/intern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct name {
	enum kc_scope_kind kind;
	char *text;
};

struct place {
	uint32_t parent, name, depth;
};

struct kc_scopes {
	struct kc_intern names, places;
	struct name *name;   /* by their numbers less 1 */
	struct place *place; /* likewise */
	size_t name_room, place_room;
};

struct kc_scopes *kc_scopes_new(void)
{
	return calloc(1, sizeof(struct kc_scopes));
}

void kc_scopes_free(struct kc_scopes *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->names.count; i++)
		free(s->name[i].text);
	free(s->name);
	free(s->place);
	kc_intern_free(&s->names);
	kc_intern_free(&s->places);
	free(s);
}

/* Not within a character. */
static size_t cut(const char *name)
{
	size_t bytes = strnlen(name, KC_SCOPE_NAME_BYTES);

	while (bytes == KC_SCOPE_NAME_BYTES || (bytes && name[bytes] && ((unsigned char)name[bytes] & 0xC0) == 0x80))
		bytes--;
	return bytes;
}

static uint32_t add_name(struct kc_scopes *s, enum kc_scope_kind kind, const char *text, size_t bytes)
{
	uint32_t count = s->names.count, number;

	if (KC_ROOM(s->name, s->name_room, count))
		return 0;
	s->name[count] = (struct name){kind, strndup(text, bytes)};
	number = s->name[count].text ? kc_intern(&s->names, (char)kind, text, bytes) : 0;
	if (!number)
		free(s->name[count].text);
	return number;
}

uint32_t kc_scopes_name(struct kc_scopes *s, enum kc_scope_kind kind, const char *name)
{
	size_t bytes = cut(name);
	uint32_t number = kc_intern_find(&s->names, (char)kind, name, bytes);

	if (!number && s->names.count >= KC_SCOPE_NAMES_MOST) { /* those that stand for others come on top */
		name = KC_SCOPE_OTHERS;
		bytes = strlen(name);
		number = kc_intern_find(&s->names, (char)kind, name, bytes);
	}
	return number ? number : add_name(s, kind, name, bytes);
}

int kc_scopes_enter(struct kc_scopes *s, uint32_t parent, uint32_t name, uint32_t *scope)
{
	const uint32_t key[2] = {parent, name};
	uint32_t depth = parent ? s->place[parent - 1].depth + 1 : 1, count = s->places.count;

	*scope = kc_intern_find(&s->places, 's', key, sizeof(key));
	if (*scope)
		return 0;
	*scope = parent;
	if (depth > KC_SCOPE_DEPTH_MOST || count == KC_SCOPES_MOST)
		return 0;
	if (KC_ROOM(s->place, s->place_room, count))
		return -ENOMEM;
	s->place[count] = (struct place){parent, name, depth};
	*scope = kc_intern(&s->places, 's', key, sizeof(key));
	return *scope ? 0 : -ENOMEM;
}

struct kc_scope kc_scopes_at(const struct kc_scopes *s, uint32_t scope)
{
	const struct place *at = &s->place[scope - 1];
	const struct name *name = &s->name[at->name - 1];

	return (struct kc_scope){at->parent, name->kind, name->text};
}
