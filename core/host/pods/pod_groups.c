// SPDX-License-Identifier: Apache-2.0
#include "core/host/pods/pod_groups.h"

#include "core/base/memory.h"
#include "core/base/text.h"

#include <ctype.h>

#define PODS_MAX 64                 // counted one by one in one report
#define IDLE_NS (10 * CLOCK_MINUTE) // until a group is forgotten
#define REASON_MAX ((size_t)128)    // pkg/apis/core/validation/events.go
#define KEY_MAX ((size_t)4096)

struct pod_group {
    const char *key, *namespace_, *name, *uid, *reason; // first members, see struct_copy_with_texts
    size_t kind;
    bool warning;
    char pod[256], text[POD_GROUPS_TEXT_MAX + 1]; // of the next report
    uint64_t pods[PODS_MAX];                      // hashes of uids since the last report
    size_t n_pods;
    bool more_pods;      // than that
    uint64_t count;      // since the last report
    int64_t reported_ns; // 0: never
    int64_t at_ns;       // of the next report, or of the group's end
};

void pod_groups_clear(struct pod_groups *groups) {
    while (groups->count > 0)
        free(groups->list[--groups->count]);
}

// Mirror, reason and the text without names and uids of pods, to compare the texts of several pods.
static void put_key(const struct pod_note *note, struct buffer *out) {
    const char *const names[] = {note->pod, note->pod_uid};
    buffer_printf(out, "%s/%s/", note->mirror.uid, note->reason);
    size_t end = out->len + POD_GROUPS_TEXT_MAX;
    for (const char *at = note->text; *at && out->len < end && !out->failed;) {
        size_t skip = 0;
        for (size_t i = 0; i < 2 && skip == 0; i++)
            if (*names[i] && text_has_prefix(at, names[i]))
                skip = strlen(names[i]);
        if (skip == 0)
            buffer_char(out, *at++);
        at += skip;
    }
}

// The pod of the next report, if the report names one pod. The text is one line of valid UTF-8, and not too long.
static void set_pod(struct pod_group *group, const struct pod_note *note) {
    text_copy(group->pod, sizeof group->pod, note->pod);
    text_copy(group->text, sizeof group->text, note->text);
    for (char *at = group->text; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            *at = ' ';
}

static const char *reason_of(const char *reason) {
    bool good = reason[0] >= 'A' && reason[0] <= 'Z' && strlen(reason) <= REASON_MAX;
    for (const char *at = reason; *at && good; at++)
        good = isalnum((unsigned char)*at);
    return good ? reason : "PodEvent";
}

static void forget(struct pod_groups *groups, size_t i) {
    free(groups->list[i]);
    memmove(groups->list + i, groups->list + i + 1, (--groups->count - i) * sizeof *groups->list);
}

// Makes room by forgetting groups that have nothing to report.
static bool make_room(struct pod_groups *groups) {
    for (size_t i = groups->count; i > 0 && groups->count >= POD_GROUPS_MAX; i--)
        if (groups->list[i - 1]->count == 0)
            forget(groups, i - 1);
    return groups->count < POD_GROUPS_MAX;
}

// NULL: there are too many groups, or memory ran out.
static struct pod_group *find_or_make_group(struct pod_groups *groups, const struct pod_note *note) {
    AUTO_BUFFER(key, KEY_MAX);
    put_key(note, &key);
    if (key.failed)
        return NULL;
    for (size_t i = 0; i < groups->count; i++)
        if (strcmp(groups->list[i]->key, key.data) == 0)
            return groups->list[i];
    struct pod_group wanted = {.key = key.data,
                               .namespace_ = note->mirror.namespace_,
                               .name = note->mirror.name,
                               .uid = note->mirror.uid,
                               .reason = reason_of(note->reason),
                               .kind = note->mirror.kind,
                               .warning = note->warning};
    struct pod_group *group = make_room(groups) ? struct_copy_with_texts(&wanted, sizeof wanted, 5) : NULL;
    if (group)
        groups->list[groups->count++] = group;
    return group;
}

static void count_pod(struct pod_group *group, const struct pod_note *note) {
    uint64_t hash = text_hash(TEXT_HASH, *note->pod_uid ? note->pod_uid : note->pod);
    for (size_t i = 0; i < group->n_pods; i++)
        if (group->pods[i] == hash)
            return;
    if (group->n_pods == PODS_MAX)
        group->more_pods = true;
    else
        group->pods[group->n_pods++] = hash;
}

bool pod_groups_add(struct pod_groups *groups, int64_t now_ns, const struct pod_note *note) {
    struct pod_group *group = find_or_make_group(groups, note);
    if (!group)
        return false;
    if (group->count == 0) {
        set_pod(group, note);
        group->at_ns = now_ns + POD_GROUPS_COLLECT_NS;
        if (group->reported_ns > 0)
            group->at_ns = clock_later(group->at_ns, group->reported_ns + POD_GROUPS_AGAIN_NS);
        groups->next_ns = clock_earlier(groups->next_ns, group->at_ns);
    }
    group->count++;
    count_pod(group, note);
    return true;
}

// Drops full buckets; if there are none, all buckets: a flooding mirror then gets one more burst.
static void drop_buckets(struct pod_groups *groups, int64_t now_ns) {
    size_t kept = 0;
    for (size_t i = 0; i < groups->n_buckets; i++)
        if (groups->buckets[i].full_ns > now_ns)
            groups->buckets[kept++] = groups->buckets[i];
    groups->n_buckets = kept < POD_GROUPS_BUCKETS ? kept : 0;
}

static bool take_token(struct pod_groups *groups, const struct pod_group *group, int64_t now_ns) {
    uint64_t hash = text_hash(text_hash(text_hash(groups->seed, group->uid), "/"), group->reason);
    size_t i = 0;
    while (i < groups->n_buckets && groups->buckets[i].hash != hash)
        i++;
    if (i == POD_GROUPS_BUCKETS) {
        drop_buckets(groups, now_ns);
        i = groups->n_buckets;
    }
    if (i == groups->n_buckets)
        groups->buckets[groups->n_buckets++] = (struct pod_bucket){.hash = hash};
    return bucket_take(&groups->buckets[i].full_ns, now_ns, POD_GROUPS_TOKEN_NS, POD_GROUPS_BURST);
}

static void send_report(const struct pod_group *group, void (*report)(void *ctx, const struct pod_note *report),
                        void *ctx) {
    AUTO_TEXT text =
        group->n_pods == 1 && !group->more_pods
            ? text_format("pod %s: %s", group->pod, group->text)
            : text_format("%zu%s pods: %s", group->n_pods, group->more_pods ? " or more" : "", group->text);
    if (text)
        report(ctx, &(struct pod_note){.mirror = {group->kind, group->namespace_, group->name, group->uid},
                                       .reason = group->reason,
                                       .warning = group->warning,
                                       .text = text});
}

int64_t pod_groups_tick(struct pod_groups *groups, int64_t now_ns,
                        void (*report)(void *ctx, const struct pod_note *report), void *ctx, uint64_t *dropped) {
    if (now_ns < groups->next_ns)
        return groups->next_ns;
    groups->next_ns = CLOCK_NEVER;
    for (size_t i = 0; i < groups->count; i++) {
        struct pod_group *group = groups->list[i];
        if (group->at_ns <= now_ns && group->count == 0) {
            forget(groups, i--);
            continue;
        }
        if (group->at_ns <= now_ns) {
            if (take_token(groups, group, now_ns))
                send_report(group, report, ctx);
            else
                *dropped += group->count;
            group->count = group->n_pods = 0;
            group->more_pods = false;
            group->reported_ns = now_ns;
            group->at_ns = now_ns + IDLE_NS;
        }
        groups->next_ns = clock_earlier(groups->next_ns, group->at_ns);
    }
    return groups->next_ns;
}
