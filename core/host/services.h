// SPDX-License-Identifier: Apache-2.0
// The host's side of the adapter ABI: the table of services (struct wharf_host), and calls into an adapter with the
// memory that lives for the length of one. Adapter thread only. A wharf_value is a struct json.
#ifndef WHARF_HOST_SERVICES_H
#define WHARF_HOST_SERVICES_H

#include "core/base/clock.h"
#include "core/json/json.h"

#include <wharf/adapter.h>

// One call into an adapter. Begin, call, end; what the adapter made, and what its answer points to, is freed at the
// end.
struct adapter_call {
    wharf_call call;
    wharf_answer answer;
    char now[CLOCK_RFC3339_MAX];
    const char *object; // "namespace/name", for log lines
    struct json **values;
    size_t n_values, cap_values;
    char **texts;
    size_t n_texts, cap_texts;
};

struct call_context {
    const wharf_kind *kind;
    struct moment now;
    const char *cluster; // or NULL
    uint32_t attempt;
    const char *version;
    const char *object; // "namespace/name"
};

const wharf_host *services_table(void);
void adapter_call_begin(struct adapter_call *call, const struct call_context *context);
void adapter_call_end(struct adapter_call *call);

// What the functions of `kind` answer, with the rules of the ABI applied (defaults for functions that are NULL, unknown
// values, sizes). These do not look at answer; `call` was begun by the caller.
wharf_result adapter_phase(struct adapter_call *call, const struct json *object, wharf_phase *out);
wharf_result adapter_mirror(struct adapter_call *call, const struct json *workload, struct json *mirror);
wharf_result adapter_update(struct adapter_call *call, const struct json *workload, const struct json *mirror,
                            struct json *desired);
wharf_result adapter_status(struct adapter_call *call, const struct json *workload, const struct json *mirror,
                            struct json *status);

#endif
