// SPDX-License-Identifier: Apache-2.0
// Messages about Secrets without values. An API server's own messages for a missing object, a conflict or a missing
// right have fixed forms. Validation and admission may quote values.
#include "core/kube/client/client.h"

#include "core/base/buffer.h"

#define MESSAGE_MAX 2000

static bool has_fixed_form(enum reason reason) {
    return reason == REASON_NOT_FOUND || reason == REASON_NAMESPACE_NOT_FOUND || reason == REASON_KIND_NOT_FOUND ||
           reason == REASON_ALREADY_EXISTS || reason == REASON_CONFLICT || reason == REASON_EXPIRED ||
           reason == REASON_UNAUTHORIZED || reason == REASON_TOO_MANY || reason == REASON_QUOTA ||
           reason == REASON_NAMESPACE_TERMINATING;
}

// RBAC's: User "u" cannot get resource "secrets" in API group "" in the namespace "n".
static bool is_of_rights(const char *message) {
    const char *user = strstr(message, " is forbidden: User \"");
    return user && strstr(user, "\" cannot ") && strstr(user, " resource \"");
}

// The message up to the end of the phrase. False: the message does not have it.
static bool put_until(struct buffer *out, const char *message, const char *phrase) {
    const char *found = strstr(message, phrase);
    return found && buffer_append(out, message, (size_t)(found - message) + strlen(phrase));
}

// Names of fields, without their values.
static void put_fields(struct buffer *out, const struct json *status) {
    const struct json *causes = json_path(status, "details", "causes", NULL);
    const char *separator = ": ";
    for (const struct json *cause = json_first(causes); cause; cause = json_next(cause)) {
        const char *field = json_string_or(json_get(cause, "field"), "");
        if (!*field)
            continue;
        buffer_printf(out, "%s%s (%s)", separator, field, json_string_or(json_get(cause, "reason"), "invalid"));
        separator = ", ";
    }
}

char *sensitive_message(const struct json *status, enum reason reason, int code) {
    const char *message = json_string_or(json_get(status, "message"), "");
    AUTO_BUFFER(out, MESSAGE_MAX);
    // Of admission webhooks and policies, with any reason.
    if (put_until(&out, message, "denied the request") || put_until(&out, message, "denied request"))
        return buffer_take(&out, NULL);
    if (*message && (has_fixed_form(reason) || (reason == REASON_FORBIDDEN && is_of_rights(message))))
        return strdup(message);
    if (reason == REASON_INVALID && put_until(&out, message, " is invalid"))
        put_fields(&out, status);
    else if (reason != REASON_FORBIDDEN || !put_until(&out, message, " is forbidden"))
        buffer_printf(&out, "the server answered %d (%s)", code, reason_text(reason));
    return buffer_take(&out, NULL);
}
