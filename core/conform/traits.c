// SPDX-License-Identifier: Apache-2.0
// Signs that an adapter forgot something: fields that delete a mirror, and changes that an update reverts.
#include "core/conform/child.h"

#include "core/base/text.h"
#include "core/json/pointer.h"

#include <string.h>
#include <strings.h>

// "ttlSecondsAfterFinished", "jobTTL", "deleteAfter".
static bool is_deadline_name(const char *name) {
    static const char *const words[] = {"deleteAfter", "expireAfter", "expiresAfter", "removeAfter", "autoDelete"};
    bool ttl = strcmp(name, "ttl") == 0 || strstr(name, "TTL") || strstr(name, "Ttl") ||
               (strncmp(name, "ttl", 3) == 0 && name[3] >= 'A' && name[3] <= 'Z');
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        ttl |= strncasecmp(name, words[i], strlen(words[i])) == 0;
    return ttl;
}

// Pods do not delete their workload.
static bool is_template(const wharf_kind *kind, const char *pointer) {
    bool any = false;
    for (const wharf_pods *pods = kind->pods; pods && pods->templates; pods++)
        any |= pointer_matches(pods->templates, pointer);
    return any;
}

static void look_below(struct run *run, struct buffer *at, const struct json *value) {
    if (!json_is_container(value) || is_template(&run->now->kind.abi, at->data))
        return;
    size_t len = at->len, index = 0;
    for (const struct json *item = json_first(value); item; item = json_next(item), index++) {
        const char *key = json_key(item);
        if (!pointer_append_child(at, key, index))
            return;
        if (key && is_deadline_name(key))
            run_warn(run,
                     "%s stays on the mirror: if it deletes a finished object, name it in `removed`, or the mirror "
                     "is gone before the host copies the status",
                     at->data);
        else
            look_below(run, at, item);
        buffer_truncate(at, len);
    }
}

void traits_of_mirror(struct run *run, const struct json *mirror) {
    AUTO_BUFFER(at, 4096);
    if (buffer_text(&at, "/spec"))
        look_below(run, &at, json_get(mirror, "spec"));
}

struct taking {
    const struct json *mirror, *desired, *result;
    bool wanted, done;
};

static bool note_taking(void *ctx, const char *pointer, struct json *value) {
    (void)value;
    struct taking *taking = ctx;
    const struct json *desired = pointer_find(taking->desired, pointer);
    bool wanted = !json_equal(desired, pointer_find(taking->mirror, pointer));
    taking->wanted |= wanted;
    // A part may have to wait, and parts that a controller wrote may stay.
    taking->done |= wanted && !json_equal(pointer_find(taking->mirror, pointer), pointer_find(taking->result, pointer));
    return true;
}

// Compares the fields of a rule; `result` is the changed mirror.
static struct taking compare(const char *carried, const struct json *mirror, const struct json *desired,
                             const struct json *result) {
    struct taking taking = {mirror, desired, result, false, false};
    pointer_each(desired, carried, note_taking, &taking);
    pointer_each(mirror, carried, note_taking, &taking);
    return taking;
}

void traits_of_made(struct run *run, const struct json *workload, const struct json *mirror) {
    const wharf_carried *carried = run->now->kind.abi.carried;
    struct board_carried *counts = run->board->carried[run->now->index % BOARD_KINDS];
    for (size_t i = 0; carried && carried[i].pointer && i < BOARD_CARRIED; i++)
        counts[i].differs |= compare(carried[i].pointer, mirror, workload, mirror).wanted;
}

void traits_of_update(struct run *run, const struct json *mirror, const struct json *desired,
                      const struct json *result) {
    const wharf_carried *carried = run->now->kind.abi.carried;
    struct board_carried *counts = run->board->carried[run->now->index % BOARD_KINDS];
    for (size_t i = 0; carried && carried[i].pointer && i < BOARD_CARRIED; i++) {
        struct taking taking = compare(carried[i].pointer, mirror, desired, result);
        counts[i].wanted += taking.wanted;
        counts[i].done += taking.done;
    }
}
