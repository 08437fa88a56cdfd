// SPDX-License-Identifier: Apache-2.0
// The credentials of a transport: the bearer token and the certificates, reloaded when their files change. If reloading
// fails, the previous ones stay in use.
#ifndef WHARF_KUBE_CURL_CREDENTIALS_H
#define WHARF_KUBE_CURL_CREDENTIALS_H

#include "core/base/error.h"
#include "core/kube/kubeconfig.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// PEM texts that curl handles point into: reference-counted, immutable.
struct pem_set {
    size_t users;
    char *ca, *cert, *key; // NULL: none
};
void pem_set_release(struct pem_set *pem_set); // NULL is fine

enum { CREDENTIAL_FILES = 3 }; // CA, client certificate, client key

// Detects that a file was replaced or changed.
struct file_stamp {
    int64_t seconds, nanoseconds, changed_seconds, changed_nanoseconds;
    uint64_t inode, size;
};

struct credentials {
    const struct endpoint *endpoint;
    bool secure;             // false for http: no credentials are sent
    struct pem_set *pem_set; // never NULL
    char *authorization;     // "Authorization: ..."; NULL: none
    struct error *problem;   // why a required `authorization` is missing; NULL: it is not
    int64_t token_due_ns;    // when the token file is reloaded; CLOCK_NEVER without one
    int64_t files_due_ns;    // when the certificate files are checked again; CLOCK_NEVER without any
    struct file_stamp stamps[CREDENTIAL_FILES];
};

struct error *credentials_open(struct credentials *credentials, const struct endpoint *endpoint, bool secure,
                               int64_t now_ns);
void credentials_close(struct credentials *credentials);

// Reloads what is due. True if the client certificate changed: connections that use the old one must be closed.
bool credentials_update(struct credentials *credentials, int64_t now_ns);

// Makes everything due at once. False: no credential comes from a file.
bool credentials_expire(struct credentials *credentials);

#endif
