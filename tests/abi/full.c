// SPDX-License-Identifier: Apache-2.0
// An adapter that fills every field of ABI 1.0 and calls every service of it. Built against the frozen header (and
// against one that has grown since), run by today's host: tests/abi/drive_test.c.
#include <wharf/adapter.h>

#include <string.h>

#define NOTE(name) "/metadata/annotations/full.example.com~1" name

static const wharf_host *host;

static wharf_result phase(const wharf_call *call, const wharf_value *object, wharf_phase *out) {
    if (!WHARF_HAS(wharf_phase, out, since_ns) || !WHARF_HAS(wharf_call, call, mirror_state))
        return WHARF_REFUSED;
    if (host->condition(object, "Stuck", "True")) {
        out->phase = WHARF_ACTIVE;
        out->reason = "Stuck";
        out->message = host->format(call, "%s of %s", call->kind->kind, call->version);
    }
    return WHARF_OK;
}

static int looks_well(const wharf_value *workload) {
    const wharf_value *list = host->find(workload, "/spec/list");
    const wharf_value *item = host->first(list);
    const wharf_value *named = host->find_where(workload, "/spec/parts", "name", "b");
    return host->type(workload) == WHARF_OBJECT && host->type(NULL) == WHARF_ABSENT && host->count(list) == 3 &&
           host->integer(item, 0) == INT64_C(9007199254740993) && host->number(host->next(item), 0) > 2.4 &&
           host->boolean(host->next(host->next(item)), 0) == 1 && host->integer(host->find(named, "/count"), 0) == 2 &&
           strcmp(host->string(host->find(named, "/name")), "b") == 0 &&
           strcmp(host->name(host->first(named)), "name") == 0 && host->equal(named, named) &&
           !host->equal(named, item) && host->equal(NULL, NULL);
}

static int makes_well(const wharf_call *call, const wharf_value *workload, wharf_value *mirror) {
    wharf_value *list = host->new_array(call), *object = host->new_object(call);
    int ok = host->set(list, "/-", host->new_null(call)) && host->set(list, "/-", host->new_boolean(call, 1)) &&
             host->set(list, "/-", host->new_integer(call, 7)) && host->set(list, "/-", host->new_string(call, "s")) &&
             host->set(object, "/list", list) && host->set_integer(object, "/number", 8) &&
             host->set_boolean(object, "/truth", 0) && host->set_string(object, "/gone", "x") &&
             host->remove(object, "/gone") && !host->remove(object, "/gone");
    size_t len = 0;
    const char *text = host->print(call, object, &len);
    wharf_value *again = text ? host->parse(call, text, len) : NULL;
    ok = ok && strlen(text) == len && host->equal(again, object) && host->equal(host->copy(call, again), object);
    return ok && host->set_string(mirror, NOTE("text"), text) &&
           host->set(mirror, "/spec/kept", host->find(workload, "/spec/parts/0"));
}

static int tells_time(const wharf_call *call) {
    int64_t ns = 0;
    return host->parse_time(call->now, &ns) && ns == call->now_ns && !host->parse_time("yesterday", &ns) &&
           strcmp(host->format_time(call, call->now_ns), call->now) == 0;
}

static wharf_result mirror(const wharf_call *call, const wharf_value *workload, wharf_value *mirror) {
    if (host->find(workload, "/spec/unwanted")) {
        call->answer->reason = "Unwanted";
        call->answer->message = "it is not wanted";
        return WHARF_REFUSED;
    }
    int ok = looks_well(workload) && makes_well(call, workload, mirror) && tells_time(call) &&
             call->mirror_state == WHARF_MIRROR_NONE && strcmp(call->cluster, "w1") == 0 && call->attempt == 2;
    host->log(call, WHARF_LOG_DEBUG, "mirrored");
    call->answer->retry_after_ms = 1234;
    return ok && host->set_string(mirror, NOTE("now"), call->now) ? WHARF_OK : WHARF_RETRY;
}

static wharf_result update(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                           wharf_value *desired) {
    int ok = call->mirror_state == WHARF_MIRROR_PRESENT && host->find(mirror, "/spec/kept");
    return ok && host->set(desired, NOTE("size"), host->find(workload, "/spec/size")) ? WHARF_OK : WHARF_RETRY;
}

static wharf_result status(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                           wharf_value *status) {
    (void)workload;
    const char *note = host->string(host->find(mirror, NOTE("now")));
    return host->set_condition(call, status, "Copied", mirror ? "True" : "False", "Copied", note) ? WHARF_OK
                                                                                                  : WHARF_RETRY;
}

static wharf_result pod_sets(const wharf_call *call, const wharf_value *workload, wharf_value *sets) {
    wharf_value *extra = host->new_object(call);
    int ok = host->set(extra, "/template", host->find(workload, "/spec/driver")) &&
             host->set_integer(extra, "/count", 1) && host->set(sets, "/-", extra);
    return ok ? WHARF_OK : WHARF_RETRY;
}

static const wharf_kind kind = {
    .size = sizeof kind,
    .group = "full.example.com",
    .versions = (const char *const[]){"v2", "v1", NULL},
    .kind = "Full",
    .plural = "fulls",
    .flags = WHARF_KIND_MAY_REFUSE,
    .managed_by = "/spec/manager",
    .managed_by_builtin = "full.example.com/own",
    .managed_by_allowed = (const char *const[]){"full.example.com/other", "full.example.com/third", NULL},
    .managed_by_default = "full.example.com/third",
    .suspend = "/spec/state",
    .suspend_value = "Suspended",
    .carried = (const wharf_carried[]){{"/spec/size", WHARF_CARRY_ALWAYS, NULL},
                                       {"/spec/state", WHARF_CARRY_ALWAYS, NULL},
                                       {"/spec/parts/*/count", WHARF_CARRY_ALWAYS, NULL},
                                       {"/spec/pools/*/max", WHARF_CARRY_ALWAYS, "pool"},
                                       {"/spec/paused", WHARF_CARRY_WHILE_SUSPENDED, NULL},
                                       {NULL, WHARF_CARRY_ALWAYS, NULL}},
    .removed = (const char *const[]){"/spec/ttl", "/spec/parts/*/owner", NULL},
    .pods = (const wharf_pods[]){{"/spec/parts/*/template", {"/spec/parts/*/count", "/spec/size", NULL}},
                                 {NULL, {NULL, NULL, NULL}}},
    .status_removed = (const char *const[]){"/status/node", NULL},
    .observed_generation = "/status/seen",
    .phases = (const wharf_phase_rule[]){{"/status/conditions", "Done", NULL, WHARF_SUCCEEDED},
                                         {"/status/conditions", "Done", "False", WHARF_FAILED},
                                         {"/status/state", "waiting", NULL, WHARF_PENDING},
                                         {NULL, NULL, NULL, WHARF_PENDING}},
    .finished_at = "/status/end",
    .phase = phase,
    .mirror = mirror,
    .update = update,
    .status = status,
    .pod_sets = pod_sets,
};

static const wharf_module module = {
    .size = sizeof module,
    .abi_major = WHARF_ABI_MAJOR,
#ifdef NEEDS_MINOR
    .abi_minor = NEEDS_MINOR,
#endif
    .name = "full",
    .version = "1.0.0",
    .kinds = (const wharf_kind *const[]){&kind, NULL},
    .settings = (const char *const[]){"greeting", NULL},
};

WHARF_EXPORT const wharf_module *wharf_adapters_v1(const wharf_host *services, const wharf_value *settings,
                                                   const char **problem) {
    if (!WHARF_HAS(wharf_host, services, set_condition)) {
        *problem = "the host is older than ABI 1.0";
        return NULL;
    }
#ifdef NEWER
    if (WHARF_HAS(wharf_host, services, added_at_end) != (services->abi_minor >= 1)) {
        *problem = "a host has a service that came after its ABI, or lacks one of it";
        return NULL;
    }
#endif
    host = services;
    if (host->abi_major != WHARF_ABI_MAJOR || !host->version || !host->string(host->find(settings, "/greeting"))) {
        *problem = host->format(NULL, "/greeting: found %s, expected a string", host->print(NULL, settings, NULL));
        return NULL;
    }
    return &module;
}
