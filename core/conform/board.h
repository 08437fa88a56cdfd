// SPDX-License-Identifier: Apache-2.0
// What the kit and its child share (one mapping): where the child stands, so that the kit can tell what it did last
// when it dies or hangs, and what it is to leave out because an earlier child died of it.
#ifndef WHARF_CONFORM_BOARD_H
#define WHARF_CONFORM_BOARD_H

#include "core/conform/rules.h"

#include <stdbool.h>
#include <stdint.h>

#define BOARD_KINDS 256
#define BOARD_SKIPS 64
#define BOARD_TRIALS 400000
#define BOARD_TIMES 4096
#define BOARD_CARRIED 64
#define BOARD_CALLS ((size_t)16 << 20)

enum stage { STAGE_HOST, STAGE_CALL, STAGE_DONE, STAGE_ERROR }; // the last: `object` says what is wrong

struct board_skip {
    size_t trial;
    uint32_t ordinal;
};

// The time that calls took, of one function, on objects that are not broken.
struct board_times {
    uint32_t count; // goes on after the list is full
    uint32_t ns[BOARD_TIMES];
};

// How often a carried field was to be changed, and was.
struct board_carried {
    uint32_t wanted, done;
    bool differs; // in a mirror that was just made: the adapter has made it so
};

struct board {
    // Written by the child.
    volatile uint64_t calls, objects;
    volatile size_t trial, n_trials;
    volatile uint32_t ordinal; // of the call within the trial
    volatile enum stage stage;
    volatile enum function function;
    volatile size_t kind_index;
    volatile bool wrote_input; // it died of a write to what it may only read
    char kind[128];
    char object[1024]; // what the call is about, for people
    bool done[BOARD_TRIALS];
    uint32_t starts[BOARD_TRIALS]; // of the hashes of a trial's calls
    uint32_t n_hashes;
    uint32_t hashes[BOARD_CALLS]; // of the outputs of a call; 0: not made
    struct board_times times[N_FUNCTIONS];
    struct board_carried carried[BOARD_KINDS][BOARD_CARRIED];
    // Written by the kit while there is no child.
    bool given_up[BOARD_KINDS][N_FUNCTIONS];
    struct board_skip skips[BOARD_SKIPS];
    size_t n_skips;
};

#endif
