// SPDX-License-Identifier: Apache-2.0
// Whether a file that is going to run with this process's rights could be replaced by anybody else.
#ifndef WHARF_BASE_TRUST_H
#define WHARF_BASE_TRUST_H

#include "core/base/error.h"

#include <sys/stat.h>

// Owned by root or the current user and writable by nobody else (except symlinks, whose mode is meaningless). `what` is
// its name in the message.
struct error *trust_owner_check(const char *path, const char *what, const struct stat *info);

// Checks every folder and every symlink in `path` (absolute). `resolved` is the path without symlinks.
struct error *trust_folders_check(const char *path, char **resolved);

#endif
