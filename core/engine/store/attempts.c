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

void attempt_history_clear(struct attempt_history *history) {
    while (history->newest) {
        struct attempt *attempt = history->newest;
        history->newest = attempt->older;
        attempt_free(attempt);
    }
    history->leaving = OUTCOME_NONE;
}

void attempt_history_trim(struct attempt_history *history) {
    struct attempt **at = &history->newest;
    for (size_t i = 0; i < ATTEMPTS_MAX && *at; i++)
        at = &(*at)->older;
    while (*at) {
        struct attempt *attempt = *at;
        *at = attempt->older;
        attempt_free(attempt);
    }
}
