// SPDX-License-Identifier: Apache-2.0
// Marks, a small file each: a line for each text, in the order of `words`. The name is made of kind and object, so that
// one object has one mark.
#include "core/adapter/services/net.h"
#include "core/base/memory.h"
#include "core/base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PREFIX "adapter-mark-"
#define NAME_BYTES (sizeof PREFIX + 16)
#define MARK_BYTES_MAX ((size_t)2048)

static int folder_fd = -1; // stays open

static const char *const words[] = {"adapter ", "function ", "kind ", "object ", "uid ", "reason "};
#define WORDS (sizeof words / sizeof words[0])

// -- leaving one --

static void name_file(const struct net_note *note, char out[NAME_BYTES]) {
    static const char digits[] = "0123456789abcdef";
    uint64_t hash = text_hash(text_hash(TEXT_HASH, note->kind), note->object);
    memcpy(out, PREFIX, sizeof PREFIX);
    for (size_t i = 0; i < 16; i++)
        out[sizeof PREFIX - 1 + i] = digits[(hash >> (4 * i)) & 15];
    out[NAME_BYTES - 1] = '\0';
}

static size_t put(char *out, size_t len, const char *text) {
    while (*text != '\0' && len < MARK_BYTES_MAX)
        out[len++] = *text++;
    return len;
}

void mark_leave(const struct net_note *note) {
    const char *const texts[WORDS] = {note->adapter, note->function, note->kind, note->object, note->uid, note->reason};
    char name[NAME_BYTES], text[MARK_BYTES_MAX];
    size_t len = 0;
    if (folder_fd < 0 || note->object[0] == '\0')
        return;
    for (size_t i = 0; i < WORDS; i++) {
        len = put(text, len, words[i]);
        len = put(text, len, texts[i]);
        len = put(text, len, "\n");
    }
    name_file(note, name);
    int fd = openat(folder_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    (void)text_write_fd(fd, text, len);
    close(fd);
}

// -- reading them --

void mark_remove(const struct mark *mark) {
    if (folder_fd >= 0)
        (void)unlinkat(folder_fd, mark->file, 0);
}

void marks_free(struct marks *marks) {
    for (size_t i = 0; i < marks->count; i++)
        free(marks->list[i]);
    free(marks->list);
    *marks = (struct marks){0};
}

// The texts stay where they are. False: not a whole mark.
static bool parse(char *text, struct mark *out) {
    const char **const texts[WORDS] = {&out->adapter, &out->function, &out->kind,
                                       &out->object,  &out->uid,      &out->reason};
    for (size_t i = 0; i < WORDS; i++) {
        char *end = strchr(text, '\n');
        size_t len = strlen(words[i]);
        if (!end || strncmp(text, words[i], len) != 0)
            return false;
        *end = '\0';
        *texts[i] = text + len;
        text = end + 1;
    }
    return out->kind[0] != '\0' && out->object[0] != '\0';
}

// A regular file of this user, which is not too old.
static bool is_ours(int fd, time_t now) {
    struct stat info;
    return fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid() &&
           info.st_mtime + MARKS_AGE_S > now;
}

// NULL: no mark that counts, or out of memory.
static struct mark *read_mark(const char *name) {
    AUTO_BUFFER(text, MARK_BYTES_MAX);
    int fd = openat(folder_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    AUTO_ERROR error = is_ours(fd, time(NULL)) ? text_read_fd(name, fd, MARK_BYTES_MAX, &text)
                                               : error_new(ERROR_NOT_FOUND, "%s", name);
    if (fd >= 0)
        close(fd);
    struct mark mark = {.file = name};
    return !error && parse(text.data, &mark) ? struct_copy_with_texts(&mark, sizeof mark, 1 + WORDS) : NULL;
}

static struct error *read_folder(DIR *folder, struct marks *out) {
    for (const struct dirent *entry; (entry = readdir(folder));) {
        if (!text_has_prefix(entry->d_name, PREFIX))
            continue;
        struct mark **place = array_next(&out->list, out->count, sizeof *out->list);
        if (!place)
            return error_no_memory();
        *place = out->count < MARKS_MAX ? read_mark(entry->d_name) : NULL;
        if (*place)
            out->count++;
        else
            (void)unlinkat(folder_fd, entry->d_name, 0);
    }
    return NULL;
}

struct error *marks_open(const char *folder, struct marks *out) {
    *out = (struct marks){0};
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int listed = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
    DIR *entries = listed >= 0 && faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) == 0 ? fdopendir(listed) : NULL;
    if (!entries) {
        struct error *error = error_new(ERROR_IO, "%s: %s", folder, strerror(errno));
        if (listed >= 0)
            close(listed);
        if (fd >= 0)
            close(fd);
        return error;
    }
    if (folder_fd >= 0)
        close(folder_fd);
    folder_fd = fd;
    struct error *error = read_folder(entries, out);
    closedir(entries);
    return error;
}
