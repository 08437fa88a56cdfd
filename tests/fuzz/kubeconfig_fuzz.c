// SPDX-License-Identifier: Apache-2.0
// Kubeconfigs: whatever a file says, it gives an endpoint that can be checked, or a sentence.
#include "tests/fuzz/fuzz.h"

#include "core/kube/credentials/credentials.h"
#include "core/kube/kubeconfig/kubeconfig.h"

#include <string.h>

#define NOW_NS (INT64_C(1767323045) * CLOCK_SECOND)

static void must_be_told(const struct error *error) {
    if (error && error->message[0] == '\0')
        fuzz_fail("an error that says nothing");
}

static void must_be_usable(struct error *error, struct endpoint *endpoint) {
    must_be_told(error);
    if (!error && (!endpoint || !endpoint->server || !endpoint->description))
        fuzz_fail("an endpoint without a server");
    error_free(error);
    if (endpoint) {
        error = endpoint_check(endpoint, NOW_NS);
        must_be_told(error);
        error_free(error);
    }
    endpoint_free(endpoint);
}

// What the texts of the corpus run; nothing is run here.
static char *allowed[] = {(char *)"sh"};
static const struct exec_policy policy = {.allow = allowed, .n_allow = 1};

void fuzz_one(const uint8_t *data, size_t size) {
    struct fuzz_part context = fuzz_next_part(&data, &size);
    char name[64] = "";
    if (context.len < sizeof name)
        memcpy(name, context.text, context.len);
    struct endpoint *endpoint = NULL;
    struct error *error = kubeconfig_load(fuzz_file((const char *)data, size), name, &policy, &endpoint);
    must_be_usable(error, endpoint);

    // The same as a text, which may name no files.
    endpoint = NULL;
    error = kubeconfig_parse((const char *)data, size, "Secret", name, &policy, &endpoint);
    if (endpoint &&
        (endpoint->ca_file || endpoint->client_cert_file || endpoint->client_key_file || endpoint->token_file))
        fuzz_fail("a text named a file");
    if (endpoint && endpoint->exec && strcmp(endpoint->exec->command, "sh") != 0 &&
        !strchr(endpoint->exec->command, '/'))
        fuzz_fail("a text named a command that is not allowed");
    must_be_usable(error, endpoint);
}
