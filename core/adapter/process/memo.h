// SPDX-License-Identifier: Apache-2.0
// Answers to use again. The process says which members of an object a function has looked at, besides its other
// arguments; the function of an object with the same ones has the same answer. So a new version of a workload, which
// differs in its metadata, often needs no exchange. An answer is used for a second: the time of the call is an
// argument, too. Only for functions that change nothing.
#pragma once

#include "core/adapter/process/call.h"

#define MEMO_PLACES 512
#define MEMO_KEY_MAX ((size_t)4096) // bytes of what was looked at; larger objects are asked about each time
#define MEMO_ANSWER_MAX ((size_t)1024)
#define MEMO_NS CLOCK_SECOND
#define MEMO_KINDS 64 // of a process; further ones are not remembered

struct memo {
    struct memo_entry *entries[MEMO_PLACES];
    unsigned char sections[MEMO_KINDS][ADAPTER_FUNCTIONS]; // last looked at
    struct buffer key;                                     // of the question that missed
};

// The frame of a known answer, or NULL.
const struct buffer *memo_find(struct memo *memo, const struct call_question *question, int64_t now_ns);
// After the exchange for the question that memo_find did not know.
void memo_keep(struct memo *memo, const struct call_question *question, const struct buffer *answer, int64_t now_ns);
void memo_clear(struct memo *memo);
