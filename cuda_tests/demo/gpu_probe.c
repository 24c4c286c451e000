/* Exit status 0 where NVIDIA's driver is here and sees a GPU, 1 where not.
 * The name of the first one goes to stdout. */
#include <dlfcn.h>
#include <stdio.h>

int main(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	int (*init)(unsigned) = NULL;
	int (*count)(int *) = NULL;
	int (*name)(char *, int, int) = NULL;
	char text[256] = "";
	int devices = 0;

	if (!driver)
		return 1;
	*(void **)&init = dlsym(driver, "cuInit");
	*(void **)&count = dlsym(driver, "cuDeviceGetCount");
	*(void **)&name = dlsym(driver, "cuDeviceGetName");
	if (!init || !count || !name)
		return 1;
	if (init(0) || count(&devices) || devices < 1 || name(text, sizeof(text), 0))
		return 1;
	puts(text);
	return 0;
}
