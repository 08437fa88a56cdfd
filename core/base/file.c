// SPDX-License-Identifier: Apache-2.0
// Files and paths (text.h), and the users who could replace a file (trust.h): all with write permission for a folder
// above, or for the folder of a symlink in the path. The path is resolved as by the kernel, one component at a time.
#include "core/base/text.h"
#include "core/base/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <poll.h>
#include <pwd.h>
#include <sys/statvfs.h>
#include <unistd.h>

static void close_cleanup(const int *fd) {
    if (*fd >= 0)
        close(*fd);
}

static enum error_code code_of(int number) {
    return number == ENOENT || number == ENOTDIR ? ERROR_NOT_FOUND : ERROR_IO;
}

static struct error *read_failed(const char *path, int number) {
    return error_new(code_of(number), "cannot read %s: %s", path, strerror(number));
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

int text_end_output(int code) {
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    bool closed = poll(&out, 1, 0) == 1 && (out.revents & (POLLERR | POLLHUP)) != 0;
    if (!closed)
        fputs("error: cannot write to standard output\n", stderr);
    return code != EXIT_SUCCESS ? code : closed ? CODE_CLOSED : EXIT_FAILURE;
}

struct error *text_write_file(const char *path, int flags, unsigned mode, const struct buffer *content) {
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, mode);
    bool done = fd >= 0 && text_write_fd(fd, content->data, content->len);
    if (fd >= 0 && close(fd) != 0)
        done = false;
    return done ? NULL : error_new(ERROR_IO, "%s: %s", path, strerror(errno));
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

char *text_own_folder(void) {
    AUTO_TEXT path = realpath("/proc/self/exe", NULL);
    return path ? text_directory(path) : NULL;
}

// -- trust --

#define RECORD_MAX 8192
#define MAX_LINKS 40 // as the kernel's (path_resolution(7))

// A group without other members than the current user: root's, or the user's private group, which has the user's name
// (a umask of 002 is common with private groups).
static bool is_own_group(gid_t gid) {
    char user_text[RECORD_MAX], group_text[RECORD_MAX]; // of the reentrant functions: any thread may check
    struct passwd user_record, *user = NULL;
    struct group group_record, *group = NULL;
    if (gid == 0)
        return true;
    (void)getpwuid_r(geteuid(), &user_record, user_text, sizeof(user_text), &user);
    if (!user || user->pw_gid != gid)
        return false;
    (void)getgrgid_r(gid, &group_record, group_text, sizeof(group_text), &group);
    if (!group || strcmp(group->gr_name, user->pw_name) != 0)
        return false;
    for (char **member = group->gr_mem; *member; member++)
        if (strcmp(*member, user->pw_name) != 0)
            return false;
    return true;
}

struct error *trust_owner_check(const char *path, const char *what, const struct stat *info) {
    if (info->st_uid != 0 && info->st_uid != geteuid())
        return error_new(ERROR_REFUSED, "%s: the %s belongs to uid %lu, expected root or uid %lu", path, what,
                         (unsigned long)info->st_uid, (unsigned long)geteuid());
    if (S_ISLNK(info->st_mode))
        return NULL;
    unsigned mode = (unsigned)info->st_mode & 07777;
    if ((mode & S_IWOTH) != 0)
        return error_new(ERROR_REFUSED,
                         "%s: the %s is writable by everyone (mode %04o), expected one that only root "
                         "or uid %lu may write",
                         path, what, mode, (unsigned long)geteuid());
    if ((mode & S_IWGRP) != 0 && !is_own_group(info->st_gid))
        return error_new(ERROR_REFUSED,
                         "%s: the %s is writable by group %lu (mode %04o), expected one that only root "
                         "or uid %lu may write",
                         path, what, (unsigned long)info->st_gid, mode, (unsigned long)geteuid());
    return NULL;
}

// `done` is the resolved part of the path, without symlinks; `rest` is the remainder.
struct folder_walk {
    char done[PATH_MAX];
    char rest[PATH_MAX];
    int links;
    bool sticky_holds; // the file may be in a sticky folder itself
};

// Removes the next component from the rest; false at the end.
static bool next_name(struct folder_walk *walk, char name[NAME_MAX + 1]) {
    const char *from = walk->rest + strspn(walk->rest, "/");
    size_t len = strcspn(from, "/");
    if (len == 0 || len > NAME_MAX)
        return false;
    memcpy(name, from, len);
    name[len] = '\0';
    memmove(walk->rest, from + len, strlen(from + len) + 1);
    return true;
}

// Prepends the target of a symlink to the rest.
static struct error *follow(struct folder_walk *walk, const char *link) {
    char target[PATH_MAX];
    ssize_t len = readlink(link, target, sizeof(target) - 1);
    if (len <= 0)
        return error_new(ERROR_IO, "%s: cannot read the symlink: %s", link, strerror(errno));
    target[len] = '\0';
    AUTO_TEXT rest = text_format("%s/%s", target, walk->rest);
    if (!rest)
        return error_no_memory();
    if (strlen(rest) >= sizeof(walk->rest) || ++walk->links > MAX_LINKS)
        return error_new(ERROR_REFUSED, "%s: too many symlinks, or the path is too long", link);
    text_copy(walk->rest, sizeof(walk->rest), rest);
    if (target[0] == '/')
        walk->done[0] = '\0';
    return NULL;
}

// Whether another folder comes before the file.
static bool has_more(const struct folder_walk *walk) {
    const char *next = walk->rest + strspn(walk->rest, "/");
    const char *slash = strchr(next, '/');
    return slash && slash[strspn(slash, "/")] != '\0';
}

static struct error *step(struct folder_walk *walk, const char *name) {
    if (strcmp(name, ".") == 0)
        return NULL;
    if (strcmp(name, "..") == 0) {
        char *slash = strrchr(walk->done, '/');
        if (slash)
            *slash = '\0';
        return NULL;
    }
    AUTO_TEXT path = text_format("%s/%s", walk->done, name);
    if (!path)
        return error_no_memory();
    struct stat info;
    if (lstat(path, &info) != 0)
        return error_new(code_of(errno), "%s: %s", path, strerror(errno));
    if (S_ISLNK(info.st_mode)) {
        TRY(trust_owner_check(path, "symlink", &info));
        return follow(walk, path);
    }
    if (strlen(path) >= sizeof(walk->done))
        return error_new(ERROR_REFUSED, "%s: the path is too long", path);
    text_copy(walk->done, sizeof(walk->done), path);
    if (!S_ISDIR(info.st_mode))
        return NULL;
    // In a sticky folder like /tmp only the owner of a file can replace it (inode(7), S_ISVTX), and the next component
    // must be owned by root or the current user.
    if ((info.st_mode & S_ISVTX) != 0 && (walk->sticky_holds || has_more(walk)))
        info.st_mode &= ~(mode_t)(S_IWOTH | S_IWGRP);
    return trust_owner_check(path, "folder", &info);
}

// To the end of an absolute path.
static struct error *run(struct folder_walk *walk, const char *path) {
    char name[NAME_MAX + 1];
    struct stat root;
    if (strlen(path) >= sizeof(walk->rest))
        return error_new(ERROR_REFUSED, "%s: the path is too long", path);
    text_copy(walk->rest, sizeof(walk->rest), path);
    if (stat("/", &root) != 0)
        return error_new(ERROR_IO, "/: %s", strerror(errno));
    struct error *error = trust_owner_check("/", "folder", &root);
    while (!error && next_name(walk, name))
        error = step(walk, name);
    return error;
}

struct error *trust_file_check(const char *path) {
    struct folder_walk walk = {.sticky_holds = true};
    struct stat info;
    struct statvfs mounted;
    char here[PATH_MAX];
    if (stat(path, &info) != 0 || (statvfs(path, &mounted) == 0 && (mounted.f_flag & ST_RDONLY) != 0))
        return NULL; // the reader reports the problem
    if (path[0] != '/' && !getcwd(here, sizeof(here)))
        return error_new(ERROR_IO, "cannot read the current directory: %s", strerror(errno));
    AUTO_TEXT whole = text_resolve_path(here, path);
    struct error *error = whole ? run(&walk, whole) : error_no_memory();
    if (error && error->code == ERROR_NOT_FOUND) { // /proc/self/fd/3 -> pipe:[4711]
        error_free(error);
        return NULL;
    }
    return !error && S_ISREG(info.st_mode) ? trust_owner_check(path, "file", &info) : error;
}

struct error *trust_folders_check(const char *path, char **resolved) {
    struct folder_walk walk = {.links = 0};
    TRY(run(&walk, path));
    *resolved = strdup(walk.done[0] == '\0' ? "/" : walk.done);
    return !*resolved ? error_no_memory() : NULL;
}
