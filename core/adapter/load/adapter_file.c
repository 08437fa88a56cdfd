// SPDX-License-Identifier: Apache-2.0
#include "core/adapter/load/adapter_load.h"

#include "core/base/text.h"
#include "core/base/trust.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MEMFD_NAME_MAX 249 // memfd_create(2)
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x8U // Linux 6.3
#endif

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

// Checks that a table of headers is in the file. A file that was cut off usually fails here first: the sections follow
// the segments.
static struct error *check_table(const struct elf *elf, const char *what, uint64_t offset, uint64_t count, size_t size,
                                 size_t expected) {
    if (size != expected)
        return error_new(ERROR_INVALID, "%s: found %s headers of %zu bytes, expected %zu", elf->path, what, size,
                         expected);
    if (offset <= elf->len && count <= (elf->len - offset) / size)
        return NULL;
    return error_new(ERROR_INVALID,
                     "%s: truncated: found a file of %zu bytes, expected its %" PRIu64
                     " %s headers in it, which begin at offset %" PRIu64,
                     elf->path, elf->len, count, what, offset);
}

static struct error *check_part(const struct elf *elf, const char *what, uint64_t number, uint64_t offset,
                                uint64_t size) {
    if (offset <= elf->len && size <= elf->len - offset)
        return NULL;
    return error_new(ERROR_INVALID,
                     "%s: truncated: found a file of %zu bytes, expected %s %" PRIu64 " in it, which has %" PRIu64
                     " bytes at offset %" PRIu64,
                     elf->path, elf->len, what, number, size, offset);
}

static struct error *check_segments(const struct elf *elf) {
    const ElfW(Ehdr) *header = &elf->header;
    ElfW(Phdr) segment;
    TRY(check_table(elf, "program", header->e_phoff, header->e_phnum, header->e_phentsize, sizeof segment));
    for (size_t i = 0; i < header->e_phnum; i++) {
        memcpy(&segment, elf->content + header->e_phoff + i * sizeof segment, sizeof segment);
        TRY(check_part(elf, "segment", i, segment.p_offset, segment.p_filesz));
        if (segment.p_type == PT_LOAD && segment.p_filesz > segment.p_memsz)
            return error_new(ERROR_INVALID, "%s: segment %zu: found more bytes in the file than in memory", elf->path,
                             i);
    }
    return NULL;
}

// A stripped file has no table. With 65,280 or more sections e_shnum is 0, and the first section has the number.
static struct error *check_sections(const struct elf *elf) {
    const ElfW(Ehdr) *header = &elf->header;
    ElfW(Shdr) section;
    uint64_t count = header->e_shnum > 0 ? header->e_shnum : 1;
    if (header->e_shoff == 0)
        return NULL;
    TRY(check_table(elf, "section", header->e_shoff, count, header->e_shentsize, sizeof section));
    memcpy(&section, elf->content + header->e_shoff, sizeof section);
    if (header->e_shnum == 0)
        count = section.sh_size;
    TRY(check_table(elf, "section", header->e_shoff, count, sizeof section, sizeof section));
    for (uint64_t i = 1; i < count; i++) {
        memcpy(&section, elf->content + header->e_shoff + i * sizeof section, sizeof section);
        if (section.sh_type != SHT_NOBITS && section.sh_type != SHT_NULL)
            TRY(check_part(elf, "section", i, section.sh_offset, section.sh_size));
    }
    return NULL;
}

// Checks that the content is an ELF shared object for this machine, with all segments and sections within its `len`
// bytes: the dynamic linker maps a segment regardless of the file's size, and a page behind the end is SIGBUS.
static struct error *check_elf(const char *path, const void *content, size_t len) {
    struct elf elf = {.path = path, .content = content, .len = len};
    TRY(check_machine(&elf));
    if (len < sizeof(elf.header))
        return truncated(&elf);
    memcpy(&elf.header, content, sizeof(elf.header));
    TRY(check_segments(&elf));
    return check_sections(&elf);
}

// Reads the whole file: the loader checks and loads these bytes.
static struct error *read_content(struct adapter_file *file, off_t size) {
    if (size > (off_t)ADAPTER_FILE_MAX)
        return error_new(ERROR_LIMIT, "%s: found %jd bytes, expected at most %zu", file->path, (intmax_t)size,
                         ADAPTER_FILE_MAX);
    TRY(text_read_fd(file->path, file->fd, ADAPTER_FILE_MAX, &file->content));
    TRY(check_elf(file->path, file->content.data, file->content.len));
    unsigned char sum[DIGEST_SHA256_LEN];
    if (!digest_sha256(file->content.data, file->content.len, sum))
        return error_new(ERROR_INTERNAL, "%s: cannot be hashed", file->path);
    text_hex(sum, sizeof sum, file->sha256);
    return NULL;
}

// O_NONBLOCK: opening a FIFO must not wait for a writer; no effect on regular files.
static struct error *open_regular(const char *path, int *fd, struct stat *info) {
    *fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (*fd < 0 && errno == ELOOP)
        return error_new(ERROR_REFUSED, "%s: found a symlink, expected the file itself", path);
    if (*fd < 0)
        return error_new(errno == ENOENT || errno == ENOTDIR ? ERROR_NOT_FOUND : ERROR_IO, "%s: cannot be opened: %s",
                         path, strerror(errno));
    if (fstat(*fd, info) != 0)
        return error_new(ERROR_IO, "%s: %s", path, strerror(errno));
    if (!S_ISREG(info->st_mode))
        return error_new(ERROR_REFUSED, "%s: found %s, expected a regular file", path,
                         S_ISDIR(info->st_mode) ? "a folder" : "a special file");
    return trust_owner_check(path, "file", info);
}

// Verifies that the checked path leads to the open file.
static struct error *same_file(const char *path, const struct stat *opened) {
    struct stat found;
    if (lstat(path, &found) != 0)
        return error_new(ERROR_IO, "%s: %s", path, strerror(errno));
    if (found.st_dev != opened->st_dev || found.st_ino != opened->st_ino)
        return error_new(ERROR_REFUSED, "%s: was replaced while it was being checked", path);
    return NULL;
}

struct error *adapter_file_open(const char *path, const char *expected_sha256, struct adapter_file *out) {
    *out = (struct adapter_file){.fd = -1};
    buffer_init(&out->content, ADAPTER_FILE_MAX);
    struct stat info = {.st_mode = 0};
    if (path[0] != '/')
        return error_new(ERROR_REFUSED, "%s: found a relative path, expected an absolute one", path);
    TRY(open_regular(path, &out->fd, &info));
    TRY(trust_folders_check(path, &out->path));
    TRY(same_file(out->path, &info));
    TRY(read_content(out, info.st_size));
    if (!expected_sha256 || strcasecmp(expected_sha256, out->sha256) == 0)
        return NULL;
    return error_new(ERROR_REFUSED, "%s: wrong hash: found sha256 %s, expected %s", path, out->sha256, expected_sha256);
}

// Not executable as a program, which a shared object need not be, so vm.memfd_noexec permits it; kernels before 6.3
// do not know the flag.
static int memory_file(const char *path) {
    char name[MEMFD_NAME_MAX + 1];
    text_copy(name, sizeof(name), strrchr(path, '/') + 1);
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
    return fd < 0 && errno == EINVAL ? memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING) : fd;
}

// SELinux, for example, may permit the file and deny execution of the pages.
static bool can_run(int fd, size_t len) {
    void *pages = mmap(NULL, len, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    if (pages == MAP_FAILED)
        return false;
    munmap(pages, len);
    return true;
}

struct error *adapter_file_to_memory(struct adapter_file *file) {
    int fd = memory_file(file->path);
    bool ok = fd >= 0 && text_write_fd(fd, file->content.data, file->content.len) &&
              fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) == 0 &&
              can_run(fd, file->content.len);
    if (!ok) {
        struct error *error = error_new(ERROR_UNSUPPORTED, "no sealed file in memory: %s", strerror(errno));
        if (fd >= 0)
            close(fd);
        return error;
    }
    close(file->fd);
    file->fd = fd;
    return NULL;
}

void adapter_file_close(struct adapter_file *file) {
    if (file->fd >= 0)
        close(file->fd);
    free(file->path);
    buffer_free(&file->content);
    file->fd = -1;
    file->path = NULL;
}

struct error *adapter_file_check(const char *path, const char *expected_sha256, char sha256[65]) {
    AUTO_ADAPTER_FILE file = {.fd = -1};
    TRY(adapter_file_open(path, expected_sha256, &file));
    memcpy(sha256, file.sha256, sizeof(file.sha256));
    return NULL;
}
