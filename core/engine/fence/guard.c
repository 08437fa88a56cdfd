// SPDX-License-Identifier: Apache-2.0
#include "core/engine/fence/guard.h"

#include "core/adapter/phase.h"
#include "core/adapter/services.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/engine/kueue/kueue_labels.h"
#include "core/engine/mirror/mirror.h"
#include "core/engine/shard/shard_hash.h"
#include "core/json/pointer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_NS (10 * CLOCK_SECOND) // while no Lease is there
#define RETRY_NS (2 * CLOCK_SECOND)

static const struct resource leases = {.group = "coordination.k8s.io", .version = "v1", .plural = "leases"};

void guard_init(struct guard *guard, const struct guard_options *options, struct moment now) {
    *guard =
        (struct guard){.action = options->action, .next = GUARD_READ, .at_ns = now.mono_ns, .reached_ns = now.mono_ns};
    guard->beaten_ns = now.mono_ns;
    text_copy(guard->origin, sizeof guard->origin, options->origin);
    text_copy(guard->namespace_, sizeof guard->namespace_, options->namespace_);
    text_copy(guard->identity, sizeof guard->identity, options->identity);
    text_copy(guard->leases.origin, sizeof guard->leases.origin, options->origin);
    snprintf(guard->name, sizeof guard->name, GUARD_LEASE "%s", guard->origin);
    snprintf(guard->path, sizeof guard->path,
             "/apis/coordination.k8s.io/v1/namespaces/%.63s/leases?labelSelector=wharf.dev%%2Forigin%%3D%.63s",
             guard->namespace_, guard->origin);
}

// When the newest of the beats was made that this process has made, if it is one of its last ones; else 0.
static int64_t beat_made_ns(const struct guard *guard, const char *beats) {
    size_t len = strlen(guard->identity);
    for (const char *at = beats; at && *at; at += strcspn(at, " "), at += *at == ' ') {
        uint64_t number =
            strncmp(at, guard->identity, len) == 0 && at[len] == '/' ? strtoull(at + len + 1, NULL, 10) : 0;
        if (number > 0 && number <= guard->beats && number + GUARD_BEATS > guard->beats)
            return guard->made_ns[number % GUARD_BEATS];
    }
    return 0;
}

static void read_leases(struct guard *guard, const struct json *list, struct moment now) {
    bool away = now.mono_ns - guard->beaten_ns >= guard_shortest_ns(&guard->leases) / 2;
    guard->leases.read_ns = guard->leases.asked_ns;
    guard->leases.refused_ns = 0;
    guard_leases_begin(&guard->leases);
    for (const struct json *item = json_first(json_get(list, "items")); item; item = json_next(item))
        guard_lease_read(&guard->leases, item, beat_made_ns(guard, object_annotation(item, FENCE_BEAT)), away, now);
    if (!guard_former_lease(&guard->leases))
        guard->unreturned[0] = '\0';
}

static void print_record(struct guard *guard, struct moment now, const struct guard_stopping *stopping,
                         char record[GUARD_RECORD_MAX]) {
    const struct guard_leases *seen = &guard->leases;
    guard_record_print(&(struct guard_record){guard->beats, now.wall_ns, guard_longest_ns(seen)}, record);
    guard->told_stop = false;
    for (size_t i = 0; guard->peers.inherited && i < seen->count; i++) { // not before it knows their age
        const struct guarded *lease = &seen->list[i];
        struct guard_watched watched = {lease->part, guard_record_version(lease->version),
                                        clock_later(now.mono_ns - lease->fresh_ns, 0),
                                        guard_lease_is_missed(seen, lease, now)};
        watched.stops |= stopping && stopping->is(stopping->ctx, lease->part);
        if (lease->released)
            continue;
        (void)guard_record_add(record, &watched); // there is room for all
        guard->told_stop |= watched.stops;
    }
}

static void print_body(struct guard *guard, enum guard_request type, struct moment now,
                       const struct guard_stopping *stopping) {
    char key[sizeof GUARD_RECORD + GUARD_IDENTITY_MAX], record[GUARD_RECORD_MAX], annotations[GUARD_BODY_MAX] = "";
    int64_t after_ns = guard_longest_ns(&guard->leases);
    guard->made_ns[++guard->beats % GUARD_BEATS] = now.mono_ns;
    print_record(guard, now, stopping, record);
    snprintf(key, sizeof key, GUARD_RECORD "%s", guard->identity);
    fence_annotation_add(annotations, sizeof annotations, key, record);
    if (type == GUARD_BEAT && after_ns > 0)
        guard_peers_remove(&guard->peers, after_ns / 2, now, annotations, sizeof annotations);
    fence_body_print(&(struct fence_body){.name = type == GUARD_CREATE ? guard->name : NULL,
                                          .namespace_ = guard->namespace_,
                                          .holder = guard->identity,
                                          .annotations = annotations,
                                          .after_ns = clock_later(after_ns, CLOCK_SECOND),
                                          .wall_ns = now.wall_ns},
                     guard->body, sizeof guard->body);
}

// Gives a Lease of a former number of shards back, if nobody has renewed it meanwhile. Otherwise its mirrors would be
// stopped once those of the present number are given back or removed.
static void print_clear(struct guard *guard, const struct guarded *lease) {
    guard->cleared = lease->part;
    fence_name_print(guard->origin, lease->part, guard->lease);
    snprintf(guard->body, sizeof guard->body,
             "{\"metadata\":{\"resourceVersion\":\"%s\"},\"spec\":{\"holderIdentity\":\"\"}}", lease->version);
}

static void make_request(struct guard *guard, enum guard_request type, struct request *request) {
    *request = (struct request){.resource = leases, .namespace_ = guard->namespace_, .name = guard->name};
    request->verb = type == GUARD_READ ? VERB_RAW_GET : type == GUARD_CREATE ? VERB_CREATE : VERB_MERGE_PATCH;
    if (type == GUARD_READ) {
        request->namespace_ = "";
        request->name = guard->path;
        return;
    }
    if (type == GUARD_CLEAR)
        request->name = guard->lease;
    request->body = guard->body;
    request->body_len = strlen(guard->body);
}

enum guard_request guard_next(struct guard *guard, struct moment now, const struct guard_stopping *stopping,
                              struct request *request, int64_t *at_ns) {
    bool asks = guard_leases_ask(&guard->leases, now);
    *at_ns = guard->flies != GUARD_NONE ? CLOCK_NEVER : asks ? now.mono_ns : guard->at_ns;
    if (*at_ns > now.mono_ns)
        return GUARD_NONE;
    if (asks)
        guard->next = GUARD_READ;
    if (guard->next == GUARD_READ)
        guard->leases.asked_ns = now.mono_ns;
    bool clears = guard->next == GUARD_BEAT && !guard->clears_later;
    const struct guarded *former = clears ? guard_former_lease(&guard->leases) : NULL;
    enum guard_request type = former ? GUARD_CLEAR : guard->next;
    if (former)
        print_clear(guard, former);
    else if (type != GUARD_READ)
        print_body(guard, type, now, stopping);
    make_request(guard, type, request);
    return type;
}

void guard_sent(struct guard *guard, enum guard_request type) {
    guard->flies = type;
}

static int64_t pause_ns(const struct guard *guard, struct moment now) {
    int64_t after_ns = guard_shortest_ns(&guard->leases);
    if (after_ns == 0)
        return LOOK_NS;
    int64_t period_ns = fence_period_ns(after_ns);
    return guard->told_stop || guard_is_fencing(&guard->leases, now) ? clock_earlier(period_ns, FENCE_SOON_NS)
                                                                     : period_ns;
}

static void fail(struct guard *guard, const struct response *response, struct moment now) {
    snprintf(guard->problem, sizeof guard->problem, "%.180s", response ? response->message : "it was cancelled");
    bool answered = response && response->code != 0;
    if (guard->next == GUARD_READ)
        guard->leases.refused_ns = !answered ? 0 : guard->leases.refused_ns ? guard->leases.refused_ns : now.mono_ns;
    guard->next = GUARD_READ;
    guard->at_ns = now.mono_ns + clock_earlier(RETRY_NS, pause_ns(guard, now));
}

static void take_cleared(struct guard *guard, const struct response *response, bool absent) {
    guard_lease_cleared(&guard->leases, guard->cleared); // if it failed, it is listed again as it is
    if (response->reason != REASON_OK && response->reason != REASON_CONFLICT && !absent)
        snprintf(guard->unreturned, sizeof guard->unreturned, "%s: %.180s", guard->lease, response->message);
}

static void take_beat(struct guard *guard, const struct response *response, struct moment now) {
    guard->beaten_ns = guard->made_ns[guard->beats % GUARD_BEATS];
    bool again = guard_peers_read(&guard->peers, response->object ? response->object->value : NULL, guard->identity,
                                  &guard->leases, now);
    guard->next = GUARD_READ;
    guard->at_ns = now.mono_ns + (again ? 0 : pause_ns(guard, now));
}

void guard_answer(struct guard *guard, const struct response *response, struct moment now) {
    enum guard_request type = guard->flies;
    enum reason reason = response ? response->reason : REASON_UNKNOWN_OUTCOME;
    guard->flies = GUARD_NONE;
    if (type != GUARD_READ)
        guard->clears_later = type == GUARD_CLEAR && (reason == REASON_UNKNOWN_OUTCOME || reason == REASON_NOT_SENT);
    bool absent = reason == REASON_NOT_FOUND || reason == REASON_NAMESPACE_NOT_FOUND;
    if (type == GUARD_READ && (reason == REASON_OK || absent)) {
        read_leases(guard, absent ? NULL : response->value, now);
        guard->next = GUARD_BEAT;
    } else if (type == GUARD_CLEAR && reason != REASON_UNKNOWN_OUTCOME && reason != REASON_NOT_SENT) {
        take_cleared(guard, response, absent);
    } else if (type == GUARD_BEAT && reason == REASON_NOT_FOUND) {
        guard->next = GUARD_CREATE;
    } else if (type != GUARD_READ && reason == REASON_OK) {
        take_beat(guard, response, now);
    } else {
        fail(guard, response, now);
        return;
    }
    guard->reached_ns = now.mono_ns;
    guard->reached = true;
    guard->problem[0] = '\0';
}

const char *guard_problem(const struct guard *guard) {
    return guard->problem;
}

const char *guard_unreturned(const struct guard *guard) {
    return guard->unreturned;
}

// If the adapter cannot tell, it has not.
static bool has_finished(const struct kind *kind, const struct json *object, struct moment now) {
    const char *version = strchr(json_string_or(json_get(object, "apiVersion"), ""), '/');
    struct adapter_call call;
    struct call_clock clock = {0};
    wharf_phase phase;
    adapter_call_begin(&call, &(struct call_context){.kind = &kind->abi,
                                                     .given = kind->given,
                                                     .adapter = kind->adapter ? kind->adapter->name : NULL,
                                                     .now = now,
                                                     .attempt = mirror_attempt(object),
                                                     .version = version ? version + 1 : kind->abi.versions[0],
                                                     .object = object_name(object),
                                                     .mirror_state = WHARF_MIRROR_NONE,
                                                     .clock = &clock});
    bool final = adapter_phase(&call, object, &phase) == WHARF_OK && phase_is_final(phase.phase);
    adapter_call_end(&call);
    return final;
}

uint64_t guard_hash(const struct kind *kind, const struct json *object) {
    return shard_hash_of(kind->plural_group, object_namespace(object), object_name(object));
}

enum guard_verdict guard_judge(const struct guard *guard, const struct kind *kind, const struct json *object,
                               struct moment now, bool refused) {
    if (!mirror_is_ours(kind, guard->origin, object) || object_is_being_deleted(object) ||
        !guard_is_fencing_of(&guard->leases, guard_hash(kind, object), now) || has_finished(kind, object, now))
        return GUARD_LEAVES_IT;
    // A queue would resume what it has admitted.
    if (guard->action == GUARD_DELETES || !kind->abi.suspend || object_label(object, KUEUE_QUEUE_NAME))
        return GUARD_DELETES_IT;
    if (phase_suspend_asked(&kind->abi, object))
        return GUARD_LEAVES_IT;
    return refused ? GUARD_DELETES_IT : GUARD_SUSPENDS_IT;
}

static bool set_text(struct json *patch, const char *pointer, const char *text) {
    return pointer_set(patch, pointer, json_new_string(text));
}

struct json *guard_patch(const struct kind *kind, const struct json *object, struct moment now) {
    char time[CLOCK_RFC3339_MAX];
    clock_rfc3339(now.wall_ns, time);
    const char *value = kind->abi.suspend_value;
    AUTO_JSON patch = json_new_object();
    if (!patch || !set_text(patch, "/metadata/uid", object_uid(object)) ||
        !set_text(patch, "/metadata/annotations/wharf.dev~1fenced", time) ||
        !pointer_set(patch, kind->abi.suspend, value ? json_new_string(value) : json_new_bool(true)))
        return NULL;
    return TAKE(patch);
}
