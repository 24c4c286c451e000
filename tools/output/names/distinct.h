/*
 * Shortens the texts of one column so that different texts read differently:
 * names of template instances often agree at both ends, which is all that
 * kc_shorten_middle() keeps.
 */
#ifndef KC_DISTINCT_H
#define KC_DISTINCT_H

#include <stddef.h>

/*
 * Writes the text of each as it is shown in at most width columns into out[i], to
 * be freed by the caller. Where there is no room for one of them, all are plain names
 * (plain_name.h), but those of which others have the same. Texts whose ends suffice
 * are shortened in the middle. Of others, the places are kept where they differ,
 * "f…FillFunctor<int>…", as far as width has room for them; columns that these leave
 * free go to the beginning and to what follows each place. texts[i] may be the same.
 * Returns 0 or -ENOMEM, with nothing to be freed.
 */
int kc_shorten_distinct(const char *const *texts, size_t count, size_t width, char **out);

#endif
