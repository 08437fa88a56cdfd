// SPDX-License-Identifier: Apache-2.0
// The host's and the guard's state machines of docs/fencing.md, with Leases between them, each with a clock of its own.
#pragma once

#include "core/engine/fence/guard.h"
#include "core/engine/mirror/mirror.h"
#include "core/engine/shard/shard_hash.h"
#include "tests/unit/plugins/job_harness.h"

#define AFTER_NS (80 * CLOCK_SECOND)
#define STEP_NS (CLOCK_SECOND / 2)
#define HOSTS 4    // processes of the host, each with some shards
#define LEASES 160 // of the host
#define ALL (~UINT64_C(0))

struct late { // a request that arrives later
    char *body;
    int64_t at_ns;
};

struct play {
    struct guard guard;
    struct fence_lease host, others[HOSTS]; // others: with several shards; unused ones have no shards
    struct fence_news news, other_news[HOSTS];
    struct json *guards, *leases[LEASES]; // the guard's, those of the host; NULL: none
    bool refuses;                         // writes of the host's Leases by the host
    enum reason clear;                    // the answer when the guard gives one of them back; REASON_OK: as it is
    int64_t now_ns;
    int64_t guard_zero_ns, host_zero_ns; // when their clocks were zero
    int64_t guard_wall_ns;               // how much the wall clock of its node is ahead
    int per_mille;                       // how much faster the guard's clock is
    bool host_gone, guard_gone, cut;     // cut: the host does not reach the worker
    bool guard_cut;                      // its requests are not answered,
    int guard_code;                      // or so; 0: they are served
    struct guard second;                 // another guard with the same clock
    bool has_second;
    struct late late;
    unsigned news_count, processes, version;
};

static struct moment of_guard(const struct play *play) {
    int64_t since_ns = play->now_ns - play->guard_zero_ns;
    return (struct moment){since_ns + since_ns / 1000 * play->per_mille, play->now_ns + play->guard_wall_ns};
}

static struct moment of_host(const struct play *play) {
    return (struct moment){play->now_ns - play->host_zero_ns, play->now_ns + 5 * CLOCK_MINUTE};
}

static void start_guard(struct play *play) {
    char identity[32];
    snprintf(identity, sizeof identity, "guard_%u", ++play->processes);
    if (!play->has_second) // which has the same clock
        play->guard_zero_ns = play->now_ns - play->processes * 1000 * CLOCK_SECOND;
    guard_init(&play->guard,
               &(struct guard_options){.origin = "here", .namespace_ = "wharf-system", .identity = identity},
               of_guard(play));
}

static void start(struct play *play) {
    *play = (struct play){.now_ns = 10000 * CLOCK_SECOND};
    start_guard(play);
    fence_lease_init(
        &play->host,
        &(struct fence_lease_options){
            .origin = "here", .namespace_ = "wharf-system", .identity = "host", .shards = 1, .after_ns = AFTER_NS},
        of_host(play));
    fence_lease_renew(&play->host, 1, of_host(play));
}

static void end(struct play *play) {
    for (size_t i = 0; i < LEASES; i++)
        json_free(play->leases[i]);
    json_free(play->guards);
    free(play->late.body);
}

static void set_version(struct json *lease, unsigned *version) {
    AUTO_TEXT text = text_format("%u", ++*version);
    assert_true(pointer_set(lease, "/metadata/resourceVersion", json_new_string(text)));
}

static enum reason store(const struct request *request, struct json **lease, unsigned *version) {
    AUTO_JSON body = NULL;
    assert_null(json_parse(request->body, request->body_len, &body));
    if (request->verb == VERB_CREATE) {
        assert_null(*lease);
        *lease = json_copy(body);
        assert_true(pointer_set(*lease, "/metadata/uid", json_new_string("l")));
        set_version(*lease, version);
        return REASON_OK;
    }
    if (!*lease)
        return REASON_NOT_FOUND;
    const char *is = json_string_or(pointer_find(*lease, "/metadata/resourceVersion"), "");
    if (strcmp(json_string_or(pointer_find(body, "/metadata/resourceVersion"), is), is) != 0)
        return REASON_CONFLICT;
    assert_true(patch_apply(lease, body));
    set_version(*lease, version);
    return REASON_OK;
}

// Where the Lease of the name is, or may be.
static struct json **lease_of(struct play *play, const char *name) {
    if (strcmp(name, "wharf-guard-here") == 0)
        return &play->guards;
    struct json **spare = NULL;
    for (size_t i = 0; i < LEASES; i++) {
        if (play->leases[i] && strcmp(object_name(play->leases[i]), name) == 0)
            return &play->leases[i];
        if (!play->leases[i] && !spare)
            spare = &play->leases[i];
    }
    assert_non_null(spare);
    return spare;
}

static struct json *list_leases(const struct play *play, const char *path) {
    assert_string_equal(path, "/apis/coordination.k8s.io/v1/namespaces/wharf-system/leases?labelSelector="
                              "wharf.dev%2Forigin%3Dhere");
    struct json *list = json_new_object(), *items = json_new_array();
    for (size_t i = 0; i < LEASES; i++)
        if (play->leases[i] && text_equal(object_label(play->leases[i], MARK_ORIGIN), "here"))
            assert_true(json_append(items, json_copy(play->leases[i])));
    assert_true(json_set(list, "items", items));
    return list;
}

static void serve(struct play *play, const struct request *request, struct response *response) {
    *response = (struct response){.message = strdup("played"), .retry_after_ns = -1};
    if (request->verb == VERB_RAW_GET) {
        response->value = list_leases(play, request->name);
        return;
    }
    struct json **lease = lease_of(play, request->name);
    assert_string_equal(request->namespace_, "wharf-system");
    if (request->verb != VERB_GET)
        response->reason = store(request, lease, &play->version);
    else
        response->reason = *lease ? REASON_OK : REASON_NOT_FOUND;
    if (response->reason == REASON_OK)
        assert_null(object_new(json_copy(*lease), NULL, NULL, &response->object));
}

static void run_guard(struct play *play, struct guard *guard) {
    struct request request;
    int64_t at_ns;
    enum guard_request type;
    while ((type = guard_next(guard, of_guard(play), NULL, &request, &at_ns)) != GUARD_NONE) {
        struct response response;
        enum reason reason = play->guard_cut       ? REASON_NOT_SENT
                             : play->guard_code    ? REASON_FORBIDDEN
                             : type == GUARD_CLEAR ? play->clear
                                                   : REASON_OK;
        if (reason != REASON_OK)
            response = (struct response){
                .reason = reason, .code = play->guard_code, .message = strdup("not that one"), .retry_after_ns = -1};
        else
            serve(play, &request, &response);
        guard_answer(guard, &response, of_guard(play));
        response_clear(&response);
    }
    (void)guard_look(&guard->leases, of_guard(play));
}

static void run_guards(struct play *play) {
    if (!play->guard_gone)
        run_guard(play, &play->guard);
    if (play->has_second)
        run_guard(play, &play->second);
}

static void run_one(struct play *play, struct fence_lease *host, struct fence_news *out) {
    struct request request;
    int64_t at_ns;
    enum fence_request type;
    while ((type = fence_lease_next(host, of_host(play), &request, &at_ns)) != FENCE_NONE) {
        struct response response = {
            .reason = REASON_UNKNOWN_OUTCOME, .message = strdup("no answer"), .retry_after_ns = -1};
        struct fence_news news;
        if (play->refuses && type != FENCE_READ) {
            response.reason = REASON_FORBIDDEN;
        } else if (!play->cut) {
            free(response.message);
            serve(play, &request, &response);
        }
        if (fence_lease_answer(host, &response, of_host(play), &news)) {
            *out = news;
            play->news_count++;
        }
        response_clear(&response);
    }
}

// All Leases are released.
static inline bool has_left(const struct fence_lease *lease) {
    struct fence_part part;
    const char *rest = lease->others_at;
    bool others = false;
    while (fence_list_next(&rest, &part))
        others = others || part.count != lease->shards;
    return lease->leaves && lease->left && !lease->leaving && !others;
}

static void run_host(struct play *play) {
    if (!play->host_gone)
        run_one(play, &play->host, &play->news);
    for (size_t i = 0; i < HOSTS; i++)
        if (play->others[i].shards)
            run_one(play, &play->others[i], &play->other_news[i]);
}

static void pass(struct play *play, int64_t ns) {
    for (int64_t end_ns = play->now_ns + ns; play->now_ns < end_ns; play->now_ns += STEP_NS) {
        run_guards(play);
        run_host(play);
        if (play->late.body && play->late.at_ns <= play->now_ns) {
            AUTO_JSON body = harness_json(play->late.body);
            assert_true(patch_apply(&play->leases[0], body));
            set_version(play->leases[0], &play->version);
            free(play->late.body);
            play->late.body = NULL;
        }
    }
}

static bool fences(const struct play *play) {
    return guard_is_fencing(&play->guard.leases, of_guard(play));
}

// From now on, in the time of the test; INT64_MAX: not within an hour.
static int64_t time_to_fence_ns(struct play *play) {
    int64_t begun_ns = play->now_ns;
    while (!fences(play) && play->now_ns < begun_ns + 60 * CLOCK_MINUTE)
        pass(play, STEP_NS);
    return fences(play) ? play->now_ns - begun_ns : INT64_MAX;
}
