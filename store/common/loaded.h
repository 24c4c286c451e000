/* Libraries that are loaded in this process. */
#ifndef KC_LOADED_H
#define KC_LOADED_H

/* A handle of dlopen() for a library with this SONAME; NULL: none is loaded. Unlike dlopen() with RTLD_NOLOAD alone, it
 * looks for no file. */
void *kc_loaded(const char *soname);

#endif
