// SPDX-License-Identifier: Apache-2.0
// Rights that a worker denies although a kind needs them. A 403 for a write comes from an admission policy or from the
// worker's authorizer: a SelfSubjectAccessReview decides, repeated every few seconds while the right is denied, to
// notice a grant. Without a 403 for a write, the watcher sends nothing. Of a tenant's rights only a grant is posted:
// the Events of the workloads tell what a tenant lacks, and the worker does not reject the host.
#include "core/host/watchers/watcher.h"
#include "core/json/json.h"
#include "core/kube/api/requests.h"

#define RIGHTS 8                       // remembered at a time
#define DENIED_NS (3 * CLOCK_SECOND)   // between reviews of a denied right
#define ALLOWED_NS (10 * CLOCK_SECOND) // until a granted right is forgotten

struct right_state {
    const wharf_kind *kind; // NULL: the place is free
    struct written_object of;
    const char *verb;
    bool denied;
    int64_t at_ns; // of the next review, or of the end of this entry; 0: no review yet
};

struct denied_rights {
    struct watcher_base base;
    struct right_state rights[RIGHTS];
    struct right_state *reviewed; // by the review in flight
    bool answered, allowed;       // the review has an answer
};

static void add_right(struct denied_rights *denied, const struct written_object *object) {
    static const char *const verbs[] = {
        [VERB_CREATE] = "create", [VERB_DELETE] = "delete", [VERB_MERGE_PATCH] = "patch"};
    const char *verb = (size_t)object->verb < sizeof verbs / sizeof verbs[0] ? verbs[object->verb] : NULL;
    struct right_state *place = NULL;
    if (!verb)
        return;
    for (size_t i = 0; i < RIGHTS; i++) {
        struct right_state *right = &denied->rights[i];
        if (!right->kind)
            place = right;
        else if (right->of.kind == object->kind && right->verb == verb &&
                 strcmp(right->of.namespace_, object->namespace_) == 0 && strcmp(right->of.tenant, object->tenant) == 0)
            return;
    }
    if (place)
        *place = (struct right_state){
            .kind = &denied->base.scope->settings.kinds[object->kind]->abi, .of = *object, .verb = verb};
}

// All denied rights of the kind, as one sentence.
static void post_denied(struct denied_rights *denied, size_t kind) {
    AUTO_BUFFER(text, 4096);
    size_t more = 0;
    for (size_t i = 0; i < RIGHTS; i++) {
        const struct right_state *right = &denied->rights[i];
        if (!right->denied || right->of.kind != kind || *right->of.tenant)
            continue;
        if (text.len == 0)
            buffer_printf(&text, "the host may not %s %s%s%s in namespace %s", right->verb, right->kind->plural,
                          *right->kind->group ? "." : "", right->kind->group, right->of.namespace_);
        else
            more++;
    }
    if (more > 0)
        buffer_printf(&text, ", and lacks %zu more rights", more);
    cluster_post(
        denied->base.scope,
        &(struct engine_event){.type = EVENT_DENIED, .kind = kind, .problem = text.len > 0 ? text.data : NULL});
}

// The next connection begins without denials.
static void post_none_denied(struct denied_rights *denied) {
    for (size_t i = 0; i < RIGHTS; i++) {
        struct right_state right = denied->rights[i];
        denied->rights[i] = (struct right_state){.kind = NULL};
        if (right.denied && !*right.of.tenant)
            post_denied(denied, right.of.kind);
    }
}

static void handle(void *state, const struct cluster_notice *notice) {
    if (notice->type == NOTICE_FORBIDDEN)
        add_right(state, notice->written);
    else if (notice->type == NOTICE_CLOSING)
        post_none_denied(state);
}

static void on_answer(void *ctx, struct response *response) {
    struct denied_rights *denied = ctx;
    const struct json *allowed = json_path(response->value, "status", "allowed", NULL);
    denied->answered = true;
    // Without an answer the state stays.
    denied->allowed = json_bool(allowed, !denied->reviewed->denied);
}

static bool begin_review(struct denied_rights *denied, struct right_state *right) {
    AUTO_BUFFER(body, ACCESS_REVIEW_MAX);
    const struct access_review review = {.group = right->kind->group,
                                         .resource = right->kind->plural,
                                         .verb = right->verb,
                                         .namespace_ = right->of.namespace_};
    if (!access_review_write(&review, &body))
        return false;
    struct request request = access_review_request(&body);
    request.tenant = *right->of.tenant ? right->of.tenant : NULL;
    struct error *error = client_submit(denied->base.scope->client, &request, on_answer, denied, NULL);
    bool sent = !error;
    error_free(error);
    if (sent)
        denied->reviewed = right;
    return sent;
}

static void end_review(struct denied_rights *denied, struct moment now) {
    struct right_state *right = denied->reviewed;
    bool changed = right->denied == denied->allowed;
    right->denied = !denied->allowed;
    right->at_ns = now.mono_ns + (right->denied ? DENIED_NS : ALLOWED_NS);
    denied->reviewed = NULL;
    denied->answered = false;
    if (!changed || (right->denied && *right->of.tenant))
        return;
    post_denied(denied, right->of.kind);
    if (right->denied)
        probe_disconnected(denied->base.scope->probe); // perhaps an administrator revoked all rights
}

static int64_t step(void *state, struct moment now) {
    struct denied_rights *denied = state;
    int64_t next_ns = CLOCK_NEVER;
    if (denied->answered)
        end_review(denied, now);
    for (size_t i = 0; i < RIGHTS; i++) {
        struct right_state *right = &denied->rights[i];
        bool is_new = right->at_ns == 0, due = right->kind && now.mono_ns >= right->at_ns;
        if (due && !is_new && !right->denied)
            *right = (struct right_state){.kind = NULL};
        else if (due && !denied->reviewed && !begin_review(denied, right))
            right->at_ns = now.mono_ns + DENIED_NS;
        bool waits_for_answer = denied->reviewed && right->at_ns <= now.mono_ns; // one review at a time
        if (right->kind && !waits_for_answer)
            next_ns = clock_earlier(next_ns, right->at_ns);
    }
    return next_ns;
}

const struct watcher denied_rights_watcher = {
    .of_workers = true, .size = sizeof(struct denied_rights), .step = step, .handle = handle};
