// SPDX-License-Identifier: Apache-2.0
// Where the keys of seals come from: a file with one key a line in base64, the first of which signs, or a Secret of the
// management cluster, whose entries are keys. Either is made, with one random key, where it is missing.
#ifndef WHARF_HOST_SEAL_SOURCE_H
#define WHARF_HOST_SEAL_SOURCE_H

#include "core/config/config.h"
#include "core/engine/seal.h"

#define SEAL_KEYS_MAX 16
#define SEAL_SECRET_NAME "wharf-seal"
#define SEAL_SECRET_NAMESPACE "wharf-system" // of a host that runs in no pod
#define SEAL_SECRET_KEY "key"

enum seal_source {
    SEAL_FROM_NOTHING,
    SEAL_FROM_FILE,
    SEAL_FROM_SECRET,        // that the configuration names: nothing runs without it
    SEAL_FROM_DEFAULT_SECRET // of a host in a pod: where it may not be read, there is no key
};
enum seal_source seal_source_of(const struct config *config);

// The Secret; `own_namespace`: of the pod that the host runs in, or NULL.
const char *seal_secret_namespace(const struct config *config, const char *own_namespace);
const char *seal_secret_name(const struct config *config);

// Reads the file; with `make`, one that is not there is made. ERROR_NOT_FOUND otherwise. ERROR_REFUSED: others than its
// owner (root, or the user of this process) and its group may read it, or others than its owner may write it.
struct error *seal_file_load(const char *path, bool make, struct seal_keys **out);

// The keys of a Secret; the one in the entry `signing` signs.
struct error *seal_secret_load(const struct json *secret, const char *signing, struct seal_keys **out);
// A Secret with one random key, as JSON; NULL when out of memory or of randomness.
char *seal_secret_make(const char *namespace_, const char *name, const char *signing);

#endif
