// SPDX-License-Identifier: Apache-2.0
// A directory of kubeconfigs as a source of workers: NAME.kubeconfig or NAME.yaml is worker NAME. Runs on the watcher's
// thread, or before the watcher starts.
#pragma once

#include "core/base/problems.h"
#include "core/host/folder_watcher.h"
#include "core/host/sources/source_items.h"

struct source_folder;
// `sources` and `watcher` outlive the folder; the rest is copied.
struct error *source_folder_new(struct sources *sources, struct folder_watcher *watcher, const char *directory,
                                const struct exec_policy *policy, struct source_folder **out);
void source_folder_free(struct source_folder *folder); // the workers stay in `sources`; NULL is allowed

// Adds a problem, prefixed with `where`, for each unusable file, or for the directory. `good` receives the usable
// files; NULL: only check.
void source_folder_check(const char *directory, const struct exec_policy *policy, const char *where,
                         struct problems *problems, struct source_items *good);

const char *source_folder_directory(const struct source_folder *folder);
