// SPDX-License-Identifier: Apache-2.0
// An adapter's file, read once: the loader checks, hashes and loads the same bytes, even if the file changes in
// between or afterwards.
#pragma once

#include "core/base/buffer.h"
#include "core/base/error.h"

struct adapter_file {
    int fd;                // -1: none
    char *path;            // absolute, symlinks in folders resolved
    char sha256[65];       // lower-case hex
    struct buffer content; // which passed the checks
};

// All the checks of adapter_file_check; on success the file is open and owned by the caller.
struct error *adapter_file_open(const char *path, const char *expected_sha256, struct adapter_file *out);
// Replaces the descriptor by that of a file in memory, which has the content and cannot be changed. On failure, of
// ERROR_UNSUPPORTED, the descriptor stays: this system allows no executable file in memory.
struct error *adapter_file_to_memory(struct adapter_file *file);
void adapter_file_close(struct adapter_file *file);

// Checks that the content is an ELF shared object for this machine (adapter_elf.c), with all segments and sections
// within its `len` bytes: the dynamic linker maps a segment regardless of the file's size, and a page behind the end is
// SIGBUS. `path` is for the message.
struct error *adapter_elf_check(const char *path, const void *content, size_t len);
