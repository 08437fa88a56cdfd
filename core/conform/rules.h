// SPDX-License-Identifier: Apache-2.0
// The rules that the kit checks: what each says, and where in <wharf/adapter.h> it is written.
#ifndef WHARF_CONFORM_RULES_H
#define WHARF_CONFORM_RULES_H

#include <stddef.h>

enum rule {
    RULE_FILE,
    RULE_LOAD,
    RULE_CRASH,
    RULE_HANG,
    RULE_EXIT,
    RULE_INPUT,
    RULE_REPEAT,
    RULE_RESTART,
    RULE_RESULT,
    RULE_MESSAGE,
    RULE_TEXT,
    RULE_DELAY,
    RULE_PHASE_RESULT,
    RULE_PHASE_VALUE,
    RULE_FINISHED,
    RULE_MARKS,
    RULE_MIRROR,
    RULE_MIRROR_STABLE,
    RULE_UPDATE_STABLE,
    RULE_UPDATE_CLEAN,
    RULE_STATUS_STABLE,
    RULE_STATUS_PHASE,
    RULE_GAVE_UP,
    RULE_POD_SETS,
    RULE_TIME,
    RULE_MEMORY,
    RULE_POINTER,
    RULE_DATA,
    RULE_IO,
    RULE_THREADS,
    RULE_CLOCK,
    RULE_STORY,
    RULE_CARRIED,
    RULE_CROWD,
    RULE_SERVICE,
    N_RULES
};

struct rule_text {
    const char *name;     // of the rule, for people and for file names: "mirror-clean"
    const char *where;    // "wharf_kind.mirror"
    const char *expected; // a sentence
};

const struct rule_text *rule_text(enum rule rule);

// The functions of an adapter.
enum function { CALL_LOAD, CALL_PHASE, CALL_ACCEPT, CALL_MIRROR, CALL_UPDATE, CALL_STATUS, CALL_POD_SETS, N_FUNCTIONS };

const char *function_name(enum function function);

const char *phase_name(int phase); // "SUCCEEDED"

#endif
