#include "version.h"

#include "store/database/schema.h"
#include "store/journal/journal.h"

#include <stdio.h>

const char *kc_version_text_of(const struct kc_version *version, char *out)
{
	snprintf(out, KC_VERSION_TEXT_BYTES, "%.*s, database %u, journal %u", (int)sizeof(version->release),
		 version->release, version->database, version->journal);
	return out;
}

const char *kc_version_text(char *out)
{
	return kc_version_text_of(&(struct kc_version)KC_VERSION_OWN, out);
}
