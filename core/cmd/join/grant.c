// SPDX-License-Identifier: Apache-2.0
// The worker's side: the host's namespace, account, rights and token.
#include "core/base/text.h"
#include "core/cmd/document.h"
#include "core/cmd/join/join.h"
#include "core/json/yaml.h"
#include "core/kube/api/requests.h"
#include "core/kube/client/ask.h"

#include <stdio.h>
#include <string.h>

struct error *join_print_rights(const struct join *join, struct buffer *out) {
    AUTO_JSON namespace_ = join_namespace(join->namespace_);
    if (!namespace_ || !yaml_print(namespace_, out) || !buffer_text(out, "---\n"))
        return error_no_memory();
    return rbac_print(&join->rights, &join->setup, out);
}

// Marks the account with the management cluster of its host.
static struct error *mark_account(const struct join *join, struct json *object) {
    if (strcmp(json_string_or(json_get(object, "kind"), ""), "ServiceAccount") != 0)
        return NULL;
    bool made = json_set(json_get(object, "metadata"), "annotations",
                         document_make("{'" JOIN_OWNER "':%s}", join->management.uid));
    return made ? NULL : error_no_memory();
}

struct error *join_grant(struct join *join) {
    AUTO_BUFFER(text, RBAC_TEXT_MAX);
    __attribute__((cleanup(yaml_cleanup))) struct yaml objects = {.value = NULL};
    TRY(join_print_rights(join, &text));
    struct error *error = yaml_parse_all("rbac", text.data, text.len, &objects);
    for (struct json *o = json_first(objects.value); !error && o; o = json_next(o)) {
        error = mark_account(join, o);
        if (!error)
            error = cluster_apply(&join->worker, o);
    }
    return error;
}

static void print_expiry(const struct join *join, int64_t expires_ns) {
    char when[CLOCK_RFC3339_MAX] = "";
    if (expires_ns > 0)
        clock_rfc3339(expires_ns, when);
    printf("%s: token for serviceaccount/%s created%s%s\n", join->worker.role, join->rights.account,
           expires_ns > 0 ? ", valid until " : "", when);
    fflush(stdout);
}

struct error *join_request_token(struct join *join) {
    __attribute__((cleanup(token_request_clear))) struct token_request made = {.body = NULL};
    __attribute__((cleanup(ask_cleanup))) struct response response = {.message = NULL};
    int64_t expires_ns = 0;
    struct error *error = token_request_make(join->namespace_, join->rights.account, join->token_seconds, NULL, &made);
    if (!error)
        error = ask(join->worker.client, &made.request, &response);
    if (!error)
        error = token_request_read(&response, &join->token, &expires_ns);
    if (error)
        return error_wrap(error, "%s", join->worker.role);
    print_expiry(join, expires_ns);
    return NULL;
}
