/*
 * The version, the day of the newest release, and what the command and the library must have in common to work
 * together. `kerncast --version`, the manual, exported traces and packages take them from here. "0.3.0-dev" is what
 * comes after the release before 0.3.0; scripts/package/release writes both. A test compares them with CHANGELOG.md.
 */
#ifndef KC_VERSION_H
#define KC_VERSION_H

#include <stddef.h>
#include <stdint.h>

#define KC_VERSION "0.2.0-dev"
#define KC_RELEASED "November 21, 2026"

#define KC_VERSION_TEXT_BYTES 64u
/* Name and type of the ELF note of libkerncast.so whose content is its struct kc_version. */
#define KC_VERSION_NOTE "kerncast"
#define KC_VERSION_NOTE_TYPE 1u

/* A library writes a journal and a database for the command that runs it: all three are to be equal in both. */
struct kc_version {
	char release[24];
	uint32_t database, journal; /* versions of these files */
};

/* Where store/database/schema.h and store/journal/journal.h are included. */
#define KC_VERSION_OWN                                                                                                 \
	{                                                                                                              \
		KC_VERSION, KC_SCHEMA_VERSION, KC_JOURNAL_VERSION                                                      \
	}

/* Of this program: "0.1.0, database 12, journal 8". out: KC_VERSION_TEXT_BYTES. */
const char *kc_version_text(char *out);
/* Of another one, which may hold anything. */
const char *kc_version_text_of(const struct kc_version *version, char *out);

#endif
