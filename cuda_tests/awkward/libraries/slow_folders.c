/* openat() of a file system that takes 0.2 s to open the folder SLOW_FOLDER. */
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((visibility("default"))) int openat(int at, const char *path, int flags, ...)
{
	const char *slow = getenv("SLOW_FOLDER");
	mode_t mode = 0;
	va_list more;

	if (flags & O_CREAT) {
		va_start(more, flags);
		mode = va_arg(more, mode_t);
		va_end(more);
	}
	if (slow && strcmp(path, slow) == 0)
		usleep(200000);
	return (int)syscall(SYS_openat, at, path, flags, mode);
}
