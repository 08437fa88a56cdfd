// SPDX-License-Identifier: Apache-2.0
// The libraries of an adapter, loaded by name before its file: the dynamic linker then finds each among those that are
// there, and opens no file while code of the adapter can run.
#include "core/isolate/sandbox_parts.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>

struct image {
    const unsigned char *content;
    size_t len;
    ElfW(Ehdr) header;
};

// Copies `size` bytes of the file. False: not in the file.
static bool copy(const struct image *image, uint64_t offset, size_t size, void *out) {
    if (offset > image->len || size > image->len - offset)
        return false;
    memcpy(out, image->content + offset, size);
    return true;
}

static bool segment_at(const struct image *image, size_t i, ElfW(Phdr) * out) {
    return copy(image, image->header.e_phoff + i * sizeof *out, sizeof *out, out);
}

// The place in the file of an address in memory; SIZE_MAX: none.
static uint64_t offset_of(const struct image *image, uint64_t address) {
    ElfW(Phdr) segment;
    for (size_t i = 0; i < image->header.e_phnum && segment_at(image, i, &segment); i++)
        if (segment.p_type == PT_LOAD && address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz)
            return segment.p_offset + (address - segment.p_vaddr);
    return SIZE_MAX;
}

// A text of the file with its end in the file, or NULL.
static const char *text_at(const struct image *image, uint64_t offset) {
    if (offset >= image->len || !memchr(image->content + offset, '\0', image->len - offset))
        return NULL;
    return (const char *)image->content + offset;
}

static struct error *load(const char *name) {
    if (!name || name[0] == '\0')
        return error_new(ERROR_INVALID, "the name of a shared library is not in the file");
    if (strchr(name, '/'))
        return error_new(ERROR_REFUSED, "found the shared library %s by its path, expected libraries of the system",
                         name);
    if (!dlopen(name, RTLD_NOW | RTLD_LOCAL)) // stays: never closed
        return error_new(ERROR_NOT_FOUND, "a shared library that the adapter needs: %s", dlerror());
    return NULL;
}

// The entry at `i` of the dynamic section; DT_NULL ends the list, as does the end of the section.
static ElfW(Dyn) entry_at(const struct image *image, const ElfW(Phdr) * section, size_t i) {
    ElfW(Dyn) entry = {.d_tag = DT_NULL};
    if (i < section->p_filesz / sizeof entry &&
        !copy(image, section->p_offset + i * sizeof entry, sizeof entry, &entry))
        entry.d_tag = DT_NULL;
    return entry;
}

static struct error *load_all(const struct image *image, const ElfW(Phdr) * section) {
    ElfW(Dyn) entry;
    uint64_t texts = SIZE_MAX;
    for (size_t i = 0; (entry = entry_at(image, section, i)).d_tag != DT_NULL; i++)
        if (entry.d_tag == DT_STRTAB)
            texts = offset_of(image, entry.d_un.d_ptr);
    for (size_t i = 0; (entry = entry_at(image, section, i)).d_tag != DT_NULL; i++)
        if (entry.d_tag == DT_NEEDED)
            TRY(load(texts < image->len && entry.d_un.d_val < image->len ? text_at(image, texts + entry.d_un.d_val)
                                                                         : NULL));
    return NULL;
}

static struct error *load_of(struct image *image) {
    ElfW(Phdr) segment;
    if (!copy(image, 0, sizeof image->header, &image->header) || memcmp(image->header.e_ident, ELFMAG, SELFMAG) != 0)
        return error_new(ERROR_INVALID, "not an ELF file");
    for (size_t i = 0; i < image->header.e_phnum && segment_at(image, i, &segment); i++)
        if (segment.p_type == PT_DYNAMIC)
            return load_all(image, &segment);
    return NULL;
}

struct error *sandbox_load_libraries(int file) {
    struct stat info;
    if (fstat(file, &info) != 0)
        return error_new(ERROR_IO, "cannot read the adapter: %s", strerror(errno));
    void *content = info.st_size > 0 ? mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
    if (content == MAP_FAILED)
        return error_new(ERROR_IO, "cannot read the adapter: %s", strerror(info.st_size > 0 ? errno : ENODATA));
    struct image image = {.content = content, .len = (size_t)info.st_size};
    struct error *error = load_of(&image);
    munmap(content, (size_t)info.st_size);
    return error;
}
