// SPDX-License-Identifier: Apache-2.0
// What people are told: Events on workloads, and log lines about clusters.
#ifndef WHARF_ENGINE_REPORT_H
#define WHARF_ENGINE_REPORT_H

#include "core/engine/engine_internal.h"

// An Event; the same text again about the same workload is left out.
void report_event(struct engine *engine, struct entry *entry, bool warning, const char *reason, const char *action,
                  const char *format, ...) __attribute__((format(printf, 6, 7)));
// A line for the log; `kind` may be LOG_NO_KIND.
void report_log(struct engine *engine, enum log_level level, size_t cluster, size_t kind, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
// One about a mirror, which it names.
void report_mirror(struct engine *engine, enum log_level level, const struct entry *entry, const struct mirror *mirror,
                   const char *format, ...) __attribute__((format(printf, 5, 6)));
// What was decided, if it does something and decisions are logged.
void report_decision(struct engine *engine, const struct entry *entry, const struct action *action);

#endif
