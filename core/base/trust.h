// SPDX-License-Identifier: Apache-2.0
// Whether a file that decides what runs with this process's rights could be changed or replaced by anybody else.
#ifndef WHARF_BASE_TRUST_H
#define WHARF_BASE_TRUST_H

#include "core/base/error.h"

#include <sys/stat.h>

// Owned by root or the current user and writable by nobody else (except symlinks, whose mode is meaningless). `what` is
// its name in the message.
struct error *trust_owner_check(const char *path, const char *what, const struct stat *info);

// Checks every folder and every symlink in `path` (absolute). `resolved` is the path without symlinks.
struct error *trust_folders_check(const char *path, char **resolved);

// A file that is read and not run: it may be in a sticky folder itself. A file system that is mounted read-only (a
// ConfigMap's in a pod, whose folder has mode 0777) is trusted as it is, and so is an anonymous pipe.
struct error *trust_file_check(const char *path);

#endif
