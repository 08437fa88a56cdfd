// SPDX-License-Identifier: Apache-2.0
// A thread that waits for changes in directories (inotify) and reports settled ones: closed or renamed files, and
// replaced symlinks as in mounts of ConfigMaps and Secrets. The thread sleeps while nothing happens; every few seconds
// it tries to open missing directories. Without free instances or watches of inotify, the thread reads the directories
// every few seconds, and reports a change once two reads agree.
#pragma once

#include "core/base/error.h"

struct folder_watcher;

// One watched directory; copied.
struct folder_watcher_options {
    const char *directory;
    bool (*matters)(void *ctx, const char *name); // whether a change of this file does
    bool partial; // keep track of files that are being written, see folder_watcher_is_partial
    // Called on the watcher's thread: once at first, and after changes; `forced`: by folder_watcher_call.
    void (*changed)(void *ctx, bool forced);
    void *ctx;
};

struct error *folder_watcher_new(struct folder_watcher **out);
struct error *folder_watcher_start(struct folder_watcher *watcher);
// Ends the thread: no handler is called afterwards. Both: NULL is allowed.
void folder_watcher_stop(struct folder_watcher *watcher);
void folder_watcher_free(struct folder_watcher *watcher); // with all watched folders

// Calls all handlers, even without a change. From any thread.
void folder_watcher_call(struct folder_watcher *watcher);

// While the thread does not run, or on the thread.
struct watched_folder;
struct error *folder_watcher_add(struct folder_watcher *watcher, const struct folder_watcher_options *options,
                                 struct watched_folder **out);
void folder_watcher_remove(struct folder_watcher *watcher, struct watched_folder *watched); // NULL is allowed

// True: a process has opened the file for writing and has not closed it yet.
bool folder_watcher_is_partial(const struct watched_folder *watched, const char *name);

// A number that changes when files of a directory do, for where the kernel does not report changes: a hash of the
// matching names and, for each file, also behind symlinks, its inode, size and time of change. 0: the directory cannot
// be read.
uint64_t folder_state(const char *directory, bool (*matters)(void *ctx, const char *name), void *ctx);
