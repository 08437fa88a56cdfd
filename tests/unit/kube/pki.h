// SPDX-License-Identifier: Apache-2.0
// Certificates for tests, made on the spot.
#pragma once

#include <stdbool.h>

struct pki_pair {
    char *cert, *key; // PEM
};

struct pki_request {
    const char *name;              // CN
    const char *names;             // subjectAltName: "DNS:localhost,IP:127.0.0.1"; NULL: none
    const struct pki_pair *issuer; // NULL: self-signed
    bool ca;
    long begin_s, end_s;  // relative to now; both 0: from an hour ago to tomorrow
    const char *password; // of the key; NULL: none
};

// Aborts when it cannot.
struct pki_pair pki_make(const struct pki_request *request);
void pki_free(struct pki_pair *pair);
