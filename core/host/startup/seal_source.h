// SPDX-License-Identifier: Apache-2.0
// Where seal keys come from: a file with one base64 key per line, of which the first signs, or a Secret of the
// management cluster with keys as entries. The host creates a missing one with one random key.
#pragma once

#include "core/base/clock.h"
#include "core/config/config.h"
#include "core/engine/mirror/mirror.h"
#include "core/host/io/cluster_connection.h"

#define SEAL_KEYS_MAX 16
#define SEAL_SECRET_NAME "wharf-seal"
#define SEAL_SECRET_NAMESPACE "wharf-system" // of a host outside a pod
#define SEAL_SECRET_KEY "key"

enum seal_source {
    SEAL_FROM_NOTHING,
    SEAL_FROM_FILE,
    SEAL_FROM_SECRET,        // named in the configuration: required
    SEAL_FROM_DEFAULT_SECRET // of a host in a pod: mirrors have no seals without the permission to read the Secret
};
// A source that a host has made, since there was none, says until when mirrors without a seal may be from before that.
#define SEAL_ADOPT_NS (60 * CLOCK_MINUTE)
#define SEAL_ADOPT_UNTIL "wharf.dev/adopt-unsealed-until" // an annotation of the Secret, or a comment of the file

struct sealing {
    struct seal_keys *keys;
    int64_t adopt_until_wall_ns; // 0: not said
};

enum seal_source seal_source_of(const struct config *config);

// The Secret's name and namespace; `own_namespace`: of the host's pod, or NULL.
const char *seal_secret_namespace(const struct config *config, const char *own_namespace);
const char *seal_secret_name(const struct config *config);

// The host's own namespace in the management cluster: from the configuration, else of its pod, else wharf-system.
const char *host_own_namespace(const struct config *config, const struct cluster_connection *management);

// Reads the file; `make`: creates a missing file (otherwise ERROR_NOT_FOUND). ERROR_REFUSED: wrong owner (expected root
// or this process's user), readable by others than owner and group, or writable by others than the owner.
struct error *seal_file_load(const char *path, bool make, struct sealing *out);

// The keys of a Secret; the entry `signing` is the signing key.
struct error *seal_secret_load(const struct json *secret, const char *signing, struct sealing *out);
// A Secret with one random key, as JSON; NULL when out of memory or random numbers.
char *seal_secret_make(const char *namespace_, const char *name, const char *signing);
