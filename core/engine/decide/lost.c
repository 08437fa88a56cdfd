// SPDX-License-Identifier: Apache-2.0
#include "core/engine/decide/lost.h"

#include "core/engine/placement/placement_rules.h"

bool lost_is_waited_for(const struct engine *engine, const struct entry *entry) {
    bool known = false; // where it is not known yet, it waits
    return placement_rule_of(engine, entry, &known, NULL)->wait_when_lost || !known;
}
