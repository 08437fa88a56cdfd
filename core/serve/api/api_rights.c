// SPDX-License-Identifier: Apache-2.0
// /api/v1/rights: the rights that the host needs in a worker, with the present adapters and configuration.
#include "core/serve/api/api_internal.h"

#include "core/base/text.h"

#include <string.h>

// "get, list" as an array.
static void put_words(const char *key, const char *words, struct writer *out) {
    writer_array(out, key);
    for (const char *at = words; *at != '\0';) {
        size_t len = strcspn(at, ",");
        AUTO_TEXT word = strndup(at, len);
        writer_string(out, NULL, word);
        at += len + strspn(at + len, ", ");
    }
    writer_end(out, ']');
}

static void put_right(const struct right *right, struct writer *out) {
    writer_object(out, NULL);
    writer_string(out, "scope", right_scope_name(right->scope));
    writer_string(out, "group", right->group);
    put_words("resources", right->resources, out);
    put_words("verbs", right->verbs, out);
    writer_string(out, "name", right->name);
    writer_end(out, '}');
}

static void put_kind(const struct kind *kind, struct writer *out) {
    writer_object(out, NULL);
    writer_string(out, "group", kind->abi.group);
    writer_string(out, "resource", kind->abi.plural);
    api_put_versions(kind, out);
    writer_end(out, '}');
}

struct error *api_rights(struct api_call *call) {
    struct host_snapshot snapshot;
    const struct api_source *source = call->source;
    const struct adapters *adapters = api_adapters_of(source);
    const char *account = api_parameter(call, "account"), *logs = api_parameter(call, "logs");
    const char *exec = api_parameter(call, "exec");
    TRY(source->snapshot(source->ctx, &snapshot));
    struct rights rights;
    struct rights_wanted wanted = {.kinds = (const struct kind *const *)adapters->kinds,
                                   .n_kinds = adapters->n_kinds,
                                   .logs = !logs || strcmp(logs, "false") != 0,
                                   .exec = exec && strcmp(exec, "true") == 0,
                                   .features = snapshot.features,
                                   .account = account ? account : RIGHTS_ACCOUNT};
    struct error *error = rights_make(RIGHTS_OF_WORKER, &wanted, &rights);
    source->free_snapshot(&snapshot);
    TRY(error);
    writer_array(&call->out, "items");
    for (size_t i = 0; i < rights.count; i++)
        put_right(&rights.list[i], &call->out);
    writer_end(&call->out, ']');
    writer_array(&call->out, "kinds");
    for (size_t k = 0; k < adapters->n_kinds; k++)
        put_kind(adapters->kinds[k], &call->out);
    writer_end(&call->out, ']');
    rights_free(&rights);
    return NULL;
}
