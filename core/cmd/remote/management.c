// SPDX-License-Identifier: Apache-2.0
// The management cluster of the host.
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/cmd/cluster.h"
#include "core/cmd/remote/internal.h"
#include "core/kube/api/cluster_id.h"
#include "core/kube/client/ask.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// The files that kubectl would use: the flag, KUBECONFIG, ~/.kube/config; free(). NULL: none.
static char *user_kubeconfig(const struct remote *remote) {
    const char *listed = remote->kubeconfig ? remote->kubeconfig : getenv("KUBECONFIG"), *home = getenv("HOME");
    if (listed && *listed)
        return strdup(listed);
    AUTO_TEXT path = home && *home ? text_format("%s/.kube/config", home) : NULL;
    return path && access(path, R_OK) == 0 ? TAKE(path) : NULL;
}

static struct error *load_of_user(const struct remote *remote, struct endpoint **out) {
    AUTO_TEXT paths = user_kubeconfig(remote);
    return paths ? cluster_load(paths, remote->context ? remote->context : "", out)
                 : error_wrap(kubeconfig_in_cluster("", out), "found no kubeconfig");
}

struct error *remote_load_management(struct remote *remote) {
    if (remote->management_endpoint)
        return NULL;
    bool by_config = remote->config && !remote->context && !remote->kubeconfig;
    if (!by_config)
        return load_of_user(remote, &remote->management_endpoint);
    AUTO_TEXT paths = user_kubeconfig(remote);
    return cluster_beside(remote->config, paths, &remote->management_endpoint);
}

struct error *remote_open_management(struct remote *remote) {
    struct error *error = remote_load_management(remote);
    if (!error && !remote->management)
        error = remote_client(remote->management_endpoint, "management", &remote->management_transport,
                              &remote->management);
    return error;
}

// That what is about to be written is read by this host. Where one of the two does not answer, it cannot be told.
static struct error *check_same_cluster(struct remote *remote) {
    __attribute__((cleanup(ask_cleanup))) struct response response = {.retry_after_ns = -1};
    AUTO_JSON status = NULL;
    struct error *error = remote_get(remote, "/api/v1/status", &status);
    const char *expected = json_string(json_get(status, "managementUid"));
    if (error || !expected) {
        error_free(error);
        return NULL;
    }
    const struct request request = cluster_id_request();
    error = ask(remote->management, &request, &response);
    const char *found = error ? "" : cluster_id_uid(&response);
    if (error || !*found || strcmp(found, expected) == 0)
        return error;
    return error_new(
        ERROR_REFUSED,
        "found the cluster of %s (uid %s of namespace kube-system), expected the management cluster of the "
        "host at %s (uid %s): --config or --context names it",
        remote->management_endpoint->description, found, remote->own_endpoint->description, expected);
}

struct error *remote_management(struct remote *remote, struct client **out) {
    struct error *error = remote_open_management(remote);
    if (!error && remote->own_endpoint && !remote->management_checked)
        error = check_same_cluster(remote);
    remote->management_checked = !error;
    *out = error ? NULL : remote->management;
    return error;
}

struct error *remote_namespace(struct remote *remote, const char **out) {
    struct error *error = remote_load_management(remote);
    *out = error || !remote->management_endpoint->namespace_ ? "default" : remote->management_endpoint->namespace_;
    error_free(error); // without a kubeconfig there is no other namespace
    return NULL;
}
