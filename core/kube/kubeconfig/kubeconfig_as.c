// SPDX-License-Identifier: Apache-2.0
// Impersonation: as, as-uid, as-groups and as-user-extra of a user (k8s.io/client-go/transport,
// impersonatingRoundTripper).
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/kube/kubeconfig/kubeconfig_sections.h"

#include <stdlib.h>
#include <string.h>

#define NAME_MAX_LEN ((size_t)16 * 1024 * 1024) // more than a whole kubeconfig, escaped

struct headers {
    char **list; // ends with NULL
    size_t count;
};

// RFC 9110 section 5.5: no control characters, which also keeps line breaks out.
static bool is_value(const char *text) {
    for (const char *c = text; *c; c++)
        if (((unsigned char)*c < ' ' && *c != '\t') || *c == 0x7f)
            return false;
    return true;
}

static struct error *add_header(struct headers *headers, const struct kubeconfig_entry *user, const char *field,
                                const char *name, const char *value) {
    if (!is_value(value))
        return entry_error(user, field, ERROR_INVALID, "found a control character, expected the value of a header");
    char **longer = realloc(headers->list, (headers->count + 2) * sizeof *longer);
    if (!longer)
        return error_no_memory();
    headers->list = longer;
    longer[headers->count] = longer[headers->count + 1] = NULL;
    longer[headers->count] = *value ? text_format("%s: %s", name, value) : text_format("%s:", name);
    return longer[headers->count++] ? NULL : error_no_memory();
}

static struct error *add_text(struct headers *headers, const struct kubeconfig_entry *user, const char *field,
                              const char *name) {
    const char *text;
    TRY(entry_text(user, field, &text));
    return text ? add_header(headers, user, field, name, text) : NULL;
}

static struct error *add_list(struct headers *headers, const struct kubeconfig_entry *entry, const char *field,
                              const char *name) {
    char **list;
    struct error *error = entry_list(entry, field, &list);
    for (size_t i = 0; !error && list[i]; i++)
        error = add_header(headers, entry, field, name, list[i]);
    text_list_free(list);
    return error;
}

// As headerKeyEscape: percent-encodes % and the characters that a header's name may not have.
static bool escape(struct buffer *out, const char *key) {
    static const char legal[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$&'*+-.^_`|~";
    for (const char *c = key; *c; c++)
        if (strchr(legal, *c))
            buffer_char(out, *c);
        else
            buffer_printf(out, "%%%02X", (unsigned)(unsigned char)*c);
    return !out->failed;
}

static struct error *add_extra(struct headers *headers, const struct kubeconfig_entry *user) {
    struct kubeconfig_entry extra;
    TRY(entry_part(user, "as-user-extra", "user.as-user-extra", &extra));
    for (const struct json *member = json_first(extra.value); member; member = json_next(member)) {
        AUTO_BUFFER(name, NAME_MAX_LEN);
        buffer_text(&name, "Impersonate-Extra-");
        TRY(escape(&name, json_key(member)) ? add_list(headers, &extra, json_key(member), name.data)
                                            : error_no_memory());
    }
    return NULL;
}

static struct error *add_all(struct headers *headers, const struct kubeconfig_entry *user) {
    TRY(add_text(headers, user, "as", "Impersonate-User"));
    bool has_user = headers->count > 0;
    TRY(add_text(headers, user, "as-uid", "Impersonate-Uid"));
    TRY(add_list(headers, user, "as-groups", "Impersonate-Group"));
    TRY(add_extra(headers, user));
    return headers->count == 0 || has_user
               ? NULL
               : entry_error(user, "as", ERROR_INVALID,
                             "found nothing, expected a user along with as-uid, as-groups or as-user-extra");
}

struct error *kubeconfig_read_impersonation(const struct kubeconfig_entry *user, struct endpoint *endpoint) {
    struct headers headers = {.list = NULL};
    struct error *error = add_all(&headers, user);
    endpoint->impersonation = headers.list; // also after a failure: endpoint_free frees the list
    return error;
}
