// SPDX-License-Identifier: Apache-2.0
// A number that changes when files of a directory do, for where the kernel does not report changes.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// A hash of the matching names and, for each file, also behind symlinks, its inode, size and time of change. 0: the
// directory cannot be read.
uint64_t folder_state(const char *directory, bool (*matters)(void *ctx, const char *name), void *ctx);
