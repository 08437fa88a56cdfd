// SPDX-License-Identifier: Apache-2.0
#include "core/host/pods/pod_groups.h"

#include "core/base/bucket.h"
#include "core/base/heap.h"
#include "core/base/map.h"
#include "core/base/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define GROUPS_MAX 1000
#define BUCKETS_MAX 1000
#define PODS_MAX 64                 // counted one by one in one report
#define IDLE_NS (10 * CLOCK_MINUTE) // until a group is forgotten
#define REASON_MAX ((size_t)128)    // pkg/apis/core/validation/events.go

struct group {
    struct timer timer; // first member: of the next report, or of the group's end
    char *key, *namespace_, *name, *uid, *reason, *pod, *text;
    size_t kind;
    bool warning;
    uint64_t pods[PODS_MAX]; // hashes of uids since the last report
    size_t n_pods;
    bool more_pods;      // than that
    uint64_t count;      // since the last report
    int64_t reported_ns; // 0: never
};

struct pod_bucket { // empty when `full_ns` is BURST tokens away
    char *key;
    int64_t full_ns;
};

struct pod_groups {
    struct map groups, buckets;
    struct heap timers;
};

struct error *pod_groups_new(uint64_t seed, struct pod_groups **out) {
    *out = calloc(1, sizeof **out);
    if (!*out)
        return error_no_memory();
    map_init(&(*out)->groups, seed);
    map_init(&(*out)->buckets, seed + 1);
    heap_init(&(*out)->timers);
    return NULL;
}

static void group_free(struct group *group) {
    char *texts[] = {group->key, group->namespace_, group->name, group->uid, group->reason, group->pod, group->text};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        free(texts[i]);
    free(group);
}

static void pod_bucket_free(struct pod_bucket *bucket) {
    free(bucket->key);
    free(bucket);
}

void pod_groups_free(struct pod_groups *groups) {
    if (!groups)
        return;
    heap_free(&groups->timers);
    size_t cursor = 0;
    for (struct group *group; (group = map_next(&groups->groups, &cursor));)
        group_free(group);
    cursor = 0;
    for (struct pod_bucket *bucket; (bucket = map_next(&groups->buckets, &cursor));)
        pod_bucket_free(bucket);
    map_free(&groups->groups);
    map_free(&groups->buckets);
    free(groups);
}

// The text without names and uids of pods, to compare the texts of several pods.
static char *sense_of(const struct pod_note *note) {
    AUTO_BUFFER(out, POD_GROUPS_TEXT_MAX + 1);
    const char *const names[] = {note->pod, note->pod_uid};
    for (const char *at = note->text; *at && out.len < POD_GROUPS_TEXT_MAX;) {
        size_t skip = 0;
        for (size_t i = 0; i < 2 && skip == 0; i++)
            if (*names[i] && text_has_prefix(at, names[i]))
                skip = strlen(names[i]);
        if (skip == 0)
            buffer_char(&out, *at++);
        at += skip;
    }
    return buffer_take(&out, NULL);
}

static char *key_of(const struct pod_note *note) {
    AUTO_TEXT sense = sense_of(note);
    return sense ? text_format("%s/%s/%s", note->mirror.uid, note->reason, sense) : NULL;
}

// On one line, and not too long. The result is valid UTF-8.
static char *clean(const char *text) {
    char *out = malloc(POD_GROUPS_TEXT_MAX + 1);
    if (!out)
        return NULL;
    text_copy(out, POD_GROUPS_TEXT_MAX + 1, text);
    for (char *at = out; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            *at = ' ';
    return out;
}

static char *reason_of(const char *reason) {
    bool good = reason[0] >= 'A' && reason[0] <= 'Z' && strlen(reason) <= REASON_MAX;
    for (const char *at = reason; *at && good; at++)
        good = isalnum((unsigned char)*at);
    return strdup(good ? reason : "PodEvent");
}

static struct group *group_new(struct pod_groups *groups, int64_t now_ns, const struct pod_note *note, char *key) {
    struct group *group = calloc(1, sizeof *group);
    if (!group) {
        free(key);
        return NULL;
    }
    timer_init(&group->timer);
    group->key = key;
    group->kind = note->mirror.kind;
    group->namespace_ = strdup(note->mirror.namespace_);
    group->name = strdup(note->mirror.name);
    group->uid = strdup(note->mirror.uid);
    group->reason = reason_of(note->reason);
    group->pod = strdup(note->pod);
    group->text = clean(note->text);
    group->warning = note->warning;
    if (!group->namespace_ || !group->name || !group->uid || !group->reason || !group->pod || !group->text ||
        !heap_set(&groups->timers, &group->timer, now_ns + POD_GROUPS_COLLECT_NS)) {
        group_free(group);
        return NULL;
    }
    if (map_put(&groups->groups, group->key, group))
        return group;
    heap_remove(&groups->timers, &group->timer);
    group_free(group);
    return NULL;
}

static void forget(struct pod_groups *groups, struct group *group) {
    map_remove(&groups->groups, group->key);
    heap_remove(&groups->timers, &group->timer);
    group_free(group);
}

// Makes room by forgetting a group that has nothing to report.
static bool make_room(struct pod_groups *groups) {
    size_t cursor = 0;
    struct group *group = NULL;
    while (groups->groups.count >= GROUPS_MAX && (group = map_next(&groups->groups, &cursor)))
        if (group->count == 0)
            forget(groups, group);
    return groups->groups.count < GROUPS_MAX;
}

static void count_pod(struct group *group, const struct pod_note *note) {
    uint64_t hash = text_hash(TEXT_HASH, *note->pod_uid ? note->pod_uid : note->pod);
    for (size_t i = 0; i < group->n_pods; i++)
        if (group->pods[i] == hash)
            return;
    if (group->n_pods == PODS_MAX)
        group->more_pods = true;
    else
        group->pods[group->n_pods++] = hash;
}

// The pod of the next report, if the report names one pod.
static void rename_pod(struct group *group, const struct pod_note *note) {
    char *pod = strdup(note->pod), *text = clean(note->text);
    if (pod && text) {
        free(group->pod);
        free(group->text);
        group->pod = pod;
        group->text = text;
    } else {
        free(pod);
        free(text);
    }
}

bool pod_groups_add(struct pod_groups *groups, int64_t now_ns, const struct pod_note *note) {
    char *key = key_of(note);
    if (!key)
        return false;
    struct group *group = map_get(&groups->groups, key);
    if (!group && make_room(groups))
        group = group_new(groups, now_ns, note, key);
    else
        free(key);
    if (!group)
        return false;
    if (group->count == 0) {
        rename_pod(group, note);
        int64_t at_ns = now_ns + POD_GROUPS_COLLECT_NS;
        if (group->reported_ns > 0)
            at_ns = clock_later(at_ns, group->reported_ns + POD_GROUPS_AGAIN_NS);
        heap_set(&groups->timers, &group->timer, at_ns);
    }
    group->count++;
    count_pod(group, note);
    return true;
}

// Drops full buckets; if there are none, all buckets: a flooding mirror then gets one more burst.
static void drop_buckets(struct pod_groups *groups, int64_t now_ns) {
    for (int all = 0; all < 2 && groups->buckets.count >= BUCKETS_MAX; all++) {
        size_t cursor = 0;
        for (struct pod_bucket *bucket; (bucket = map_next(&groups->buckets, &cursor));)
            if (all || bucket->full_ns <= now_ns) {
                map_remove(&groups->buckets, bucket->key);
                pod_bucket_free(bucket);
            }
    }
}

static bool take_token(struct pod_groups *groups, const struct group *group, int64_t now_ns) {
    AUTO_TEXT key = text_format("%s/%s", group->uid, group->reason);
    struct pod_bucket *bucket = key ? map_get(&groups->buckets, key) : NULL;
    if (key && !bucket) {
        drop_buckets(groups, now_ns);
        bucket = calloc(1, sizeof *bucket);
        char *own = strdup(key);
        if (!bucket || !own || !map_put(&groups->buckets, own, bucket)) {
            free(bucket);
            free(own);
            return false;
        }
        bucket->key = own;
    }
    return bucket && bucket_take(&bucket->full_ns, now_ns, POD_GROUPS_TOKEN_NS, POD_GROUPS_BURST);
}

static void tell(const struct group *group, void (*report)(void *ctx, const struct pod_report *report), void *ctx) {
    AUTO_TEXT text =
        group->n_pods == 1 && !group->more_pods
            ? text_format("pod %s: %s", group->pod, group->text)
            : text_format("%zu%s pods: %s", group->n_pods, group->more_pods ? " or more" : "", group->text);
    if (text)
        report(ctx, &(struct pod_report){.mirror = {group->kind, group->namespace_, group->name, group->uid},
                                         .reason = group->reason,
                                         .warning = group->warning,
                                         .text = text});
}

int64_t pod_groups_tick(struct pod_groups *groups, int64_t now_ns,
                        void (*report)(void *ctx, const struct pod_report *report), void *ctx, uint64_t *dropped) {
    for (struct timer *first; (first = heap_first(&groups->timers)) && first->at_ns <= now_ns;) {
        struct group *group = (struct group *)(void *)first;
        if (group->count == 0) {
            forget(groups, group);
            continue;
        }
        if (take_token(groups, group, now_ns))
            tell(group, report, ctx);
        else
            *dropped += group->count;
        group->count = group->n_pods = 0;
        group->more_pods = false;
        group->reported_ns = now_ns;
        heap_set(&groups->timers, &group->timer, now_ns + IDLE_NS);
    }
    const struct timer *first = heap_first(&groups->timers);
    return first ? first->at_ns : CLOCK_NEVER;
}
