// SPDX-License-Identifier: Apache-2.0
// Memory of a call into an adapter: what the services make is put into the call's lists. Internal to services.
#ifndef WHARF_ADAPTER_SERVICES_MEMORY_H
#define WHARF_ADAPTER_SERVICES_MEMORY_H

#include "core/adapter/services.h"

// The call that `call` belongs to; for NULL the one that lives as long as the process, or NULL if that is closed.
struct adapter_call *services_call(const wharf_call *call);

// Take the value or the text; NULL (and freed) when out of memory. NULL gives NULL.
struct json *services_keep_value(struct adapter_call *call, struct json *value);
const char *services_keep_text(struct adapter_call *call, char *text);

// The table's functions that are written elsewhere.
const wharf_value *services_condition(const wharf_value *object, const char *type, const char *status);
int services_set_condition(const wharf_call *call, wharf_value *status_value, const char *type, const char *status,
                           const char *reason, const char *message);
void services_log(const wharf_call *call, wharf_log_level level, const char *message);

#endif
