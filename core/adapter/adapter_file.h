// SPDX-License-Identifier: Apache-2.0
// An adapter's file, opened once: what is checked, hashed and loaded is the same open file, so that it cannot be
// replaced in between.
#ifndef WHARF_ADAPTER_ADAPTER_FILE_H
#define WHARF_ADAPTER_ADAPTER_FILE_H

#include "core/base/error.h"

#include <sys/stat.h>

struct adapter_file {
    int fd;          // -1: none
    char *path;      // absolute, symlinks in folders resolved
    char sha256[65]; // lower-case hex
};

// All the checks of adapter_file_check; on success the file is open and owned by the caller.
struct error *adapter_file_open(const char *path, const char *expected_sha256, struct adapter_file *out);
void adapter_file_close(struct adapter_file *file);

// Owned by root or the current user and writable by nobody else (except symlinks, whose mode is meaningless). `what` is
// its name in the message.
struct error *adapter_owner_check(const char *path, const char *what, const struct stat *info);

// Checks every folder and every symlink in `path` (absolute). `resolved` is the path without symlinks.
struct error *adapter_folders_check(const char *path, char **resolved);

#endif
