// SPDX-License-Identifier: Apache-2.0
// A directory of kubeconfigs as a source of workers: NAME.kubeconfig or NAME.yaml is worker NAME. On the watcher's
// thread, or before that is started.
#ifndef WHARF_HOST_SOURCE_FOLDER_H
#define WHARF_HOST_SOURCE_FOLDER_H

#include "core/base/problems.h"
#include "core/host/folder_watcher.h"
#include "core/host/sources/source_items.h"

struct source_folder;
// `sources` and `watcher` outlive it; the rest is copied.
struct error *source_folder_new(struct sources *sources, struct folder_watcher *watcher, const char *directory,
                                const struct exec_policy *policy, struct source_folder **out);
void source_folder_free(struct source_folder *folder); // its workers stay in `sources`; NULL is allowed

// Adds a problem for each file that cannot be used, or for the directory. `where` comes before. `good`: takes the
// others; NULL: they are not wanted.
void source_folder_check(const char *directory, const struct exec_policy *policy, const char *where,
                         struct problems *problems, struct source_items *good);

const char *source_folder_directory(const struct source_folder *folder);

#endif
