#include "shim/shim.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Each message once, and no more than this many lines in a process. */
#define LINES_MAX 5

#define LINE_BYTES 512

/* Said while the journal had no room for it. */
static _Atomic uint32_t unwritten[KC_MESSAGE_COUNT];

static int write_message(enum kc_message_code code, const char *line)
{
	char bytes[sizeof(struct kc_message_entry) + LINE_BYTES];
	struct kc_message_entry entry = {
	    .time_ns = kc__now_ns(), .severity = kc_message_severity(code), .code = (uint32_t)code, .count = 1};
	size_t n = strlen(line) + 1;

	memcpy(bytes, &entry, sizeof(entry));
	memcpy(bytes + sizeof(entry), line, n);
	return kc_journal_put(kc__shim.journal, KC_KIND_MESSAGE, bytes, sizeof(entry) + n);
}

bool kc__say_unwritten(uint32_t code, struct kc_slot *slot)
{
	struct kc_message_entry entry = {
	    .time_ns = kc__now_ns(), .severity = kc_message_severity(code), .code = code, .count = 1};
	size_t room = sizeof(slot->part.payload) - sizeof(entry) - 1, n = strlen(kc_message_text(code));

	if (!atomic_exchange(&unwritten[code], 0))
		return false;
	if (n > room)
		n = room;
	memset(slot, 0, sizeof(*slot));
	slot->kind = KC_KIND_MESSAGE;
	slot->part.count = 1;
	slot->part.bytes = (uint32_t)(sizeof(entry) + n + 1);
	memcpy(slot->part.payload, &entry, sizeof(entry));
	memcpy(slot->part.payload + sizeof(entry), kc_message_text(code), n);
	return true;
}

void kc__say(enum kc_message_code code, const char *detail)
{
	static _Atomic uint32_t said[KC_MESSAGE_COUNT];
	static _Atomic uint32_t lines;
	char line[LINE_BYTES];

	if (atomic_fetch_add(&said[code], 1))
		return;
	snprintf(line, sizeof(line), "%s%s%s", kc_message_text(code), detail ? ": " : "", detail ? detail : "");
	if (kc__shim.journal && write_message(code, line))
		atomic_store(&unwritten[code], 1);
	if (!kc__shim.options.quiet && kc_message_severity(code) > 0 && atomic_fetch_add(&lines, 1) < LINES_MAX)
		dprintf(STDERR_FILENO, "kerncast: %s\n", line);
}
