// SPDX-License-Identifier: Apache-2.0
// Every adapter on objects whose structure was changed: fields of another type, missing, doubled, moved. The input: a
// byte for the kind, two for the story and its step, then four bytes a change. Whatever a call makes of it, it settles:
// after a few patches the same call has nothing more to say.
#include "tests/fuzz/fuzz.h"

#include "core/base/text.h"
#include "core/engine/mirror/mirror.h"
#include "core/json/pointer.h"
#include "core/kube/object/object.h"
#include "tests/simulation/kinds.h"

#include <string.h>

#define NOW_NS (INT64_C(1767323045) * CLOCK_SECOND)
#define CHANGES_MAX 32
#define ROUNDS_MAX 3

struct subject {
    const struct sim_kind *kind;
    struct json *workload, *mirror;
};

static const struct fixture *fixture_of(const struct sim_kind *kind) {
    static struct fixture *job;
    if (kind->fixture)
        return kind->fixture;
    if (!job && fixture_load(SIM_FIXTURES "/jobs", &job))
        fuzz_fail("the fixtures of Job cannot be read");
    return job;
}

// What a server adds to an object that it stores.
static void store(struct json *object, const char *uid, const struct json *status) {
    struct json *metadata = json_get(object, "metadata");
    if (!json_set(metadata, "uid", json_new_string(uid)) || !json_set(metadata, "generation", json_new_int64(2)) ||
        !json_set(metadata, "resourceVersion", json_new_string("7")) ||
        (status && !json_set(object, "status", json_copy(status))))
        fuzz_fail("out of memory");
}

static const struct json *status_at(const struct fixture *fixture, uint8_t story, uint8_t step) {
    const struct story *s = &fixture->stories[story % fixture->n_stories];
    return s->steps[step % s->n_steps].status;
}

static size_t count_nodes(const struct json *value) {
    size_t count = 1;
    bool container = json_is(value, JSON_OBJECT) || json_is(value, JSON_ARRAY);
    for (const struct json *m = container ? json_first(value) : NULL; m; m = json_next(m))
        count += count_nodes(m);
    return count;
}

// The node with this number in document order, below `root`, and its parent.
static struct json *find_node(struct json *root, size_t *number, struct json **parent) {
    bool container = json_is(root, JSON_OBJECT) || json_is(root, JSON_ARRAY);
    for (struct json *m = container ? json_first(root) : NULL; m; m = json_next(m)) {
        *parent = root;
        if ((*number)-- == 0)
            return m;
        struct json *found = find_node(m, number, parent);
        if (found)
            return found;
    }
    return NULL;
}

static struct json *replacement(uint8_t what, const struct json *old, const struct json *other) {
    switch (what % 10) {
    case 0:
        return json_new_null();
    case 1:
        return json_new_bool(true);
    case 2:
        return json_new_int64(-1);
    case 3:
        return json_new_int64(INT64_MAX);
    case 4:
        return json_new_string("");
    case 5:
        return json_new_string("2026-13-40T99:00:00Z,True,/~2");
    case 6:
        return json_new_array();
    case 7:
        return json_new_object();
    case 8:
        return json_copy(old);
    default:
        return json_copy(other);
    }
}

static void change(struct json *object, const uint8_t bytes[4]) {
    static const char *const parts[] = {"spec", "status", "spec", "metadata"};
    struct json *root = json_get(object, parts[bytes[0] % 4]);
    if (root && bytes[0] % 4 == 3)
        root = json_get(root, bytes[0] & 4 ? "labels" : "annotations");
    size_t count = root ? count_nodes(root) - 1 : 0;
    if (count == 0)
        return;
    size_t number = ((size_t)bytes[2] << 8 | bytes[3]) % count, other_number = bytes[1] % count;
    struct json *parent = NULL, *other_parent = NULL;
    struct json *node = find_node(root, &number, &parent);
    const struct json *other = find_node(root, &other_number, &other_parent);
    if (!node || !parent)
        return;
    switch (bytes[1] % 4) {
    case 0:
        json_remove_child(parent, node);
        break;
    case 1:
        if (json_is(parent, JSON_ARRAY))
            json_append(parent, replacement(bytes[0] >> 4, node, other));
        else
            json_set(parent, "added", replacement(bytes[0] >> 4, node, other));
        break;
    default:
        json_replace(parent, node, replacement(bytes[0] >> 4, node, other));
    }
}

static struct mirror_context job_of(const struct subject *subject, struct adapter_call *call) {
    const struct kind *kind = subject->kind->kind;
    adapter_call_begin(
        call, &(struct call_context){.kind = &kind->abi,
                                     .given = kind->given,
                                     .now = {NOW_NS, NOW_NS},
                                     .cluster = "w1",
                                     .attempt = 1,
                                     .version = kind->abi.versions[0],
                                     .object = "default/one",
                                     .mirror_state = subject->mirror ? WHARF_MIRROR_PRESENT : WHARF_MIRROR_NONE});
    return (struct mirror_context){.kind = kind,
                                   .origin = "fuzz",
                                   .call = call,
                                   .workload = subject->workload,
                                   .mirror = subject->mirror,
                                   .attempt = 1};
}

static struct json *made_mirror(struct subject *subject) {
    struct adapter_call call;
    struct mirror_context job = job_of(subject, &call);
    struct json *made = NULL;
    wharf_result result = mirror_make(&job, &made);
    adapter_call_end(&call);
    if ((result == WHARF_OK) == !made)
        fuzz_fail("a call says that it made a mirror, and did not");
    return made;
}

// One patch, of the mirror or of the status; NULL: none, or it was refused.
static struct json *next_patch(struct subject *subject, bool status) {
    struct adapter_call call;
    struct mirror_context job = job_of(subject, &call);
    struct json *patch = NULL;
    uint64_t wanted = 0;
    wharf_result result = status ? mirror_status(&job, &patch, &wanted) : mirror_patch(&job, &patch);
    adapter_call_end(&call);
    if (result != WHARF_OK && patch)
        fuzz_fail("a call that did not succeed has a patch");
    return patch;
}

// As the host does, which looks at what it patched once more: what a suspended mirror may be given comes after the
// suspension.
static void settles(struct subject *subject, bool status) {
    struct json **target = status ? &subject->workload : &subject->mirror;
    for (int round = 0; round < ROUNDS_MAX; round++) {
        AUTO_JSON patch = next_patch(subject, status);
        if (!patch)
            return;
        if (!patch_apply(target, patch))
            fuzz_fail("a patch cannot be applied");
    }
    AUTO_JSON again = next_patch(subject, status);
    AUTO_TEXT text = again ? json_text(again, NULL) : NULL;
    if (again)
        fuzz_fail("%s of %s does not settle: now comes %s", status ? "the status" : "the mirror",
                  subject->kind->kind->plural_group, text);
}

void fuzz_one(const uint8_t *data, size_t size) {
    size_t count = 0;
    const struct sim_kind *kinds = sim_kinds(&count);
    if (size < 3)
        return;
    struct subject subject = {.kind = &kinds[data[0] % count]};
    const struct fixture *fixture = fixture_of(subject.kind);
    subject.workload = json_copy(fixture->workload);
    store(subject.workload, "workload-uid", data[0] & 0x80 ? status_at(fixture, data[1], data[2] >> 4) : NULL);
    subject.mirror = made_mirror(&subject);
    if (subject.mirror)
        store(subject.mirror, "mirror-uid", status_at(fixture, data[1], data[2]));
    data += 3;
    size -= 3;
    for (size_t i = 0; i < CHANGES_MAX && size >= 4; i++, data += 4, size -= 4)
        change(data[0] & 8 && subject.mirror ? subject.mirror : subject.workload, data);
    if (subject.mirror)
        settles(&subject, false);
    settles(&subject, true);
    json_free(made_mirror(&subject));
    json_free(subject.workload);
    json_free(subject.mirror);
}
