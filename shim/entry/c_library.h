/* The versions that glibc's functions have (readelf --version-info libc.so.6): that of its first release for the
 * machine, and 2.34, in which what libdl had became part of the C library. Also for assembly and shim/exports.map. */
#ifndef KC_SHIM_ENTRY_C_LIBRARY_H
#define KC_SHIM_ENTRY_C_LIBRARY_H

/* clang-format off */
#if defined(__x86_64__)
#define KC__GLIBC_FIRST GLIBC_2.2.5
#elif defined(__aarch64__)
#define KC__GLIBC_FIRST GLIBC_2.17
#else
#error "glibc's first version for this machine is not known here"
#endif
/* clang-format on */

#define KC__STRING_OF(tokens) #tokens
#define KC__STRING(macro) KC__STRING_OF(macro)

#define KC__GLIBC_VERSIONS                                                                                             \
	{                                                                                                              \
		"GLIBC_2.34", KC__STRING(KC__GLIBC_FIRST)                                                              \
	} /* for dlvsym(), newest first */

#endif
