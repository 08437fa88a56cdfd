// SPDX-License-Identifier: Apache-2.0
// PEM certificates and private keys, looked at with libcrypto before libcurl gets them, so that what is wrong with
// them can be said in words. Messages go on where the caller names what was looked at: "found no PEM certificate, ...".
#ifndef WHARF_KUBE_CERTS_H
#define WHARF_KUBE_CERTS_H

#include "core/base/error.h"

#include <stdint.h>

// At least one certificate, and every one can be read.
struct error *certs_check_certificates(const char *pem);

// A private key that needs no password.
struct error *certs_check_key(const char *pem);

// The first certificate is for this key.
struct error *certs_check_pair(const char *cert_pem, const char *key_pem);

enum certs_rule {
    CERTS_ALL_VALID, // a client certificate and what certifies it
    CERTS_ANY_VALID  // CAs, of which old ones may still be around
};

// Neither expired nor not yet valid at `wall_ns`.
struct error *certs_check_time(const char *pem, enum certs_rule rule, int64_t wall_ns);

#endif
