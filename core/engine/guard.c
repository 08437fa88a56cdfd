// SPDX-License-Identifier: Apache-2.0
#include "core/engine/guard.h"

#include "core/adapter/phase.h"
#include "core/adapter/services.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/engine/kueue_labels.h"
#include "core/engine/mirror.h"
#include "core/engine/shard_hash.h"
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
    text_copy(guard->origin, sizeof guard->origin, options->origin);
    text_copy(guard->namespace_, sizeof guard->namespace_, options->namespace_);
    text_copy(guard->identity, sizeof guard->identity, options->identity);
    text_copy(guard->leases.origin, sizeof guard->leases.origin, options->origin);
    snprintf(guard->name, sizeof guard->name, GUARD_LEASE "%s", guard->origin);
    snprintf(guard->path, sizeof guard->path,
             "/apis/coordination.k8s.io/v1/namespaces/%.63s/leases?labelSelector=wharf.dev%%2Forigin%%3D%.63s",
             guard->namespace_, guard->origin);
}

static void print_beat(const struct guard *guard, char out[FENCE_BEAT_MAX]) {
    snprintf(out, FENCE_BEAT_MAX, "%s/%llu", guard->identity, (unsigned long long)guard->beats);
}

// When the beat was made, if it is one of the last ones of this process; else 0.
static int64_t beat_made_ns(const struct guard *guard, const char *beat) {
    size_t len = strlen(guard->identity);
    int64_t number = 0;
    if (!beat || strncmp(beat, guard->identity, len) != 0 || beat[len] != '/' ||
        !text_to_int64(beat + len + 1, &number) || number < 1 || (uint64_t)number > guard->beats ||
        (uint64_t)number + GUARD_BEATS <= guard->beats)
        return 0;
    return guard->made_ns[number % GUARD_BEATS];
}

static void read_leases(struct guard *guard, const struct json *list, struct moment now) {
    guard->leases.read_ns = guard->leases.asked_ns;
    guard_leases_begin(&guard->leases);
    for (const struct json *item = json_first(json_get(list, "items")); item; item = json_next(item))
        guard_lease_read(&guard->leases, item, beat_made_ns(guard, object_annotation(item, FENCE_BEAT)), now);
    if (!guard_former_lease(&guard->leases))
        guard->unreturned[0] = '\0';
}

static void print_lists(struct guard *guard, struct moment now, const struct guard_stopping *stopping) {
    guard->watches[0] = guard->stops[0] = '\0';
    for (size_t i = 0; i < guard->leases.count; i++) {
        const struct guarded *lease = &guard->leases.list[i];
        if (lease->released)
            continue;
        bool stops =
            guard_lease_is_missed(&guard->leases, lease, now) || (stopping && stopping->is(stopping->ctx, lease->part));
        (void)fence_list_add(guard->watches, lease->part); // there is room for all
        if (stops)
            (void)fence_list_add(guard->stops, lease->part);
    }
    guard->told_stop = *guard->stops;
}

static void print_body(struct guard *guard, enum guard_request type, struct moment now,
                       const struct guard_stopping *stopping) {
    char beat[FENCE_BEAT_MAX];
    guard->made_ns[++guard->beats % GUARD_BEATS] = now.mono_ns;
    print_beat(guard, beat);
    print_lists(guard, now, stopping);
    fence_body_print(&(struct fence_body){.name = type == GUARD_CREATE ? guard->name : NULL,
                                          .namespace_ = guard->namespace_,
                                          .holder = guard->identity,
                                          .beat = beat,
                                          .watches = guard->watches,
                                          .stops = guard->stops,
                                          .after_ns = clock_later(guard_longest_ns(&guard->leases), CLOCK_SECOND),
                                          .wall_ns = now.wall_ns},
                     guard->body);
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
    guard->next = GUARD_READ;
    guard->at_ns = now.mono_ns + clock_earlier(RETRY_NS, pause_ns(guard, now));
}

static void take_cleared(struct guard *guard, const struct response *response, bool absent) {
    guard_lease_cleared(&guard->leases, guard->cleared); // if it failed, it is listed again as it is
    if (response->reason != REASON_OK && response->reason != REASON_CONFLICT && !absent)
        snprintf(guard->unreturned, sizeof guard->unreturned, "%s: %.180s", guard->lease, response->message);
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
        guard->next = GUARD_READ;
        guard->at_ns = now.mono_ns + pause_ns(guard, now);
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
