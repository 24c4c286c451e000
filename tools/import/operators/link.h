/*
 * What launched a kernel: the operators and ranges whose time spans, on the thread of
 * the launch call, hold the call, from its start until before its end.
 *
 *   kc_operator_links   tables in the temporary database of import_stage.h:
 *                       `operator`, calls of known operators that are alike being one;
 *                       `span`, each call and range; `linked`, rows of kernels and the
 *                       innermost known operator of each; `enclosed`, rows of kernels
 *                       and all that they were launched in (scopes.h)
 *
 * Several kernels may do an operator's work. Its operations are those of the only
 * kernel of its class, what splits and turns about in memory left out; of both
 * gradients of a convolution, of the one that is called after each. In all other
 * cases it is known which operator launched the kernels, and not what each did.
 *
 * Memory is bounded by the different operators, of which 262,144 are kept, scopes and kernels' names, not by the calls.
 */
#ifndef KC_OPERATOR_LINK_H
#define KC_OPERATOR_LINK_H

#include "inputs.h"
#include "scopes.h"

#include <sqlite3.h>
#include <stdint.h>

struct kc_operator_links;

/* All of these return 0 or -errno. */
int kc_operator_links_new(sqlite3 *db, struct kc_operator_links **out);
struct kc_operator_call {
	int64_t process, thread; /* as of the calls of the stage */
	int64_t start_ns, end_ns;
	enum kc_scope_kind kind;
	const char *name;
};
/* inputs: of an operator. */
int kc_operator_links_add(struct kc_operator_links *links, const struct kc_operator_call *call,
			  const struct kc_operator_inputs *inputs);
/* Fills `linked` and `enclosed`, once all rows, calls and callers are there. */
int kc_operator_links_make(struct kc_operator_links *links);
const struct kc_scopes *kc_operator_links_scopes(const struct kc_operator_links *links);
void kc_operator_links_free(struct kc_operator_links *links);

/* Columns of a row of kc_stage_take(), and where they come from. */
#define KC_OPERATOR_COLUMNS "l.operator, l.parts, q.name, q.inputs, q.type, q.flop, q.bytes, q.nominal, e.scope"
#define KC_OPERATOR_JOIN                                                                                               \
	" LEFT JOIN linked l ON l.id = r.rowid LEFT JOIN operator q ON q.id = l.operator LEFT JOIN enclosed e ON "     \
	"e.id = r.rowid"

#endif
