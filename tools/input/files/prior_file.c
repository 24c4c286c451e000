#include "prior_file.h"

#include "tools/command.h"

struct kc_knowledge *kc_prior_read(const char *path)
{
	struct kc_knowledge *knowledge;
	char why[200];

	if (kc_knowledge_open(path, &knowledge, why, sizeof(why)) < 0)
		kc_error("%s cannot be used: %s", path, why);
	return knowledge;
}
