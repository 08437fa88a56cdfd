// SPDX-License-Identifier: Apache-2.0
#include "core/host/io/blocking_client.h"

#include "core/base/clock.h"
#include "core/kube/client/ask.h"
#include "core/kube/transport/curl_transport.h"

#define PATIENCE_NS (20 * CLOCK_SECOND)

struct error *direct_open(struct endpoint *endpoint, const char *cluster, const atomic_bool *stop, struct direct *out) {
    *out = (struct direct){.opened = endpoint, .endpoint = endpoint_hold(endpoint), .stop = stop};
    struct error *error = curl_transport_new(endpoint, "wharf/" WHARF_VERSION, &out->transport);
    if (!error)
        error = client_new(&(struct client_options){.cluster = cluster, .transport = out->transport}, &out->client);
    if (error)
        direct_close(out);
    return error;
}

void direct_close(struct direct *direct) {
    client_free(direct->client);
    if (direct->transport)
        direct->transport->ops->free(direct->transport);
    endpoint_free(direct->opened);
    endpoint_free(direct->endpoint);
    *direct = (struct direct){0};
}

bool direct_renew(struct direct *direct, struct endpoint *fresh) {
    bool same = fresh == direct->endpoint, renewable = same || endpoint_same_address(direct->endpoint, fresh);
    if (renewable && !same) {
        curl_transport_renew(direct->transport, endpoint_hold(fresh));
        endpoint_free(direct->endpoint);
        direct->endpoint = endpoint_hold(fresh);
    }
    endpoint_free(fresh);
    return renewable;
}

static struct error *read_answer(struct response *response, struct json **out) {
    *out = response->value;
    response->value = NULL;
    if (response->reason == REASON_OK && *out)
        return NULL;
    enum error_code code = ERROR_IO;
    if (response->code == 404)
        code = ERROR_NOT_FOUND;
    else if (response->code == 401 || response->code == 403)
        code = ERROR_REFUSED;
    return error_new(code, "%s", response->message ? response->message : "no answer");
}

struct error *direct_get(struct direct *direct, const char *path, bool metadata, struct json **out) {
    __attribute__((cleanup(ask_cleanup))) struct response response = {.retry_after_ns = -1};
    struct request request = {.verb = VERB_RAW_GET, .namespace_ = "", .name = path, .metadata = metadata};
    *out = NULL;
    TRY(ask_within(direct->client, &request, PATIENCE_NS, direct->stop, &response));
    return read_answer(&response, out);
}
