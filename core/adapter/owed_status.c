// SPDX-License-Identifier: Apache-2.0
#include "core/adapter/owed_status.h"

#include "core/adapter/phase.h"
#include "core/adapter/services/services_memory.h"
#include "core/base/text.h"
#include "core/json/pointer.h"

#define TEXT_MAX 65536

static const char *metadata_text(const struct json *object, const char *key) {
    return json_string_or(json_path(object, "metadata", key, NULL), "");
}

// `text` with the workload's kind, namespace and name filled in, and with a `message` that and the time. NULL when out
// of memory, and for NULL.
static char *filled(const struct adapter_call *call, const struct json *workload, const char *message,
                    const char *text) {
    const struct {
        const char *name, *value;
    } words[] = {{"{kind}", call->kind->kind},
                 {"{namespace}", metadata_text(workload, "namespace")},
                 {"{name}", metadata_text(workload, "name")},
                 {"{message}", message},
                 {"{now}", call->call.now}};
    size_t n_words = message ? 5 : 3;
    AUTO_BUFFER(out, TEXT_MAX);
    if (!text)
        return NULL;
    buffer_text(&out, "");
    while (*text) {
        size_t i = 0;
        while (i < n_words && !text_has_prefix(text, words[i].name))
            i++;
        bool word = i < n_words;
        if (word)
            buffer_text(&out, words[i].value);
        else
            buffer_char(&out, *text);
        text += word ? strlen(words[i].name) : 1;
    }
    return buffer_take(&out, NULL);
}

static bool is_due(const wharf_status_change *change, const struct json *workload) {
    bool condition = change->change == WHARF_SET_CONDITION;
    const wharf_host *host = services_table();
    const wharf_value *object = (const wharf_value *)workload;
    if (change->when == WHARF_IF_TRUE)
        return host->condition(object, change->name, "True");
    if (change->when == WHARF_IF_ABSENT)
        return condition ? !host->condition(object, change->name, NULL) : !pointer_find(workload, change->name);
    return true;
}

// Appends the pointer with NUL to a buffer.
static bool collect(void *ctx, const char *pointer, struct json *value) {
    struct buffer *pointers = ctx;
    const char *number = json_number_text(value);
    if (!number || json_double(value, 1) == 0)
        return true;
    return buffer_append(pointers, pointer, strlen(pointer) + 1);
}

static bool set_zero(struct json *object, const char *pattern) {
    AUTO_BUFFER(pointers, SIZE_MAX / 4);
    if (!pointer_each(object, pattern, collect, &pointers))
        return false;
    for (size_t at = 0; at < pointers.len; at += strlen(pointers.data + at) + 1)
        if (!pointer_set(object, pointers.data + at, json_new_int64(0)))
            return false;
    return true;
}

// False when out of memory; invalid input is a failure of the services.
static bool apply(struct adapter_call *call, const wharf_status_change *change, const struct json *workload,
                  const char *message, struct json *object) {
    const wharf_host *host = services_table();
    wharf_value *root = (wharf_value *)object;
    if (change->change == WHARF_SET_ZERO)
        return set_zero(object, change->name);
    if (change->change == WHARF_REMOVE)
        host->remove(&call->call, root, change->name);
    AUTO_TEXT value = message ? filled(call, workload, message, change->value) : NULL;
    if (message && change->value && !value)
        return false;
    if (change->change == WHARF_SET_TEXT)
        host->set_string(&call->call, root, change->name, value ? value : change->value);
    if (change->change != WHARF_SET_CONDITION)
        return true;
    AUTO_TEXT reason = filled(call, workload, message, change->reason);
    AUTO_TEXT text = filled(call, workload, message, change->message);
    if ((change->reason && !reason) || (change->message && !text))
        return false;
    host->set_condition(&call->call, root, change->name, change->value, reason, text);
    return true;
}

static wharf_result apply_list(struct adapter_call *call, const wharf_status_change *change,
                               const struct json *workload, const char *message, struct json *object) {
    services_prepare(call, workload);
    for (; change && change->name; change++)
        if (is_due(change, workload) && !apply(call, change, workload, message, object))
            services_no_memory(call);
    return services_conclude(call, WHARF_OK);
}

wharf_result owed_status(struct adapter_call *call, const struct json *workload, struct json *object) {
    const wharf_kind *kind = call->kind;
    const wharf_status_change *change = NULL;
    wharf_phase phase;
    if (!kind->suspended_status && !kind->resumed_status)
        return WHARF_OK;
    if (adapter_phase(call, workload, &phase) != WHARF_OK || phase_is_final(phase.phase))
        return call->trouble == CALL_FINE ? WHARF_OK : WHARF_RETRY;
    if (phase_suspend_asked(kind, workload))
        change = kind->suspended_status;
    else if (phase_says_suspended(kind, workload))
        change = kind->resumed_status;
    return apply_list(call, change, workload, NULL, object);
}

wharf_result owed_gave_up(struct adapter_call *call, const struct json *workload, const char *message,
                          struct json *object) {
    return apply_list(call, call->kind->gave_up_status, workload, message, object);
}
