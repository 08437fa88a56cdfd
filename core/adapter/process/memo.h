// SPDX-License-Identifier: Apache-2.0
// Answers to use again. The process says which pointers its functions have asked for; with the same values there, and
// the same other arguments, a function has the same answer. So a new version of a workload, of which most functions do
// not see the difference, often needs no exchange, and many workloads whose statuses are the same need one. An answer
// is used for a second: the time of the call is an argument, too.
#pragma once

#include "core/adapter/process/call.h"

#define MEMO_PLACES 512
#define MEMO_KEY_MAX ((size_t)4096) // bytes of the arguments; with more, each call asks
#define MEMO_ANSWER_MAX ((size_t)1024)
#define MEMO_NS CLOCK_SECOND
#define MEMO_KINDS 64 // of a process; further ones are not remembered

struct memo {
    struct memo_entry *entries[MEMO_PLACES];
    struct memo_reads *reads[MEMO_KINDS][ADAPTER_FUNCTIONS]; // NULL: not called yet
    bool blind;                                              // a list is not complete, so nothing is known any more
    struct buffer key;                                       // of the question that missed
};

// Takes what a function has read from each answer of the process: none may be left out.
void memo_learn(struct memo *memo, const struct buffer *answer);

// The frame of a known answer, or NULL.
const struct buffer *memo_find(struct memo *memo, const struct call_question *question, int64_t now_ns);
// After the exchange for the question that memo_find did not know.
void memo_keep(struct memo *memo, const struct call_question *question, const struct buffer *answer, int64_t now_ns);
void memo_clear(struct memo *memo);
