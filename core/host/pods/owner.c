// SPDX-License-Identifier: Apache-2.0
#include "core/host/pods/owner.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/engine/mirror/mirror.h"
#include "core/kube/api/requests.h"

#define KNOWN_MAX 2000
#define TRIES_MAX 3
#define REQUESTS_BURST 20
#define REQUEST_NS (CLOCK_SECOND / 5)
#define KIND_NONE SIZE_MAX
#define NAME_BYTES ((size_t)317) // of a name, a uid, a group and version; the API server permits no longer ones

struct known {                                    // where an object belongs
    const char *uid, *namespace_, *name, *mirror; // first members, see struct_copy_with_texts
    size_t kind;                                  // KIND_NONE: to no mirror
    uint64_t used;                                // number of the last use
};

// References and kinds -------------------------------------------------------------------------------------------

struct owner_ref owner_ref_read(const struct json *reference, const char *namespace_) {
    return (struct owner_ref){.api_version = json_string_or(json_get(reference, "apiVersion"), ""),
                              .kind = json_string_or(json_get(reference, "kind"), ""),
                              .namespace_ = namespace_,
                              .name = json_string_or(json_get(reference, "name"), ""),
                              .uid = json_string_or(json_get(reference, "uid"), "")};
}

const struct owner_kind *owner_kinds_find(const struct owner_kinds *kinds, const struct owner_ref *ref) {
    for (size_t i = 0; i < kinds->count; i++)
        if (strcmp(kinds->list[i]->api_version, ref->api_version) == 0 && strcmp(kinds->list[i]->kind, ref->kind) == 0)
            return kinds->list[i];
    return NULL;
}

bool owner_kinds_add(struct owner_kinds *kinds, const struct owner_ref *ref, const char *plural) {
    const struct owner_kind kind = {ref->api_version, ref->kind, plural};
    struct owner_kind *copy = kinds->count < OWNER_KINDS ? struct_copy_with_texts(&kind, sizeof kind, 3) : NULL;
    if (copy)
        kinds->list[kinds->count++] = copy;
    return copy;
}

void owner_kinds_free(struct owner_kinds *kinds) {
    while (kinds->count > 0)
        free(kinds->list[--kinds->count]);
}

// Known objects ----------------------------------------------------------------------------------------------------

static void forget(struct owner_chain *chain, struct known *known) {
    map_remove(&chain->known, known->uid);
    free(known);
}

static void forget_oldest(struct owner_chain *chain) {
    struct known *oldest = NULL;
    size_t cursor = 0;
    for (struct known *known; (known = map_next(&chain->known, &cursor));)
        if (!oldest || known->used < oldest->used)
            oldest = known;
    if (oldest)
        forget(chain, oldest);
}

static void forget_all(struct owner_chain *chain, bool none_only) {
    size_t cursor = 0;
    for (struct known *known; (known = map_next(&chain->known, &cursor));)
        if (!none_only || known->kind == KIND_NONE)
            forget(chain, known);
}

void owner_chain_forget_none(struct owner_chain *chain) {
    forget_all(chain, true);
}

// `mirror` NULL: the object belongs to no mirror. `mirror` may point into the newest entry. Without memory, a later
// search finds the mirror again.
static void remember(struct owner_chain *chain, const char *uid, const struct pod_mirror *mirror) {
    if (*uid == '\0' || map_get(&chain->known, uid)) // owners do not change
        return;
    if (chain->known.count >= KNOWN_MAX)
        forget_oldest(chain);
    struct known wanted = {uid, "", "", "", KIND_NONE, ++chain->uses};
    if (mirror)
        wanted = (struct known){uid, mirror->namespace_, mirror->name, mirror->uid, mirror->kind, chain->uses};
    struct known *known = struct_copy_with_texts(&wanted, sizeof wanted, 4);
    if (!known || !map_put(&chain->known, known->uid, known))
        free(known);
}

bool owner_chain_knows(struct owner_chain *chain, const char *uid, bool *found, struct pod_mirror *mirror) {
    struct known *known = map_get(&chain->known, uid);
    if (!known)
        return false;
    known->used = ++chain->uses;
    *found = known->kind != KIND_NONE;
    *mirror = (struct pod_mirror){known->kind, known->namespace_, known->name, known->mirror};
    return true;
}

// The search -------------------------------------------------------------------------------------------------------

static void clear_search(struct owner_chain *chain) {
    for (size_t i = 0; i < OWNER_DEPTH; i++)
        free(TAKE(chain->steps[i]));
    response_clear(&chain->answer);
    chain->search = (struct owner_search){.from = NULL};
    chain->depth = 0;
    chain->tries = 0;
    chain->answered = false;
}

void owner_chain_init(struct owner_chain *chain, const struct cluster_scope *scope, struct client *client) {
    *chain = (struct owner_chain){.scope = scope, .client = client};
    map_init(&chain->known, scope->seed);
}

void owner_chain_clear(struct owner_chain *chain) {
    if (chain->request)
        client_cancel(chain->client, chain->request);
    clear_search(chain);
    forget_all(chain, false);
    owner_kinds_free(&chain->kinds);
    map_free(&chain->known);
}

static const struct owner_ref *step_at(const struct owner_chain *chain, size_t depth) {
    return depth == 0 ? chain->search.from : chain->steps[depth];
}

static void finish(struct owner_chain *chain, enum owner_outcome outcome, const struct pod_mirror *mirror) {
    bool refused = outcome == OWNER_REFUSED;
    for (size_t i = 0; i <= chain->depth && !refused && outcome != OWNER_FAILED; i++)
        remember(chain, step_at(chain, i)->uid, mirror);
    chain->search.done(chain->search.ctx, outcome, mirror, refused ? chain->answer.message : NULL);
    clear_search(chain);
}

static bool is_name(const char *text) {
    return text_is_within(text, NAME_BYTES);
}

bool owner_chain_is_busy(const struct owner_chain *chain) {
    return chain->search.from;
}

void owner_chain_find(struct owner_chain *chain, const struct owner_search *search) {
    chain->search = *search;
    chain->due_ns = 0;
}

bool owner_chain_take_request(struct owner_chain *chain, struct moment now, int64_t *at_ns) {
    bool taken = bucket_take(&chain->full_ns, now.mono_ns, REQUEST_NS, REQUESTS_BURST);
    if (!taken)
        *at_ns = chain->full_ns - (REQUESTS_BURST - 1) * REQUEST_NS;
    return taken;
}

static void on_answer(void *ctx, struct response *response) {
    struct owner_chain *chain = ctx;
    chain->request = 0;
    chain->answered = true;
    response_clear(&chain->answer);
    chain->answer = *response;
    *response = (struct response){.retry_after_ns = -1};
}

static void send_get(struct owner_chain *chain, const char *path) {
    struct request request = {.verb = VERB_RAW_GET, .name = path};
    struct error *error = client_submit(chain->client, &request, on_answer, chain, &chain->request);
    if (error)
        finish(chain, OWNER_FAILED, NULL);
    error_free(error);
}

// The group's length in an apiVersion; 0: the core group.
static size_t group_length(const char *api_version) {
    const char *slash = strchr(api_version, '/');
    return slash ? (size_t)(slash - api_version) : 0;
}

static size_t find_kind(const struct owner_chain *chain, const struct owner_ref *step) {
    size_t len = group_length(step->api_version);
    for (size_t k = 0; k < chain->scope->settings.n_kinds; k++) {
        const wharf_kind *abi = &chain->scope->settings.kinds[k]->abi;
        if (strcmp(abi->kind, step->kind) == 0 && strlen(abi->group) == len &&
            memcmp(abi->group, step->api_version, len) == 0)
            return k;
    }
    return KIND_NONE;
}

// The plural of the step's kind; "": the worker does not serve the kind; NULL: not known.
static const char *plural_of(const struct owner_chain *chain, const struct owner_ref *step) {
    size_t k = find_kind(chain, step);
    if (k != KIND_NONE)
        return chain->scope->settings.kinds[k]->abi.plural;
    if (strcmp(step->api_version, "v1") == 0 && strcmp(step->kind, "Pod") == 0)
        return "pods";
    const struct owner_kind *kind = owner_kinds_find(&chain->kinds, step);
    return kind ? kind->plural : NULL;
}

static void read_plural(struct owner_chain *chain, const struct owner_ref *step) {
    AUTO_TEXT path = api_resources_version_path(step->api_version);
    chain->reads_plural = true;
    if (path)
        send_get(chain, path);
    else
        finish(chain, OWNER_NONE, NULL);
}

static void read_object(struct owner_chain *chain, const struct owner_ref *step, const char *plural) {
    size_t len = group_length(step->api_version);
    AUTO_TEXT group = strndup(step->api_version, len);
    struct resource resource = {
        .group = group ? group : "", .version = step->api_version + (len > 0 ? len + 1 : 0), .plural = plural};
    AUTO_BUFFER(path, 2048);
    struct error *error = resource_path(&resource, step->namespace_, step->name, NULL, &path);
    chain->reads_plural = false;
    send_get(chain, error || path.failed ? "" : path.data);
    error_free(error);
}

// The object at the end of the chain has no controller: is this object a mirror?
static void conclude(struct owner_chain *chain, const struct owner_ref *step, const struct json *object) {
    size_t k = find_kind(chain, step);
    struct pod_mirror mirror = {k, object_namespace(object), object_name(object), object_uid(object)};
    bool found = k != KIND_NONE && mirror_is_ours(chain->scope->settings.kinds[k], chain->scope->origin, object) &&
                 is_name(mirror.namespace_) && is_name(mirror.name) && is_name(mirror.uid);
    finish(chain, found ? OWNER_FOUND : OWNER_NONE, found ? &mirror : NULL);
}

static void go_up(struct owner_chain *chain, const struct json *object) {
    const struct owner_ref *step = step_at(chain, chain->depth);
    if (*step->uid && strcmp(step->uid, object_uid(object)) != 0) { // another one of that name
        finish(chain, OWNER_NONE, NULL);
        return;
    }
    if (chain->depth == 0 && chain->search.read)
        chain->search.read(chain->search.ctx, object);
    const struct json *owner = object_controller(object);
    if (!owner) {
        conclude(chain, step, object);
        return;
    }
    struct owner_ref ref = owner_ref_read(owner, step->namespace_);
    if (chain->depth + 1 == OWNER_DEPTH || !*ref.uid) {
        finish(chain, OWNER_NONE, NULL);
        return;
    }
    bool valid = is_name(ref.api_version) && is_name(ref.kind) && is_name(ref.name) && is_name(ref.uid);
    struct owner_ref *next = valid ? struct_copy_with_texts(&ref, sizeof ref, 5) : NULL;
    if (!next) { // out of memory, or no API server has such an object
        finish(chain, OWNER_FAILED, NULL);
        return;
    }
    chain->steps[++chain->depth] = next;
    response_clear(&chain->answer);
    chain->tries = 0;
}

// False: out of memory, or there are too many.
static bool learn_plural(struct owner_chain *chain, const struct owner_ref *step) {
    const char *plural = api_resources_plural(chain->answer.value, step->kind);
    return owner_kinds_find(&chain->kinds, step) ||
           owner_kinds_add(&chain->kinds, step, plural && is_name(plural) ? plural : "");
}

static void handle_answer(struct owner_chain *chain, struct moment now) {
    enum reason reason = chain->answer.reason;
    chain->answered = false;
    if (reason == REASON_OK && !chain->reads_plural)
        go_up(chain, chain->answer.value);
    else if (reason == REASON_OK && learn_plural(chain, step_at(chain, chain->depth)))
        return;
    else if (reason == REASON_NOT_FOUND || reason == REASON_KIND_NOT_FOUND || reason == REASON_NAMESPACE_NOT_FOUND)
        finish(chain, OWNER_NONE, NULL);
    else if (reason_is_refusal(reason))
        finish(chain, OWNER_REFUSED, NULL);
    else if (reason == REASON_OK || ++chain->tries >= TRIES_MAX)
        finish(chain, OWNER_FAILED, NULL);
    else
        chain->due_ns = now.mono_ns + clock_later(chain->answer.retry_after_ns, CLOCK_SECOND << chain->tries);
}

// False: nothing more can be done now.
static bool advance(struct owner_chain *chain, struct moment now) {
    const struct owner_ref *step = step_at(chain, chain->depth);
    struct pod_mirror mirror;
    bool found = false, read_first = chain->search.fresh && chain->depth == 0;
    if (!read_first && owner_chain_knows(chain, step->uid, &found, &mirror)) {
        finish(chain, found ? OWNER_FOUND : OWNER_NONE, found ? &mirror : NULL);
        return true;
    }
    const char *plural = plural_of(chain, step);
    if (plural && *plural == '\0')
        finish(chain, OWNER_NONE, NULL);
    else if (!owner_chain_take_request(chain, now, &chain->due_ns))
        return false;
    else if (plural)
        read_object(chain, step, plural);
    else
        read_plural(chain, step);
    return true;
}

int64_t owner_chain_tick(struct owner_chain *chain, struct moment now) {
    if (chain->answered)
        handle_answer(chain, now);
    while (chain->search.from && !chain->request && !chain->answered)
        if (now.mono_ns < chain->due_ns || !advance(chain, now))
            return chain->due_ns;
    return CLOCK_NEVER;
}
