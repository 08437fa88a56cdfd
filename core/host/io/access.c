// SPDX-License-Identifier: Apache-2.0
#include "core/host/io/access.h"

#include "core/base/text.h"
#include "core/json/json.h"
#include "core/kube/api/access_review.h"

#include <stdlib.h>
#include <string.h>

#define RIGHTS 8                       // remembered at a time
#define DENIED_NS (3 * CLOCK_SECOND)   // until a right that is denied is asked for again
#define ALLOWED_NS (10 * CLOCK_SECOND) // until a right that is granted is doubted again

struct right_state {
    char *group, *plural; // NULL: the place is free
    struct access_subject of;
    bool denied;
    int64_t at_ns; // asked for again, or forgotten
};

struct access {
    struct client *client;
    struct probe *probe;
    void (*post)(void *ctx, struct engine_event *event);
    void *ctx;
    struct right_state rights[RIGHTS];
    struct right_state *asked; // the review in flight
    bool answered, allowed;    // it has ended
};

static const char *verb_of(enum verb verb) {
    return verb == VERB_CREATE ? "create" : verb == VERB_DELETE ? "delete" : verb == VERB_MERGE_PATCH ? "patch" : NULL;
}

void access_subject(struct kind *const *kinds, size_t n_kinds, const struct request *request,
                    struct access_subject *out) {
    const struct resource *resource = &request->resource;
    const char *verb = verb_of(request->verb);
    *out = (struct access_subject){.verb = NULL};
    for (size_t k = 0; verb && k < n_kinds; k++) {
        const wharf_kind *abi = &kinds[k]->abi;
        if (strcmp(abi->plural, resource->plural) != 0 || strcmp(abi->group, resource->group) != 0)
            continue;
        out->kind = k;
        out->verb = verb;
        text_copy(out->namespace_, sizeof out->namespace_, request->namespace_);
        return;
    }
}

struct error *access_new(struct client *client, struct probe *probe,
                         void (*post)(void *ctx, struct engine_event *event), void *ctx, struct access **out) {
    struct access *access = calloc(1, sizeof *access);
    *out = access;
    if (!access)
        return error_no_memory();
    *access = (struct access){.client = client, .probe = probe, .post = post, .ctx = ctx};
    return NULL;
}

static void forget(struct right_state *right) {
    free(right->group);
    free(right->plural);
    *right = (struct right_state){.group = NULL};
}

void access_free(struct access *access) {
    if (!access)
        return;
    for (size_t i = 0; i < RIGHTS; i++)
        forget(&access->rights[i]);
    free(access);
}

void access_answered(struct access *access, const struct access_subject *subject, struct kind *const *kinds,
                     const struct response *response) {
    struct right_state *place = NULL;
    if (!access || response->reason != REASON_FORBIDDEN || !subject->verb)
        return;
    for (size_t i = 0; i < RIGHTS; i++) {
        struct right_state *right = &access->rights[i];
        if (!right->plural)
            place = right;
        else if (right->of.kind == subject->kind && right->of.verb == subject->verb &&
                 strcmp(right->of.namespace_, subject->namespace_) == 0)
            return;
    }
    if (!place)
        return;
    const wharf_kind *abi = &kinds[subject->kind]->abi;
    *place = (struct right_state){.group = strdup(abi->group), .plural = strdup(abi->plural), .of = *subject};
    if (!place->group || !place->plural)
        forget(place);
}

static void put_right(const struct right_state *right, struct buffer *out) {
    buffer_printf(out, "the host may not %s %s%s%s in namespace %s", right->of.verb, right->plural,
                  *right->group ? "." : "", right->group, right->of.namespace_);
}

// Everything that is denied of the kind, as one sentence.
static void tell(struct access *access, size_t kind) {
    AUTO_BUFFER(text, 4096);
    size_t more = 0;
    for (size_t i = 0; i < RIGHTS; i++) {
        const struct right_state *right = &access->rights[i];
        if (!right->denied || right->of.kind != kind)
            continue;
        if (text.len == 0)
            put_right(right, &text);
        else
            more++;
    }
    if (more > 0)
        buffer_printf(&text, ", and lacks %zu more rights", more);
    struct engine_event event = {.type = EVENT_DENIED, .kind = kind, .problem = text.len > 0 ? text.data : NULL};
    access->post(access->ctx, &event);
}

static void on_answer(void *ctx, struct response *response) {
    struct access *access = ctx;
    const struct json *allowed = json_path(response->value, "status", "allowed", NULL);
    access->answered = true;
    // Without an answer the state stays.
    access->allowed = json_bool(allowed, !access->asked->denied);
}

void access_end(struct access *access) {
    for (size_t i = 0; access && i < RIGHTS; i++) {
        struct right_state *right = &access->rights[i];
        bool told = right->denied;
        size_t kind = right->of.kind;
        forget(right);
        if (told)
            tell(access, kind);
    }
}

static bool ask(struct access *access, struct right_state *right) {
    AUTO_BUFFER(body, ACCESS_REVIEW_MAX);
    const struct access_review review = {
        .group = right->group, .resource = right->plural, .verb = right->of.verb, .namespace_ = right->of.namespace_};
    if (!access_review_write(&review, &body))
        return false;
    const struct request request = access_review_request(&body);
    struct error *error = client_submit(access->client, &request, on_answer, access, NULL);
    bool sent = !error;
    error_free(error);
    if (sent)
        access->asked = right;
    return sent;
}

static void take_answer(struct access *access, struct moment now) {
    struct right_state *right = access->asked;
    bool changed = right->denied == access->allowed;
    right->denied = !access->allowed;
    right->at_ns = now.mono_ns + (right->denied ? DENIED_NS : ALLOWED_NS);
    access->asked = NULL;
    access->answered = false;
    if (!changed)
        return;
    tell(access, right->of.kind);
    if (right->denied)
        probe_disconnected(access->probe); // perhaps all rights were revoked
}

int64_t access_tick(struct access *access, struct moment now) {
    int64_t next_ns = CLOCK_NEVER;
    if (access && access->answered)
        take_answer(access, now);
    for (size_t i = 0; access && i < RIGHTS; i++) {
        struct right_state *right = &access->rights[i];
        bool is_new = right->plural && right->at_ns == 0, due = right->plural && now.mono_ns >= right->at_ns;
        if (due && !is_new && !right->denied)
            forget(right);
        else if (due && !access->asked && !ask(access, right))
            right->at_ns = now.mono_ns + DENIED_NS;
        bool waits_for_answer = access->asked && right->at_ns <= now.mono_ns; // one review at a time
        if (right->plural && !waits_for_answer)
            next_ns = clock_earlier(next_ns, right->at_ns);
    }
    return next_ns;
}
