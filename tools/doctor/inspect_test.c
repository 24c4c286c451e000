#include "inspect.h"

#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct place { /* a folder of the test's own */
	char folder[64];
	char file[80];
	struct kc_inspection about;
};

static int make_place(void **state)
{
	struct place *place = calloc(1, sizeof(*place));

	strcpy(place->folder, "/tmp/kc_inspect_XXXXXX");
	assert_non_null(mkdtemp(place->folder));
	snprintf(place->file, sizeof(place->file), "%s/app", place->folder);
	*state = place;
	return 0;
}

static int remove_place(void **state)
{
	struct place *place = *state;

	unlink(place->file);
	rmdir(place->folder);
	free(place);
	return 0;
}

static void write_file(const struct place *place, const void *bytes, size_t n, mode_t mode)
{
	FILE *to = fopen(place->file, "w");

	assert_non_null(to);
	assert_int_equal(fwrite(bytes, 1, n, to), n);
	fclose(to);
	assert_int_equal(chmod(place->file, mode), 0);
}

/* The smallest program with headers, as elf(5) lays them out. */
struct small_elf {
	Elf64_Ehdr head;
	Elf64_Phdr program[2];
};

static struct small_elf small_elf(void)
{
	struct small_elf elf = {0};

	memcpy(elf.head.e_ident, ELFMAG, SELFMAG);
	elf.head.e_ident[EI_CLASS] = ELFCLASS64;
	elf.head.e_ident[EI_DATA] = ELFDATA2LSB;
#if defined(__x86_64__)
	elf.head.e_machine = EM_X86_64;
#else
	elf.head.e_machine = EM_AARCH64;
#endif
	elf.head.e_phoff = offsetof(struct small_elf, program);
	elf.head.e_phentsize = sizeof(Elf64_Phdr);
	elf.head.e_phnum = 1;
	elf.program[0].p_type = PT_LOAD;
	return elf;
}

static void test_system_programs_take_a_preload(void **state)
{
	struct place *place = *state;

	assert_int_equal(kc_inspect("sh", &place->about), 0);
	assert_int_equal(place->about.preload, KC_PRELOAD_YES);
	assert_int_equal(place->about.cuda, KC_CUDA_NONE);
	assert_non_null(strchr(place->about.path, '/'));
}

static void test_missing_and_not_executable(void **state)
{
	struct place *place = *state;

	assert_int_equal(kc_inspect("kerncast-has-no-such-program", &place->about), -ENOENT);
	assert_false(place->about.found);
	write_file(place, "x", 1, 0644);
	assert_int_equal(kc_inspect(place->file, &place->about), -EACCES);
	assert_true(place->about.found);
	assert_int_equal(kc_inspect(place->folder, &place->about), -EACCES);
}

static void test_no_interpreter_is_static(void **state)
{
	struct place *place = *state;
	struct small_elf elf = small_elf();

	write_file(place, &elf, sizeof(elf), 0755);
	assert_int_equal(kc_inspect(place->file, &place->about), 0);
	assert_int_equal(place->about.preload, KC_PRELOAD_STATIC);
	elf.head.e_phnum = 2;
	elf.program[1].p_type = PT_INTERP;
	write_file(place, &elf, sizeof(elf), 0755);
	assert_int_equal(kc_inspect(place->file, &place->about), 0);
	assert_int_equal(place->about.preload, KC_PRELOAD_YES);
}

/* musl's loader, by any path: https://wiki.musl-libc.org/guidelines-for-distributions */
static void test_programs_of_musl_are_told(void **state)
{
	static const struct {
		const char *loader;
		enum kc_preload preload;
	} loaders[] = {{"/lib/ld-musl-x86_64.so.1", KC_PRELOAD_MUSL},
		       {"/opt/musl/lib/ld-musl-aarch64.so.1", KC_PRELOAD_MUSL},
		       {"/lib64/ld-linux-x86-64.so.2", KC_PRELOAD_YES},
		       {"/ld-musl/ld-linux-x86-64.so.2", KC_PRELOAD_YES}};
	struct place *place = *state;
	struct {
		struct small_elf elf;
		char loader[64];
	} file = {.elf = small_elf()};

	for (size_t i = 0; i < sizeof(loaders) / sizeof(*loaders); i++) {
		strcpy(file.loader, loaders[i].loader);
		file.elf.head.e_phnum = 2;
		file.elf.program[1] = (Elf64_Phdr){
		    .p_type = PT_INTERP, .p_offset = sizeof(file.elf), .p_filesz = strlen(file.loader) + 1};
		write_file(place, &file, sizeof(file), 0755);
		assert_int_equal(kc_inspect(place->file, &place->about), 0);
		assert_int_equal(place->about.preload, loaders[i].preload);
	}
}

static void test_other_machines(void **state)
{
	struct place *place = *state;
	struct small_elf elf = small_elf();

	elf.head.e_machine = EM_S390;
	write_file(place, &elf, sizeof(elf), 0755);
	assert_int_equal(kc_inspect(place->file, &place->about), 0);
	assert_int_equal(place->about.preload, KC_PRELOAD_FOREIGN);
	elf.head.e_ident[EI_CLASS] = ELFCLASS32;
	write_file(place, &elf, sizeof(Elf32_Ehdr), 0755);
	assert_int_equal(kc_inspect(place->file, &place->about), 0);
	assert_int_equal(place->about.preload, KC_PRELOAD_FOREIGN);
	assert_non_null(strstr(place->about.reason, "32-bit"));
}

/* Whatever a file says of itself, nothing outside it is read. */
static void test_damaged_files_are_survived(void **state)
{
	struct place *place = *state;
	struct small_elf elf = small_elf();

	for (size_t n = 1; n < sizeof(elf); n++) {
		write_file(place, &elf, n, 0755);
		assert_int_equal(kc_inspect(place->file, &place->about), 0);
		if (n < EI_NIDENT) /* no ELF file: the shell's, as for execvp() */
			assert_string_equal(place->about.binary, "/bin/sh");
		else
			assert_int_not_equal(place->about.preload, KC_PRELOAD_YES);
	}
	elf.program[0] = (Elf64_Phdr){.p_type = PT_DYNAMIC, .p_offset = UINT64_MAX - 8, .p_filesz = 4096};
	elf.head.e_shoff = UINT64_MAX - 64;
	elf.head.e_shnum = 0xffff;
	elf.head.e_shentsize = sizeof(Elf64_Shdr);
	write_file(place, &elf, sizeof(elf), 0755);
	assert_int_equal(kc_inspect(place->file, &place->about), 0);
	assert_int_equal(place->about.preload, KC_PRELOAD_STATIC);
}

static void test_scripts_stand_for_their_interpreter(void **state)
{
	static const char shell[] = "#! /bin/sh -e\n", env[] = "#!/usr/bin/env -S A=b sh -e\n", none[] = "echo\n";
	struct place *place = *state;

	write_file(place, shell, strlen(shell), 0755);
	assert_int_equal(kc_inspect(place->file, &place->about), 0);
	assert_true(place->about.script);
	assert_string_equal(place->about.binary, "/bin/sh");
	assert_int_equal(place->about.preload, KC_PRELOAD_YES);
	write_file(place, env, strlen(env), 0755);
	assert_int_equal(kc_inspect(place->file, &place->about), 0);
	assert_string_equal(strrchr(place->about.binary, '/'), "/sh");
	write_file(place, none, strlen(none), 0755);
	assert_int_equal(kc_inspect(place->file, &place->about), 0);
	assert_string_equal(place->about.binary, "/bin/sh");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_system_programs_take_a_preload, make_place, remove_place),
	    cmocka_unit_test_setup_teardown(test_missing_and_not_executable, make_place, remove_place),
	    cmocka_unit_test_setup_teardown(test_no_interpreter_is_static, make_place, remove_place),
	    cmocka_unit_test_setup_teardown(test_programs_of_musl_are_told, make_place, remove_place),
	    cmocka_unit_test_setup_teardown(test_other_machines, make_place, remove_place),
	    cmocka_unit_test_setup_teardown(test_damaged_files_are_survived, make_place, remove_place),
	    cmocka_unit_test_setup_teardown(test_scripts_stand_for_their_interpreter, make_place, remove_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
