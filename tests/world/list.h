// SPDX-License-Identifier: Apache-2.0
// Lists, paged and at a past resourceVersion, and the rules about the options of lists and watches.
#pragma once

#include "tests/world/answer.h"
#include "tests/world/route.h"

void world_list(const struct op *op, const struct route *route);

// ValidateListOptions (apimachinery apis/meta/internalversion/validation). False: answered.
bool world_check_list_options(const struct op *op, const struct route *route, bool watch);

// A resourceVersion of a query: *given is false for an absent or empty one. False: answered with 400.
bool world_read_version(const struct op *op, const char *text, uint64_t *version, bool *given);

// The Status for a resourceVersion that is in the future.
void answer_too_large_version(struct world_response *response, uint64_t asked, uint64_t current);
void answer_expired(struct world_response *response, uint64_t asked, uint64_t oldest, const char *continue_token);
