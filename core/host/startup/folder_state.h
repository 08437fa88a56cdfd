// SPDX-License-Identifier: Apache-2.0
// A number that changes when files of a directory do, for where the kernel does not report changes.
#ifndef WHARF_HOST_FOLDER_STATE_H
#define WHARF_HOST_FOLDER_STATE_H

#include <stdbool.h>
#include <stdint.h>

// Of the names that matter: which there are, and of each file, behind symlinks too, its inode, size and time of change.
// 0: the directory cannot be read.
uint64_t folder_state(const char *directory, bool (*matters)(void *ctx, const char *name), void *ctx);

#endif
