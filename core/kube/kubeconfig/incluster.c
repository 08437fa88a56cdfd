// SPDX-License-Identifier: Apache-2.0
// The credentials of a pod (k8s.io/client-go/rest InClusterConfig).
#include "core/base/text.h"
#include "core/kube/kubeconfig/certs.h"
#include "core/kube/kubeconfig/kubeconfig.h"

#include <stdlib.h>
#include <string.h>

#define FOLDER "/var/run/secrets/kubernetes.io/serviceaccount"
#define PEM_MAX ((size_t)4 * 1024 * 1024)
#define NAMESPACE_MAX ((size_t)1024)

static struct error *read_text(const char *path, size_t max, char **out) {
    AUTO_BUFFER(content, max);
    TRY(text_read_file(path, max, &content));
    *out = buffer_take(&content, NULL);
    return *out ? NULL : error_no_memory();
}

// The file is optional: without it, no namespace is set.
static struct error *read_namespace(const char *path, struct endpoint *endpoint) {
    struct error *error = read_text(path, NAMESPACE_MAX, &endpoint->namespace_);
    if (error && error->code == ERROR_NOT_FOUND) {
        error_free(error);
        return NULL;
    }
    if (!error)
        endpoint->namespace_[strcspn(endpoint->namespace_, " \t\r\n")] = '\0';
    return error;
}

static struct error *fill(const char *root, const char *host, const char *port, struct endpoint *endpoint) {
    const char *open = strchr(host, ':') ? "[" : "";
    AUTO_TEXT namespace_file = text_format("%s" FOLDER "/namespace", root);
    endpoint->server = text_format("https://%s%s%s:%s", open, host, *open ? "]" : "", port);
    endpoint->description = strdup("in-cluster");
    endpoint->token_file = text_format("%s" FOLDER "/token", root);
    endpoint->ca_file = text_format("%s" FOLDER "/ca.crt", root);
    if (!namespace_file || !endpoint->server || !endpoint->description || !endpoint->token_file || !endpoint->ca_file)
        return error_no_memory();
    AUTO_TEXT token = NULL;
    TRY(endpoint_token(endpoint, &token));
    TRY(read_text(endpoint->ca_file, PEM_MAX, &endpoint->ca_pem));
    TRY(error_wrap(certs_check_certificates(endpoint->ca_pem), "%s", endpoint->ca_file));
    return read_namespace(namespace_file, endpoint);
}

struct error *kubeconfig_in_cluster(const char *root, struct endpoint **out) {
    const char *host = getenv("KUBERNETES_SERVICE_HOST");
    const char *port = getenv("KUBERNETES_SERVICE_PORT");
    if (!host || !*host || !port || !*port)
        return error_new(ERROR_NOT_FOUND, "not in a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not "
                                          "set, expected them or a kubeconfig");
    struct endpoint *endpoint = calloc(1, sizeof *endpoint);
    if (!endpoint)
        return error_no_memory();
    struct error *error = fill(root, host, port, endpoint);
    if (error) {
        endpoint_free(endpoint);
        return error_wrap(error, "in-cluster");
    }
    *out = endpoint;
    return NULL;
}
