/*
 * Kinds of letters, as in the C locale. The C library's <ctype.h> looks them up in tables that a thread may lack where
 * the library is in a namespace of its own (dlmopen(), LD_AUDIT), and crashes then.
 */
#ifndef KC_LETTERS_H
#define KC_LETTERS_H

static inline int kc_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline int kc_is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static inline int kc_is_letter_or_digit(char c)
{
	return kc_is_letter(c) || kc_is_digit(c);
}

static inline int kc_is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static inline char kc_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

#endif
