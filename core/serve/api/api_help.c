// SPDX-License-Identifier: Apache-2.0
// What would help a workload, as commands. Contexts are assumed to be named like the workers.
#include "core/serve/api/api_explain.h"

#include "core/base/text.h"

#include <string.h>

void help_add(struct explain *explain, const char *format, ...) {
    va_list args;
    va_start(args, format);
    AUTO_TEXT text = text_vformat(format, args);
    va_end(args);
    if (text)
        writer_string(&explain->out_help, NULL, text);
}

static bool is(const char *reason, const char *name) {
    return reason && strcmp(reason, name) == 0;
}

static void help_to_join(struct explain *explain, const char *worker) {
    help_add(explain, "wharf join --context %s --name %s # renews the host's credentials and rights there", worker,
             worker);
}

static void help_with_rejection(struct explain *explain, const char *worker, const char *reason) {
    const char *resource = explain->kind->plural_group, *space = explain->namespace_;
    if (is(reason, "QuotaExceeded"))
        help_add(explain, "kubectl --context %s -n %s describe resourcequota # what is used", worker, space);
    else if (is(reason, "NamespaceNotFound"))
        help_add(explain, "kubectl --context %s create namespace %s # or createNamespaces: true in the configuration",
                 worker, space);
    else if (is(reason, "Unauthorized"))
        help_to_join(explain, worker);
    else if (is(reason, "Forbidden"))
        help_add(explain, "wharf rbac --for worker | kubectl --context %s apply -f - # what the host may do there",
                 worker);
    else if (is(reason, "NameConflict"))
        help_add(explain, "kubectl --context %s -n %s get %s %s # an object that is not the host's has the name",
                 worker, space, resource, explain->name);
    else if (is(reason, "KindNotFound"))
        help_add(explain, "kubectl --context %s get crd %s # install it there", worker, resource);
}

void help_with_worker(struct explain *explain, const char *worker, const struct worker_reason *reason) {
    switch (reason->obstacle) {
    case OBSTACLE_UNREACHABLE:
        help_add(explain, "kubectl --context %s get --raw /readyz # whether %s answers", worker, worker);
        break;
    case OBSTACLE_KIND:
        help_add(explain, "kubectl --context %s api-resources --api-group=%s # whether %s serves the kind", worker,
                 explain->kind->abi.group, worker);
        break;
    case OBSTACLE_PAUSED:
        help_add(explain, "kubectl --context %s get %s -A -l wharf.dev/origin # delete those without a workload",
                 worker, explain->kind->plural_group);
        break;
    case OBSTACLE_REJECTED:
        help_with_rejection(explain, worker, reason->reason);
        break;
    case OBSTACLE_CREDENTIALS:
        help_to_join(explain, worker);
        break;
    case OBSTACLE_REFUSED:
    case OBSTACLE_SUSPECT:
        help_add(explain, "wharf status workers # %s %s", worker, reason->brief);
        break;
    default:
        break;
    }
}

// {"spec":{"suspend":false}} for /spec/suspend.
static void put_resume(const char *pointer, struct buffer *out) {
    size_t depth = 0;
    for (const char *at = pointer; *at == '/'; depth++) {
        const char *end = strchr(at + 1, '/');
        size_t len = end ? (size_t)(end - at) - 1 : strlen(at + 1);
        buffer_printf(out, "{\"%.*s\":", (int)len, at + 1);
        at += len + 1;
    }
    buffer_text(out, "false");
    while (depth-- > 0)
        buffer_char(out, '}');
}

static void help_to_resume(struct explain *explain, const struct explain_view *view) {
    const char *pointer = explain->kind->abi.suspend;
    if (view->queued_by_kueue) {
        help_add(explain, "kubectl -n %s get workloads.kueue.x-k8s.io # Kueue resumes it when it is admitted",
                 explain->namespace_);
        return;
    }
    AUTO_BUFFER(patch, 4096);
    if (!pointer)
        return;
    put_resume(pointer, &patch);
    help_add(explain, "kubectl -n %s patch %s %s --type=merge -p '%s' # resumes it", explain->namespace_,
             explain->kind->plural_group, explain->name, patch.data ? patch.data : "");
}

static void help_with_waiting(struct explain *explain, const struct workload_view *view) {
    const char *resource = explain->kind->plural_group, *space = explain->namespace_, *where = view->waits_for;
    switch (view->waiting) {
    case WAITING_NO_WORKER:
    case WAITING_CAPACITY:
    case WAITING_IDENTITY:
    case WAITING_WORKER:
    case WAITING_UNGUARDED:
        help_add(explain, "wharf status workers # the state of each");
        break;
    case WAITING_UNKNOWN_WORKER:
        help_add(explain, "wharf join --context %s --name %s # its worker is not configured",
                 view->cluster ? view->cluster : "CONTEXT", view->cluster ? view->cluster : "NAME");
        break;
    case WAITING_GONE:
        if (where)
            help_add(explain, "kubectl --context %s -n %s get %s %s -o jsonpath='{.metadata.finalizers}'", where, space,
                     resource, explain->name);
        break;
    case WAITING_PROOF:
    case WAITING_PREDECESSOR:
    case WAITING_EARLIER:
        if (where)
            help_add(explain, "kubectl --context %s -n %s get %s %s -o yaml # what is in the way", where, space,
                     resource, explain->name);
        break;
    case WAITING_STATUS:
        help_add(explain, "kubectl get crd %s -o jsonpath='{.spec.versions[*].subresources}'", resource);
        break;
    default:
        break;
    }
    if (view->waiting == WAITING_REFUSED || view->waiting == WAITING_BACKOFF || view->waiting == WAITING_REPEATED ||
        view->waiting == WAITING_RESUME)
        help_add(explain, "wharf retry %s/%s -n %s # tries again at once", resource, explain->name, space);
}

void help_with_workload(struct explain *explain, const struct explain_view *view) {
    const struct workload_view *workload = &view->workload;
    if (workload->suspended)
        help_to_resume(explain, view);
    help_with_waiting(explain, workload);
    if (workload->phase == WHARF_FAILED && view->has_mirror)
        help_add(explain, "wharf logs %s/%s -n %s # what its pods wrote", explain->kind->plural_group, explain->name,
                 explain->namespace_);
}
