#include "message.h"

struct message_info {
	const char *name, *text;
	uint32_t severity;
};

static const struct message_info *info(uint32_t code)
{
	static const struct message_info table[KC_MESSAGE_COUNT] = {[KC_MESSAGE_NONE] = {"NONE", "", 0},
#define KC_MESSAGE_ROW(name, severity, text) [KC_MESSAGE_##name] = {#name, text, severity},
								    KC_MESSAGES(KC_MESSAGE_ROW)
#undef KC_MESSAGE_ROW
	};
	static const struct message_info unknown = {"UNKNOWN", "a message of another version", 0};

	return code < KC_MESSAGE_COUNT ? &table[code] : &unknown;
}

const char *kc_message_name(uint32_t code)
{
	return info(code)->name;
}

const char *kc_message_text(uint32_t code)
{
	return info(code)->text;
}

uint32_t kc_message_severity(uint32_t code)
{
	return info(code)->severity;
}
