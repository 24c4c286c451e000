#include "mapped_code.h"

#include "predictor/code/container/elf_file.h"
#include "predictor/code/container/fatbin.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES_MAX 4096u
#define SECTIONS_MAX 256u
#define NAMES_BYTES 4096u
#define GAP_BYTES 64u      /* between two fatbins, of zeros */
#define ENTRIES_MAX 65536u /* looked at in one file */
#define STEP_ENTRIES 256u  /* and in one step */

struct mapped_file {
	struct mapped_file *next;
	char path[];
};

static struct {
	struct mapped_file *first, **end;
	uint32_t count;
} mapped;

static int note(struct dl_phdr_info *object, size_t size, void *unused)
{
	const char *path = *object->dlpi_name ? object->dlpi_name : "/proc/self/exe";
	struct mapped_file *file;

	(void)size;
	(void)unused;
	if (path[0] != '/' || mapped.count == FILES_MAX)
		return 0;
	file = malloc(sizeof(*file) + strlen(path) + 1);
	if (!file)
		return 1;
	strcpy(file->path, path);
	file->next = NULL;
	*mapped.end = file;
	mapped.end = &file->next;
	mapped.count++;
	return 0;
}

void kc__mapped_forget(void)
{
	mapped.first = NULL;
	mapped.count = 0;
}

void kc__mapped_note(void)
{
	mapped.first = NULL;
	mapped.end = &mapped.first;
	mapped.count = 0;
	dl_iterate_phdr(note, NULL);
}

char *kc__mapped_take(void)
{
	struct mapped_file *file = mapped.first;
	char *path;

	if (!file)
		return NULL;
	mapped.first = file->next;
	path = strdup(file->path);
	free(file);
	return path;
}

static const void *look(struct kc__walk *w, uint64_t at, size_t length)
{
	size_t all = sizeof(w->window);

	if (at >= w->window_at && at - w->window_at < w->window_bytes &&
	    length <= w->window_bytes - (at - w->window_at))
		return w->window + (at - w->window_at);
	if (at > w->file.length || length > w->file.length - at)
		return NULL;
	if (all > w->file.length - at)
		all = (size_t)(w->file.length - at);
	w->window_bytes = 0;
	if (kc_code_file_read(&w->file, at, w->window, all))
		return NULL;
	w->window_at = at;
	w->window_bytes = all;
	return w->window;
}

/* The section of an executable or shared object that has its fatbins. */
static bool find_section(struct kc_code_file *file, Elf64_Shdr *found)
{
	Elf64_Shdr sections[SECTIONS_MAX];
	char names[NAMES_BYTES] = "";
	Elf64_Ehdr head;
	size_t bytes;

	if (kc_code_file_read(file, 0, &head, sizeof(head)) || memcmp(head.e_ident, ELFMAG, SELFMAG) ||
	    head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_shentsize != sizeof(sections[0]) || !head.e_shnum ||
	    head.e_shnum > SECTIONS_MAX || head.e_shstrndx >= head.e_shnum ||
	    kc_code_file_read(file, head.e_shoff, sections, head.e_shnum * sizeof(sections[0])))
		return false;
	bytes = sections[head.e_shstrndx].sh_size;
	bytes = bytes < sizeof(names) ? bytes : sizeof(names) - 1;
	if (kc_code_file_read(file, sections[head.e_shstrndx].sh_offset, names, bytes))
		return false;
	for (uint32_t i = 0; i < head.e_shnum; i++) {
		*found = sections[i];
		if (found->sh_name < bytes && !strcmp(names + found->sh_name, ".nv_fatbin") &&
		    found->sh_offset < file->length && found->sh_size <= file->length - found->sh_offset)
			return true;
	}
	return false;
}

/* Whether one of the entries between the two places is such PTX. */
static bool has_ptx(struct kc__walk *w, uint64_t at, uint64_t end, uint32_t architecture)
{
	struct kc_fatbin_entry entry;
	const void *header;
	uint64_t bytes;

	for (; at < end && w->left && (header = look(w, at, KC_FATBIN_ENTRY_BYTES)); at += bytes) {
		w->left--;
		bytes = kc__fatbin_entry_head(header, 0, &entry);
		if (!bytes)
			return false;
		if (entry.kind == KC_FATBIN_KIND_PTX && entry.sm <= architecture)
			return true;
	}
	return false;
}

/* The length of the fatbin at that place; 0: there is none. */
static uint64_t fatbin_at(struct kc__walk *w, uint64_t at, uint64_t end, uint32_t *header_bytes)
{
	const char *header = end - at >= KC_FATBIN_HEADER_BYTES ? look(w, at, KC_FATBIN_HEADER_BYTES) : NULL;
	struct kc_bytes head = {(const uint8_t *)header, KC_FATBIN_HEADER_BYTES, 0};
	uint64_t bytes;

	if (!header || !kc__fatbin_is(&head))
		return 0;
	*header_bytes = kc__fatbin_header_bytes(header);
	memcpy(&bytes, header + 8, sizeof(bytes));
	return *header_bytes >= KC_FATBIN_HEADER_BYTES && bytes <= end - at && *header_bytes <= end - at - bytes
		   ? *header_bytes + bytes
		   : 0;
}

bool kc__walk_begin(struct kc__walk *w, const char *path)
{
	Elf64_Shdr section;
	struct stat st;

	*w =
	    (struct kc__walk){.file.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), .left = ENTRIES_MAX};
	if (w->file.fd >= 0 && fstat(w->file.fd, &st) == 0 && S_ISREG(st.st_mode)) {
		w->file.length = (uint64_t)st.st_size;
		if (find_section(&w->file, &section)) {
			w->at = section.sh_offset;
			w->end = w->at + section.sh_size;
			return true;
		}
	}
	kc__walk_end(w);
	return false;
}

int kc__walk_on(struct kc__walk *w, uint32_t architecture, uint64_t *offset, size_t *length)
{
	uint32_t header_bytes, until = w->left > STEP_ENTRIES ? w->left - STEP_ENTRIES : 0;

	while (w->at < w->end && w->left && w->gap <= GAP_BYTES) {
		uint64_t at = w->at, bytes = fatbin_at(w, at, w->end, &header_bytes);

		w->gap = bytes ? 0 : w->gap + 8;
		w->at += bytes ? (bytes + 7) & ~(uint64_t)7 : 8;
		if (bytes && has_ptx(w, at + header_bytes, at + bytes, architecture)) {
			*offset = at;
			*length = bytes;
			return 1;
		}
		if (w->left < until)
			return 0;
	}
	return -ENOENT;
}

void kc__walk_end(struct kc__walk *w)
{
	if (w->file.fd >= 0)
		close(w->file.fd);
	w->file.fd = -1;
}
