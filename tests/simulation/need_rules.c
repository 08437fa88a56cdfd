// SPDX-License-Identifier: Apache-2.0
#include "tests/simulation/need_state.h"

#include "core/base/clock.h"
#include "core/engine/mirror/mirror.h"
#include "core/kube/object/object.h"
#include "tests/simulation/tenants.h"

#include <stdlib.h>
#include <string.h>

// Decisions ---------------------------------------------------------------------------------------------------

// D2 and D4.
static void check_need(struct trial *trial, size_t cluster, size_t index, const char *mirror) {
    const struct json *there = needs_object(trial, cluster, index);
    const struct json *source = needs_object(trial, ENGINE_MANAGEMENT, index);
    enum need_resource resource = needs_at(trial, index)->resource;
    const char *worker = world_name(trial->worlds[cluster]);
    bool known = need_is_known(trial, cluster, index), copied = needs_is_copied(trial, index);
    AUTO_TEXT name = need_name_of(trial, index);
    if (!there && (known || !need_state_of(trial, cluster, index)->existed))
        trial_fail(trial, "rule D2: the mirror of %s is created in %s, which has no %s", mirror, worker, name);
    bool own = need_is_copy(trial, there);
    if (!there || !known || !copied || !source || resource == NEED_CLAIMS ||
        (own ? needs_are_equal(resource, there, source) : needs_suffice(resource, there, source)))
        return;
    if (own)
        trial_fail(trial, "rule D2: the mirror of %s is created in %s, whose copy of %s is old", mirror, worker, name);
    else
        trial_fail(trial, "rule D4: the mirror of %s is created in %s, where another writer has other %s", mirror,
                   worker, name);
}

void need_rules_create(struct trial *trial, size_t cluster, size_t kind, const struct json *mirror) {
    struct need_gather gather = need_gather(trial, ENGINE_MANAGEMENT, kind, mirror);
    for (size_t i = 0; i < needs_count(trial); i++)
        if (gather.needed >> i & 1)
            check_need(trial, cluster, i, object_name(mirror));
}

// It has waited for so long that the host has asked the workers.
static bool has_waited(const struct trial *trial, const struct json *workload) {
    int64_t made_ns = trial->now_ns;
    (void)clock_parse_rfc3339(rules_text(workload, "metadata", NULL, "creationTimestamp"), &made_ns);
    return mirror_attempt(workload) == 0 && trial->now_ns - made_ns > 2 * KNOWN_NS;
}

// D3, and D4 of checked objects: with other content of another writer only the mirror is not created.
void need_rules_place(struct trial *trial, size_t cluster, size_t kind, const struct json *workload) {
    struct need_gather gather = need_gather(trial, ENGINE_MANAGEMENT, kind, workload);
    bool asked = has_waited(trial, workload);
    for (size_t i = 0; i < needs_count(trial); i++) {
        if ((gather.needed | gather.optional) >> i & 1)
            need_state_of(trial, cluster, i)->seen_used_ns = trial->now_ns;
        if (!(gather.needed >> i & 1) || !need_is_known(trial, cluster, i))
            continue;
        AUTO_TEXT name = need_name_of(trial, i);
        const struct json *source = needs_object(trial, ENGINE_MANAGEMENT, i), *there = needs_object(trial, cluster, i);
        bool copied = needs_is_copied(trial, i);
        if (copied && !source)
            trial_fail(trial, "rule D3: %s is placed, and there is no %s", object_name(workload), name);
        if (!needs_may_be_copied(trial, i) && !there && asked) // the type of a Secret shows with the first copy
            trial_fail(trial, "rule D4: %s is placed in %s, which has no %s", object_name(workload),
                       world_name(trial->worlds[cluster]), name);
    }
}

// Requests ----------------------------------------------------------------------------------------------------

#define SECRET_BASE64 "U0VDUkVU" // NEED_SECRET_TEXT
#define DENIED_BASE64 "REVOSUVE" // NEED_DENIED_TEXT

static void check_contents(struct trial *trial, size_t cluster, const struct http_request *request) {
    const char *text = request->body ? request->body : "";
    bool to_secrets = cluster != ENGINE_MANAGEMENT && strstr(request->path, "/secrets");
    if (memmem(text, request->body_len, DENIED_BASE64, strlen(DENIED_BASE64)) ||
        memmem(text, request->body_len, NEED_DENIED_TEXT, strlen(NEED_DENIED_TEXT)))
        trial_fail(trial, "rule D9: %s has the content of a Secret that is never copied", request->path);
    if (!to_secrets && (memmem(text, request->body_len, SECRET_BASE64, strlen(SECRET_BASE64)) ||
                        memmem(text, request->body_len, NEED_SECRET_TEXT, strlen(NEED_SECRET_TEXT))))
        trial_fail(trial, "rule D12: %s has the content of a Secret", request->path);
}

static void check_preconditions(struct trial *trial, const struct http_request *request, const struct json *body) {
    const char *part = request->method == HTTP_DELETE ? "preconditions" : "metadata";
    if (!*rules_text(body, part, NULL, "uid") || !*rules_text(body, part, NULL, "resourceVersion"))
        trial_fail(trial, "rule D1: a %s of %s without uid and resourceVersion", http_method_name(request->method),
                   request->path);
}

// D5. A deletion may arrive when another replica has created a mirror: the state at the request counts.
static void check_deletion(struct trial *trial, size_t cluster, size_t index) {
    AUTO_TEXT name = need_name_of(trial, index);
    const struct json *copy = needs_object(trial, cluster, index);
    if (copy && !need_is_retyped(trial, index, copy) &&
        (need_used_by_mirrors(trial, cluster, MIRRORS_TOLD) >> index & 1) != 0)
        trial_fail(trial, "rule D5: the copy of %s in %s is deleted while a mirror needs it", name,
                   world_name(trial->worlds[cluster]));
}

void need_rules_request(struct trial *trial, size_t cluster, const struct http_request *request,
                        const struct json *body, size_t index) {
    if (!trial->plan.needs)
        return;
    check_contents(trial, cluster, request);
    if (index == needs_count(trial))
        return;
    const struct thing *thing = needs_at(trial, index);
    rules_count(trial, cluster, TRIAL_KINDS + thing->resource, thing->namespace_, thing->name, false);
    if (request->method == HTTP_GET)
        return;
    trial_trace(trial, "host: %s %s/%s in %s", http_method_name(request->method), thing->namespace_, thing->name,
                world_name(trial->worlds[cluster]));
    if (cluster == ENGINE_MANAGEMENT)
        trial_fail(trial, "rule D1: a %s of %s in the management cluster", http_method_name(request->method),
                   request->path);
    if (request->method != HTTP_POST)
        check_preconditions(trial, request, body);
    if (request->method == HTTP_DELETE)
        check_deletion(trial, cluster, index);
    if (request->method == HTTP_PUT)
        trial_fail(trial, "rule D1: a PUT of %s", request->path);
}

void need_rules_text(struct trial *trial, const char *text) {
    if (trial->plan.needs && (strstr(text, NEED_SECRET_TEXT) || strstr(text, SECRET_BASE64) ||
                              strstr(text, NEED_DENIED_TEXT) || strstr(text, DENIED_BASE64)))
        trial_fail(trial, "rule D12: a text shows the content of a Secret: %s", text);
}

void need_rules_went_back(struct trial *trial, size_t cluster) {
    for (size_t i = 0; i < needs_count(trial); i++)
        need_state_of(trial, cluster, i)->others_ns = trial->now_ns;
}

// Watches by name find no copy that nobody needs, of an earlier process or in a worker that went back or left. Replicas
// begin and end also without faults.
static bool is_hidden(const struct trial *trial) {
    return (trial->plan.faults || trial->plan.elects) && needs_options(trial).by_name;
}

// D5: what no workload is known for holds up all deletions in its worker.
static bool is_held_up(struct trial *trial, size_t cluster) {
    if (is_hidden(trial))
        return true;
    for (size_t k = 0; k < trial->n_kinds; k++)
        if (!trial->host->feeds[cluster][k].connected &&
            trial->now_ns - trial->host->feeds[cluster][k].lost_ns < ABSENT_NS)
            return true; // or the kind is not served: it takes a while to find that out
    for (size_t k = 0; k < trial->n_kinds; k++) {
        const wharf_kind *abi = &trial->engine_kinds[k]->abi;
        const void *cursor = NULL;
        for (const struct json *o; (o = world_next(trial->worlds[cluster], abi->group, abi->plural, &cursor));)
            if (need_is_held(trial, k, o))
                return true;
    }
    return false;
}

// What lasts --------------------------------------------------------------------------------------------------

static bool is_current(struct trial *trial, size_t index, const struct json *copy) {
    const struct json *source = needs_object(trial, ENGINE_MANAGEMENT, index);
    enum need_resource resource = needs_at(trial, index)->resource;
    if (!source || !needs_is_copied(trial, index) || resource == NEED_CLAIMS)
        return true;
    AUTO_TEXT version = text_format("%s/%s", object_uid(source), object_version(source));
    return needs_are_equal(resource, copy, source) && strcmp(need_note(copy, SOURCE), version ? version : "") == 0;
}

static bool lasts(const struct trial *trial, int64_t *since_ns, bool so, int64_t most_ns) {
    *since_ns = !so ? 0 : *since_ns ? *since_ns : trial->now_ns;
    return so && trial->now_ns - *since_ns > most_ns;
}

struct usage {
    uint64_t needed; // by mirrors of workloads, and placed workloads
    uint64_t used;   // also by orphans, and workloads that are to be placed
};

// D5: the needs of a mirror never shrink, though its ServiceAccount names the Secret no longer, and one that is deleted
// keeps what it named.
static uint64_t formerly_pulled(struct trial *trial, uint64_t mirrors, uint64_t workloads) {
    uint64_t pulled = 0;
    for (size_t i = 0; i < needs_count(trial); i++) {
        const struct thing *account = needs_at(trial, i);
        bool deleted =
            !needs_object(trial, ENGINE_MANAGEMENT, i) && need_state_of(trial, ENGINE_MANAGEMENT, i)->existed;
        bool named = account->pulled || (deleted && account->pulls);
        uint64_t used = deleted ? mirrors | workloads : mirrors;
        size_t secret = named && (used >> i & 1) != 0 ? needs_find(trial, "", "secrets", account->namespace_, "pull-0")
                                                      : needs_count(trial);
        pulled |= secret < needs_count(trial) ? UINT64_C(1) << secret : 0;
    }
    return pulled;
}

static struct usage usage_of(struct trial *trial, size_t cluster) {
    uint64_t mirrors = need_used_by_mirrors(trial, cluster, MIRRORS_ALL);
    uint64_t workloads = need_used_by_workloads(trial, cluster, true);
    return (struct usage){need_used_by_mirrors(trial, cluster, MIRRORS_KNOWN) |
                              need_used_by_workloads(trial, cluster, false),
                          mirrors | workloads | formerly_pulled(trial, mirrors, workloads)};
}

// Without a seal it came back with its worker: the host adopts such an object in the first list of a process only.
static bool is_recognised(const struct trial *trial, size_t cluster, const struct json *object) {
    bool sealed = !seal_keys_any(trial->seals) || *need_note(object, MARK_SEAL);
    return need_is_copy(trial, object) && (sealed || trial->rules->back_ns[cluster] == 0);
}

static void look_at(struct trial *trial, size_t cluster, size_t index, const struct usage *usage, bool held) {
    bool used = (usage->used >> index & 1) != 0, needed = (usage->needed >> index & 1) != 0;
    struct need_state *state = need_state_of(trial, cluster, index);
    const struct json *there = needs_object(trial, cluster, index);
    bool copy = is_recognised(trial, cluster, there) && !object_is_being_deleted(there);
    AUTO_TEXT name = need_name_of(trial, index);
    int64_t most_ns = UNUSED_NS + trial->plan.retention_ns; // the workload may have finished just before
    if (lasts(trial, &state->unused_ns, copy && !used && !held && !*need_note(there, ALSO_USED), most_ns))
        trial_fail(trial, "rule D5: nothing has used the copy of %s in %s for %.0f s", name,
                   world_name(trial->worlds[cluster]), (double)most_ns / 1e9);
    if (lasts(trial, &state->stale_ns, copy && needed && !is_current(trial, index, there), ROTATED_NS))
        trial_fail(trial, "rule D6: the copy of %s in %s is old for %.0f s", name, world_name(trial->worlds[cluster]),
                   (double)ROTATED_NS / 1e9);
}

void need_rules_restarted(struct trial *trial) {
    for (size_t c = 1; trial->plan.needs && c < trial->plan.n_clusters; c++)
        for (size_t i = 0; i < needs_count(trial); i++)
            need_state_of(trial, c, i)->unused_ns = 0;
}

void need_rules_check(struct trial *trial) {
    struct need_rules *rules = trial->need_rules;
    if (!trial->plan.needs || trial->now_ns < rules->looked_ns + LOOK_NS)
        return;
    rules->looked_ns = trial->now_ns;
    for (size_t c = 1; c < trial->plan.n_clusters; c++) {
        bool calm = need_is_calm(trial, c);
        bool held = calm && (is_held_up(trial, c) || trial->now_ns - rules->held_ns[c] < UNUSED_NS);
        struct usage usage = calm ? usage_of(trial, c) : (struct usage){0};
        for (size_t i = 0; i < needs_count(trial); i++) {
            struct need_state *state = need_state_of(trial, c, i);
            if (usage.used >> i & 1)
                state->seen_used_ns = trial->now_ns;
            if (calm && !tenants_are_denied(trial, c, needs_at(trial, i)->namespace_))
                look_at(trial, c, i, &usage, held);
            else
                state->unused_ns = state->stale_ns = 0;
        }
    }
}

static char *missing_in(struct trial *trial, size_t cluster) {
    struct usage usage = usage_of(trial, cluster);
    for (size_t i = 0; i < needs_count(trial); i++) {
        const struct json *there = needs_object(trial, cluster, i);
        AUTO_TEXT name = need_name_of(trial, i);
        if (need_is_of_another_host(there) && text_equal(need_note(there, ALSO_USED), TRIAL_ORIGIN) &&
            !(usage.used >> i & 1) && !is_hidden(trial))
            return text_format("%s in %s is still said to be used", name, world_name(trial->worlds[cluster]));
        if (!is_recognised(trial, cluster, there))
            continue;
        if (!(usage.used >> i & 1) && !is_hidden(trial))
            return text_format("a copy of %s is left over in %s", name, world_name(trial->worlds[cluster]));
        if (usage.needed >> i & 1 && !is_current(trial, i, there))
            return text_format("the copy of %s in %s is not as its source", name, world_name(trial->worlds[cluster]));
    }
    return NULL;
}

char *need_rules_missing(struct trial *trial) {
    for (size_t c = 1; c < trial->plan.n_clusters && trial->plan.needs; c++) {
        char *missing = missing_in(trial, c);
        if (missing)
            return missing;
    }
    return NULL;
}
