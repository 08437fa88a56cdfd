// SPDX-License-Identifier: Apache-2.0
// A thread that waits for changes in directories (inotify) and reports them once they have settled: files that are
// closed or renamed, symlinks that are replaced as the mounts of ConfigMaps and Secrets do. It sleeps while nothing
// happens; as long as a directory does not exist, it looks for it every few seconds. Where all instances or watches of
// inotify are used up, it reads the directories every few seconds, and a change is reported once they stay the same.
#ifndef WHARF_HOST_FOLDER_WATCHER_H
#define WHARF_HOST_FOLDER_WATCHER_H

#include "core/base/error.h"

#include <stdbool.h>

struct watcher;

// What is to be watched; copied.
struct watcher_options {
    const char *directory;
    bool (*matters)(void *ctx, const char *name); // whether a change of this file does
    bool partial;                                 // keep track of files that are being written, see watcher_is_partial
    // Called on the watcher's thread: once at first, and after changes; `forced`: by watcher_call.
    void (*changed)(void *ctx, bool forced);
    void *ctx;
};

struct error *watcher_new(struct watcher **out);
struct error *watcher_start(struct watcher *watcher);
// Ends the thread: nothing is called afterwards. Both: NULL is allowed.
void watcher_stop(struct watcher *watcher);
void watcher_free(struct watcher *watcher); // and what it watches

// Calls all that is watched, even if nothing has changed. From any thread.
void watcher_call(struct watcher *watcher);

// While the thread does not run, or on it.
struct watched_folder;
struct error *watcher_add(struct watcher *watcher, const struct watcher_options *options, struct watched_folder **out);
void watcher_remove(struct watcher *watcher, struct watched_folder *watched); // NULL is allowed

// Whether somebody has begun to write the file and has not closed it yet.
bool watcher_is_partial(const struct watched_folder *watched, const char *name);

#endif
