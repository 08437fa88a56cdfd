// SPDX-License-Identifier: Apache-2.0
// Writes repeated although their input has not changed wait longer each time (throttle.h).
#pragma once

#include "core/engine/engine_internal.h"

struct request_in_flight;

// Before something is sent again: when that may be, or whether it may be now.
int64_t repeat_update_at_ns(struct engine *engine, struct entry *entry, struct mirror *mirror);
bool repeat_may_write(struct engine *engine, struct entry *entry, uint32_t source);
uint32_t repeat_source(const struct entry *entry, const struct json *mirror); // hash of the inputs of a status
// A further attempt was sent. True: it is rescheduled too often, which was reported.
bool repeat_placed(struct engine *engine, struct entry *entry);
void repeat_updated(struct mirror *mirror, const struct request_in_flight *request);
void repeat_conflict(struct entry *entry, const struct request_in_flight *request);
void repeat_nothing_to_write(struct entry *entry, uint64_t wanted);
void repeat_other_host(struct engine *engine, struct entry *entry); // it wrote the status of the workload
void repeat_writer_answered(struct engine *engine, struct entry *entry, const struct request_in_flight *request,
                            const struct response *response);
