// SPDX-License-Identifier: Apache-2.0
// Acts that a process in the sandbox tries.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct forbidden {
    const char *what;
    void (*act)(void);
    const char *names; // of system calls, one of which the C library makes for it
    bool calls_only;   // allowed while the adapter loads
};

extern const struct forbidden forbidden_acts[];
extern const size_t forbidden_count;

void act_unknown_call(void);
// Ends the process with a status other than 0 if something does not work.
void act_allowed(void);
// The local time of a fixed moment; the text is for the channel.
void local_time_text(char *out, size_t size);
