// SPDX-License-Identifier: Apache-2.0
// The identity of clusters: the uid of namespace kube-system.
#include "core/base/namespace_map.h"
#include "core/cmd/join/join.h"
#include "core/kube/object/object.h"

struct error *join_open_management(struct cluster *cluster, const struct call *call, const struct setup *setup) {
    const char *kubeconfig = flags_value(call, "kubeconfig"), *own = flags_value(call, "management-kubeconfig");
    const char *context = flags_value(call, "management-context");
    struct endpoint *endpoint = NULL;
    struct error *error = setup->from_file && !own && !context
                              ? cluster_load_management(setup->config, kubeconfig, &endpoint)
                              : cluster_load(own ? own : kubeconfig, context, &endpoint);
    return cluster_open(cluster, "management", error, &endpoint);
}

const char *join_worker_of(const struct json *secret) {
    const char *given = object_annotation(secret, JOIN_NAME);
    return given ? given : object_name(secret);
}

struct error *join_list_secrets(struct cluster *management, const char *namespace_, struct json **out) {
    AUTO_TEXT path = cluster_path("Secret", namespace_, NULL);
    AUTO_TEXT query = path ? text_format("%s?labelSelector=wharf.dev%%2Fworker%%3Dtrue", path) : NULL;
    AUTO_JSON list = NULL;
    TRY(query ? cluster_get(management, query, &list) : error_no_memory());
    *out = json_detach(list, "items");
    return NULL;
}

static struct error *check_secret(const struct join *join, const struct json *secret) {
    const char *uid = object_annotation(secret, JOIN_UID), *worker = join_worker_of(secret);
    if (!uid)
        return NULL;
    bool same_name = strcmp(worker, join->name) == 0, same_cluster = strcmp(uid, join->worker.uid) == 0;
    if (same_name && !same_cluster)
        return error_new(ERROR_REFUSED,
                         "worker %s is another cluster (uid %s of namespace kube-system, found %s): choose another "
                         "--name, or remove it first with `wharf leave %s`",
                         worker, uid, join->worker.uid, worker);
    if (same_cluster && !same_name)
        return error_new(ERROR_REFUSED,
                         "this cluster is already worker %s (Secret %s/%s): use --name %s to renew it, or remove it "
                         "first with `wharf leave %s`",
                         worker, join->namespace_, object_name(secret), worker, worker);
    return NULL;
}

// Without --namespace-map the worker keeps the names.
static struct error *keep_names(struct join *join, const struct json *secret) {
    if (!join->names && !text_set(&join->kept_names, object_annotation(secret, NAMESPACE_MAP_ANNOTATION)))
        return error_no_memory();
    join->names = join->names ? join->names : join->kept_names;
    return NULL;
}

// Without --labels the worker keeps the labels.
static struct error *keep_labels(struct join *join, const struct json *secret) {
    AUTO_BUFFER(text, 65536);
    for (const struct json *l = json_first(json_path(secret, "metadata", "labels", NULL)); l; l = json_next(l))
        if (text_has_prefix(json_key(l), JOIN_LABELS))
            buffer_printf(&text, "%s%s=%s", text.len > 0 ? "," : "", json_key(l) + strlen(JOIN_LABELS),
                          json_string_or(l, ""));
    if (join->labels || text.len == 0)
        return NULL;
    join->labels = join->kept_labels = buffer_take(&text, NULL);
    return join->labels ? NULL : error_no_memory();
}

static struct error *keep_values(struct join *join, const struct json *secret) {
    TRY(keep_labels(join, secret));
    return keep_names(join, secret);
}

// An existing Secret of this name must belong to a worker.
static struct error *check_name(struct join *join) {
    AUTO_JSON found = NULL;
    TRY(cluster_get_object(&join->management, "Secret", join->namespace_, join->name, &found));
    if (!found)
        return NULL;
    if (text_equal(object_label(found, JOIN_LABEL), "true"))
        return keep_values(join, found);
    return error_new(ERROR_REFUSED,
                     "Secret %s/%s exists and is not that of a worker (label " JOIN_LABEL "): choose another --name",
                     join->namespace_, join->name);
}

struct error *join_owner(struct cluster *worker, const char *namespace_, const char *account, char **uid) {
    AUTO_JSON found = NULL;
    TRY(cluster_get_object(worker, "ServiceAccount", namespace_, account, &found));
    return text_set(uid, found ? object_annotation(found, JOIN_OWNER) : NULL) ? NULL : error_no_memory();
}

// Refuse an account of another host, which would lose its rights.
static struct error *check_account(struct join *join) {
    AUTO_TEXT uid = NULL;
    TRY(join_owner(&join->worker, join->namespace_, join->rights.account, &uid));
    if (uid && strcmp(uid, join->management.uid) != 0)
        return error_new(ERROR_REFUSED,
                         "ServiceAccount %s/%s in the worker is that of the host of another management cluster (uid %s "
                         "of namespace kube-system): choose another --account",
                         join->namespace_, join->rights.account, uid);
    return NULL;
}

struct error *join_check_identity(struct join *join) {
    if (strcmp(join->worker.uid, join->management.uid) == 0)
        return error_new(ERROR_REFUSED,
                         "found the management cluster itself at %s (uid %s of namespace kube-system), expected "
                         "another cluster: --context names the worker, --management-context the management cluster",
                         cluster_server(&join->worker), join->worker.uid);
    AUTO_JSON secrets = NULL;
    TRY(join_list_secrets(&join->management, join->namespace_, &secrets));
    for (const struct json *s = json_first(secrets); s; s = json_next(s))
        TRY(check_secret(join, s));
    TRY(check_name(join));
    return check_account(join);
}
