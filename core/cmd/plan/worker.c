// SPDX-License-Identifier: Apache-2.0
// The worker of --cluster, which validates the mirror: a server-side dry run passes admission and stores nothing.
#include "core/base/text.h"
#include "core/cmd/plan/plan.h"
#include "core/host/check/preflight.h"
#include "core/host/watchers/boundary.h"
#include "core/kube/client/ask.h"
#include "core/kube/transport/curl_transport.h"

static const struct worker_spec *find_spec(const struct worker_spec *specs, size_t count, const char *name) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(specs[i].settings.name, name) == 0)
            return &specs[i];
    return NULL;
}

static struct error *unknown_worker(const struct plan *plan, const struct worker_spec *specs, size_t count) {
    AUTO_BUFFER(list, (size_t)1 << 20);
    const char **names = calloc(count + 1, sizeof(*names));
    for (size_t i = 0; names && i < count; i++) {
        names[i] = specs[i].settings.name;
        buffer_printf(&list, "%s%s", i == 0 ? "" : ", ", names[i]);
    }
    const char *meant = !names ? NULL : suggest(plan->cluster, names, count);
    free(names);
    return error_new(ERROR_NOT_FOUND, "--cluster: found \"%s\", expected a worker of %s (%s)%s%s%s", plan->cluster,
                     plan->config->path, list.data ? list.data : "it has none", meant ? "; did you mean \"" : "",
                     meant ? meant : "", meant ? "\"?" : "");
}

static struct error *open_spec(struct plan *plan, const struct worker_spec *spec) {
    struct cluster *worker = &plan->worker;
    if (!text_set(&plan->namespace_map, spec->settings.namespace_map))
        return error_no_memory();
    TRY(connection_load(&worker->connection, spec, &plan->config->credential_plugins, plan->now.wall_ns));
    return cluster_connect(worker, plan->cluster, worker->connection.endpoint);
}

// With the configuration's credentials, as the host reads it.
struct error *plan_management_open(struct plan *plan) {
    const struct config *config = plan->config;
    struct cluster *management = &plan->management;
    TRY(connection_load(&management->connection, &config->management, &config->credential_plugins, plan->now.wall_ns));
    return cluster_connect(management, "management", management->connection.endpoint);
}

// Reads from the management cluster only for a worker that is not in the configuration.
struct error *plan_worker_open(struct plan *plan, struct problems *problems) {
    const struct config *config = plan->config;
    const struct worker_spec *spec = find_spec(config->workers, config->n_workers, plan->cluster);
    struct worker_spec *specs = NULL;
    size_t count = 0;
    struct problems found = {.count = 0};
    TRY(curl_transport_setup());
    struct error *error = spec ? NULL : preflight_workers(config, &found, &specs, &count);
    spec = spec ? spec : find_spec(specs, count, plan->cluster);
    if (spec)
        error = error_wrap(open_spec(plan, spec), "%s", plan->cluster);
    else if (!error) {
        error = unknown_worker(plan, specs, count);
        problems_move(problems, &found);
    }
    problems_free(&found);
    worker_specs_free(specs, count);
    return error;
}

// Of the worker of --cluster.
static struct cluster_scope plan_scope(const struct plan *plan) {
    return (struct cluster_scope){.cluster = 1,
                                  .origin = plan->config->origin ? plan->config->origin : PLAN_NO_ORIGIN,
                                  .namespace_map = plan->namespace_map,
                                  .settings = {.kinds = plan->adapters->kinds, .n_kinds = plan->adapters->n_kinds}};
}

#define REJECTED_BY_WORKER "would be delegated, but not accepted by the worker"

// One dry run: the object and the response.
struct dry_run_trial {
    struct plan_object *object;
    const char *name; // of the worker
    struct response response;
};

// Fields that every API server sets, or the worker's controller.
static bool is_given(const char *pointer) {
    static const char *const given[] = {
        "/metadata/uid",
        "/metadata/resourceVersion",
        "/metadata/creationTimestamp",
        "/metadata/managedFields",
        "/metadata/selfLink",
        "/metadata/generation",
        "/status",
    };
    for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++) {
        size_t len = strlen(given[i]);
        if (strncmp(pointer, given[i], len) == 0 && (pointer[len] == '\0' || pointer[len] == '/'))
            return true;
    }
    return false;
}

struct change_report {
    const struct dry_run_trial *trial;
    bool added; // the report is about additions, else about changes and removals
    size_t count;
};

static bool report_change(void *ctx, const struct plan_change *change) {
    struct change_report *report = ctx;
    const char *what = change->to ? "changes" : "removes";
    if (is_given(change->pointer) || report->added != !change->from)
        return true;
    AUTO_TEXT label = text_format("%s %s:", report->trial->name, report->added ? "adds" : what);
    report->count++;
    plan_comment_change(&report->trial->object->lines, !label ? "?" : label, change, NULL);
    return !report->trial->object->lines.failed;
}

// Changes and removals come first; additions are mostly defaults.
static bool report_changes(const struct dry_run_trial *trial, const struct json *sent) {
    struct change_report report = {.trial = trial};
    bool ok = plan_diff(sent, trial->response.value, "", report_change, &report);
    report.added = true;
    ok = ok && plan_diff(sent, trial->response.value, "", report_change, &report);
    if (ok && report.count == 0)
        plan_comment(&trial->object->lines, "%s: nothing would change", trial->name);
    return ok;
}

static void report_warning(const struct dry_run_trial *trial) {
    if (trial->response.warning)
        plan_comment(&trial->object->lines, "%s warns: %s", trial->name, trial->response.warning);
}

// In the worker's names of namespaces.
static struct error *ask_there(const struct plan *plan, const struct request *request, struct response *response) {
    const struct cluster_scope scope = plan_scope(plan);
    struct boundary_request there;
    struct error *error = boundary_request(&scope, request, &there);
    if (!error)
        error = ask(plan->worker.client, &there.request, response);
    boundary_request_clear(&there);
    if (!error && !boundary_response(&scope, response))
        error = error_new(ERROR_IO, "found an object in another namespace than that of the request");
    return error;
}

static struct error *send_dry_run(struct dry_run_trial *trial, enum verb verb, const struct json *body,
                                  enum dry_run dry_run) {
    const struct plan_object *object = trial->object;
    size_t len = 0;
    AUTO_TEXT text = !body ? NULL : json_text(body, &len);
    struct request request = {
        .verb = verb,
        .resource = {.group = object->kind->abi.group, .version = object->version, .plural = object->kind->abi.plural},
        .namespace_ = object_namespace(object->workload),
        .name = verb == VERB_CREATE ? NULL : object_name(object->workload),
        .body = text,
        .body_len = len,
        .dry_run = dry_run};
    if (verb != VERB_GET && object->plan->config->engine.tenancy.impersonate)
        request.tenant = request.namespace_; // as the host, see core/engine/tenancy/
    ask_cleanup(&trial->response);
    return body && !text ? error_no_memory() : ask_there(object->plan, &request, &trial->response);
}

static void report_rejected(const struct dry_run_trial *trial, const char *what) {
    const struct response *response = &trial->response;
    plan_comment(&trial->object->lines, "%s %s: %s (%s)", trial->name, what, response->message,
                 reason_text(response->reason));
    plan_wrong(trial->object, REJECTED_BY_WORKER);
}

static struct error *patch_existing(struct dry_run_trial *trial, const struct json *existing) {
    struct plan_object *object = trial->object;
    AUTO_CALL call;
    AUTO_JSON patch = NULL;
    struct mirror_context context = plan_begin_call(object, object->attempt, existing, &call);
    context.origin = object_label(existing, MARK_ORIGIN);
    context.attempt = mirror_attempt(existing);
    wharf_result result = mirror_patch(&context, &patch);
    if (result != WHARF_OK)
        plan_report_refusal(object, result, &call, "change of the mirror");
    else if (call.answer.message)
        plan_comment(&object->lines, "remark: %s",
                     adapter_answer_message(&call, "the adapter's message cannot be shown"));
    if (!patch) {
        if (result == WHARF_OK)
            plan_comment(&object->lines, "%s: that mirror would not change", trial->name);
        return NULL;
    }
    TRY(send_dry_run(trial, VERB_MERGE_PATCH, patch, DRY_RUN));
    report_warning(trial);
    if (trial->response.reason != REASON_OK)
        report_rejected(trial, "would reject the change of that mirror");
    else if (!report_changes(trial, existing))
        return error_no_memory();
    return NULL;
}

// There is an object of this name already.
static struct error *compare_with_existing(struct dry_run_trial *trial) {
    struct plan_object *object = trial->object;
    TRY(send_dry_run(trial, VERB_GET, NULL, DRY_RUN_NO));
    if (trial->response.reason != REASON_OK) {
        report_rejected(trial, "has an object of this name that cannot be read");
        return NULL;
    }
    AUTO_JSON existing = json_copy(trial->response.object->value);
    if (!existing)
        return error_no_memory();
    const char *configured = object->plan->config->origin;
    const char *origin = configured ? configured : object_label(existing, MARK_ORIGIN);
    const char *uid = object_label(existing, MARK_UID), *own = object_uid(object->item->value);
    if (!origin || !mirror_is_ours(object->kind, origin, existing) || (own[0] != '\0' && strcmp(uid, own) != 0)) {
        plan_comment(&object->lines,
                     "%s has an object of this name that is not a mirror of this workload: it is left alone, and "
                     "another worker is tried",
                     trial->name);
        plan_wrong(object, REJECTED_BY_WORKER);
        return NULL;
    }
    plan_comment(&object->lines, "%s already has a mirror of this name: of the workload with uid %s, attempt %u",
                 trial->name, uid, mirror_attempt(existing));
    if (own[0] == '\0' && !json_set(json_get(object->workload, "metadata"), "uid", json_new_string(uid)))
        return error_no_memory();
    return patch_existing(trial, existing);
}

// The host would try another worker, as after a trial of its own.
static void report_dropped(struct dry_run_trial *trial) {
    const struct placement_options *placement = &trial->object->plan->config->engine.placement;
    enum require_fields required = placement->otherwise.require_fields;
    AUTO_BUFFER(fields, DROPPED_TEXT_MAX);
    if (required == REQUIRE_NONE ||
        dropped_find(NULL, required == REQUIRE_SCHEDULING, trial->object->mirror, trial->response.value, &fields) == 0)
        return;
    plan_comment(&trial->object->lines, "%s does not keep %s, which requireFields asks for: another worker is tried%s",
                 trial->name, fields.data ? fields.data : "fields",
                 placement->n_rules > 0 ? ", unless a rule of placement has another requireFields" : "");
    plan_wrong(trial->object, REJECTED_BY_WORKER);
}

static struct error *report_answer(struct dry_run_trial *trial) {
    struct plan_object *object = trial->object;
    struct buffer *lines = &trial->object->lines;
    const struct cluster_scope scope = plan_scope(object->plan);
    char space[NAMESPACE_SIZE] = "";
    (void)boundary_there(&scope, object_namespace(object->workload), space);
    switch (trial->response.reason) {
    case REASON_OK:
        plan_comment(lines, "%s would accept the mirror (dry run)", trial->name);
        report_dropped(trial);
        return report_changes(trial, object->mirror) ? NULL : error_no_memory();
    case REASON_ALREADY_EXISTS:
        return compare_with_existing(trial);
    case REASON_NAMESPACE_NOT_FOUND:
        if (object->plan->config->engine.create_namespaces) {
            plan_comment(lines,
                         "%s has no namespace %s: it would be created first, so the mirror cannot be validated yet",
                         trial->name, space);
            return NULL;
        }
        plan_comment(lines, "%s has no namespace %s: another worker is tried", trial->name, space);
        break;
    case REASON_KIND_NOT_FOUND:
        plan_comment(lines, "%s does not serve %s/%s: another worker is tried", trial->name, object->kind->plural_group,
                     object->version);
        break;
    case REASON_NOT_SENT:
    case REASON_UNKNOWN_OUTCOME:
    case REASON_GARBAGE:
        report_rejected(trial, "gave no usable response");
        break;
    default:
        report_rejected(trial, "would reject the mirror");
        break;
    }
    plan_wrong(object, REJECTED_BY_WORKER);
    return NULL;
}

// "strict decoding error: unknown field ..." (apiserver handlers/create.go): reported, and retried as by the
// host.
static bool is_strictness(const struct response *response) {
    return response->reason == REASON_BAD_REQUEST && strstr(response->message, "strict decoding error");
}

static bool needs_origin(const struct plan *plan) {
    return plan->namespace_map && strstr(plan->namespace_map, "{origin}") && !plan->config->origin;
}

static void report_name(const struct dry_run_trial *trial) {
    const struct cluster_scope scope = plan_scope(trial->object->plan);
    const char *here = object_namespace(trial->object->workload);
    char there[NAMESPACE_SIZE];
    if (boundary_there(&scope, here, there) && strcmp(here, there) != 0)
        plan_comment(&trial->object->lines, "%s: namespace %s has the name %s there", trial->name, here, there);
}

struct error *plan_try_mirror(struct plan_object *object) {
    if (!object->plan->worker.client || !object->mirror)
        return NULL;
    struct dry_run_trial trial = {.object = object, .name = object->plan->cluster};
    if (needs_origin(object->plan))
        return error_new(ERROR_INVALID,
                         "%s: the names of namespaces there depend on the origin: found none in the configuration, "
                         "expected the key origin",
                         trial.name);
    report_name(&trial);
    struct error *error = send_dry_run(&trial, VERB_CREATE, object->mirror, DRY_RUN_STRICT);
    if (!error && is_strictness(&trial.response)) {
        plan_comment(&object->lines, "%s would drop unknown fields: %s", trial.name, trial.response.message);
        error = send_dry_run(&trial, VERB_CREATE, object->mirror, DRY_RUN);
    } else if (!error) {
        report_warning(&trial);
    }
    if (!error)
        error = report_answer(&trial);
    ask_cleanup(&trial.response);
    return error_wrap(error, "%s", trial.name);
}
