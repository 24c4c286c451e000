#include "put.h"

#include <errno.h>
#include <stdio.h>

struct operator_payload {
	struct kc_operator_entry entry;
	char texts[1024];
};

struct scope_payload {
	struct kc_scope_entry entry;
	char name[KC_SCOPE_NAME_BYTES];
};

static int put_operator(struct kc__import_process *p, const struct kc_trace_operator *of, uint32_t id)
{
	struct operator_payload o = {
	    .entry = {.id = id, .nominal = (uint32_t)of->is_nominal, .flop = of->flop, .bytes = of->bytes}};
	const char *const texts[] = {of->name, of->inputs, of->type};
	size_t length = 0, room = sizeof(o.texts);

	for (int i = 0; i < 3; i++) {
		length += (size_t)snprintf(o.texts + length, room - length, "%s", texts[i]) + 1;
		length = length < room ? length : room - 1;
	}
	return kc__import_put_entry(p, KC_KIND_OPERATOR, &o, sizeof(o.entry) + length);
}

int kc__import_put_operator(struct kc_intern *names, struct kc__import_process *p, const struct kc_trace_operator *of,
			    uint64_t launch)
{
	struct kc_launched_by_entry by = {.launch = launch, .parts = of->parts};
	int rc;

	if (!of->id)
		return 0;
	by.id = kc_intern(names, 'o', &of->id, sizeof(of->id));
	rc = by.id ? kc__import_declare(p, by.id) : -ENOMEM;
	if (rc > 0)
		rc = put_operator(p, of, by.id);
	return rc ? rc : kc__import_put_entry(p, KC_KIND_LAUNCHED_BY, &by, sizeof(by));
}

static int put_scope(struct kc__import_process *p, const struct kc_scope *scope, uint32_t id, uint32_t parent)
{
	struct scope_payload s = {.entry = {.id = id, .parent = parent, .kind = scope->kind}};
	size_t length = (size_t)snprintf(s.name, sizeof(s.name), "%s", scope->name);

	return kc__import_put_entry(p, KC_KIND_SCOPE, &s, sizeof(s.entry) + length + 1);
}

static uint32_t scope_id(struct kc_intern *names, uint32_t scope)
{
	return kc_intern(names, 'e', &scope, sizeof(scope));
}

int kc__import_put_scope(struct kc_intern *names, struct kc__import_process *p, const struct kc_scopes *scopes,
			 uint32_t of, uint64_t launch)
{
	struct kc_launched_in_entry in = {.launch = launch, .id = scope_id(names, of)};
	int rc = in.id ? kc__import_put_entry(p, KC_KIND_LAUNCHED_IN, &in, sizeof(in)) : -ENOMEM, is_new = 1;

	for (uint32_t id = in.id, parent; rc == 0 && of && is_new; of = parent, id = scope_id(names, parent)) {
		const struct kc_scope scope = kc_scopes_at(scopes, of);

		parent = scope.parent;
		is_new = kc__import_declare(p, id);
		if (is_new > 0)
			rc = put_scope(p, &scope, id, parent ? scope_id(names, parent) : 0);
		else
			rc = is_new;
	}
	return rc;
}
