/*
 * The parser's state and helpers (ptx_parser.c, ptx_type.c), shared by the files
 * that read modules and functions (ptx.c), declarations (ptx_declaration.c), instructions (ptx_instruction.c) and
 * operands (ptx_operand.c). Each function begins at the first token of what it reads and ends at the first token after
 * it.
 */
#ifndef KC_PTX_PARSER_H
#define KC_PTX_PARSER_H

#include "ptx.h"
#include "ptx_lex.h"
#include "ptx_names.h"

struct kc__capacity {
	uint32_t functions, variables, params, registers, locals, instructions, lists;
};

/* Labels a brx.idx may go to. */
struct kc__target_list {
	const char **labels;
	uint32_t count;
};

struct kc__parser {
	struct kc__lexer lexer;
	struct kc__names names;     /* registers, variables, parameters; by scope */
	struct kc__names labels;    /* by scope; branches may use them before they are defined */
	struct kc__names spellings; /* opcodes with their modifiers, each kept once */
	struct kc_ptx_module *module;
	struct kc_ptx_function *function; /* being read */
	struct kc__target_list *lists;
	uint32_t list_count;
	struct kc__capacity capacity;
};

/* Makes room for one more in an array of the module's arena. */
int kc__ptx_grow(struct kc__parser *parser, void *array, uint32_t count, uint32_t *capacity, size_t element_bytes);
/* Refuses the module for lack of memory. -ENOMEM */
int kc__ptx_no_memory(struct kc__parser *parser);
/* Adds a name to `names`. 0, -ENOMEM */
int kc__ptx_declare(struct kc__parser *parser, struct kc__names *names, const char *text, size_t length, uint32_t kind,
		    uint32_t number, uint32_t count);

/* A modifier and its value in a field or among the flags of an instruction. */
struct kc__ptx_modifier {
	const char *word;
	uint32_t value;
};

/* The value of that word; 0: it is not in the table. */
#define KC__PTX_LOOK_UP(table, text, length) kc__ptx_look_up(table, sizeof(table) / sizeof((table)[0]), text, length)
uint32_t kc__ptx_look_up(const struct kc__ptx_modifier *table, size_t count, const char *text, size_t length);

/* ptx_type.c: of a word without its dot. KC_PTX_NO_TYPE, KC_PTX_GENERIC: it names none. */
enum kc_ptx_type kc__ptx_type_named(const char *text, size_t length);
enum kc_ptx_space kc__ptx_space_named(const char *text, size_t length);

/* ptx_declaration.c */
int kc__ptx_integer(struct kc__lexer *lexer, uint64_t max, uint64_t *value);
int kc__ptx_name(struct kc__lexer *lexer, const char **text, size_t *length);
uint32_t kc__ptx_space(const struct kc__lexer *lexer); /* of a directive such as .shared; KC_PTX_GENERIC: it is none */
/* .align 4 .b8 name[4][5] = {…}, name2; after the state space. */
int kc__ptx_variables(struct kc__parser *parser, uint32_t space);
/* (.param .u64 a, .reg .b32 b) of a function. returned: its return values, which become variables of the function. */
int kc__ptx_params(struct kc__parser *parser, int returned);
/* .reg .b32 %r<30>, %p; after the directive. */
int kc__ptx_registers(struct kc__parser *parser);
/* .branchtargets A, B; after the label of the list. */
int kc__ptx_targets(struct kc__parser *parser, const char *text, size_t length);

int kc__ptx_operand(struct kc__parser *parser, struct kc_ptx_operand *operand);
int kc__ptx_instruction(struct kc__parser *parser);
/* At the end of a scope, whose instructions are those from `first` on: replaces labels of it in branches by instruction
 * indices. In the function's own scope, a label that is in none is refused. */
int kc__ptx_resolve(struct kc__parser *parser, uint32_t first);

#endif
