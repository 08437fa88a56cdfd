// SPDX-License-Identifier: Apache-2.0
// The engine's decisions, checked against the clusters at that moment, and requests as they are sent, which may be
// later.
#include "tests/simulation/rules.h"
#include "tests/simulation/crew.h"
#include "tests/simulation/faults.h"
#include "tests/simulation/fields.h"
#include "tests/simulation/forgery.h"
#include "tests/simulation/leases.h"
#include "tests/simulation/members.h"
#include "tests/simulation/need_rules.h"
#include "tests/simulation/pests.h"
#include "tests/simulation/places.h"
#include "tests/simulation/progress.h"
#include "tests/simulation/promise_rules.h"
#include "tests/simulation/rooms.h"
#include "tests/simulation/spaces.h"
#include "tests/simulation/status_rules.h"
#include "tests/simulation/steady.h"
#include "tests/simulation/tenants.h"

#include "core/adapter/phase.h"
#include "core/engine/mirror/mirror.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REQUESTS_A_MINUTE 60 // about one object, while it does not change
#define REQUESTS_A_CHANGE 6
#define BACK_NS (30 * CLOCK_SECOND) // for the host to notice that a cluster was restored

struct rules *rules_new(struct trial *trial) {
    (void)trial;
    return calloc(1, sizeof(struct rules));
}

struct tracked_workload *rules_workload(struct trial *trial, const char *uid) {
    struct rules *rules = trial->rules;
    for (size_t i = 0; uid && i < rules->n_workloads; i++)
        if (strcmp(rules->workloads[i].uid, uid) == 0)
            return &rules->workloads[i];
    return NULL;
}

struct tracked_mirror *rules_mirror(struct trial *trial, const char *uid) {
    struct rules *rules = trial->rules;
    for (size_t i = 0; uid && i < rules->n_mirrors; i++)
        if (strcmp(rules->mirrors[i].uid, uid) == 0)
            return &rules->mirrors[i];
    return NULL;
}

const char *rules_text(const struct json *object, const char *part, const char *map, const char *key) {
    const char *text = json_string(map ? json_path(object, part, map, key, NULL) : json_path(object, part, key, NULL));
    return text ? text : "";
}

static const struct json *condition(const struct json *job, const char *type) {
    for (const struct json *c = json_first(json_path(job, "status", "conditions", NULL)); c; c = json_next(c))
        if (strcmp(json_string_or(json_get(c, "type"), ""), type) == 0)
            return c;
    return NULL;
}

bool rules_has_condition(const struct json *job, const char *type) {
    return condition(job, type);
}

bool rules_condition(const struct json *job, const char *type) {
    return strcmp(json_string_or(json_get(condition(job, type), "status"), ""), "True") == 0;
}

bool rules_finished(const struct json *job) {
    return rules_condition(job, "Complete") || rules_condition(job, "Failed");
}

bool rules_gave_up(const struct json *job) {
    return strcmp(json_string_or(json_get(condition(job, "Failed"), "reason"), ""), "NoClusterAccepts") == 0;
}

bool rules_is_ours(const struct trial *trial, size_t cluster, size_t kind, const struct json *object) {
    const struct kind *k = trial->engine_kinds[kind];
    enum seal_verdict seal =
        seal_keys_any(trial->seals)
            ? mirror_seal(k, trial->seals, cluster ? world_name(trial->worlds[cluster]) : "", object)
            : SEAL_VALID;
    return mirror_is_ours(k, TRIAL_ORIGIN, object) &&
           (seal == SEAL_VALID || (seal == SEAL_MISSING && trial->plan.upgrade));
}

void rules_adopt(struct trial *trial, size_t cluster, size_t kind, const struct json *object) {
    struct rules *rules = trial->rules;
    if (rules->n_mirrors == RULES_MIRRORS) {
        trial_fail(trial, "more mirrors than a trial can have: is there a loop?");
        return;
    }
    struct tracked_mirror *m = &rules->mirrors[rules->n_mirrors++];
    *m = (struct tracked_mirror){
        .cluster = cluster, .kind = kind, .attempt = mirror_attempt(object), .made = trial->host->number};
    text_copy(m->uid, sizeof m->uid, rules_text(object, "metadata", NULL, "uid"));
    text_copy(m->workload, sizeof m->workload, rules_text(object, "metadata", "labels", MARK_UID));
}

bool rules_was_told(const struct trial *trial, const struct tracked_mirror *mirror) {
    return mirror->told[trial->host->index] == trial->host->number;
}

bool rules_was_told_to_all(const struct trial *trial, const struct tracked_mirror *mirror) {
    for (size_t i = 0; i < trial->plan.hosts; i++)
        if (trial->hosts[i].alive && mirror->told[i] != trial->hosts[i].number)
            return false;
    return mirror->told_ns < trial->now_ns;
}

bool rules_was_final(const struct trial *trial, const struct tracked_mirror *mirror) {
    return mirror->final[trial->host->index] == trial->host->number;
}

void rules_told(struct trial *trial, const struct json *object) {
    struct tracked_mirror *mirror = rules_mirror(trial, rules_text(object, "metadata", NULL, "uid"));
    if (!mirror)
        return;
    if (!rules_was_told(trial, mirror))
        mirror->told_ns = trial->now_ns;
    mirror->told[trial->host->index] = trial->host->number;
    if (sim_finished(trial->kinds[mirror->kind], object))
        mirror->final[trial->host->index] = trial->host->number;
}

void rules_crd_gone(struct trial *trial, size_t cluster, size_t kind) {
    (void)cluster;
    for (size_t i = 0; i < trial->rules->n_workloads; i++)
        if (trial->rules->workloads[i].kind == kind)
            trial->rules->workloads[i].touched = true; // it may need more requests now
}

// Its own, or an empty one.
static struct tracked_object *object_slot(struct rules *rules, const char *key) {
    uint64_t hash = UINT64_C(14695981039346656037);
    for (const char *c = key; *c; c++)
        hash = (hash ^ (unsigned char)*c) * UINT64_C(1099511628211);
    size_t i = (size_t)(hash >> 32) % RULES_OBJECTS;
    while (*rules->objects[i].key && strcmp(rules->objects[i].key, key) != 0)
        i = (i + 1) % RULES_OBJECTS;
    return &rules->objects[i];
}

void rules_count(struct trial *trial, size_t cluster, size_t kind, const char *namespace_, const char *name,
                 bool change) {
    struct rules *rules = trial->rules;
    char key[96];
    snprintf(key, sizeof key, "%zu/%zu/%.30s/%.50s", cluster, kind, namespace_, name);
    struct tracked_object *o = object_slot(rules, key);
    if (!*o->key) {
        if (++rules->n_objects > RULES_OBJECTS / 2)
            abort();
        *o = (struct tracked_object){.since_ns = trial->now_ns};
        text_copy(o->key, sizeof o->key, key);
    }
    if (trial->now_ns - o->since_ns > CLOCK_MINUTE) {
        o->since_ns = trial->now_ns;
        o->requests = o->changes = 0;
    }
    o->requests += !change;
    o->changes += change;
    if (o->requests > REQUESTS_A_MINUTE + REQUESTS_A_CHANGE * o->changes)
        trial_fail(trial, "rule 8: %u requests about %s in a minute, and %u changes", o->requests, key, o->changes);
}

// The path of a request about an object, taken apart.
struct about {
    char group[64], plural[64], namespace_[64], name[64];
    size_t kind; // n_kinds: none of this trial
    bool known, status;
};

static struct about read_path(const struct trial *trial, const struct http_request *request, const struct json *body) {
    struct about about = {.kind = trial->n_kinds};
    char path[512], *rest = NULL;
    text_copy(path, sizeof path, request->path);
    path[strcspn(path, "?")] = '\0';
    bool core = text_equal(strtok_r(path, "/", &rest), "api");
    const char *group = core ? "" : strtok_r(NULL, "/", &rest), *namespace_ = NULL;
    strtok_r(NULL, "/", &rest); // the version
    const char *plural = strtok_r(NULL, "/", &rest);
    if (text_equal(plural, "namespaces")) {
        namespace_ = strtok_r(NULL, "/", &rest);
        plural = strtok_r(NULL, "/", &rest);
    }
    if (!plural)
        return about;
    const char *name = strtok_r(NULL, "/", &rest);
    about.kind = namespace_ ? trial_kind(trial, group, plural) : trial->n_kinds;
    about.known = about.kind < trial->n_kinds;
    about.status = strtok_r(NULL, "/", &rest);
    text_copy(about.group, sizeof about.group, group);
    text_copy(about.plural, sizeof about.plural, plural);
    text_copy(about.namespace_, sizeof about.namespace_, namespace_ ? namespace_ : "");
    text_copy(about.name, sizeof about.name, name ? name : rules_text(body, "metadata", NULL, "name"));
    return about;
}

static bool is_listed(const struct trial *trial, size_t cluster, size_t kind) {
    return trial->host->feeds[cluster][kind].listed;
}

// A workload that the host has seen finished is not placed again, unless it learned of that only after
// workerLostTimeout, when the next attempt was already recorded.
static void check_again(struct trial *trial, const struct about *about, const struct json *body) {
    const struct tracked_workload *job = rules_workload(trial, rules_text(body, "metadata", NULL, "uid"));
    uint32_t attempt = mirror_attempt(body);
    if (!job || job->tampered || attempt < 2 || trial->plan.back != TRIAL_BACK_NONE)
        return;
    const struct tracked_mirror *finished = NULL;
    for (size_t i = 0; i < trial->rules->n_mirrors; i++) {
        const struct tracked_mirror *m = &trial->rules->mirrors[i];
        if (strcmp(m->workload, job->uid) != 0)
            continue;
        if (m->attempt == attempt)
            return; // it was found, and exists already
        // A mirror whose marks a policy stripped is not recognised if the answer to the create was lost.
        if (m->attempt + 1 == attempt && rules_was_final(trial, m) && !pests_rule(trial, m->cluster))
            finished = m;
    }
    bool retried = places_was_retried(trial, finished ? finished->cluster : 0, body);
    if (finished && !retried)
        trial_fail(trial, "attempt %u of %s is placed although attempt %u had finished", attempt, about->name,
                   attempt - 1);
}

// The mirror `other` does not stop a later attempt: its worker was given up, or it is not known to exist.
static bool is_given_up(struct trial *trial, size_t c, size_t kind, const struct tracked_workload *job,
                        uint32_t attempt, const struct json *other) {
    // If a user has written other numbers, only the order of those that the host knows counts.
    const struct tracked_mirror *mirror = rules_mirror(trial, rules_text(other, "metadata", NULL, "uid"));
    if (!mirror || (job->tampered && (!rules_was_told(trial, mirror) || !rules_is_ours(trial, c, kind, other) ||
                                      mirror_attempt(other) >= attempt)))
        return true;
    // The host cannot know a mirror whose marks a policy stripped if the answer to its create was lost.
    if (pests_rule(trial, c))
        return true;
    if (forgery_is(other) && !rules_was_told(trial, mirror))
        return true;
    // It was certainly gone, and came back with a copy of etcd, perhaps of a cluster that is unreachable since.
    if (trial->now_ns < trial->rules->back_ns[c] + BACK_NS || (mirror->gone && faults_is_unnoticed(trial, c, kind)))
        return true;
    int64_t timeout_ns = trial->plan.lost_timeout_ns, lost_ns = trial->host->feeds[c][kind].lost_ns;
    bool watched = trial->host->feeds[c][kind].connected && trial->host->feeds[c][kind].listed;
    bool waits = places_wait(trial, job->namespace_); // for as long as it takes
    if ((!watched || trial->host->silent[c]) && trial->now_ns - lost_ns >= timeout_ns && !waits)
        return true;
    // Another cluster answers under its name, which counts as lost (docs/lifecycle.md, Cluster identity).
    if (trial->host->refused_ns[c] > 0 && trial->now_ns - trial->host->refused_ns[c] >= timeout_ns && !waits)
        return true;
    // It has left.
    if (job->begun > mirror_attempt(other) && !trial->host->feeds[c][kind].listed && !members_knows(trial, c))
        return true;
    // By an earlier process, and this one has heard only that the worker is unreachable (rule 2, the last sentence).
    if (job->begun > mirror_attempt(other) && !trial->host->feeds[c][kind].listed && trial->host->feeds[c][kind].heard)
        return true;
    // A cluster that was wiped is another one, refused like an unreachable one; a create may have arrived after that.
    return faults_is_other(trial, c) && trial->now_ns - trial->rules->back_ns[c] >= timeout_ns;
}

// The worker, other than `cluster`, that has a mirror of the workload which is not given up; 0: none. `genuine`: not a
// forged one, which only holds up the process that has seen it.
static size_t other_mirror(struct trial *trial, size_t cluster, const struct about *about,
                           const struct tracked_workload *job, uint32_t attempt, bool genuine) {
    for (size_t c = 1; c < trial->plan.n_clusters; c++) {
        const struct json *other = trial_object(trial, c, about->kind, about->namespace_, about->name);
        if (c != cluster && other && strcmp(rules_text(other, "metadata", "labels", MARK_UID), job->uid) == 0 &&
            !is_given_up(trial, c, about->kind, job, attempt, other) && !(genuine && forgery_is(other)))
            return c;
    }
    return 0;
}

// Nothing new goes to a worker that is cordoned, drained, or leaves.
static void check_place(struct trial *trial, size_t cluster, const struct about *about,
                        const struct tracked_workload *job, uint32_t attempt, const struct json *body) {
    if (!job || job->tampered || attempt <= job->begun || cluster >= trial->plan.n_clusters ||
        trial_object(trial, cluster, about->kind, about->namespace_, about->name))
        return;
    if (!members_knows(trial, cluster) || members_policy(trial, cluster) != WORKER_ACTIVE)
        trial_fail(trial, "attempt %u of %s is placed in %s, which gets nothing new", attempt, about->name,
                   world_name(trial->worlds[cluster]));
    const struct json *workload = trial_object(trial, ENGINE_MANAGEMENT, about->kind, about->namespace_, about->name);
    places_check(trial, cluster, workload, body);
    spaces_check_place(trial, cluster, about->namespace_, about->name);
    rooms_check(trial, cluster, workload, body);
    if (workload)
        need_rules_place(trial, cluster, about->kind, workload);
}

// An attempt that is recorded when the older mirrors are gone or given up is correct, also for a later process.
static void note_recorded(struct trial *trial, const struct about *about, const struct json *body) {
    struct tracked_workload *job = rules_workload(trial, rules_text(body, "metadata", NULL, "uid"));
    uint32_t attempt = mirror_attempt(body);
    size_t cluster = 1;
    const char *name = rules_text(body, "metadata", "annotations", MARK_CLUSTER);
    while (cluster < trial->plan.n_clusters && !text_equal(world_name(trial->worlds[cluster]), name))
        cluster++;
    check_place(trial, cluster, about, job, attempt, body);
    if (job && attempt > job->begun && !other_mirror(trial, cluster, about, job, attempt, true))
        job->begun = attempt;
}

// Rule 2: while an older mirror runs in a reachable cluster, there is no newer one.
static void check_create(struct trial *trial, size_t cluster, const struct about *about, const struct json *body) {
    const char *uid = rules_text(body, "metadata", "labels", MARK_UID);
    struct tracked_workload *job = rules_workload(trial, uid);
    const char *forbidden = rules_forbidden(trial, about->kind, body, true);
    if (forbidden)
        trial_fail(trial, "the mirror of %s would have %s", about->name, forbidden);
    if (!is_listed(trial, ENGINE_MANAGEMENT, about->kind) || !is_listed(trial, cluster, about->kind))
        trial_fail(trial, "rule 7: %s is created before the lists were complete", about->name);
    if (!job)
        return;
    uint32_t attempt = mirror_attempt(body);
    size_t other = other_mirror(trial, cluster, about, job, attempt, false);
    if (other)
        trial_fail(trial, "rule 2: attempt %u of %s is created in %s while attempt %u is in %s", attempt, about->name,
                   world_name(trial->worlds[cluster]),
                   mirror_attempt(trial_object(trial, other, about->kind, about->namespace_, about->name)),
                   world_name(trial->worlds[other]));
    need_rules_create(trial, cluster, about->kind, body);
    job->begun = attempt;
}

// Rule 2: in the state that is deleted nothing of it had run, or somebody there had suspended it since.
static void check_withdrawn(struct trial *trial, size_t cluster, const struct about *about, const char *version) {
    const struct json *mirror = trial_object(trial, cluster, about->kind, about->namespace_, about->name);
    if (!mirror || strcmp(rules_text(mirror, "metadata", NULL, "resourceVersion"), version) != 0)
        return; // it will be rejected
    const struct json *status = json_get(mirror, "status");
    wharf_phase_kind phase = sim_phase(trial->kinds[about->kind], mirror, NULL);
    bool started = json_int64(json_get(status, "ready"), 0) > 0 ||
                   json_int64(json_get(status, "succeeded"), 0) > progress_succeeded(trial, mirror) ||
                   json_int64(json_get(status, "failed"), 0) > progress_failed(trial, mirror);
    if (started && phase == WHARF_ACTIVE && about->kind == 0)
        trial_fail(trial, "rule 2: the mirror of %s in %s is withdrawn although it has started", about->name,
                   world_name(trial->worlds[cluster]));
    if (phase_is_final(phase) || (about->kind > 0 && phase == WHARF_ACTIVE))
        trial_fail(trial, "rule 2: the mirror of %s in %s is withdrawn although it runs or has finished", about->name,
                   world_name(trial->worlds[cluster]));
}

// The end of the mirror, or the write of the host, if the workload's status has a later one: the host's clock was ahead
// when the host wrote that.
static int64_t earlier_end_ns(struct trial *trial, size_t cluster, const struct about *about,
                              const struct tracked_workload *job, int64_t end_ns) {
    const struct json *object = trial_object(trial, cluster, about->kind, about->namespace_, about->name);
    int64_t mirror_end_ns = 0;
    end_ns = job->end_ns > 0 ? clock_earlier(job->end_ns, end_ns) : end_ns;
    bool ended = object && phase_is_final(sim_phase(trial->kinds[about->kind], object, &mirror_end_ns));
    return ended && mirror_end_ns > 0 ? clock_earlier(mirror_end_ns, end_ns) : end_ns;
}

// The mirror that a workload has now stays until the workload is over, and for mirrorRetention after that.
static void check_needed(struct trial *trial, size_t cluster, const struct about *about,
                         const struct tracked_mirror *mirror, const char *withdraws) {
    const struct json *job = trial_object(trial, ENGINE_MANAGEMENT, about->kind, about->namespace_, about->name);
    const struct tracked_workload *tracked = rules_workload(trial, mirror->workload);
    int64_t finished_ns = 0;
    if (!job || !tracked || tracked->tampered ||
        strcmp(rules_text(job, "metadata", NULL, "uid"), mirror->workload) != 0 ||
        *rules_text(job, "metadata", NULL, "deletionTimestamp") || mirror_attempt(job) != mirror->attempt ||
        strcmp(rules_text(job, "metadata", "annotations", MARK_CLUSTER), world_name(trial->worlds[cluster])) != 0)
        return;
    if (!trial_is_ours(trial, about->kind, job) || pests_rule(trial, cluster))
        return;
    if ((members_policy(trial, cluster) == WORKER_DRAIN_MOVE || tenants_leave(trial, cluster, about->namespace_)) &&
        !phase_is_final(sim_phase(trial->kinds[about->kind], job, NULL)))
        return; // it is placed elsewhere
    if (fields_lacked(trial, mirror))
        return;
    bool finished = phase_is_final(sim_phase(trial->kinds[about->kind], job, &finished_ns));
    if (withdraws && !finished)
        check_withdrawn(trial, cluster, about, withdraws);
    else if (!finished)
        trial_fail(trial, "rule 7: the mirror of %s in %s is deleted although it is the current one", about->name,
                   world_name(trial->worlds[cluster]));
    else if (tracked->rival_end && finished_ns > trial->now_ns)
        return; // a rival's status, with the times of its recording; rivals_check has the rule about it
    else if (trial->now_ns + trial->host->ahead_ns <
             earlier_end_ns(trial, cluster, about, tracked, finished_ns) + trial->plan.retention_ns)
        trial_fail(trial, "the mirror of %s in %s is deleted too early", about->name,
                   world_name(trial->worlds[cluster]));
}

// Rules 4 and 7, and no current mirror is deleted.
static void check_delete(struct trial *trial, size_t cluster, const struct about *about, const struct json *body) {
    const char *uid = json_string(json_path(body, "preconditions", "uid", NULL));
    if (!uid || !*uid || !json_string(json_get(body, "propagationPolicy")))
        trial_fail(trial, "rule 4: a delete of %s without uid or propagation policy", about->name);
    if (!is_listed(trial, ENGINE_MANAGEMENT, about->kind) || !is_listed(trial, cluster, about->kind))
        trial_fail(trial, "rule 7: %s is deleted before both lists were complete", about->name);
    const struct tracked_mirror *mirror = rules_mirror(trial, uid);
    if (!mirror) {
        trial_fail(trial, "rule 3: delete of %s in %s, which the host did not make", about->name,
                   world_name(trial->worlds[cluster]));
        return;
    }
    const char *version = json_string(json_path(body, "preconditions", "resourceVersion", NULL));
    check_needed(trial, cluster, about, mirror, trial->plan.pending_timeout_ns ? version : NULL);
}

// A status in a worker is that of a mirror which the host has read, and lacks the progress of earlier attempts.
static bool gives_progress(struct trial *trial, const struct about *about, const struct json *body) {
    return trial->engine_kinds[about->kind]->abi.progress &&
           rules_mirror(trial, rules_text(body, "metadata", NULL, "uid")) &&
           *rules_text(body, "metadata", NULL, "resourceVersion");
}

static void check_write(struct trial *trial, size_t cluster, const struct about *about,
                        const struct http_request *request, const struct json *body) {
    if (request->method == HTTP_PATCH && !*rules_text(body, "metadata", NULL, "uid"))
        trial_fail(trial, "rule 4: a patch of %s without a uid", about->name);
    if (request->method == HTTP_PUT)
        trial_fail(trial, "rule 4: a PUT of %s", about->name);
    if (cluster == ENGINE_MANAGEMENT && request->method != HTTP_PATCH)
        trial_fail(trial, "rule 1: %s of a workload in the management cluster", http_method_name(request->method));
    else if (cluster != ENGINE_MANAGEMENT && about->status && !gives_progress(trial, about, body))
        trial_fail(trial, "rule 3: a status in a worker is written");
}

void rules_command(struct trial *trial, const struct command *command) {
    const struct request *request = &command->request;
    struct about about = {.kind = trial_kind(trial, request->resource.group, request->resource.plural)};
    AUTO_JSON body = NULL;
    text_copy(about.namespace_, sizeof about.namespace_, request->namespace_);
    text_copy(about.name, sizeof about.name, request->name);
    if (request->body)
        error_free(json_parse(request->body, request->body_len, &body));
    about.known = about.kind < trial->n_kinds;
    leases_command(trial, command);
    spaces_command(trial, command);
    tenants_command(trial, command);
    crew_command(trial, command, about.kind);
    promises_command(trial, command, about.kind, body);
    if (about.known && about.kind == 0 && request->verb != VERB_GET && strcmp(about.namespace_, "default") == 0)
        pests_count(trial, about.name);
    if (about.known && about.kind == 0 && command->cluster == ENGINE_MANAGEMENT && request->verb == VERB_MERGE_PATCH)
        check_again(trial, &about, body);
    if (about.known && command->cluster == ENGINE_MANAGEMENT && request->verb == VERB_MERGE_PATCH)
        note_recorded(trial, &about, body);
    if (about.known && about.kind == 0 && command->cluster == ENGINE_MANAGEMENT)
        status_command(trial, command, body);
    if (about.known && request->verb == VERB_CREATE)
        check_create(trial, command->cluster, &about, body);
    else if (about.known && request->verb == VERB_DELETE)
        check_delete(trial, command->cluster, &about, body);
}

char *rules_request(struct trial *trial, size_t cluster, const struct http_request *request) {
    bool lease = strstr(request->path, "/leases");
    if (!lease && !text_has_prefix(request->path, "/api/v1/namespaces/kube-system")) // the probe is sent during silence
        trial->rules->requests++;
    trial_hash(trial, request->path, strlen(request->path));
    trial_hash(trial, request->body ? request->body : "", request->body_len);
    AUTO_JSON body = NULL;
    if (request->body)
        error_free(json_parse(request->body, request->body_len, &body));
    struct about about = read_path(trial, request, body);
    need_rules_request(trial, cluster, request, body,
                       needs_find(trial, about.group, about.plural, about.namespace_, about.name));
    leases_request(trial, request);
    crew_request(trial, cluster, request);
    bool object = about.known && *about.name;
    if (strcmp(request->path, "/api/v1/namespaces/kube-system") != 0)
        steady_request(trial, cluster, about.kind, about.namespace_, object ? about.name : NULL);
    else if (sim_cluster_is_up(trial->net, trial->worlds[cluster]))
        steady_probe(trial, cluster);
    if (object)
        rules_count(trial, cluster, about.kind, about.namespace_, about.name, false);
    else if (request->method == HTTP_GET && !lease)
        promises_request(trial, cluster, request);
    if (request->method == HTTP_GET || !about.known)
        return NULL;
    const char *plural = trial->engine_kinds[about.kind]->abi.plural;
    bool shown = request->body && request->method != HTTP_POST;
    trial_trace(trial, "host: %s %s %s/%s%s in %s: %.*s", http_method_name(request->method), plural, about.namespace_,
                about.name, about.status ? "/status" : "", world_name(trial->worlds[cluster]),
                shown && request->body_len < 150 ? (int)request->body_len : 150, shown ? request->body : "");
    check_write(trial, cluster, &about, request, body);
    if (request->method == HTTP_POST && cluster != ENGINE_MANAGEMENT)
        fields_sent(trial, body);
    struct tracked_mirror *mirror = rules_mirror(trial, rules_text(body, "metadata", NULL, "uid"));
    if (mirror)
        mirror->patched_ns = trial->now_ns;
    return text_format("%s/%s/%s", plural, about.namespace_, about.name);
}

void rules_answered(struct trial *trial, size_t cluster, const char *object, const struct http_result *result) {
    bool whole = result->body_len > 1 && result->body[0] == '{' && result->body[result->body_len - 1] == '}';
    if (!object || (result->outcome == HTTP_ANSWERED && result->status < 300 && whole))
        return;
    for (size_t i = 0; i < trial->rules->n_workloads; i++) {
        struct tracked_workload *job = &trial->rules->workloads[i];
        bool same = strcmp(job->name, strrchr(object, '/') + 1) == 0;
        job->unsure |= same && cluster == ENGINE_MANAGEMENT;
        job->stray |= same && cluster == ENGINE_MANAGEMENT;
        job->mirror_unsure |= same && cluster != ENGINE_MANAGEMENT;
    }
}

void rules_went_back(struct trial *trial, size_t cluster) {
    trial->rules->back_ns[cluster] = trial->now_ns;
    need_rules_went_back(trial, cluster);
    for (size_t i = 0; i < trial->rules->n_mirrors; i++) {
        struct tracked_mirror *m = &trial->rules->mirrors[i];
        const struct tracked_workload *job = rules_workload(trial, m->workload);
        const struct json *there =
            m->cluster == cluster && job ? trial_object(trial, cluster, m->kind, job->namespace_, job->name) : NULL;
        if (m->cluster == cluster && job)
            m->gone = !there || strcmp(rules_text(there, "metadata", NULL, "uid"), m->uid) != 0;
        if (m->cluster == cluster && job && m->gone) // no replica has seen that it exists again
            memset(m->told, 0, sizeof m->told);
    }
    for (size_t i = 0; i < trial->rules->n_workloads; i++) {
        struct tracked_workload *job = &trial->rules->workloads[i];
        job->touched = job->tampered = job->unsure = job->mirror_unsure = true;
    }
}

void rules_restarted(struct trial *trial) {
    for (size_t i = 0; i < trial->rules->n_workloads; i++)
        trial->rules->workloads[i].unsure = trial->rules->workloads[i].mirror_unsure = true;
}

void rules_management_listed(struct trial *trial, size_t kind) {
    for (size_t i = 0; i < trial->rules->n_mirrors; i++) {
        struct tracked_mirror *m = &trial->rules->mirrors[i];
        const struct tracked_workload *job = m->kind == kind ? rules_workload(trial, m->workload) : NULL;
        const struct json *there = job ? trial_object(trial, m->cluster, kind, job->namespace_, job->name) : NULL;
        if (job && (!there || strcmp(rules_text(there, "metadata", NULL, "uid"), m->uid) != 0))
            m->final[trial->host->index] = 0;
    }
}

void rules_left(struct trial *trial, size_t cluster) {
    for (size_t i = 0; i < trial->rules->n_mirrors; i++) {
        struct tracked_mirror *m = &trial->rules->mirrors[i];
        if (m->cluster == cluster && !is_listed(trial, ENGINE_MANAGEMENT, m->kind))
            m->final[trial->host->index] = 0;
    }
}
