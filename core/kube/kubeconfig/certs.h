// SPDX-License-Identifier: Apache-2.0
// Validates PEM certificates and private keys with libcrypto before libcurl gets them, for precise error messages. The
// caller puts the name of the field before the message ("found no PEM certificate, ...").
#pragma once

#include "core/base/buffer.h"
#include "core/base/error.h"

#define CERTS_MAX ((size_t)4 * 1024 * 1024) // bytes of a PEM text

#include <stdint.h>

// PEM text without NUL bytes; takes the content. The same from a file.
struct error *certs_take(struct buffer *content, char **out);
struct error *certs_read_file(const char *path, char **out);

// At least one certificate, all of them valid PEM.
struct error *certs_check_certificates(const char *pem);

// An unencrypted private key.
struct error *certs_check_key(const char *pem);

// The key belongs to the first certificate.
struct error *certs_check_pair(const char *cert_pem, const char *key_pem);

enum certs_rule {
    CERTS_ALL_VALID, // a client certificate and its chain
    CERTS_ANY_VALID  // a CA bundle, which may contain expired CAs
};

// Neither expired nor not yet valid at `wall_ns`.
struct error *certs_check_time(const char *pem, enum certs_rule rule, int64_t wall_ns);

// When the first of the certificates expires, in nanoseconds since 1970; 0: that cannot be read.
int64_t certs_expiry(const char *pem);
