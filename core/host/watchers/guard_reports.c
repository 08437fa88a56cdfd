// SPDX-License-Identifier: Apache-2.0
// Reads the reports of guards, ConfigMaps in the host's namespace of the management cluster, and posts the status of
// each mirror in them. Who may write the ConfigMap of a worker counts as that worker: entries are checked for their
// form here, and by the engine against the mirror that it knows (fence_report.c).
#include "core/base/log.h"
#include "core/base/text.h"
#include "core/engine/fence/guard_report.h"
#include "core/host/io/cluster_connection.h"
#include "core/host/watchers/watcher.h"

#include <stdio.h>

#define DEFAULT_NAMESPACE "wharf-system"
#define TEXT_MAX ((size_t)256 * 1024) // of one entry

struct report_watch {
    struct watcher_base base;
    char selector[128];
    uint64_t logged, garbage, reported; // hashes of what was logged last; 0: none
};

static bool find_kind(const struct cluster_scope *scope, const char *name, size_t *kind) {
    for (*kind = 0; *kind < scope->settings.n_kinds; ++*kind)
        if (strcmp(scope->settings.kinds[*kind]->plural_group, name) == 0)
            return true;
    return false;
}

// False: garbage. A kind that is not enabled here is none.
static bool post_entry(const struct report_watch *reports, const char *worker, const char *text) {
    AUTO_JSON value = NULL;
    struct guard_report report;
    size_t kind, len = text ? strlen(text) : 0;
    if (len == 0 || len > TEXT_MAX)
        return false;
    AUTO_ERROR error = json_parse(text, len, &value);
    if (error || !guard_report_read(value, &report))
        return false;
    AUTO_TEXT status = json_text(report.status, NULL);
    if (!status || !find_kind(reports->base.scope, report.kind, &kind))
        return true;
    cluster_post(reports->base.scope, &(struct engine_event){.type = EVENT_REPORT,
                                                             .kind = kind,
                                                             .report = {.worker = worker,
                                                                        .namespace_ = report.namespace_,
                                                                        .name = report.name,
                                                                        .uid = report.uid,
                                                                        .version = report.version,
                                                                        .status = status,
                                                                        .attempt = report.attempt,
                                                                        .whole = report.whole}});
    return true;
}

static void read_report(struct report_watch *reports, const struct json *object) {
    const struct cluster_scope *scope = reports->base.scope;
    const char *name = object_name(object), *worker = guard_report_worker(name, scope->origin);
    const struct json *data = json_get(object, "data");
    uint64_t hash = text_hash(TEXT_HASH, name);
    size_t garbage = 0;
    if (!worker || !json_first(data)) {
        reports->reported = reports->reported == hash ? 0 : reports->reported;
        return;
    }
    for (const struct json *entry = json_first(data); entry; entry = json_next(entry))
        garbage += !post_entry(reports, worker, json_string(entry));
    if (hash != reports->reported)
        log_fields(LOG_INFO, "the guard of a lost worker reports what its mirrors have achieved", {"worker", worker},
                   LOG_INT("mirrors", json_size(data) - garbage));
    if (garbage && hash != reports->garbage)
        log_fields(LOG_WARN, "a guard's report has entries that are no status of a mirror, which are ignored",
                   {"worker", worker}, {"configMap", name}, LOG_INT("entries", garbage));
    reports->garbage = garbage ? hash : reports->garbage;
    reports->reported = hash;
}

static void handle(void *state, const struct cluster_notice *notice) {
    struct report_watch *reports = state;
    if (notice->type == NOTICE_SEEN && notice->own)
        read_report(reports, notice->object->value);
    else if (notice->type == NOTICE_REWOUND)
        object_watch_rewind(reports->base.watches, notice->problem);
    if (notice->type == NOTICE_STATE && notice->own)
        watcher_warn(reports->base.scope, &reports->logged,
                     "the reports of guards cannot be watched: what a lost worker has achieved unseen runs again",
                     notice->problem);
}

static const char *namespace_of(const struct cluster_scope *scope) {
    const char *configured = scope->settings.fencing.reports_in;
    const char *own = scope->connection ? scope->connection->endpoint->namespace_ : NULL;
    return *configured ? configured : own && *own ? own : DEFAULT_NAMESPACE;
}

static struct error *start(const struct cluster_scope *scope, void *state) {
    struct report_watch *reports = state;
    struct reflector_options options = cluster_watch_options(scope, "configmaps");
    snprintf(reports->selector, sizeof reports->selector, GUARD_REPORT_LABEL "=%s", scope->origin);
    options.label_selector = reports->selector;
    options.namespace_ = namespace_of(scope);
    options.budget = NULL;
    options.meter = NULL;
    object_watch_init(&reports->base.watches[0], &options, scope->transport, handle, reports);
    return NULL;
}

static bool is_wanted(const struct cluster_io_settings *settings) {
    return settings->fencing.enabled && settings->fencing.reports;
}

const struct watcher guard_reports_watcher = {
    .of_management = true, .wanted = is_wanted, .size = sizeof(struct report_watch), .start = start, .handle = handle};
