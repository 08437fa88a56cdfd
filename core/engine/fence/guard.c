// SPDX-License-Identifier: Apache-2.0
#include "core/engine/fence/guard.h"

#include "core/adapter/phase.h"
#include "core/adapter/services.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/engine/kueue/kueue_object.h"
#include "core/engine/mirror/mirror.h"
#include "core/engine/shard/shard_hash.h"
#include "core/json/pointer.h"

#include <stdio.h>

#define LOOK_NS (10 * CLOCK_SECOND) // between lists without any Lease
#define RETRY_NS (2 * CLOCK_SECOND)
#define RECORD_KEY_MAX (sizeof GUARD_RECORD + GUARD_IDENTITY_MAX)

void guard_init(struct guard *guard, const struct guard_options *options, struct moment now) {
    *guard = (struct guard){.action = options->action,
                            .next = GUARD_READ,
                            .at_ns = now.mono_ns,
                            .reached_ns = now.mono_ns,
                            .beaten_ns = now.mono_ns};
    text_copy(guard->origin, sizeof guard->origin, options->origin);
    text_copy(guard->namespace_, sizeof guard->namespace_, options->namespace_);
    text_copy(guard->identity, sizeof guard->identity, options->identity);
    text_copy(guard->leases.origin, sizeof guard->leases.origin, options->origin);
    snprintf(guard->name, sizeof guard->name, GUARD_LEASE "%s", guard->origin);
    snprintf(guard->path, sizeof guard->path,
             "/apis/coordination.k8s.io/v1/namespaces/%.63s/leases?labelSelector=wharf.dev%%2Forigin%%3D%.63s",
             guard->namespace_, guard->origin);
}

// The host's Leases ---------------------------------------------------------------------------------------------------

// When this process made its newest beat in the list, if among the last GUARD_BEATS; else 0.
static int64_t beat_made_ns(const struct guard *guard, const char *beats) {
    size_t len = strlen(guard->identity);
    for (const char *at = beats; at && *at; at += strcspn(at, " "), at += *at == ' ') {
        bool own = strncmp(at, guard->identity, len) == 0 && at[len] == '/';
        uint64_t number = own ? strtoull(at + len + 1, NULL, 10) : 0;
        if (number > 0 && number <= guard->beats && number + GUARD_BEATS > guard->beats)
            return guard->made_ns[number % GUARD_BEATS];
    }
    return 0;
}

static void read_leases(struct guard *guard, const struct json *list, struct moment now) {
    struct guard_leases *leases = &guard->leases;
    bool away = now.mono_ns - guard->beaten_ns >= leases->shortest_ns / 2;
    leases->read_ns = leases->asked_ns;
    leases->refused_ns = 0;
    for (size_t i = 0; i < leases->count; i++)
        leases->list[i].gone = true;
    for (const struct json *item = json_first(json_get(list, "items")); item; item = json_next(item))
        guard_lease_read(leases, item, beat_made_ns(guard, object_annotation(item, FENCE_BEAT)), away, now);
    leases->shortest_ns = leases->longest_ns = 0;
    for (size_t i = 0; i < leases->count; i++) {
        int64_t after_ns = leases->list[i].after_ns;
        leases->longest_ns = clock_later(leases->longest_ns, after_ns);
        if (after_ns > 0 && (leases->shortest_ns == 0 || after_ns < leases->shortest_ns))
            leases->shortest_ns = after_ns;
    }
    if (!guard_former_lease(leases))
        guard->unreturned[0] = '\0';
}

// The records of other guards -----------------------------------------------------------------------------------------

static void note_peer(struct guard *guard, const struct guard_record *record, struct moment now) {
    struct guard_peer *peer = NULL;
    for (size_t i = 0; i < GUARD_PEERS && !(peer && strcmp(peer->identity, record->identity) == 0); i++)
        if (!guard->peers[i].listed || strcmp(guard->peers[i].identity, record->identity) == 0)
            peer = &guard->peers[i];
    if (!peer)
        return;
    if (strcmp(peer->identity, record->identity) != 0 || peer->beat != record->beat)
        peer->beat_ns = now.mono_ns;
    text_copy(peer->identity, sizeof peer->identity, record->identity);
    peer->beat = record->beat;
    peer->listed = true;
}

// Reads the guards' Lease after a write of this process. The first time, other guards' records give the age of the
// host's Leases, unless the host renewed a Lease since. True: the next beat is due at once.
static bool read_peers(struct guard *guard, const struct json *lease, struct moment now) {
    const struct json *first = json_first(json_path(lease, "metadata", "annotations", NULL));
    struct guard_record record, oldest = {.identity = "", .wall_ns = INT64_MAX};
    size_t count = 0;
    for (size_t i = 0; i < GUARD_PEERS; i++)
        guard->peers[i].listed = false;
    for (const struct json *item = first; item; item = json_next(item)) {
        struct guard_watched watched;
        if (!guard_record_read(item, &record) || strcmp(record.identity, guard->identity) == 0)
            continue;
        count++;
        oldest = record.wall_ns < oldest.wall_ns ? record : oldest;
        note_peer(guard, &record, now);
        while (!guard->inherited && guard_record_next(&record, &watched))
            guard_lease_inherit(&guard->leases, &watched, now.wall_ns - record.wall_ns, now);
    }
    text_copy(guard->surplus_peer, sizeof guard->surplus_peer, count > GUARD_PEERS ? oldest.identity : "");
    bool again = !guard->inherited || *guard->surplus_peer;
    if (!guard->inherited)
        guard_leases_inherited(&guard->leases);
    guard->inherited = true;
    return again;
}

// Adds the removal of records that were not written for that time.
static void remove_peers(const struct guard *guard, int64_t silent_ns, struct moment now, char *annotations) {
    char key[RECORD_KEY_MAX];
    snprintf(key, sizeof key, GUARD_RECORD "%s", guard->surplus_peer);
    if (*guard->surplus_peer)
        fence_annotation_add(annotations, GUARD_BODY_MAX, key, NULL);
    for (size_t i = 0; i < GUARD_PEERS; i++) {
        const struct guard_peer *peer = &guard->peers[i];
        snprintf(key, sizeof key, GUARD_RECORD "%s", peer->identity);
        if (peer->listed && now.mono_ns - peer->beat_ns >= silent_ns &&
            strcmp(peer->identity, guard->surplus_peer) != 0)
            fence_annotation_add(annotations, GUARD_BODY_MAX, key, NULL);
    }
}

// Requests ------------------------------------------------------------------------------------------------------------

static void print_record(struct guard *guard, struct moment now, const struct guard_stopping *stopping,
                         char record[GUARD_RECORD_MAX]) {
    const struct guard_leases *seen = &guard->leases;
    guard_record_print(&(struct guard_record){guard->beats, now.wall_ns, seen->longest_ns, NULL, NULL}, record);
    guard->told_stop = false;
    for (size_t i = 0; guard->inherited && i < seen->count; i++) { // before, the age of the Leases is unknown
        const struct guarded *lease = &seen->list[i];
        struct guard_watched watched = {lease->part, guard_record_version(lease->version),
                                        clock_later(now.mono_ns - lease->fresh_ns, 0),
                                        guard_lease_is_missed(seen, lease, now)};
        watched.stops |= stopping && stopping->is(stopping->ctx, lease->part);
        if (lease->released)
            continue;
        (void)guard_record_add(record, &watched); // all fit
        guard->told_stop |= watched.stops;
    }
}

static void print_beat(struct guard *guard, enum guard_request type, struct moment now,
                       const struct guard_stopping *stopping) {
    char key[RECORD_KEY_MAX], record[GUARD_RECORD_MAX], annotations[GUARD_BODY_MAX] = "";
    int64_t after_ns = guard->leases.longest_ns;
    guard->made_ns[++guard->beats % GUARD_BEATS] = now.mono_ns;
    print_record(guard, now, stopping, record);
    snprintf(key, sizeof key, GUARD_RECORD "%s", guard->identity);
    fence_annotation_add(annotations, sizeof annotations, key, record);
    if (type == GUARD_BEAT && after_ns > 0)
        remove_peers(guard, after_ns / 2, now, annotations);
    fence_body_print(&(struct fence_body){.name = type == GUARD_CREATE ? guard->name : NULL,
                                          .namespace_ = guard->namespace_,
                                          .holder = guard->identity,
                                          .annotations = annotations,
                                          .after_ns = clock_later(after_ns, CLOCK_SECOND),
                                          .wall_ns = now.wall_ns},
                     guard->body, sizeof guard->body);
}

// Releases a Lease of a former number of shards, unless the host renewed the Lease meanwhile. Otherwise the guard would
// stop mirrors of this Lease once the present Leases are released or deleted.
static void print_clear(struct guard *guard, const struct guarded *lease) {
    guard->cleared = lease->part;
    fence_name_print(guard->origin, lease->part, guard->lease);
    snprintf(guard->body, sizeof guard->body,
             "{\"metadata\":{\"resourceVersion\":\"%s\"},\"spec\":{\"holderIdentity\":\"\"}}", lease->version);
}

enum guard_request guard_next(struct guard *guard, struct moment now, const struct guard_stopping *stopping,
                              struct request *request, int64_t *at_ns) {
    bool asks = guard_leases_ask(&guard->leases, now);
    *at_ns = guard->flies != GUARD_NONE ? CLOCK_NEVER : asks ? now.mono_ns : guard->at_ns;
    if (*at_ns > now.mono_ns)
        return GUARD_NONE;
    if (asks)
        guard->next = GUARD_READ;
    bool clears = guard->next == GUARD_BEAT && !guard->clears_later;
    const struct guarded *former = clears ? guard_former_lease(&guard->leases) : NULL;
    guard->flies = former ? GUARD_CLEAR : guard->next;
    if (guard->flies == GUARD_READ) {
        guard->leases.asked_ns = now.mono_ns;
        *request =
            (struct request){.verb = VERB_RAW_GET, .resource = FENCE_RESOURCE, .namespace_ = "", .name = guard->path};
        return GUARD_READ;
    }
    if (former)
        print_clear(guard, former);
    else
        print_beat(guard, guard->flies, now, stopping);
    *request = (struct request){.verb = guard->flies == GUARD_CREATE ? VERB_CREATE : VERB_MERGE_PATCH,
                                .resource = FENCE_RESOURCE,
                                .namespace_ = guard->namespace_,
                                .name = former ? guard->lease : guard->name,
                                .body = guard->body,
                                .body_len = strlen(guard->body)};
    return guard->flies;
}

static int64_t pause_ns(const struct guard *guard, struct moment now) {
    if (guard->leases.shortest_ns == 0)
        return LOOK_NS;
    bool soon = guard->told_stop || guard_is_fencing(&guard->leases, now);
    return clock_earlier(fence_period_ns(guard->leases.shortest_ns), soon ? FENCE_SOON_NS : CLOCK_NEVER);
}

static void handle_failure(struct guard *guard, const struct response *response, struct moment now) {
    snprintf(guard->problem, sizeof guard->problem, "%.180s", response ? response->message : "it was cancelled");
    bool answered = response && response->code != 0;
    if (guard->next == GUARD_READ)
        guard->leases.refused_ns = !answered ? 0 : guard->leases.refused_ns ? guard->leases.refused_ns : now.mono_ns;
    guard->next = GUARD_READ;
    guard->at_ns = now.mono_ns + clock_earlier(RETRY_NS, pause_ns(guard, now));
}

static void handle_cleared(struct guard *guard, const struct response *response, bool absent) {
    guard_lease_cleared(&guard->leases, guard->cleared); // after a failure, the next list has the Lease again
    if (response->reason != REASON_OK && response->reason != REASON_CONFLICT && !absent)
        snprintf(guard->unreturned, sizeof guard->unreturned, "%s: %.180s", guard->lease, response->message);
}

static void handle_written(struct guard *guard, const struct response *response, struct moment now) {
    guard->beaten_ns = guard->made_ns[guard->beats % GUARD_BEATS];
    bool again = read_peers(guard, response->object ? response->object->value : NULL, now);
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
        handle_cleared(guard, response, absent);
    } else if (type == GUARD_BEAT && reason == REASON_NOT_FOUND) {
        guard->next = GUARD_CREATE;
    } else if (type != GUARD_READ && reason == REASON_OK) {
        handle_written(guard, response, now);
    } else {
        handle_failure(guard, response, now);
        return;
    }
    guard->reached_ns = now.mono_ns;
    guard->reached = true;
    guard->problem[0] = '\0';
}

// Mirrors -------------------------------------------------------------------------------------------------------------

void guard_call_begin(const struct kind *kind, const struct json *object, struct moment now, struct call_clock *clock,
                      struct adapter_call *call) {
    const char *version = strchr(json_string_or(json_get(object, "apiVersion"), ""), '/');
    adapter_call_begin(call, &(struct call_context){.kind = &kind->abi,
                                                    .given = kind->given,
                                                    .adapter = kind->adapter ? kind->adapter->name : NULL,
                                                    .now = now,
                                                    .attempt = mirror_attempt(object),
                                                    .version = version ? version + 1 : kind->abi.versions[0],
                                                    .object = object_name(object),
                                                    .mirror_state = WHARF_MIRROR_NONE,
                                                    .clock = clock});
}

// False also if the adapter does not know.
static bool has_finished(const struct kind *kind, const struct json *object, struct moment now) {
    struct adapter_call call;
    struct call_clock clock = {0};
    wharf_phase phase;
    guard_call_begin(kind, object, now, &clock, &call);
    bool final = adapter_phase(&call, object, &phase) == WHARF_OK && phase_is_final(phase.phase);
    adapter_call_end(&call);
    return final;
}

uint64_t guard_hash(const struct kind *kind, const struct json *object) {
    const char *workloads = object_annotation(object, MARK_NAMESPACE); // where it has another name
    return shard_hash_of(kind->plural_group, workloads ? workloads : object_namespace(object), object_name(object));
}

bool guard_is_lost(const struct guard *guard, const struct kind *kind, const struct json *object, struct moment now) {
    return mirror_is_ours(kind, guard->origin, object) &&
           guard_is_fencing_of(&guard->leases, guard_hash(kind, object), now);
}

enum guard_verdict guard_judge(const struct guard *guard, const struct kind *kind, const struct json *object,
                               struct moment now, bool refused) {
    if (!guard_is_lost(guard, kind, object, now) || object_is_being_deleted(object) || has_finished(kind, object, now))
        return GUARD_LEAVES_IT;
    // Kueue would resume an admitted mirror.
    if (guard->action == GUARD_DELETES || !kind->abi.suspend || object_label(object, KUEUE_QUEUE_NAME))
        return GUARD_DELETES_IT;
    if (phase_suspend_asked(&kind->abi, object))
        return GUARD_LEAVES_IT;
    return refused ? GUARD_DELETES_IT : GUARD_SUSPENDS_IT;
}

struct json *guard_patch(const struct kind *kind, const struct json *object, struct moment now) {
    char time[CLOCK_RFC3339_MAX];
    clock_rfc3339(now.wall_ns, time);
    AUTO_JSON patch = json_new_object();
    if (!patch || !pointer_set(patch, "/metadata/uid", json_new_string(object_uid(object))) ||
        !pointer_set(patch, "/metadata/annotations/wharf.dev~1fenced", json_new_string(time)) ||
        !pointer_set(patch, kind->abi.suspend, phase_suspend_value(&kind->abi, object)))
        return NULL;
    return TAKE(patch);
}
