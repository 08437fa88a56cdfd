// SPDX-License-Identifier: Apache-2.0
#include "core/adapter/load/adapter_file.h"

#include "core/adapter/adapters.h"
#include "core/base/digest.h"
#include "core/base/text.h"
#include "core/base/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MEMFD_NAME_MAX 249 // memfd_create(2)
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x8U // Linux 6.3
#endif

// Reads the whole file: the loader checks and loads these bytes.
static struct error *read_content(struct adapter_file *file, off_t size) {
    if (size > (off_t)ADAPTER_FILE_MAX)
        return error_new(ERROR_LIMIT, "%s: found %jd bytes, expected at most %zu", file->path, (intmax_t)size,
                         ADAPTER_FILE_MAX);
    struct error *error = text_read_fd(file->path, file->fd, ADAPTER_FILE_MAX, &file->content);
    if (!error)
        error = adapter_elf_check(file->path, file->content.data, file->content.len);
    if (error)
        return error;
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
    struct error *error = open_regular(path, &out->fd, &info);
    if (!error)
        error = trust_folders_check(path, &out->path);
    if (!error)
        error = same_file(out->path, &info);
    if (!error)
        error = read_content(out, info.st_size);
    if (!error && expected_sha256 && strcasecmp(expected_sha256, out->sha256) != 0)
        error = error_new(ERROR_REFUSED, "%s: wrong hash: found sha256 %s, expected %s", path, out->sha256,
                          expected_sha256);
    if (error)
        adapter_file_close(out);
    return error;
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
    struct adapter_file file;
    struct error *error = adapter_file_open(path, expected_sha256, &file);
    if (error)
        return error;
    memcpy(sha256, file.sha256, sizeof(file.sha256));
    adapter_file_close(&file);
    return NULL;
}
