/*
 * The version of the library as an ELF note, which `kerncast run` reads from the file before it starts a program, and
 * `readelf -n` shows.
 */
#include "store/common/version.h"
#include "store/database/schema.h"
#include "store/journal/journal.h"

static const struct {
	uint32_t name_bytes, content_bytes, type;
	char name[(sizeof(KC_VERSION_NOTE) + 3) / 4 * 4]; /* elf(5): names and contents are padded to 4 bytes */
	struct kc_version content;
} note __attribute__((section(".note.kerncast"), used, aligned(4))) = {
    sizeof(KC_VERSION_NOTE), sizeof(struct kc_version), KC_VERSION_NOTE_TYPE, KC_VERSION_NOTE, KC_VERSION_OWN};
