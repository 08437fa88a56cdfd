// SPDX-License-Identifier: Apache-2.0
// Who wrote an object last: its managedFields, which are not kept and are read when there is a question.
#pragma once

#include "core/engine/engine_internal.h"

// Managers and the times of their last writes (RFC 3339, comparable as text); of the object read, "" and NULL if none.
struct writers {
    const char *other, *other_at;     // the manager, not this host, that wrote last: of a workload, its status
    const char *own_at, *recorded_at; // this host's last write of the status, and of anything else
};

enum writer_question {
    WRITER_REPEATS, // who keeps reverting a write: repeat.h
    WRITER_STATUS   // whose status that is: rival.h
};

// Sends a GET; its answer is of REQUEST_WRITER, with the question in `source`. False: it was not sent.
bool writer_ask(struct engine *engine, struct entry *entry, uint32_t cluster, enum writer_question question);
// `status`: of the status; else of everything else. `subresource`: the kind has one for its status.
struct writers writer_read(const struct json *object, bool status, bool subresource);
