// SPDX-License-Identifier: Apache-2.0
// Whether another user could change or replace a file that decides which code runs with this process's rights.
#pragma once

#include "core/base/error.h"

#include <sys/stat.h>

// Owned by root or the current user and not writable by others (except symlinks: their mode is meaningless). `what` is
// the file's name in the message.
struct error *trust_owner_check(const char *path, const char *what, const struct stat *info);

// Checks every folder and every symlink in `path` (absolute). `resolved` is the path without symlinks.
struct error *trust_folders_check(const char *path, char **resolved);

// A data file, which may be directly in a sticky folder. Trusts a file system mounted read-only (a ConfigMap's in a
// pod, with a folder of mode 0777) and an anonymous pipe.
struct error *trust_file_check(const char *path);
