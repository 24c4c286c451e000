#include "ptx_parser.h"

#include <errno.h>
#include <string.h>

int kc__ptx_no_memory(struct kc__parser *parser)
{
	kc__refuse(parser->lexer.refusal, parser->lexer.offset, "the module needs more memory than is allowed");
	return -ENOMEM;
}

int kc__ptx_grow(struct kc__parser *parser, void *array, uint32_t count, uint32_t *capacity, size_t element_bytes)
{
	return kc_arena_grow(&parser->module->arena, array, capacity, count, element_bytes) ? kc__ptx_no_memory(parser)
											    : 0;
}

int kc__ptx_declare(struct kc__parser *parser, struct kc__names *names, const char *text, size_t length, uint32_t kind,
		    uint32_t number, uint32_t count)
{
	return kc__names_add(names, text, length, kind, number, count) ? kc__ptx_no_memory(parser) : 0;
}

uint32_t kc__ptx_look_up(const struct kc__ptx_modifier *table, size_t count, const char *text, size_t length)
{
	for (size_t i = 0; i < count; i++)
		if (table[i].word[0] == text[0] && strlen(table[i].word) == length &&
		    !memcmp(table[i].word, text, length))
			return table[i].value;
	return 0;
}
