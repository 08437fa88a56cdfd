// SPDX-License-Identifier: Apache-2.0
// Reporting: Events on workloads, and log lines about clusters.
#ifndef WHARF_ENGINE_REPORT_H
#define WHARF_ENGINE_REPORT_H

#include "core/engine/engine_internal.h"

// An Event; a repeat of the last note about the workload is dropped.
void report_event(struct engine *engine, struct entry *entry, bool warning, const char *reason, const char *action,
                  const char *format, ...) __attribute__((format(printf, 6, 7)));
// A line for the log; `kind` may be LOG_NO_KIND.
void report_log(struct engine *engine, enum log_level level, size_t cluster, size_t kind, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
// A log line that names a mirror.
void report_mirror(struct engine *engine, enum log_level level, const struct entry *entry, const struct mirror *mirror,
                   const char *format, ...) __attribute__((format(printf, 5, 6)));
// Logs a decision, if decisions are logged and it has an effect.
void report_decision(struct engine *engine, const struct entry *entry, const struct action *action);

// It is about to be placed again, in another worker or the same one.
void report_rescheduled(struct engine *engine, struct entry *entry, const struct action *action);
// It has finished just now.
void report_finished(struct engine *engine, struct entry *entry);

#endif
