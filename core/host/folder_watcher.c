// SPDX-License-Identifier: Apache-2.0
#include "core/host/folder_watcher.h"

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/map.h"
#include "core/base/text.h"
#include "core/base/thread.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#define SETTLE_NS (100 * CLOCK_MS) // without further changes
#define SETTLE_MAX_NS CLOCK_SECOND // since the first change
#define MISSING_NS (5 * CLOCK_SECOND)
#define POLL_NS (2 * CLOCK_SECOND) // without inotify
#define PARTIAL_MAX ((size_t)1000) // files; with more, the rest counts as complete

#define GONE (IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED)
#define COMPLETE (IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ATTRIB)

struct watched_folder {
    struct watched_folder *next;
    struct folder_watcher_options options;
    char *directory;
    int wd;             // -1: the directory does not exist, or is polled
    int64_t retry_ns;   // then: when to try again
    bool polled;        // polled for lack of inotify
    bool unsettled;     // changed between the last two polls
    uint64_t state;     // see folder_state
    int64_t since_ns;   // of the first change that is not reported yet; CLOCK_NEVER: none
    int64_t due_ns;     // time of the report
    bool missing_told;  // in the log
    struct map partial; // names of the files that are being written
};

struct folder_watcher {
    struct watched_folder *first;
    int inotify, wake; // inotify -1: no free instances
    atomic_bool stop, call;
    bool started;
    pthread_t thread;
};

static uint64_t file_state(int directory, const char *name, int flags) {
    struct stat st;
    if (fstatat(directory, name, &st, flags) != 0)
        return 0;
    AUTO_TEXT text =
        text_format("%s/%llu/%llu/%lld/%lld.%09ld", name, (unsigned long long)st.st_dev, (unsigned long long)st.st_ino,
                    (long long)st.st_size, (long long)st.st_ctim.tv_sec, st.st_ctim.tv_nsec);
    return text ? text_hash(TEXT_HASH, text) : 0;
}

uint64_t folder_state(const char *directory, bool (*matters)(void *ctx, const char *name), void *ctx) {
    DIR *handle = opendir(directory);
    if (!handle)
        return 0;
    uint64_t sum = 1; // of all files, since their order is any
    const struct dirent *entry;
    while ((entry = readdir(handle)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 && matters(ctx, entry->d_name))
            sum += file_state(dirfd(handle), entry->d_name, AT_SYMLINK_NOFOLLOW) +
                   3 * file_state(dirfd(handle), entry->d_name, 0);
    closedir(handle);
    return sum;
}

bool folder_watcher_is_partial(const struct watched_folder *watched, const char *name) {
    return map_get(&watched->partial, name);
}

static void set_partial(struct watched_folder *watched, const char *name) {
    bool known = watched->partial.count >= PARTIAL_MAX || folder_watcher_is_partial(watched, name);
    char *copy = known ? NULL : strdup(name);
    if (copy && !map_put(&watched->partial, copy, copy))
        free(copy);
}

static void note_change(struct watched_folder *watched, int64_t now_ns) {
    watched->since_ns = clock_earlier(watched->since_ns, now_ns);
    watched->due_ns = clock_earlier(now_ns + SETTLE_NS, watched->since_ns + SETTLE_MAX_NS);
}

// Skips changes of files that a process is still writing.
static void poll_folder(struct watched_folder *watched, int64_t now_ns) {
    uint64_t state = folder_state(watched->directory, watched->options.matters, watched->options.ctx);
    bool changed = watched->polled && state != watched->state;
    if (watched->unsettled && !changed)
        note_change(watched, now_ns);
    watched->polled = true;
    watched->unsettled = changed;
    watched->state = state;
    watched->retry_ns = now_ns + POLL_NS;
}

static void report_unwatched(struct watched_folder *watched, int why, bool polled) {
    if (!watched->missing_told)
        log_fields(LOG_WARN,
                   polled
                       ? "the files of a directory are read every few seconds: found no free inotify watch, expected "
                         "one; raise the sysctl fs.inotify.max_user_watches"
                       : "directory cannot be watched yet",
                   {"directory", watched->directory}, {"error", strerror(why)});
    watched->missing_told = true;
}

static void open_watch(struct folder_watcher *watcher, struct watched_folder *watched, int64_t now_ns) {
    if (watcher->inotify < 0) {
        poll_folder(watched, now_ns);
        return;
    }
    uint32_t mask = COMPLETE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR | IN_MASK_ADD | IN_CREATE;
    if (watched->options.partial)
        mask |= IN_MODIFY;
    watched->wd = inotify_add_watch(watcher->inotify, watched->directory, mask);
    if (watched->wd >= 0) {
        watched->missing_told = watched->polled = watched->unsettled = false;
        return;
    }
    int why = errno;
    report_unwatched(watched, why, why == ENOSPC);
    if (why == ENOSPC)
        poll_folder(watched, now_ns);
    else
        watched->retry_ns = now_ns + MISSING_NS;
}

// True: a process has just opened a regular file with one name for writing; a symlink or another name of a file is
// complete.
static bool begins(const struct watched_folder *watched, const char *name) {
    AUTO_TEXT path = text_resolve_path(watched->directory, name);
    struct stat st;
    return path && lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1;
}

static void take_change(struct watched_folder *watched, const struct inotify_event *event, int64_t now_ns) {
    const char *name = event->len > 0 ? event->name : "";
    if (event->mask & GONE) {
        watched->wd = -1;
        watched->retry_ns = now_ns;
        map_free_values(&watched->partial);
        note_change(watched, now_ns);
        return;
    }
    if (*name == '\0' || !watched->options.matters(watched->options.ctx, name))
        return;
    bool complete = event->mask & (COMPLETE & ~(uint32_t)IN_ATTRIB);
    if (!complete && watched->options.partial &&
        ((event->mask & IN_MODIFY) || ((event->mask & IN_CREATE) && begins(watched, name)))) {
        set_partial(watched, name);
        return;
    }
    if (complete)
        free(map_remove(&watched->partial, name));
    if (complete || (event->mask & (IN_CREATE | IN_ATTRIB)))
        note_change(watched, now_ns);
}

static void take_event(struct folder_watcher *watcher, const struct inotify_event *event, int64_t now_ns) {
    bool all = event->mask & IN_Q_OVERFLOW;
    for (struct watched_folder *w = watcher->first; w; w = w->next) {
        if (all) {
            map_free_values(&w->partial);
            note_change(w, now_ns);
        } else if (w->wd == event->wd) {
            take_change(w, event, now_ns);
        }
    }
}

static void take_events(struct folder_watcher *watcher) {
    _Alignas(struct inotify_event) char bytes[4096];
    int64_t now_ns = clock_now().mono_ns;
    ssize_t len;
    while ((len = read(watcher->inotify, bytes, sizeof bytes)) > 0)
        for (const char *at = bytes; at < bytes + len;) {
            const struct inotify_event *event = (const void *)at;
            take_event(watcher, event, now_ns);
            at += sizeof *event + event->len;
        }
}

static int64_t due_ns(const struct watched_folder *watched) {
    int64_t at_ns = watched->since_ns == CLOCK_NEVER ? CLOCK_NEVER : watched->due_ns;
    return watched->wd >= 0 ? at_ns : clock_earlier(at_ns, watched->retry_ns);
}

// A handler may add and remove watched folders, also its own: search the list again after each call.
static bool report_one(struct folder_watcher *watcher, int64_t now_ns) {
    for (struct watched_folder *w = watcher->first; w; w = w->next) {
        if (w->wd < 0 && now_ns >= w->retry_ns) {
            open_watch(watcher, w, now_ns);
            if (w->wd >= 0)
                note_change(w, now_ns);
        }
        if (w->since_ns == CLOCK_NEVER || now_ns < w->due_ns)
            continue;
        w->since_ns = CLOCK_NEVER;
        w->options.changed(w->options.ctx, false);
        return true;
    }
    return false;
}

static void close_watch(struct folder_watcher *watcher, struct watched_folder *watched) {
    bool shared = false;
    for (const struct watched_folder *w = watcher->first; w; w = w->next)
        shared |= w != watched && w->wd == watched->wd;
    if (watched->wd >= 0 && !shared)
        (void)inotify_rm_watch(watcher->inotify, watched->wd);
    watched->wd = -1;
}

// Without an instance, the thread polls directories.
static void open_inotify(struct folder_watcher *watcher) {
    if (watcher->inotify < 0)
        watcher->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (watcher->inotify < 0)
        log_fields(LOG_WARN,
                   "files are read every few seconds: found no free inotify instance, expected one; raise the sysctl "
                   "fs.inotify.max_user_instances, then restart wharf or send it SIGHUP",
                   {"error", strerror(errno)});
}

// The path may lead to another directory by now.
static void call_all(struct folder_watcher *watcher) {
    open_inotify(watcher);
    for (struct watched_folder *w = watcher->first, *next; w; w = next) {
        next = w->next;
        w->since_ns = CLOCK_NEVER;
        close_watch(watcher, w);
        open_watch(watcher, w, clock_now().mono_ns);
        w->options.changed(w->options.ctx, true);
    }
}

static int wait_ms(const struct folder_watcher *watcher) {
    int64_t at_ns = CLOCK_NEVER;
    for (const struct watched_folder *w = watcher->first; w; w = w->next)
        at_ns = clock_earlier(at_ns, due_ns(w));
    if (at_ns == CLOCK_NEVER)
        return -1;
    int64_t left_ns = at_ns - clock_now().mono_ns;
    return left_ns > 0 ? (int)(left_ns / CLOCK_MS) + 1 : 0;
}

static void *folder_watcher_main(void *arg) {
    struct folder_watcher *watcher = arg;
    thread_set_background(true);
    while (!atomic_load(&watcher->stop)) {
        struct pollfd wait[] = {{.fd = watcher->inotify, .events = POLLIN}, {.fd = watcher->wake, .events = POLLIN}};
        (void)poll(wait, 2, wait_ms(watcher));
        eventfd_t count;
        if (wait[1].revents)
            (void)eventfd_read(watcher->wake, &count);
        if (wait[0].revents)
            take_events(watcher);
        if (atomic_exchange(&watcher->call, false))
            call_all(watcher);
        while (!atomic_load(&watcher->stop) && report_one(watcher, clock_now().mono_ns))
            ;
    }
    return NULL;
}

struct error *folder_watcher_new(struct folder_watcher **out) {
    struct folder_watcher *watcher = calloc(1, sizeof *watcher);
    if (!watcher)
        return error_no_memory();
    watcher->inotify = -1;
    watcher->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (watcher->wake < 0) {
        int why = errno;
        folder_watcher_free(watcher);
        return error_new(ERROR_IO, "cannot watch files: %s", strerror(why));
    }
    open_inotify(watcher);
    *out = watcher;
    return NULL;
}

struct error *folder_watcher_start(struct folder_watcher *watcher) {
    int code = thread_start("config", 0, folder_watcher_main, watcher, &watcher->thread);
    watcher->started = code == 0;
    return code == 0 ? NULL : error_new(ERROR_IO, "cannot start the thread that watches files: %s", strerror(code));
}

static void watched_free(struct watched_folder *watched) {
    map_free_values(&watched->partial);
    free(watched->directory);
    free(watched);
}

void folder_watcher_stop(struct folder_watcher *watcher) {
    if (!watcher || !watcher->started)
        return;
    atomic_store(&watcher->stop, true);
    (void)eventfd_write(watcher->wake, 1);
    pthread_join(watcher->thread, NULL);
    watcher->started = false;
}

void folder_watcher_free(struct folder_watcher *watcher) {
    if (!watcher)
        return;
    folder_watcher_stop(watcher);
    while (watcher->first) {
        struct watched_folder *first = watcher->first;
        watcher->first = first->next;
        watched_free(first);
    }
    if (watcher->inotify >= 0)
        close(watcher->inotify);
    if (watcher->wake >= 0)
        close(watcher->wake);
    free(watcher);
}

void folder_watcher_call(struct folder_watcher *watcher) {
    atomic_store(&watcher->call, true);
    (void)eventfd_write(watcher->wake, 1);
}

struct error *folder_watcher_add(struct folder_watcher *watcher, const struct folder_watcher_options *options,
                                 struct watched_folder **out) {
    struct watched_folder *watched = calloc(1, sizeof *watched);
    char *directory = strdup(options->directory);
    if (!watched || !directory) {
        free(watched);
        free(directory);
        return error_no_memory();
    }
    *watched = (struct watched_folder){.next = watcher->first, .options = *options, .directory = directory, .wd = -1};
    watched->options.directory = watched->directory;
    map_init(&watched->partial, random_system());
    watched->since_ns = watched->due_ns = clock_now().mono_ns;
    open_watch(watcher, watched, watched->due_ns);
    watcher->first = watched;
    *out = watched;
    return NULL;
}

void folder_watcher_remove(struct folder_watcher *watcher, struct watched_folder *watched) {
    if (!watched)
        return;
    close_watch(watcher, watched);
    struct watched_folder **slot = &watcher->first;
    while (*slot && *slot != watched)
        slot = &(*slot)->next;
    if (*slot)
        *slot = watched->next;
    watched_free(watched);
}
