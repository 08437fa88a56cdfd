// SPDX-License-Identifier: Apache-2.0
#include "core/adapter/adapter_file.h"

#include "core/adapter/adapters.h"
#include "core/base/text.h"
#include "core/base/trust.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK 65536
#define SHA256_LEN 32
#ifndef MFD_EXEC
#define MFD_EXEC 0x10U // Linux 6.3
#endif

// This program's own ELF header, defined by the linker: the architecture to expect.
extern const ElfW(Ehdr) own_header __asm__("__ehdr_start") __attribute__((visibility("hidden")));

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

// The fields up to e_machine have the same place in ELF files of 32 and 64 bits.
static struct error *elf_check(const char *path, const unsigned char *head, size_t len) {
    static const char wanted[] = "expected an ELF shared object";
    const unsigned char *own = own_header.e_ident;
    if (len < EI_NIDENT || memcmp(head, ELFMAG, SELFMAG) != 0)
        return error_new(ERROR_INVALID, "%s: not an ELF file, %s", path, wanted);
    if (len < sizeof(Elf32_Ehdr))
        return error_new(ERROR_INVALID, "%s: an ELF file truncated after %zu bytes, %s", path, len, wanted);
    if (head[EI_DATA] != own[EI_DATA])
        return error_new(ERROR_INVALID, "%s: wrong architecture: found the opposite byte order, expected that of %s",
                         path, machine_name(own_header.e_machine));
    Elf32_Ehdr header;
    memcpy(&header, head, sizeof(header));
    if (header.e_machine != own_header.e_machine || head[EI_CLASS] != own[EI_CLASS])
        return error_new(ERROR_INVALID, "%s: wrong architecture: found %s (ELF machine %u, %s bits), expected %s", path,
                         machine_name(header.e_machine), header.e_machine, head[EI_CLASS] == ELFCLASS64 ? "64" : "32",
                         machine_name(own_header.e_machine));
    if (header.e_type != ET_DYN)
        return error_new(ERROR_INVALID, "%s: found an ELF file of type %u, %s (type %d)", path, header.e_type, wanted,
                         ET_DYN);
    return NULL;
}

static void digest_cleanup(EVP_MD_CTX **context) {
    EVP_MD_CTX_free(*context);
}

static void hex(const unsigned char *bytes, size_t len, char *out) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < len; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[2 * len] = '\0';
}

// Reads the whole file: checks its head and hashes all of it.
static struct error *content_check(struct adapter_file *file) {
    __attribute__((cleanup(digest_cleanup))) EVP_MD_CTX *digest = EVP_MD_CTX_new();
    AUTO_TEXT chunk = malloc(CHUNK);
    if (!digest || !chunk || EVP_DigestInit_ex(digest, EVP_sha256(), NULL) != 1)
        return error_no_memory();
    off_t at = 0;
    for (;;) {
        ssize_t len = pread(file->fd, chunk, CHUNK, at);
        if (len < 0 && errno == EINTR)
            continue;
        if (len < 0)
            return error_new(ERROR_IO, "%s: cannot be read: %s", file->path, strerror(errno));
        struct error *error = at == 0 ? elf_check(file->path, (unsigned char *)chunk, (size_t)len) : NULL;
        if (error)
            return error;
        if (len == 0)
            break;
        if (EVP_DigestUpdate(digest, chunk, (size_t)len) != 1)
            return error_new(ERROR_INTERNAL, "%s: cannot be hashed", file->path);
        at += len;
    }
    unsigned char sum[EVP_MAX_MD_SIZE];
    unsigned sum_len = 0;
    if (EVP_DigestFinal_ex(digest, sum, &sum_len) != 1 || sum_len != SHA256_LEN)
        return error_new(ERROR_INTERNAL, "%s: cannot be hashed", file->path);
    hex(sum, sum_len, file->sha256);
    return NULL;
}

// O_NONBLOCK: opening a FIFO must not wait for a writer; for regular files it means nothing.
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

// Verifies that the checked path leads to the file that was opened.
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
    struct stat info = {.st_mode = 0};
    if (path[0] != '/')
        return error_new(ERROR_REFUSED, "%s: found a relative path, expected an absolute one", path);
    struct error *error = open_regular(path, &out->fd, &info);
    if (!error)
        error = trust_folders_check(path, &out->path);
    if (!error)
        error = same_file(out->path, &info);
    if (!error)
        error = content_check(out);
    if (!error && expected_sha256 && strcasecmp(expected_sha256, out->sha256) != 0)
        error = error_new(ERROR_REFUSED, "%s: wrong hash: found sha256 %s, expected %s", path, out->sha256,
                          expected_sha256);
    if (error)
        adapter_file_close(out);
    return error;
}

static int memory_file(void) {
    int fd = memfd_create("wharf adapter", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);
    return fd < 0 && errno == EINVAL ? memfd_create("wharf adapter", MFD_CLOEXEC | MFD_ALLOW_SEALING) : fd;
}

static bool copy_content(int from, int to) {
    AUTO_TEXT chunk = malloc(CHUNK);
    ssize_t len = 0;
    for (off_t at = 0; chunk && (len = pread(from, chunk, CHUNK, at)) > 0; at += len)
        if (pwrite(to, chunk, (size_t)len, at) != len)
            return false;
    return chunk && len == 0;
}

struct error *adapter_file_copy(struct adapter_file *file) {
    struct adapter_file copy = {.fd = memory_file(), .path = file->path};
    if (copy.fd < 0)
        return error_new(ERROR_UNSUPPORTED, "no file in memory can be made: %s", strerror(errno));
    struct error *error = copy_content(file->fd, copy.fd)
                              ? content_check(&copy)
                              : error_new(ERROR_IO, "it cannot be copied: %s", strerror(errno));
    if (!error && strcmp(copy.sha256, file->sha256) != 0)
        error = error_new(ERROR_REFUSED, "it was changed while it was being loaded");
    if (!error && fcntl(copy.fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0)
        error = error_new(ERROR_UNSUPPORTED, "a file in memory cannot be sealed: %s", strerror(errno));
    close(error ? copy.fd : file->fd);
    if (!error)
        file->fd = copy.fd;
    return error;
}

void adapter_file_close(struct adapter_file *file) {
    if (file->fd >= 0)
        close(file->fd);
    free(file->path);
    file->fd = -1;
    file->path = NULL;
}

struct error *adapter_file_check(const char *path, const char *expected_sha256, char sha256[65]) {
    struct adapter_file file;
    struct error *error = adapter_file_open(path, expected_sha256, &file);
    if (error)
        return error;
    memcpy(sha256, file.sha256, sizeof(file.sha256));
    adapter_file_close(&file);
    return NULL;
}
