// SPDX-License-Identifier: Apache-2.0
// What the engine decides, as things are at that moment, and requests on their way, which may be a little later.
#include "tests/simulation/rules.h"

#include "core/host/mirror.h"
#include "core/json/pointer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REQUESTS_A_MINUTE 60 // of one object, while nothing happens to it
#define REQUESTS_A_CHANGE 6

struct rules *rules_new(struct trial *trial) {
    (void)trial;
    return calloc(1, sizeof(struct rules));
}

struct tracked_job *rules_job(struct trial *trial, const char *uid) {
    struct rules *rules = trial->rules;
    for (size_t i = 0; uid && i < rules->n_jobs; i++)
        if (strcmp(rules->jobs[i].uid, uid) == 0)
            return &rules->jobs[i];
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
    return condition(job, type) != NULL;
}

bool rules_condition(const struct json *job, const char *type) {
    return strcmp(json_string_or(json_get(condition(job, type), "status"), ""), "True") == 0;
}

bool rules_finished(const struct json *job) {
    return rules_condition(job, "Complete") || rules_condition(job, "Failed");
}

void rules_adopt(struct trial *trial, size_t cluster, const struct json *object) {
    struct rules *rules = trial->rules;
    if (rules->n_mirrors == RULES_MIRRORS) {
        trial_fail(trial, "more mirrors than a trial can have: is there a loop?");
        return;
    }
    struct tracked_mirror *m = &rules->mirrors[rules->n_mirrors++];
    *m = (struct tracked_mirror){.cluster = cluster, .attempt = mirror_attempt(object)};
    text_copy(m->uid, sizeof m->uid, rules_text(object, "metadata", NULL, "uid"));
    text_copy(m->job, sizeof m->job, rules_text(object, "metadata", "labels", MARK_UID));
}

void rules_told(struct trial *trial, const struct json *object) {
    struct tracked_mirror *mirror = rules_mirror(trial, rules_text(object, "metadata", NULL, "uid"));
    if (mirror)
        mirror->told = trial->host.number;
}

void rules_count(struct trial *trial, size_t cluster, const char *namespace_, const char *name, bool change) {
    struct rules *rules = trial->rules;
    char key[96];
    snprintf(key, sizeof key, "%zu/%.30s/%.50s", cluster, namespace_, name);
    struct tracked_object *o = NULL;
    for (size_t i = 0; i < rules->n_objects && !o; i++)
        if (strcmp(rules->objects[i].key, key) == 0)
            o = &rules->objects[i];
    if (!o && rules->n_objects == RULES_OBJECTS)
        return;
    if (!o) {
        o = &rules->objects[rules->n_objects++];
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

// The path of a request about a Job, taken apart.
struct about {
    char namespace_[64], name[64];
    bool job, status;
};

static struct about read_path(const struct http_request *request, const struct json *body) {
    static const char root[] = "/apis/batch/v1/namespaces/";
    struct about about = {.job = false};
    char path[512];
    text_copy(path, sizeof path, request->path);
    path[strcspn(path, "?")] = '\0';
    if (strncmp(path, root, sizeof root - 1) != 0)
        return about;
    char *rest = NULL;
    text_copy(about.namespace_, sizeof about.namespace_, strtok_r(path + sizeof root - 1, "/", &rest));
    const char *plural = strtok_r(NULL, "/", &rest), *name = strtok_r(NULL, "/", &rest);
    about.status = strtok_r(NULL, "/", &rest) != NULL;
    about.job = plural && strcmp(plural, "jobs") == 0;
    text_copy(about.name, sizeof about.name, name ? name : rules_text(body, "metadata", NULL, "name"));
    return about;
}

// Rule 2: as long as an older mirror runs where it can be reached, there is no newer one.
static void check_create(struct trial *trial, size_t cluster, const struct about *about, const struct json *body) {
    const char *uid = rules_text(body, "metadata", "labels", MARK_UID);
    const struct tracked_job *job = rules_job(trial, uid);
    if (!trial->host.listed[ENGINE_MANAGEMENT] || !trial->host.listed[cluster])
        trial_fail(trial, "rule 7: %s is created before the lists were complete", about->name);
    for (size_t c = 1; c < trial->plan.n_clusters && job; c++) {
        const struct json *other = trial_job(trial, c, about->namespace_, about->name);
        if (c == cluster || !other || strcmp(rules_text(other, "metadata", "labels", MARK_UID), uid) != 0)
            continue;
        // Where a user has written other numbers, only the order of those that the host knows of counts.
        const struct tracked_mirror *mirror = rules_mirror(trial, rules_text(other, "metadata", NULL, "uid"));
        if (!mirror || (job->tampered &&
                        (mirror->told != trial->host.number || !mirror_is_ours(trial->kind, TRIAL_ORIGIN, other) ||
                         mirror_attempt(other) >= mirror_attempt(body))))
            continue;
        bool given_up =
            !trial->host.connected[c] && trial->now_ns - trial->host.lost_ns[c] >= trial->plan.lost_timeout_ns;
        if (!given_up)
            trial_fail(trial, "rule 2: attempt %u of %s is created in %s while attempt %u is in %s",
                       mirror_attempt(body), about->name, world_name(trial->worlds[cluster]), mirror_attempt(other),
                       world_name(trial->worlds[c]));
    }
}

static int64_t finished_ns(const struct json *job) {
    const char *text = rules_text(job, "status", NULL, "completionTime");
    const struct json *failed = condition(job, "Failed");
    if (failed)
        text = json_string_or(json_get(failed, "lastTransitionTime"), "");
    int64_t at_ns = 0;
    return clock_parse_rfc3339(text, &at_ns) ? at_ns : 0;
}

// The mirror that a workload has now stays until the workload is over, and for mirrorRetention after that.
static void check_needed(struct trial *trial, size_t cluster, const struct about *about,
                         const struct tracked_mirror *mirror) {
    const struct json *job = trial_job(trial, ENGINE_MANAGEMENT, about->namespace_, about->name);
    const struct tracked_job *tracked = rules_job(trial, mirror->job);
    if (!job || !tracked || tracked->tampered || strcmp(rules_text(job, "metadata", NULL, "uid"), mirror->job) != 0 ||
        *rules_text(job, "metadata", NULL, "deletionTimestamp") || mirror_attempt(job) != mirror->attempt ||
        strcmp(rules_text(job, "metadata", "annotations", MARK_CLUSTER), world_name(trial->worlds[cluster])) != 0)
        return;
    if (!rules_finished(job))
        trial_fail(trial, "rule 7: the mirror of %s in %s is deleted, and it is the one that is needed", about->name,
                   world_name(trial->worlds[cluster]));
    else if (trial->now_ns < finished_ns(job) + trial->plan.retention_ns)
        trial_fail(trial, "the mirror of %s in %s is deleted too early", about->name,
                   world_name(trial->worlds[cluster]));
}

// Rules 4 and 7, and that nothing that is needed is deleted.
static void check_delete(struct trial *trial, size_t cluster, const struct about *about, const struct json *body) {
    const char *uid = json_string(json_path(body, "preconditions", "uid", NULL));
    if (!uid || !*uid || !json_string(json_get(body, "propagationPolicy")))
        trial_fail(trial, "rule 4: a delete of %s without uid or propagation policy", about->name);
    if (!trial->host.listed[ENGINE_MANAGEMENT] || !trial->host.listed[cluster])
        trial_fail(trial, "rule 7: %s is deleted before both lists were complete", about->name);
    const struct tracked_mirror *mirror = rules_mirror(trial, uid);
    if (!mirror) {
        trial_fail(trial, "rule 3: delete of %s in %s, which the host did not make", about->name,
                   world_name(trial->worlds[cluster]));
        return;
    }
    check_needed(trial, cluster, about, mirror);
}

static void check_write(struct trial *trial, size_t cluster, const struct about *about,
                        const struct http_request *request, const struct json *body) {
    if (request->method == HTTP_PATCH && !*rules_text(body, "metadata", NULL, "uid"))
        trial_fail(trial, "rule 4: a patch of %s without a uid", about->name);
    if (request->method == HTTP_PUT)
        trial_fail(trial, "rule 4: a PUT of %s", about->name);
    if (cluster == ENGINE_MANAGEMENT && request->method != HTTP_PATCH)
        trial_fail(trial, "rule 1: %s of a Job in the management cluster", http_method_name(request->method));
    else if (cluster != ENGINE_MANAGEMENT && about->status)
        trial_fail(trial, "rule 3: a status in a worker is written");
}

void rules_command(struct trial *trial, const struct command *command) {
    const struct request *request = &command->request;
    struct about about = {.job = strcmp(request->resource.plural, "jobs") == 0};
    AUTO_JSON body = NULL;
    text_copy(about.namespace_, sizeof about.namespace_, request->namespace_);
    text_copy(about.name, sizeof about.name, request->name);
    if (request->body)
        error_free(json_parse(request->body, request->body_len, &body));
    if (about.job && request->verb == VERB_CREATE)
        check_create(trial, command->cluster, &about, body);
    else if (about.job && request->verb == VERB_DELETE)
        check_delete(trial, command->cluster, &about, body);
}

char *rules_request(struct trial *trial, size_t cluster, const struct http_request *request) {
    trial->rules->requests++;
    trial_hash(trial, request->path, strlen(request->path));
    trial_hash(trial, request->body ? request->body : "", request->body_len);
    AUTO_JSON body = NULL;
    if (request->body)
        error_free(json_parse(request->body, request->body_len, &body));
    struct about about = read_path(request, body);
    if (about.job && *about.name)
        rules_count(trial, cluster, about.namespace_, about.name, false);
    if (request->method == HTTP_GET || !about.job)
        return NULL;
    trial_trace(trial, "host: %s %s/%s%s in %s: %.150s", http_method_name(request->method), about.namespace_,
                about.name, about.status ? "/status" : "", world_name(trial->worlds[cluster]),
                request->body && request->method != HTTP_POST ? request->body : "");
    check_write(trial, cluster, &about, request, body);
    return text_format("%s/%s", about.namespace_, about.name);
}

void rules_answered(struct trial *trial, size_t cluster, const char *object, const struct http_result *result) {
    bool whole = result->body_len > 1 && result->body[0] == '{' && result->body[result->body_len - 1] == '}';
    if (!object || (result->outcome == HTTP_ANSWERED && result->status < 300 && whole))
        return;
    for (size_t i = 0; i < trial->rules->n_jobs; i++) {
        struct tracked_job *job = &trial->rules->jobs[i];
        bool same = strcmp(job->name, strchr(object, '/') + 1) == 0;
        job->unsure |= same && cluster == ENGINE_MANAGEMENT;
        job->mirror_unsure |= same && cluster != ENGINE_MANAGEMENT;
    }
}

void rules_restarted(struct trial *trial) {
    for (size_t i = 0; i < trial->rules->n_jobs; i++)
        trial->rules->jobs[i].unsure = trial->rules->jobs[i].mirror_unsure = true;
}
