#include "elf_linking.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#else
#error "name this processor's ELF machine"
#endif

/* An array of count structs of the given size at offset; NULL if it is not inside the file. */
static const void *at(const struct kc_elf_file *elf, uint64_t offset, uint64_t count, uint64_t bytes)
{
	if (offset > elf->size || count > (elf->size - offset) / bytes)
		return NULL;
	return elf->bytes + offset;
}

/* The string at offset in the table; NULL if it does not end inside the table. */
static const char *string_at(const struct kc_elf_file *elf, uint64_t table, uint64_t table_bytes, uint64_t index)
{
	const char *text = at(elf, table, table_bytes, 1);

	if (!text || index >= table_bytes || !memchr(text + index, '\0', table_bytes - index))
		return NULL;
	return text + index;
}

static Elf64_Phdr program_header(const struct kc_elf_file *elf, const Elf64_Ehdr *head, unsigned i)
{
	Elf64_Phdr ph = {.p_type = PT_NULL};
	const uint8_t *from = at(elf, head->e_phoff, head->e_phnum, sizeof(ph));

	if (from && head->e_phentsize == sizeof(ph))
		memcpy(&ph, from + i * sizeof(ph), sizeof(ph));
	return ph;
}

/* The offset in the file of what will be mapped at a virtual address; UINT64_MAX: there is none. */
static uint64_t file_offset(const struct kc_elf_file *elf, uint64_t address)
{
	Elf64_Ehdr head;

	memcpy(&head, elf->bytes, sizeof(head));
	for (unsigned i = 0; i < head.e_phnum; i++) {
		Elf64_Phdr ph = program_header(elf, &head, i);

		if (ph.p_type == PT_LOAD && address >= ph.p_vaddr && address - ph.p_vaddr < ph.p_filesz)
			return ph.p_offset + (address - ph.p_vaddr);
	}
	return UINT64_MAX;
}

static void read_sections(struct kc_elf_file *elf, const Elf64_Ehdr *head)
{
	const uint8_t *from = at(elf, head->e_shoff, head->e_shnum, sizeof(Elf64_Shdr));
	Elf64_Shdr names, section;

	if (!from || head->e_shentsize != sizeof(Elf64_Shdr) || head->e_shstrndx >= head->e_shnum)
		return;
	memcpy(&names, from + head->e_shstrndx * sizeof(names), sizeof(names));
	for (unsigned i = 0; i < head->e_shnum; i++) {
		const char *name;

		memcpy(&section, from + i * sizeof(section), sizeof(section));
		name = string_at(elf, names.sh_offset, names.sh_size, section.sh_name);
		if (name && strcmp(name, ".nv_fatbin") == 0)
			elf->has_device_code = 1;
	}
}

static Elf64_Dyn dynamic_entry(const struct kc_elf_file *elf, uint64_t i)
{
	Elf64_Dyn entry = {.d_tag = DT_NULL};

	if (i < elf->dynamic_bytes / sizeof(entry))
		memcpy(&entry, elf->bytes + elf->dynamic_offset + i * sizeof(entry), sizeof(entry));
	return entry;
}

static uint64_t dynamic_value(const struct kc_elf_file *elf, int64_t tag)
{
	for (uint64_t i = 0; dynamic_entry(elf, i).d_tag != DT_NULL; i++) {
		if (dynamic_entry(elf, i).d_tag == tag)
			return dynamic_entry(elf, i).d_un.d_val;
	}
	return 0;
}

static const char *dynamic_string(const struct kc_elf_file *elf, uint64_t index)
{
	uint64_t table = file_offset(elf, dynamic_value(elf, DT_STRTAB));

	return string_at(elf, table, dynamic_value(elf, DT_STRSZ), index);
}

static int read_headers(struct kc_elf_file *elf)
{
	Elf64_Ehdr head;
	const char *soname;

	memcpy(&head, elf->bytes, sizeof(head));
	if (head.e_phnum == 0 || !at(elf, head.e_phoff, head.e_phnum, sizeof(Elf64_Phdr)))
		return -EILSEQ;
	for (unsigned i = 0; i < head.e_phnum; i++) {
		Elf64_Phdr ph = program_header(elf, &head, i);

		if (ph.p_type == PT_INTERP) {
			elf->has_interpreter = 1;
			elf->interpreter = string_at(elf, ph.p_offset, ph.p_filesz, 0);
		}
		if (ph.p_type == PT_DYNAMIC && at(elf, ph.p_offset, ph.p_filesz, 1)) {
			elf->dynamic_offset = ph.p_offset;
			elf->dynamic_bytes = ph.p_filesz;
		}
	}
	read_sections(elf, &head);
	soname = dynamic_value(elf, DT_SONAME) ? dynamic_string(elf, dynamic_value(elf, DT_SONAME)) : NULL;
	elf->is_loader = soname && strncmp(soname, "ld-linux", 8) == 0;
	return 0;
}

static int identify(struct kc_elf_file *elf)
{
	Elf64_Ehdr head;

	if (elf->size < EI_NIDENT || memcmp(elf->bytes, ELFMAG, SELFMAG) != 0)
		return -ENOEXEC;
	elf->bits = elf->bytes[EI_CLASS] == ELFCLASS32 ? 32 : 64;
	elf->foreign = 1;
	if (elf->bits == 32 || elf->bytes[EI_DATA] != ELFDATA2LSB)
		return 0;
	if (elf->size < sizeof(head))
		return -EILSEQ;
	memcpy(&head, elf->bytes, sizeof(head));
	elf->foreign = head.e_machine != OWN_MACHINE;
	return elf->foreign ? 0 : read_headers(elf);
}

int kc_elf_open(const char *path, struct kc_elf_file *out)
{
	struct stat st;
	void *map = NULL;
	int rc, fd = open(path, O_RDONLY | O_CLOEXEC);

	*out = (struct kc_elf_file){0};
	if (fd < 0)
		return -errno;
	rc = fstat(fd, &st) < 0 ? -errno : 0;
	if (rc == 0 && st.st_size == 0)
		rc = -ENOEXEC;
	if (rc == 0) {
		map = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		rc = map == MAP_FAILED ? -errno : 0;
	}
	close(fd);
	if (rc < 0)
		return rc;
	out->bytes = map;
	out->size = st.st_size;
	rc = identify(out);
	if (rc < 0)
		kc_elf_close(out);
	return rc;
}

void kc_elf_needed(const struct kc_elf_file *elf, void (*fn)(const char *name, void *arg), void *arg)
{
	for (uint64_t i = 0; dynamic_entry(elf, i).d_tag != DT_NULL; i++) {
		const char *name = NULL;

		if (dynamic_entry(elf, i).d_tag == DT_NEEDED)
			name = dynamic_string(elf, dynamic_entry(elf, i).d_un.d_val);
		if (name)
			fn(name, arg);
	}
}

#define NOTE_ALIGNMENT 4u /* elf(5) */

static uint64_t padded(uint64_t bytes)
{
	return (bytes + NOTE_ALIGNMENT - 1) / NOTE_ALIGNMENT * NOTE_ALIGNMENT;
}

/* The same in one segment of notes. */
static const void *note_in(const struct kc_elf_file *elf, const Elf64_Phdr *segment, const char *name, uint32_t type,
			   size_t bytes)
{
	uint64_t from = segment->p_offset, end = from + segment->p_filesz;
	Elf64_Nhdr note;

	if (!at(elf, from, segment->p_filesz, 1))
		return NULL;
	while (end - from >= sizeof(note)) {
		uint64_t name_at = from + sizeof(note), content_at;

		memcpy(&note, elf->bytes + from, sizeof(note));
		content_at = name_at + padded(note.n_namesz);
		from = content_at + padded(note.n_descsz);
		if (from > end)
			return NULL;
		if (note.n_type == type && note.n_descsz == bytes && note.n_namesz == strlen(name) + 1 &&
		    memcmp(elf->bytes + name_at, name, note.n_namesz) == 0)
			return elf->bytes + content_at;
	}
	return NULL;
}

const void *kc_elf_note(const struct kc_elf_file *elf, const char *name, uint32_t type, size_t bytes)
{
	const void *found = NULL;
	Elf64_Ehdr head;

	if (elf->foreign)
		return NULL;
	memcpy(&head, elf->bytes, sizeof(head));
	for (unsigned i = 0; !found && i < head.e_phnum; i++) {
		Elf64_Phdr ph = program_header(elf, &head, i);

		if (ph.p_type == PT_NOTE)
			found = note_in(elf, &ph, name, type, bytes);
	}
	return found;
}

void kc_elf_close(struct kc_elf_file *elf)
{
	if (elf->bytes)
		munmap((void *)elf->bytes, elf->size);
	*elf = (struct kc_elf_file){0};
}
