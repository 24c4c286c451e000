/* Preloaded after the shim, so that its destructor runs after the shim's: see exit.c. */
#include <stddef.h>

extern void awkward_late(void) __attribute__((weak));

__attribute__((destructor)) static void at_unload(void)
{
	if (awkward_late != NULL)
		awkward_late();
}
