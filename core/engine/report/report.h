// SPDX-License-Identifier: Apache-2.0
// Reporting: Events on workloads, and log lines about clusters.
#pragma once

#include "core/engine/engine_internal.h"

// Records an Event; drops a repeat of the workload's last one.
void report_event(struct engine *engine, struct entry *entry, bool warning, const char *reason, const char *action,
                  const char *format, ...) __attribute__((format(printf, 6, 7)));
// Writes a log line; `kind` may be LOG_NO_KIND.
void report_log(struct engine *engine, enum log_level level, size_t cluster, size_t kind, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
// A log line that names a mirror.
void report_mirror(struct engine *engine, enum log_level level, const struct entry *entry, const struct mirror *mirror,
                   const char *format, ...) __attribute__((format(printf, 5, 6)));
// Logs a decision with an effect, if the settings say so.
void report_decision(struct engine *engine, const struct entry *entry, const struct action *action);

// Reports another placement, in another worker or the same one.
void report_rescheduled(struct engine *engine, struct entry *entry, const struct action *action);
// Reports the end of a workload.
void report_finished(struct engine *engine, struct entry *entry);
