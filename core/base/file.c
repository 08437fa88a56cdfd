// SPDX-License-Identifier: Apache-2.0
// Files and paths (text.h).
#include "core/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void close_cleanup(const int *fd) {
    if (*fd >= 0)
        close(*fd);
}

static struct error *read_failed(const char *path, int number) {
    enum error_code code = number == ENOENT || number == ENOTDIR ? ERROR_NOT_FOUND : ERROR_IO;
    return error_new(code, "cannot read %s: %s", path, strerror(number));
}

struct error *text_read_fd(const char *path, int fd, size_t max, struct buffer *out) {
    size_t total = 0;
    char chunk[16 * 1024];
    if (!buffer_append(out, "", 0)) // an empty file gives "", not NULL
        return error_no_memory();
    for (;;) {
        ssize_t got = read(fd, chunk, sizeof chunk);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return read_failed(path, errno);
        if (got == 0)
            return NULL;
        total += (size_t)got;
        if (total > max || (size_t)got > out->max - out->len)
            return error_new(ERROR_LIMIT, "%s is larger than %zu bytes", path, max < out->max ? max : out->max);
        if (!buffer_append(out, chunk, (size_t)got))
            return error_no_memory();
    }
}

struct error *text_read_file(const char *path, size_t max, struct buffer *out) {
    __attribute__((cleanup(close_cleanup))) int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? read_failed(path, errno) : text_read_fd(path, fd, max, out);
}

struct error *text_read_regular_file(const char *path, size_t max, struct buffer *out) {
    // Without O_NONBLOCK, opening a FIFO waits for a writer.
    __attribute__((cleanup(close_cleanup))) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat info;
    if (fd < 0 || fstat(fd, &info) != 0)
        return read_failed(path, errno);
    if (!S_ISREG(info.st_mode))
        return error_new(ERROR_REFUSED, "%s is not a regular file", path);
    return text_read_fd(path, fd, max, out);
}

bool text_write_fd(int fd, const void *bytes, size_t len) {
    for (const char *at = bytes; len > 0;) {
        ssize_t written = write(fd, at, len);
        if (written < 0 && errno == EAGAIN)
            (void)poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
        else if (written < 0 && errno != EINTR)
            return false;
        at += written > 0 ? written : 0;
        len -= written > 0 ? (size_t)written : 0;
    }
    return true;
}

char *text_resolve_path(const char *directory, const char *path) {
    if (path[0] == '/')
        return text_format("%s", path);
    size_t len = strlen(directory);
    const char *separator = len > 0 && directory[len - 1] == '/' ? "" : "/";
    return len == 0 ? text_format("%s", path) : text_format("%s%s%s", directory, separator, path);
}

char *text_directory(const char *path) {
    const char *slash = strrchr(path, '/');
    if (!slash)
        return text_format(".");
    while (slash > path && slash[-1] == '/')
        slash--;
    return slash == path ? text_format("/") : text_format("%.*s", (int)(slash - path), path);
}
