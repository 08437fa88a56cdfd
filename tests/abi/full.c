// SPDX-License-Identifier: Apache-2.0
// An adapter that fills every field of ABI 1.0 and calls every service of it. Built against the frozen header (and
// against one that has grown since), run by today's host: tests/abi/drive_test.c.
#ifdef NEWER
#define WHARF_NEEDS_MINOR 0
#endif
#include <wharf/adapter.h>

#include <string.h>

#define NOTE(name) "/metadata/annotations/full.example.com~1" name
#ifdef NEWER
#define LATER , .added_at_end = "later"
#else
#define LATER
#endif

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

static int reads_well(const wharf_value *workload) {
    const wharf_value *list = host->find(workload, "/spec/list");
    const wharf_value *item = host->first(list);
    const wharf_value *named = host->find_where(workload, "/spec/parts", "name", "b");
    return host->type(workload) == WHARF_OBJECT && host->type(NULL) == WHARF_ABSENT && host->count(list) == 3 &&
           host->integer(item, 0) == INT64_C(9007199254740993) && host->number(host->next(item), 0) > 2.4 &&
           host->boolean(host->next(host->next(item)), 0) == 1 && host->integer(host->find(named, "/count"), 0) == 2 &&
           strcmp(host->string(host->find(named, "/name")), "b") == 0 &&
           strcmp(host->name(host->first(named)), "name") == 0 && host->equal(named, named) &&
           !host->equal(named, item) && host->equal(NULL, NULL) && host->is(workload, "/spec/list/2", "true") &&
           host->is(workload, "/spec/size", "3") && !host->is(workload, "/spec/state", "running");
}

static int makes_well(const wharf_call *call, const wharf_value *workload, wharf_value *mirror) {
    wharf_value *list = host->new_array(call), *object = host->new_object(call);
    host->set(call, list, "/-", host->new_null(call));
    host->set(call, list, "/-", host->new_boolean(call, 1));
    host->set(call, list, "/-", host->new_integer(call, 7));
    host->set(call, list, "/-", host->new_string(call, "s"));
    host->set(call, object, "/list", list);
    host->set_integer(call, object, "/number", 8);
    host->set_boolean(call, object, "/truth", 0);
    host->set_string(call, object, "/gone", "x");
    const char *gone = host->string(host->find(object, "/gone"));
    size_t removed = host->remove(call, object, "/gone"), again_removed = host->remove(call, object, "/gone");
    size_t len = 0;
    const char *text = host->print(call, object, &len);
    wharf_value *again = host->parse(call, text, len);
    host->set_string(call, mirror, NOTE("text"), text);
    host->set(call, mirror, "/spec/kept", host->find(workload, "/spec/parts/0"));
    host->take(call, mirror, workload, "/spec/parts/*/owner");
    host->remove(call, mirror, "/spec/parts/*/template");
    host->set_integer(call, host->edit(call, mirror, "/spec/parts/0"), "/edited", 1);
    return removed == 1 && again_removed == 0 && strcmp(gone, "x") == 0 && strlen(text) == len &&
           host->equal(again, object) && host->equal(host->copy(call, again), object);
}

static int knows_the_time(const wharf_call *call) {
    int64_t ns = 0, *kept = host->memory(call, sizeof *kept);
    return host->parse_time(call->now, &ns) && ns == call->now_ns && !host->parse_time("yesterday", &ns) &&
           strcmp(host->format_time(call, call->now_ns), call->now) == 0 && *kept == 0;
}

static wharf_result accept(const wharf_call *call, const wharf_value *workload) {
    if (!host->find(workload, "/spec/unwanted"))
        return WHARF_OK;
    call->answer->reason = "Unwanted";
    call->answer->message = "it is not wanted";
    return WHARF_REFUSED;
}

static wharf_result mirror(const wharf_call *call, const wharf_value *workload, wharf_value *mirror) {
    int ok = reads_well(workload) && makes_well(call, workload, mirror) && knows_the_time(call) &&
             call->mirror_state == WHARF_MIRROR_NONE && strcmp(call->cluster, "w1") == 0 && call->attempt == 2;
    host->log(call, WHARF_LOG_DEBUG, "mirrored");
    call->answer->retry_after_ms = 1234;
    host->set_string(call, mirror, NOTE("now"), call->now);
    if (host->find(workload, "/spec/broken"))
        host->set_string(call, mirror, "/spec/state/text", "below a string");
    return ok ? WHARF_OK : WHARF_RETRY;
}

static wharf_result update(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                           wharf_value *desired) {
    host->set(call, desired, NOTE("size"), host->find(workload, "/spec/size"));
    return call->mirror_state == WHARF_MIRROR_PRESENT && host->find(mirror, "/spec/kept") ? WHARF_OK : WHARF_RETRY;
}

static wharf_result status(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                           wharf_value *object) {
    (void)workload;
    const char *note = host->string(host->find(mirror, NOTE("now")));
    wharf_value *condition =
        host->set_condition(call, object, "Copied", mirror ? "True" : "False", "Copied", note ? note : "no mirror");
    host->set_integer(call, condition, "/observedGeneration", 3);
    return WHARF_OK;
}

static wharf_result pod_sets(const wharf_call *call, const wharf_value *workload, wharf_value *sets) {
    wharf_value *extra = host->new_object(call);
    host->set(call, extra, "/template", host->find(workload, "/spec/driver"));
    host->set_integer(call, extra, "/count", 1);
    host->set(call, sets, "/-", extra);
    return WHARF_OK;
}

#ifdef NEWER
static wharf_result dependencies(const wharf_call *call, const wharf_value *workload, wharf_value *list) {
    wharf_value *item = host->new_object(call);
    host->set_string(call, item, "/resource", "plans.full.example.com");
    host->set(call, item, "/name", host->find(workload, "/spec/driver/plan"));
    if (host->find(item, "/name"))
        host->set(call, list, "/-", item);
    return WHARF_OK;
}

static const wharf_reference references[] = {
    {"/spec/parts/*/plan", NULL, "full.example.com", "v1", "plans", "Plan", .optional = "/spec/parts/*/maybe",
     .namespace_ = "/spec/parts/*/team" LATER},
    {.name = "/spec/driver", .flags = WHARF_REFERENCE_PODS LATER},
    {.name = NULL},
};

// What the object lacks of what `from` has.
static wharf_result give(const wharf_call *call, const wharf_value *from, const wharf_value *to, wharf_value *object) {
    const wharf_value *done = host->find(from, "/status/done");
    if (host->type(done) == WHARF_NUMBER && !host->equal(done, host->find(to, "/status/done")))
        host->set(call, object, "/status/done", done);
    return WHARF_OK;
}

static const wharf_child children[] = {{"full.example.com", "v1", "parts", "full.example.com/full" LATER},
                                       {.plural = NULL}};
static const wharf_continuity continuity[] = {
    {"/status/checkpoint", "CHECKPOINT" LATER}, {.pointer = "/status/step", .name = "STEP" LATER}, {.pointer = NULL}};
#endif

static const wharf_kind kind = {
    WHARF_KIND_SIZES,
    .group = "full.example.com",
    .versions = (const char *const[]){"v2", "v1", NULL},
    .kind = "Full",
    .plural = "fulls",
    .flags = 0,
    .managed_by = "/spec/manager",
    .managed_by_builtin = "full.example.com/own",
    .managed_by_allowed = (const char *const[]){"full.example.com/other", "full.example.com/third", NULL},
    .managed_by_default = "full.example.com/third",
    .suspend = "/spec/state",
    .suspend_value = "Suspended",
    .carried = (const wharf_carried[]){{.pointer = "/spec/size" LATER},
                                       {.pointer = "/spec/state" LATER},
                                       {.pointer = "/spec/parts/*/count" LATER},
                                       {.pointer = "/spec/pools/*/max", .key = "pool" LATER},
                                       {.pointer = "/spec/paused", .when = WHARF_CARRY_WHILE_SUSPENDED LATER},
                                       {.pointer = NULL}},
    .removed = (const char *const[]){"/spec/ttl", NULL},
    .pods = (const wharf_pods[]){{.templates = "/spec/parts/*/template",
                                  .counts = (const char *const[]){"/spec/parts/*/count", "/spec/size", NULL} LATER},
                                 {.templates = NULL}},
    .status_removed = (const char *const[]){"/status/node", NULL},
    .observed_generation = "/status/seen",
    .condition_time = "lastUpdateTime",
    .suspended_status =
        (const wharf_status_change[]){
            {WHARF_SET_CONDITION, WHARF_ALWAYS, "Held", "True", "{kind}Held", .message = "{name} is held" LATER},
            {.change = WHARF_SET_TEXT, .name = "/status/state", .value = "waiting" LATER},
            {.change = WHARF_SET_ZERO, .name = "/status/active" LATER},
            {.change = WHARF_REMOVE, .name = "/status/start" LATER},
            {.name = NULL}},
    .resumed_status =
        (const wharf_status_change[]){{.when = WHARF_IF_TRUE, .name = "Held", .value = "False" LATER}, {.name = NULL}},
    .phases = (const wharf_phase_rule[]){{"/status/conditions", "Done", .phase = WHARF_SUCCEEDED LATER},
                                         {"/status/conditions", "Done", "False", .phase = WHARF_FAILED LATER},
                                         {"/status/conditions", "Held", "True", "FullHeld", .phase = WHARF_SUSPENDED,
                                          .flags = WHARF_RULE_WHILE_SUSPENDED LATER},
                                         {"/status/state", "waiting", .phase = WHARF_PENDING LATER},
                                         {.pointer = NULL}},
    .finished_at = "/status/end",
    .phase = phase,
    .accept = accept,
    .mirror = mirror,
    .update = update,
    .status = status,
    .pod_sets = pod_sets,
#ifdef NEWER
    .dependencies = dependencies,
    WHARF_REFERENCES(references),
    .progress = give,
    WHARF_CHILDREN(children),
    .child_progress = give,
    WHARF_CONTINUITY(continuity),
#endif
};

static const char *start(const wharf_host *services, const wharf_value *settings, const wharf_kind *const **kinds) {
    if (services != host || !*kinds || !WHARF_HAS(wharf_host, services, log))
        return "the host is older than ABI 1.0";
#ifdef NEWER
    if (WHARF_HAS(wharf_host, services, added_at_end) != (services->abi_minor >= WHARF_ABI_MINOR))
        return "a host has a service that came after its ABI, or lacks one of it";
#endif
    if (host->abi_major != WHARF_ABI_MAJOR || !host->version || !host->string(host->find(settings, "/greeting")))
        return host->format(NULL, "/greeting: found %s, expected a string", host->print(NULL, settings, NULL));
    return NULL;
}

WHARF_MODULE(.name = "full", .version = "1.0.0", .kinds = WHARF_KINDS(&kind), .host = &host,
             .settings = (const char *const[]){"greeting", NULL}, .start = start);
