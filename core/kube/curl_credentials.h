// SPDX-License-Identifier: Apache-2.0
// What a transport shows of itself, kept up to date: the bearer token and the certificates, read again from their files
// as these change. Reading fails softly: what was read before stays in use.
#ifndef WHARF_KUBE_CURL_CREDENTIALS_H
#define WHARF_KUBE_CURL_CREDENTIALS_H

#include "core/base/error.h"
#include "core/kube/kubeconfig.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// PEM texts that handles point into while they live: counted, never changed.
struct material {
    size_t users;
    char *ca, *cert, *key; // NULL: none
};
void material_release(struct material *material); // NULL is fine

enum { CREDENTIAL_FILES = 3 }; // CA, client certificate, client key

// What tells whether a file is another one than before.
struct file_stamp {
    int64_t seconds, nanoseconds, changed_seconds, changed_nanoseconds;
    uint64_t inode, size;
};

struct credentials {
    const struct endpoint *endpoint;
    bool secure;               // false for http: nothing is shown
    struct material *material; // never NULL
    char *authorization;       // "Authorization: ..."; NULL: none
    struct error *problem;     // why `authorization` is missing though it is needed; NULL: it is not
    int64_t token_due_ns;      // when the token file is read again; CLOCK_NEVER without one
    int64_t files_due_ns;      // when the certificates' files are looked at again; CLOCK_NEVER without any
    struct file_stamp stamps[CREDENTIAL_FILES];
};

struct error *credentials_open(struct credentials *credentials, const struct endpoint *endpoint, bool secure,
                               int64_t now_ns);
void credentials_close(struct credentials *credentials);

// Reads again what is due. True if the client certificate changed: connections made with the old one must go.
bool credentials_update(struct credentials *credentials, int64_t now_ns);

// Makes everything due at once. False: nothing comes from a file.
bool credentials_expire(struct credentials *credentials);

#endif
