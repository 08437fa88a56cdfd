// SPDX-License-Identifier: Apache-2.0
// The parts that a trial is planned from (faults, users' acts, workers, traits of the plan), each of which may be left
// out, and the search for a smallest set of them with which a failing seed still fails.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CUTS_MAX 1024

struct cuts {
    bool off[CUTS_MAX];
    char texts[CUTS_MAX][72];
    size_t n;    // parts of the plan
    size_t next; // that is asked for while a trial is planned
};

struct trial;

// The next part of the plan, always asked for in the same order. False: it is left out.
bool cuts_has(struct trial *trial, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Runs the seed again and again with fewer parts, and prints those that are left, and the trace with them alone.
// `telling`: all lines of the trace. False: it did not fail at all.
bool cuts_shrink(uint64_t seed, bool replicas, bool telling);
