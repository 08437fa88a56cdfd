// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of all kinds: the shipped adapters, loaded as by the host, and a fixture in the course of a
// story. Everything here fails the running test with the position in the fixture.
#pragma once

#include "core/adapter/adapters.h"
#include "core/engine/mirror/mirror.h"
#include "tests/support/fixture.h"
#include "tests/support/recording.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define KINDS_FIXTURES "tests/fixtures"
#define KINDS_NOW "2026-03-01T12:00:00Z"

// A workload and its mirror in the course of a story.
struct tale {
    const struct kind *kind;
    const struct fixture *fixture;
    const struct story *story;
    const struct step *step; // the current one
    int64_t later_ns;        // the time of calls, after KINDS_NOW
    const char *file;        // of a recording, instead of fixture and story; NULL: none
    size_t line;
    struct json *workload, *mirror;
    uint32_t attempt;
    bool lost;
    int64_t resource_version; // the next one that a server gives
    wharf_phase_kind end;     // SUCCEEDED or FAILED once it finished, else PENDING
    char *event;              // the text of the Event that the step led to
    char *told;               // the one before it: a repetition is not counted
};

// As a server stores an object: with uid, generation and all else that it adds. json_free().
struct json *kinds_stored(struct tale *tale, const struct json *object, const char *uid);
// The fixture's workload as a server has it, with what the user's tools and its owner added. json_free().
struct json *kinds_workload(struct tale *tale);

// Mirror of the workload, as its server stores it. NULL if the adapter rejected it; the tale's event has the reason.
struct json *kinds_create(struct tale *tale);
// Begins the next attempt with the mirror that kinds_create makes, which must not be rejected and is checked.
void kinds_begin_attempt(struct tale *tale);
// Carries changes to the mirror, and the status to the workload. False: the change was rejected.
bool kinds_carry(struct tale *tale);
void kinds_copy_status(struct tale *tale);
wharf_phase kinds_phase(struct tale *tale, const struct json *object, char **reason);

// The status that is written on the workload when no cluster accepts it, with which it has failed; NULL if its kind has
// no words for that, or the workload an outcome already. json_free().
struct json *kinds_gave_up(const struct tale *tale);

// Checks that a mirror has nothing that belongs to the management cluster.
void kinds_check_mirror(const struct tale *tale, const struct json *mirror);
// Without marks, and without what servers add.
struct json *kinds_bare(const struct json *mirror);
// Fails where two documents differ; a string "now" in `expected` stands for any time.
void kinds_expect_same(const struct tale *tale, const char *what, const struct json *found,
                       const struct json *expected);
void kinds_fail(const struct tale *tale, const char *format, ...) __attribute__((format(printf, 2, 3), noreturn));

// Replays a recording: the host's answer to each status of the mirror is the status that the workload was seen with.
void kinds_replay(const struct kind *kind, const struct recording *recording);

// Plays a story from beginning to end.
void kinds_tell(const struct kind *kind, const struct fixture *fixture, const struct story *story);
