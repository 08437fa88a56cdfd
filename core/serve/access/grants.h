// SPDX-License-Identifier: Apache-2.0
// The rights of streams and sessions, which last longer than the review of their request: from
// the first one on, a thread reviews the token and the right of each again every minute. A grant that was lost stays
// lost, and its stream ends with the reason. From any thread.
#pragma once

#include "core/serve/access/auth.h"

#define GRANTS_REVIEW_NS (60 * CLOCK_SECOND)
#define GRANTS_UNVERIFIED (10) // reviews in a row that the API server did not answer, until a grant is lost

struct grants;
struct grant;
// `every_ns`: between two reviews of a grant.
struct error *grants_new(struct auth *auth, int64_t every_ns, struct grants **out);
void grants_free(struct grants *grants); // after all grants; NULL is fine

// Registers that a caller with this token was just allowed `what`, which has no group and no name. Copies the texts.
struct error *grants_add(struct grants *grants, const char *token, const struct auth_attributes *what,
                         struct grant **out);

// NULL: the caller needs no token, and the grant is never lost.
bool grant_is_lost(const struct grant *grant);
const char *grant_reason(const struct grant *grant); // of one that is lost; valid until grant_free
void grant_free(struct grant *grant);                // NULL is fine
