// SPDX-License-Identifier: Apache-2.0
// An adapter's file, opened once: what is checked, hashed and loaded is the same open file, so that it cannot be
// replaced in between.
#ifndef WHARF_ADAPTER_ADAPTER_FILE_H
#define WHARF_ADAPTER_ADAPTER_FILE_H

#include "core/base/error.h"

struct adapter_file {
    int fd;          // -1: none
    char *path;      // absolute, symlinks in folders resolved
    char sha256[65]; // lower-case hex
};

// All the checks of adapter_file_check; on success the file is open and owned by the caller.
struct error *adapter_file_open(const char *path, const char *expected_sha256, struct adapter_file *out);
// Replaces the descriptor by that of a copy in memory, of the content that was checked. ERROR_UNSUPPORTED: this system
// allows none.
struct error *adapter_file_copy(struct adapter_file *file);
void adapter_file_close(struct adapter_file *file);

#endif
