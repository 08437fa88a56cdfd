// SPDX-License-Identifier: Apache-2.0
// Commands that would help a workload. Contexts are assumed to have the names of the workers.
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

// Of a template: %w the worker, %n, %o, %r and %g the workload's namespace, name, resource and group, %b the brief
// reason. Adds nothing where there is no worker for %w.
static void add_from(struct explain *explain, const char *template, const char *worker, const char *brief) {
    const char *const words[128] = {['w'] = worker,
                                    ['n'] = explain->namespace_,
                                    ['o'] = explain->name,
                                    ['r'] = explain->kind->plural_group,
                                    ['g'] = explain->kind->abi.group,
                                    ['b'] = brief};
    AUTO_BUFFER(text, 4096);
    for (const char *at = template; *at; at++) {
        const char *word = *at == '%' ? words[(unsigned char)*++at] : NULL;
        if (word)
            buffer_text(&text, word);
        else if (at > template && at[-1] == '%')
            return;
        else
            buffer_char(&text, *at);
    }
    if (!text.failed)
        help_add(explain, "%s", text.data);
}

#define JOIN "wharf join --context %w --name %w # renews the host's credentials and rights there"

static const struct {
    const char *reason, *template;
} rejections[] = {
    {"QuotaExceeded", "kubectl --context %w -n %n describe resourcequota # the quota and its use"},
    {"NamespaceNotFound", "kubectl --context %w create namespace %n # or createNamespaces: true in the configuration"},
    {"Unauthorized", JOIN},
    {"Forbidden", "wharf rbac --for worker | kubectl --context %w apply -f - # the host's rights there"},
    {"NameConflict", "kubectl --context %w -n %n get %r %o # an object that is not the host's has the name"},
    {"KindNotFound", "kubectl --context %w get crd %r # install it there"},
};

static const char *const obstacles[] = {
    [OBSTACLE_UNREACHABLE] = "kubectl --context %w get --raw /readyz # whether %w answers",
    [OBSTACLE_KIND] = "kubectl --context %w api-resources --api-group=%g # whether %w serves the kind",
    [OBSTACLE_PAUSED] = "kubectl --context %w get %r -A -l wharf.dev/origin # delete mirrors without a workload",
    [OBSTACLE_CREDENTIALS] = JOIN,
    [OBSTACLE_REFUSED] = "wharf status workers # %w %b",
    [OBSTACLE_SUSPECT] = "wharf status workers # %w %b",
};

#define WORKERS "wharf status workers # the state of each"
#define IN_THE_WAY "kubectl --context %w -n %n get %r %o -o yaml # the object that is in the way"
#define RETRY "wharf retry %r/%o -n %n # tries again at once"

static const char *const waitings[WAITINGS] = {
    [WAITING_NO_WORKER] = WORKERS,
    [WAITING_CAPACITY] = WORKERS,
    [WAITING_IDENTITY] = WORKERS,
    [WAITING_WORKER] = WORKERS,
    [WAITING_UNGUARDED] = WORKERS,
    [WAITING_UNKNOWN_WORKER] = "wharf join --context %w --name %w # its worker is not configured",
    [WAITING_GONE] = "kubectl --context %w -n %n get %r %o -o jsonpath='{.metadata.finalizers}'",
    [WAITING_PROOF] = IN_THE_WAY,
    [WAITING_PREDECESSOR] = IN_THE_WAY,
    [WAITING_EARLIER] = IN_THE_WAY,
    [WAITING_STATUS] = "kubectl get crd %r -o jsonpath='{.spec.versions[*].subresources}'",
    [WAITING_REFUSED] = RETRY,
    [WAITING_BACKOFF] = RETRY,
    [WAITING_REPEATED] = RETRY,
    [WAITING_RESUME] = RETRY,
};

void help_with_worker(struct explain *explain, const char *worker, const struct worker_reason *reason) {
    size_t obstacle = (size_t)reason->obstacle;
    const char *template = obstacle < sizeof obstacles / sizeof obstacles[0] ? obstacles[obstacle] : NULL;
    for (size_t i = 0; reason->obstacle == OBSTACLE_REJECTED && i < sizeof rejections / sizeof rejections[0]; i++)
        if (text_equal(reason->reason, rejections[i].reason))
            template = rejections[i].template;
    if (template)
        add_from(explain, template, worker, reason->brief);
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
    const char *worker = view->waits_for;
    if (view->waiting == WAITING_UNKNOWN_WORKER)
        worker = view->cluster ? view->cluster : "NAME";
    if (waitings[view->waiting])
        add_from(explain, waitings[view->waiting], worker, NULL);
}

void help_with_workload(struct explain *explain, const struct explain_view *view) {
    const struct workload_view *workload = &view->workload;
    if (workload->suspended)
        help_to_resume(explain, view);
    help_with_waiting(explain, workload);
    if (workload->phase == WHARF_FAILED && view->has_mirror)
        help_add(explain, "wharf logs %s/%s -n %s # the output of its pods", explain->kind->plural_group, explain->name,
                 explain->namespace_);
}
