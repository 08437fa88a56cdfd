// SPDX-License-Identifier: Apache-2.0
// Checks the rights of the host's new credentials.
#include "core/base/text.h"
#include "core/cmd/document.h"
#include "core/cmd/join/join.h"
#include "core/kube/api/requests.h"
#include "core/kube/client/ask.h"

#include <stdio.h>
#include <string.h>

#define AUTHORIZER_NS (5 * CLOCK_SECOND) // until granted rights must be in effect
#define VERSIONS_MAX 16
#define AGAIN_NS (50 * CLOCK_MS)

static struct error *denied(const struct access_review *question) {
    return error_new(ERROR_REFUSED, "the host may not %s %s%s%s%s%s%s%s%s%s", question->verb, question->resource,
                     question->subresource ? "/" : "", question->subresource ? question->subresource : "",
                     *question->group != '\0' ? "." : "", question->group, question->name ? " " : "",
                     question->name ? question->name : "", question->namespace_ ? " in namespace " : "",
                     question->namespace_ ? question->namespace_ : "");
}

static struct error *review_once(struct cluster *cluster, const struct access_review *question, bool *allowed) {
    AUTO_JSON review = NULL;
    AUTO_BUFFER(body, ACCESS_REVIEW_MAX);
    if (!access_review_write(question, &body))
        return error_no_memory();
    const struct http_request request = {.method = HTTP_POST,
                                         .path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                                         .content_type = "application/json",
                                         .body = body.data};
    TRY(cluster_send(cluster, &request, &review));
    *allowed = json_bool(json_path(review, "status", "allowed", NULL), false);
    return NULL;
}

struct checking {
    struct cluster *cluster;
    int64_t until_ns; // monotonic
    size_t count;
};

// An authorizer applies new roles after a moment.
static struct error *check_one(struct checking *checking, const struct access_review *question) {
    bool allowed = false;
    checking->count++;
    for (;;) {
        TRY(review_once(checking->cluster, question, &allowed));
        if (allowed)
            return NULL;
        if (!remote_wait(checking->until_ns, AGAIN_NS))
            return denied(question);
    }
}

// Checks each verb of a right on one of the resources.
static struct error *check_verbs(struct checking *checking, const struct right *right, const char *resource,
                                 const char *namespace_) {
    const char *slash = strchr(resource, '/');
    AUTO_TEXT plural = strndup(resource, strcspn(resource, "/"));
    size_t len = 0;
    for (const char *rest = right->verbs, *at; document_next_word(&rest, ',', &at, &len);) {
        AUTO_TEXT verb = strndup(at, len);
        const struct access_review question = {.group = right->group,
                                               .resource = plural,
                                               .subresource = slash ? slash + 1 : NULL,
                                               .verb = verb,
                                               .name = right->name,
                                               .namespace_ = namespace_};
        TRY(verb && plural ? check_one(checking, &question) : error_no_memory());
    }
    return NULL;
}

static struct error *check_right(struct checking *checking, const struct right *right, const char *namespace_) {
    size_t len = 0;
    for (const char *rest = right->resources, *at; document_next_word(&rest, ',', &at, &len);) {
        AUTO_TEXT resource = strndup(at, len);
        TRY(resource ? check_verbs(checking, right, resource, namespace_) : error_no_memory());
    }
    return NULL;
}

static struct error *check_scope(const struct join *join, struct checking *checking, const struct right *right) {
    if (right->scope == RIGHT_OWN)
        return check_right(checking, right, join->namespace_);
    if (right->scope != RIGHT_WORK || join->rights.n_namespaces == 0)
        return check_right(checking, right, NULL);
    for (size_t i = 0; i < join->rights.n_namespaces; i++)
        TRY(check_right(checking, right, join->rights.namespaces[i]));
    return NULL;
}

// A kind that the worker lacks is no error: other workers may serve the kind.
static struct error *report_kind(struct cluster *cluster, const char *group, const char *plural,
                                 const char *const *versions) {
    bool served = false;
    TRY(cluster_serves(cluster, group, plural, versions, &served));
    if (!served)
        printf("%s: does not serve %s%s%s: none of them will be placed there\n", cluster->role, plural,
               *group ? "." : "", group);
    return NULL;
}

// The kinds of the host, which may not be enabled here.
static struct error *report_kinds_of_host(struct cluster *cluster, const struct json *kinds) {
    for (const struct json *kind = json_first(kinds); kind; kind = json_next(kind)) {
        const char *versions[VERSIONS_MAX + 1] = {NULL};
        const struct json *version = json_first(json_get(kind, "versions"));
        for (size_t i = 0; version && i < VERSIONS_MAX; version = json_next(version))
            versions[i++] = json_string_or(version, "");
        TRY(report_kind(cluster, json_string_or(json_get(kind, "group"), ""),
                        json_string_or(json_get(kind, "resource"), ""), versions));
    }
    return NULL;
}

// An API server accepts a new token after a moment.
static struct error *open_as_host(struct join *join, int64_t until_ns, struct cluster *cluster) {
    AUTO_BUFFER(kubeconfig, JOIN_KUBECONFIG_MAX);
    TRY(join_kubeconfig(join, NULL, join->token, &kubeconfig));
    for (;;) {
        struct endpoint *endpoint = NULL;
        struct error *error =
            kubeconfig_parse(kubeconfig.data, kubeconfig.len, "the new credentials", NULL, NULL, &endpoint);
        error = cluster_open(cluster, join->worker.role, error, &endpoint);
        if (!error || error->code != ERROR_REFUSED || !remote_wait(until_ns, AGAIN_NS))
            return error;
        error_free(error);
        cluster_close(cluster);
    }
}

struct error *join_check_rights(struct join *join) {
    __attribute__((cleanup(cluster_close))) struct cluster cluster = {.role = NULL};
    __attribute__((cleanup(rights_free))) struct rights rights = {.count = 0};
    struct checking checking = {.cluster = &cluster, .until_ns = clock_now().mono_ns + AUTHORIZER_NS};
    const struct adapters *adapters = join->setup.adapters;
    TRY(open_as_host(join, checking.until_ns, &cluster));
    TRY(rbac_rights(&join->rights, &join->setup, &rights));
    for (size_t i = 0; i < rights.count; i++)
        TRY(error_wrap(check_scope(join, &checking, &rights.list[i]), "%s", join->worker.role));
    if (join->rights.given)
        TRY(report_kinds_of_host(&cluster, json_get(join->needed.document, "kinds")));
    for (size_t i = 0; !join->rights.given && i < adapters->n_kinds; i++) {
        const wharf_kind *kind = &adapters->kinds[i]->abi;
        TRY(report_kind(&cluster, kind->group, kind->plural, kind->versions));
    }
    printf("%s: the host can connect and has all %zu rights that it needs\n", cluster.role, checking.count);
    return NULL;
}
