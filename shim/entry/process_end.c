/*
 * A process that ends by itself without its exit handlers: by _exit(), as children of Python's multiprocessing and many
 * others made by fork() do, by quick_exit(), or by becoming another program. Its journal says so, and nothing else is
 * done: these functions are called in signal handlers too, and in children that have our memory (vfork()). The C
 * library's own calls of them do not come here, nor does a program that makes the system call itself.
 */
#include "lookup.h"
#include "real.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXECS(X)                                                                                                       \
	X(execve, (const char *path, char *const argv[], char *const envp[]), (path, argv, envp))                      \
	X(execv, (const char *path, char *const argv[]), (path, argv))                                                 \
	X(execvp, (const char *file, char *const argv[]), (file, argv))                                                \
	X(execvpe, (const char *file, char *const argv[], char *const envp[]), (file, argv, envp))                     \
	X(fexecve, (int fd, char *const argv[], char *const envp[]), (fd, argv, envp))

/* The next functions of these names, in the loader's order. */
static struct {
	void (*exit_at_once)(int status);
	void (*Exit)(int status);
#define MEMBER(name, parameters, arguments) int(*name) parameters;
	EXECS(MEMBER)
} next;

void kc__process_end_find(void)
{
	next.exit_at_once = (void (*)(int))kc__real_dlsym(RTLD_NEXT, "_exit");
	next.Exit = (void (*)(int))kc__real_dlsym(RTLD_NEXT, "_Exit");
#define FIND(name, parameters, arguments) next.name = (int(*) parameters)kc__real_dlsym(RTLD_NEXT, #name);
	EXECS(FIND)
}

/* False, and nothing is said, where it is not this process that is recorded: a child that has its memory. */
static bool say_ended(void)
{
	if (!kc__records_us())
		return false;
	atomic_store(&kc__shim.header->ended_ns, kc__now_ns());
	atomic_store(&kc__shim.header->ended, 1);
	return true;
}

static void take_back(bool said)
{
	if (!said)
		return;
	atomic_store(&kc__shim.header->ended, 0);
	atomic_store(&kc__shim.header->ended_ns, 0);
}

static void at_quick_exit_of_process(void)
{
	say_ended();
}

void kc__process_end_begin(void)
{
	if (!kc__apart()) /* there, the process ends by another copy of the C library */
		(void)at_quick_exit(at_quick_exit_of_process);
}

/* Where it is called before our constructor, nobody behind us misses it. */
static void __attribute__((noreturn)) end_at_once(void (*by)(int), int status)
{
	say_ended();
	if (by)
		by(status);
	for (;;)
		syscall(SYS_exit_group, status);
}

KC_EXPORT void _exit(int status)
{
	end_at_once(next.exit_at_once, status);
}

KC_EXPORT void _Exit(int status)
{
	end_at_once(next.Exit, status);
}

#define DEFINE(name, parameters, arguments)                                                                            \
	KC_EXPORT int name parameters                                                                                  \
	{                                                                                                              \
		bool said = say_ended();                                                                               \
		int result;                                                                                            \
                                                                                                                       \
		if (!next.name)                                                                                        \
			kc__process_end_find();                                                                        \
		result = next.name arguments;                                                                          \
		take_back(said);                                                                                       \
		return result;                                                                                         \
	}
EXECS(DEFINE)

/* How many arguments there are, with the NULL that ends them. */
static size_t count(const char *first, va_list more)
{
	size_t n = 1;

	for (const char *argument = first; argument; n++)
		argument = va_arg(more, const char *);
	return n;
}

static char **gather(char **argv, const char *first, va_list *more)
{
	size_t n = 0;

	for (argv[n] = (char *)first; argv[n]; n++)
		argv[n + 1] = va_arg(*more, char *);
	return argv;
}

/* call: with the arguments in argv, and what is behind them in `more`. */
#define CALL_WITH_ARGUMENTS(call)                                                                                      \
	va_list more;                                                                                                  \
	char **argv;                                                                                                   \
	int result;                                                                                                    \
                                                                                                                       \
	va_start(more, first);                                                                                         \
	argv = __builtin_alloca(count(first, more) * sizeof(*argv));                                                   \
	va_end(more);                                                                                                  \
	va_start(more, first);                                                                                         \
	argv = gather(argv, first, &more);                                                                             \
	result = call;                                                                                                 \
	va_end(more);                                                                                                  \
	return result

KC_EXPORT int execl(const char *path, const char *first, ...)
{
	CALL_WITH_ARGUMENTS(execv(path, argv));
}

KC_EXPORT int execlp(const char *file, const char *first, ...)
{
	CALL_WITH_ARGUMENTS(execvp(file, argv));
}

KC_EXPORT int execle(const char *path, const char *first, ...)
{
	CALL_WITH_ARGUMENTS(execve(path, argv, va_arg(more, char *const *)));
}
