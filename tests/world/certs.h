// SPDX-License-Identifier: Apache-2.0
// A certificate authority for one test run: generates a CA, a server certificate for 127.0.0.1 and localhost, and a
// client certificate, all as PEM text in memory.
#pragma once

#include "core/base/error.h"

#include <stdbool.h>

struct certs {
    char *ca;
    char *server_cert, *server_key;
    char *client_cert, *client_key;
};

struct certs_options {
    const char *name;       // of the CA; NULL: "world"
    bool server_expired;    // the server's certificate expired yesterday
    bool server_wrong_name; // it is for another host
    bool client_expired;
};

struct error *certs_make(const struct certs_options *options, struct certs *out);
void certs_free(struct certs *certs);

// A kubeconfig with everything inline; the certificates may be NULL (plain http). NULL when out of memory.
char *certs_kubeconfig(const struct certs *certs, const char *name, const char *server);
