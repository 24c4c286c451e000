#include "shim/shim.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Each message once, and no more than this many lines in a process. */
#define LINES_MAX 5

void kc__say(enum kc_message_code code, const char *detail)
{
	static _Atomic uint32_t said[KC_MESSAGE_COUNT];
	static _Atomic uint32_t lines;
	char line[512], entry_bytes[sizeof(struct kc_message_entry) + sizeof(line)];
	struct kc_message_entry entry = {.code = (uint32_t)code, .count = 1};
	int n;

	if (atomic_fetch_add(&said[code], 1))
		return;
	n = snprintf(line, sizeof(line), "%s%s%s", kc_message_text(code), detail ? ": " : "", detail ? detail : "");
	if (n < 0)
		return;
	if (n >= (int)sizeof(line))
		n = sizeof(line) - 1;
	if (kc__shim.journal) {
		entry.time_ns = kc__now_ns();
		entry.severity = kc_message_severity(code);
		memcpy(entry_bytes, &entry, sizeof(entry));
		memcpy(entry_bytes + sizeof(entry), line, (size_t)n + 1);
		kc_journal_put(kc__shim.journal, KC_KIND_MESSAGE, entry_bytes, sizeof(entry) + (size_t)n + 1);
	}
	if (!kc__shim.options.quiet && kc_message_severity(code) > 0 && atomic_fetch_add(&lines, 1) < LINES_MAX)
		dprintf(STDERR_FILENO, "kerncast: %s\n", line);
}
