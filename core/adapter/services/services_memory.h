// SPDX-License-Identifier: Apache-2.0
// Memory and failures of a call into an adapter: values that the services make, replace or remove are in the call's
// lists, and keeps the first failure. Internal to services.
#pragma once

#include "core/adapter/services.h"

// The call that `call` belongs to; for NULL the one that lives as long as the process, or NULL if that is closed.
struct adapter_call *services_call(const wharf_call *call);

// Take the value or the text; NULL (freed, and a failure) when out of memory. NULL is out of memory too.
struct json *services_keep_value(struct adapter_call *call, struct json *value);
char *services_keep_text(struct adapter_call *call, char *text);

// Makes room for one more value: the next services_keep_value cannot fail. False, and a failure, when out of memory.
bool services_reserve(struct adapter_call *call);

// Remembers the first failure of the call: bad input with a sentence, or no memory. Returns false.
bool services_refuse(struct adapter_call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool services_no_memory(struct adapter_call *call);

// Around each function of an adapter, or the host's replacement: clear answer and failure; and the effective
// result, which a failure decides.
void services_prepare(struct adapter_call *call, const struct json *workload);
wharf_result services_conclude(struct adapter_call *call, wharf_result result);

// Whether `value`, inside `around` containers, exceeds the depth limit of JSON. NULL is fine.
bool services_is_too_deep(const struct json *value, size_t around);
// Refuses with a sentence that begins with `what`.
void services_refuse_depth(struct adapter_call *call, const char *what);

// A copy; NULL and a failure when out of memory, or for too deep a value.
struct json *services_copy(struct adapter_call *call, const struct json *value);

// "an object", "a string"; "nothing" for NULL.
const char *services_type_name(const struct json *value);

// Takes `value` and puts this value into the object; a former value lives until the call ends.
bool services_put_member(struct adapter_call *call, struct json *object, const char *key, struct json *value);

// "" or "/...", and only 0 or 1 (in a pattern, 2 too) after a tilde: RFC 6901 section 3, without a message.
bool services_is_pointer(const char *pointer, bool pattern);

// The table's functions from other files.
void services_set(const wharf_call *call, wharf_value *root, const char *pattern, const wharf_value *value);
void services_set_string(const wharf_call *call, wharf_value *root, const char *pattern, const char *text);
void services_set_integer(const wharf_call *call, wharf_value *root, const char *pattern, int64_t value);
void services_set_boolean(const wharf_call *call, wharf_value *root, const char *pattern, int value);
size_t services_remove(const wharf_call *call, wharf_value *root, const char *pattern);
void services_take(const wharf_call *call, wharf_value *root, const wharf_value *from, const char *pattern);
wharf_value *services_edit(const wharf_call *call, wharf_value *root, const char *pointer);
void services_log(const wharf_call *call, wharf_log_level level, const char *message);
