// SPDX-License-Identifier: Apache-2.0
// A worker accepts or rejects a patch as a whole. The rest of a change is not held up by the part that is rejected:
// after a rejection the change is sent in pieces, one at a time, and what is rejected again is held back until it is
// different. After a backoff the whole is tried again.
#pragma once

#include "core/base/buffer.h"
#include "core/json/json.h"
#include "core/kube/client/types.h"

#include <wharf/adapter.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REJECTIONS_MAX 32 // rejected pieces that are remembered; of more, the oldest is forgotten

enum piece {
    PIECE_WHOLE,
    PIECE_SUSPEND, // the kind's `suspend` field alone
    PIECE_RECORD,  // the host's own labels and annotations
    PIECE_KEYS,    // all labels and annotations
    PIECE_SPEC,    // all else but `suspend`
    PIECE_FIELD    // the kind's first carried field; those after it follow
};

// What a worker has rejected of the changes of one mirror.
struct rejections {
    int64_t until_ns; // then it is sent again
    enum reason reason;
    char *message;   // of the last rejection; NULL: out of memory
    bool whole;      // whatever is sent is rejected: it is not sent in pieces
    bool reported;   // since the last rejection
    uint64_t source; // of the workload that `sent` is about
    uint32_t sent;   // pieces
    uint32_t n;      // of all
    uint64_t hashes[REJECTIONS_MAX];
};

// The first rejection makes *refused. False when out of memory.
bool rejections_add(struct rejections **refused, uint64_t hash, const struct response *response, int64_t until_ns);
void rejections_hold(struct rejections *refused, uint64_t hash);
bool rejections_has(const struct rejections *refused, uint64_t hash); // NULL is allowed
void rejections_end(struct rejections **refused);                     // frees it

// Counts one more. False: so many were sent for the same workload that somebody else reverts them.
bool rejections_may_send(struct rejections *refused, const wharf_kind *kind, uint64_t source);

// How many pieces there are, and which one comes in place `i`. What stops a mirror comes first. What resumes it comes
// after the fields, some of which may change only while it is suspended.
size_t pieces_count(const wharf_kind *kind);
enum piece pieces_at(const wharf_kind *kind, size_t i, bool resumes);

// `mirror` with this piece of `desired`. NULL when out of memory.
struct json *piece_cut(const wharf_kind *kind, const struct json *mirror, const struct json *desired, enum piece piece);
// Whether it has annotations, and with them the record.
bool piece_has_record(enum piece piece);
// Appends its name to a list for people.
void piece_name(const wharf_kind *kind, enum piece piece, struct buffer *out);
