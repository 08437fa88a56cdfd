// SPDX-License-Identifier: Apache-2.0
// What the fuzz targets share. A target is one file with fuzz_one(); fuzz_main.c makes a libFuzzer program of it, or,
// without libFuzzer, a program that replays files. A property that does not hold ends the process (fuzz_fail), and so
// does an input that takes longer than FUZZ_SLOW_NS of processor time.
#pragma once

#include "core/base/clock.h"

#include <stddef.h>
#include <stdint.h>

// Sanitizers take a multiple of the time; the replay without them has a quarter.
#define FUZZ_SLOW_NS (100 * CLOCK_MS)

void fuzz_one(const uint8_t *data, size_t size);

void fuzz_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

// The next part of the input up to a byte 0xFF (which no UTF-8 text has), which is left out. Moves *data on.
struct fuzz_part {
    const char *text; // not NUL-terminated
    size_t len;
};
struct fuzz_part fuzz_next_part(const uint8_t **data, size_t *size);

// The input as a file that can be opened by name until the next call. Never NULL.
const char *fuzz_file(const char *text, size_t len);
