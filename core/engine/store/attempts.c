// SPDX-License-Identifier: Apache-2.0
#include "core/engine/store/attempts.h"

#include <stddef.h>
#include <stdlib.h>

static const char *const outcome_names[OUTCOMES] = {
    [OUTCOME_SUCCEEDED] = "Succeeded", [OUTCOME_FAILED] = "Failed",       [OUTCOME_REJECTED] = "Rejected",
    [OUTCOME_DELETED] = "Deleted",     [OUTCOME_LOST] = "Lost",           [OUTCOME_DRAINED] = "Drained",
    [OUTCOME_REPLACED] = "Replaced",   [OUTCOME_WITHDRAWN] = "Withdrawn",
};

const char *outcome_name(enum outcome outcome) {
    return outcome_names[outcome];
}

static void attempt_free(struct attempt *attempt) {
    free(attempt->message);
    free(attempt);
}

void story_clear(struct story *story) {
    while (story->newest) {
        struct attempt *attempt = story->newest;
        story->newest = attempt->older;
        attempt_free(attempt);
    }
    story->leaving = OUTCOME_NONE;
}

void story_trim(struct story *story) {
    struct attempt **at = &story->newest;
    for (size_t i = 0; i < STORY_ATTEMPTS && *at; i++)
        at = &(*at)->older;
    while (*at) {
        struct attempt *attempt = *at;
        *at = attempt->older;
        attempt_free(attempt);
    }
}
