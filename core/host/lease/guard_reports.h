// SPDX-License-Identifier: Apache-2.0
// The entries of a guard's report (core/engine/fence/guard_report.h): the last state of each mirror whose host is lost,
// up to GUARD_REPORT_MAX bytes; beyond that, the largest ones are left out.
#pragma once

#include "core/base/buffer.h"
#include "core/base/clock.h"
#include "core/base/map.h"

struct kind;
struct json;

struct guard_reports {  // zero-initialised, then guard_reports_init
    struct map entries; // by uid
    size_t bytes, left_out;
    bool changed, reported; // since the last body; there was a body
    int64_t next_ns;        // of the next body
};

void guard_reports_init(struct guard_reports *reports, uint64_t seed);
void guard_reports_free(struct guard_reports *reports);

void guard_reports_note(struct guard_reports *reports, const struct kind *kind, const struct json *mirror,
                        struct moment now);
// The host is back: the next body removes all entries.
void guard_reports_end(struct guard_reports *reports);

// Appends the merge patch of the ConfigMap if one is due. False: none before *at_ns.
bool guard_reports_take(struct guard_reports *reports, struct moment now, struct buffer *out, int64_t *at_ns);
