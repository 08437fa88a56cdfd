// SPDX-License-Identifier: Apache-2.0
#include "core/adapter/load/adapter_file.h"

#include <elf.h>
#include <inttypes.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>

static const char expected_file[] = "expected an ELF shared object";

// This program's own ELF header, defined by the linker: the architecture to expect.
extern const ElfW(Ehdr) own_header __asm__("__ehdr_start") __attribute__((visibility("hidden")));

struct elf {
    const char *path;
    const unsigned char *content;
    size_t len;
    ElfW(Ehdr) header;
};

static const char *machine_name(unsigned machine) {
    static const struct {
        unsigned machine;
        const char *name;
    } names[] = {{EM_X86_64, "x86-64"}, {EM_AARCH64, "aarch64"}, {EM_386, "i386"},   {EM_ARM, "arm"},
                 {EM_RISCV, "riscv"},   {EM_PPC64, "ppc64"},     {EM_S390, "s390x"}, {EM_MIPS, "mips"}};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (names[i].machine == machine)
            return names[i].name;
    return "unknown machine";
}

static struct error *truncated(const struct elf *elf) {
    return error_new(ERROR_INVALID, "%s: an ELF file truncated after %zu bytes, %s", elf->path, elf->len,
                     expected_file);
}

// The fields up to e_machine have the same place in ELF files of 32 and 64 bits.
static struct error *check_machine(const struct elf *elf) {
    const unsigned char *ident = elf->content, *own = own_header.e_ident;
    if (elf->len < EI_NIDENT || memcmp(ident, ELFMAG, SELFMAG) != 0)
        return error_new(ERROR_INVALID, "%s: not an ELF file, %s", elf->path, expected_file);
    if (elf->len < sizeof(Elf32_Ehdr))
        return truncated(elf);
    if (ident[EI_DATA] != own[EI_DATA])
        return error_new(ERROR_INVALID, "%s: wrong architecture: found the opposite byte order, expected that of %s",
                         elf->path, machine_name(own_header.e_machine));
    Elf32_Ehdr header;
    memcpy(&header, ident, sizeof(header));
    if (header.e_machine != own_header.e_machine || ident[EI_CLASS] != own[EI_CLASS])
        return error_new(ERROR_INVALID, "%s: wrong architecture: found %s (ELF machine %u, %s bits), expected %s",
                         elf->path, machine_name(header.e_machine), header.e_machine,
                         ident[EI_CLASS] == ELFCLASS64 ? "64" : "32", machine_name(own_header.e_machine));
    if (header.e_type != ET_DYN)
        return error_new(ERROR_INVALID, "%s: found an ELF file of type %u, %s (type %d)", elf->path, header.e_type,
                         expected_file, ET_DYN);
    return NULL;
}

static bool is_within(const struct elf *elf, uint64_t offset, uint64_t size) {
    return offset <= elf->len && size <= elf->len - offset;
}

static struct error *beyond_end(const struct elf *elf, const char *what, size_t number, uint64_t offset,
                                uint64_t size) {
    return error_new(ERROR_INVALID,
                     "%s: truncated: found a file of %zu bytes, expected %s %zu in it, which has %" PRIu64
                     " bytes at offset %" PRIu64,
                     elf->path, elf->len, what, number, size, offset);
}

static struct error *bad_table(const struct elf *elf, const char *what, uint64_t count, unsigned size, uint64_t offset,
                               size_t expected) {
    if (size != expected)
        return error_new(ERROR_INVALID, "%s: found %s headers of %u bytes, expected %zu", elf->path, what, size,
                         expected);
    return error_new(ERROR_INVALID,
                     "%s: truncated: found a file of %zu bytes, expected its %" PRIu64
                     " %s headers in it, which begin at offset %" PRIu64,
                     elf->path, elf->len, count, what, offset);
}

static struct error *check_segments(const struct elf *elf) {
    const ElfW(Ehdr) *header = &elf->header;
    ElfW(Phdr) segment;
    if (header->e_phentsize != sizeof(segment) ||
        !is_within(elf, header->e_phoff, (uint64_t)header->e_phnum * sizeof(segment)))
        return bad_table(elf, "program", header->e_phnum, header->e_phentsize, header->e_phoff, sizeof(segment));
    for (size_t i = 0; i < header->e_phnum; i++) {
        memcpy(&segment, elf->content + header->e_phoff + i * sizeof(segment), sizeof(segment));
        if (!is_within(elf, segment.p_offset, segment.p_filesz))
            return beyond_end(elf, "segment", i, segment.p_offset, segment.p_filesz);
        if (segment.p_type == PT_LOAD && segment.p_filesz > segment.p_memsz)
            return error_new(ERROR_INVALID, "%s: segment %zu: found more bytes in the file than in memory", elf->path,
                             i);
    }
    return NULL;
}

// The table usually follows the segments, so a truncated file fails here first. A stripped file has no table.
static struct error *check_sections(const struct elf *elf) {
    const ElfW(Ehdr) *header = &elf->header;
    ElfW(Shdr) section;
    uint64_t count = header->e_shnum;
    if (header->e_shoff == 0)
        return NULL;
    bool fits = header->e_shentsize == sizeof(section) && is_within(elf, header->e_shoff, sizeof(section));
    if (fits && count == 0) { // 65,280 or more: in the first one
        memcpy(&section, elf->content + header->e_shoff, sizeof(section));
        count = section.sh_size;
    }
    if (!fits || count > (elf->len - header->e_shoff) / sizeof(section))
        return bad_table(elf, "section", count, header->e_shentsize, header->e_shoff, sizeof(section));
    for (uint64_t i = 1; i < count; i++) {
        memcpy(&section, elf->content + header->e_shoff + i * sizeof(section), sizeof(section));
        if (section.sh_type != SHT_NOBITS && section.sh_type != SHT_NULL &&
            !is_within(elf, section.sh_offset, section.sh_size))
            return beyond_end(elf, "section", (size_t)i, section.sh_offset, section.sh_size);
    }
    return NULL;
}

struct error *adapter_elf_check(const char *path, const void *content, size_t len) {
    struct elf elf = {.path = path, .content = content, .len = len};
    struct error *error = check_machine(&elf);
    if (error)
        return error;
    if (len < sizeof(elf.header))
        return truncated(&elf);
    memcpy(&elf.header, content, sizeof(elf.header));
    error = check_segments(&elf);
    return error ? error : check_sections(&elf);
}
