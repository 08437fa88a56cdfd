// SPDX-License-Identifier: Apache-2.0
// Objects of the management cluster that describe workers: Secrets, ClusterProfiles, and the ConfigMap wharf-workers.
// docs/workers.md has their fields. Errors say which field is wrong, and do not name the object.
#pragma once

#include "core/base/map.h"
#include "core/config/config.h"
#include "core/config/worker_spec.h"
#include "core/host/tokens/tokens.h"
#include "core/kube/kubeconfig/kubeconfig.h"

#define WORKER_SECRET_LABEL "wharf.dev/worker"
#define WORKER_NAME_ANNOTATION "wharf.dev/worker-name"
#define WORKER_TOKEN_ANNOTATION "wharf.dev/token-service-account"
#define WORKERS_CONFIG_MAP "wharf-workers"
#define CLUSTER_PROFILE_GROUP "multicluster.x-k8s.io"

// "Secret wharf-system/w1"; NULL when out of memory.
char *worker_object_text(const char *kind, const struct json *object);

// "NAMESPACE/NAME" of annotation wharf.dev/token-service-account; *name is in the Secret. ERROR_NOT_FOUND: no such
// annotation.
struct error *worker_secret_account(const struct json *secret, char namespace_[64], const char **name);

// The worker's name, labels, weight, order and limits, shared by Secrets and ClusterProfiles.
struct error *worker_object_name(const struct json *object, struct worker_spec *out);

// Weight, order, maxActive and labels of a worker in the directory. `text` is the kubeconfig: extensions: [{name:
// wharf.dev, extension: {labels: {...}, weight: 2, order: 1, maxActive: "10,jobs.batch=5"}}].
struct error *worker_placement_of_kubeconfig(const char *text, size_t len, struct worker_spec *out);

// Checks the kubeconfig text of a spec without the network, and sets spec->revision. `life` is zero where the
// credentials are no token that expires. *usable: with an error, whether the worker could still be opened later (a
// certificate that is not valid now).
struct error *worker_spec_check(struct worker_spec *spec, const struct exec_policy *policy, int64_t wall_ns,
                                struct token_life *life, bool *usable);

// "finish", "move", "" or NULL; false: another text.
bool drain_read(const char *text, enum drain *out);

// An entry of the ConfigMap wharf-workers, and the host's record there (sources.h).
struct worker_override {
    const char *name;
    const char *uid, *source; // "": not recorded, or the worker comes from no object
    bool sets_cordoned, cordoned;
    bool sets_drain;
    enum drain drain;
};
// The texts in `out` belong to the caller.
struct error *worker_override_read(const char *name, const char *text, struct worker_override *out);

// Maps of structs that begin with `n_texts` texts, of which the first is the key. A struct and its texts are one block.
bool blocks_put(struct map *blocks, const void *from, size_t size, size_t n_texts); // copies; false: out of memory
void blocks_clear(struct map *blocks);

// The kubeconfig with another token for the user of `context` ("" or NULL: current-context); free().
struct error *kubeconfig_with_token(const char *text, const char *context, const char *token, char **out);
