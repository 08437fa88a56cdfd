// SPDX-License-Identifier: Apache-2.0
#include "core/host/io/blocking_client.h"

#include "core/base/memory.h"
#include "core/kube/client/ask.h"

#define PATIENCE_NS (20 * CLOCK_SECOND)

struct error *blocking_client_open(struct endpoint *endpoint, const char *cluster, const atomic_bool *stop,
                                   struct blocking_client *out) {
    *out = (struct blocking_client){.connection = {.endpoint = endpoint}, .stop = stop};
    struct error *error = connection_open(&out->connection, NULL);
    if (!error)
        error = connection_client(&out->connection, cluster, &out->client);
    if (error)
        blocking_client_close(out);
    return error;
}

void blocking_client_close(struct blocking_client *client) {
    client_free(client->client);
    connection_close(&client->connection);
    *client = (struct blocking_client){.client = NULL};
}

struct error *blocking_client_get(struct blocking_client *client, const char *path, bool metadata, struct json **out) {
    struct request request = {.verb = VERB_RAW_GET, .namespace_ = "", .name = path, .metadata = metadata};
    __attribute__((cleanup(ask_cleanup))) struct response response = {.retry_after_ns = -1};
    *out = NULL;
    TRY(ask_within(client->client, &request, PATIENCE_NS, client->stop, &response));
    *out = TAKE(response.value);
    if (response.reason == REASON_OK && *out)
        return NULL;
    enum error_code code = response.code == 404                           ? ERROR_NOT_FOUND
                           : response.code == 401 || response.code == 403 ? ERROR_REFUSED
                                                                          : ERROR_IO;
    return error_new(code, "%s", response.message ? response.message : "no answer");
}
