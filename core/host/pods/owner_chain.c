// SPDX-License-Identifier: Apache-2.0
#include "core/host/pods/owner_chain.h"

#include "core/base/map.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/engine/mirror/mirror.h"
#include "core/kube/api/api_resources.h"

#include <stdlib.h>
#include <string.h>

#define KNOWN_MAX 2000
#define PLURALS_MAX 100
#define DEPTH_MAX 6
#define TRIES_MAX 3
#define REQUESTS_BURST 20
#define REQUEST_NS (CLOCK_SECOND / 5)
#define KIND_NONE SIZE_MAX
#define NAME_BYTES ((size_t)317) // of a name, a uid, a group and version; the API server permits no longer ones

struct known {                                    // where an object belongs
    const char *uid, *namespace_, *name, *mirror; // first members, see struct_copy_with_texts
    size_t kind;                                  // KIND_NONE: to no mirror
    struct known *newer, *older;
};

struct plural {
    char *key, *plural; // "batch/v1/Job"; plural NULL: not served
};

struct owner_chain {
    struct client *client;
    const struct cluster_scope *scope;
    struct map known, plurals;
    struct known *newest, *oldest;
    int64_t full_ns; // of the bucket of requests

    bool busy;
    struct owner_search search;         // `from` is links[0]
    struct owner_ref *links[DEPTH_MAX]; // of the search, up to `depth`
    size_t depth;
    uint64_t request; // 0: none in flight
    bool answered, asked_plural, fresh;
    unsigned tries;
    struct response answer;
    int64_t due_ns;
};

static void clear_search(struct owner_chain *chain) {
    for (size_t i = 0; i < DEPTH_MAX; i++)
        free(TAKE(chain->links[i]));
    response_clear(&chain->answer);
    chain->depth = 0;
    chain->tries = 0;
    chain->busy = chain->answered = false;
}

struct error *owner_chain_new(const struct cluster_scope *scope, struct client *client, struct owner_chain **out) {
    struct owner_chain *chain = calloc(1, sizeof *chain);
    *out = chain;
    if (!chain)
        return error_no_memory();
    chain->scope = scope;
    chain->client = client;
    map_init(&chain->known, scope->seed);
    map_init(&chain->plurals, scope->seed + 1);
    return NULL;
}

void owner_chain_free(struct owner_chain *chain) {
    if (!chain)
        return;
    if (chain->request)
        client_cancel(chain->client, chain->request);
    clear_search(chain);
    for (struct known *known = chain->newest, *next; known; known = next) {
        next = known->older;
        free(known);
    }
    size_t cursor = 0;
    for (struct plural *plural; (plural = map_next(&chain->plurals, &cursor));) {
        free(plural->key);
        free(plural->plural);
        free(plural);
    }
    map_free(&chain->known);
    map_free(&chain->plurals);
    free(chain);
}

static void unlink_known(struct owner_chain *chain, struct known *known) {
    *(known->newer ? &known->newer->older : &chain->newest) = known->older;
    *(known->older ? &known->older->newer : &chain->oldest) = known->newer;
}

static void link_newest(struct owner_chain *chain, struct known *known) {
    known->newer = NULL;
    known->older = chain->newest;
    *(known->older ? &known->older->newer : &chain->oldest) = known;
    chain->newest = known;
}

static void forget(struct owner_chain *chain, struct known *known) {
    map_remove(&chain->known, known->uid);
    unlink_known(chain, known);
    free(known);
}

void owner_chain_forget_none(struct owner_chain *chain) {
    for (struct known *known = chain->newest, *next; known; known = next) {
        next = known->older;
        if (known->kind == KIND_NONE)
            forget(chain, known);
    }
}

// `mirror` NULL: the object belongs to no mirror. `mirror` may point into the newest entry. Without memory, a later
// search finds the mirror again.
static void remember(struct owner_chain *chain, const char *uid, const struct pod_mirror *mirror) {
    if (map_get(&chain->known, uid)) // owners do not change
        return;
    if (chain->known.count >= KNOWN_MAX)
        forget(chain, chain->oldest);
    struct known wanted = {.uid = uid, .namespace_ = "", .name = "", .mirror = "", .kind = KIND_NONE};
    if (mirror)
        wanted = (struct known){uid, mirror->namespace_, mirror->name, mirror->uid, mirror->kind, NULL, NULL};
    struct known *known = struct_copy_with_texts(&wanted, sizeof wanted, 4);
    if (known && map_put(&chain->known, known->uid, known))
        link_newest(chain, known);
    else
        free(known);
}

static void finish(struct owner_chain *chain, enum owner_outcome outcome, const struct pod_mirror *mirror,
                   const char *problem) {
    if (outcome == OWNER_FOUND || outcome == OWNER_NONE)
        for (size_t i = 0; i <= chain->depth; i++)
            if (chain->links[i] && *chain->links[i]->uid)
                remember(chain, chain->links[i]->uid, mirror);
    struct owner_search search = chain->search;
    AUTO_TEXT said = problem ? strdup(problem) : NULL;
    clear_search(chain);
    search.done(search.ctx, outcome, mirror, said ? said : "refused");
}

static bool is_name(const char *text) {
    return text_is_within(text, NAME_BYTES);
}

// False: out of memory, or no API server has such an object.
static bool set_link(struct owner_ref **link, const struct owner_ref *ref) {
    if (!is_name(ref->api_version) || !is_name(ref->kind) || !is_name(ref->namespace_) || !is_name(ref->name) ||
        !is_name(ref->uid))
        return false;
    *link = struct_copy_with_texts(ref, sizeof *ref, 5);
    return *link;
}

bool owner_chain_is_busy(const struct owner_chain *chain) {
    return chain->busy;
}

bool owner_chain_find(struct owner_chain *chain, const struct owner_search *search) {
    if (!set_link(&chain->links[0], &search->from)) {
        clear_search(chain);
        return false;
    }
    chain->search = *search;
    chain->fresh = search->fresh;
    chain->busy = true;
    chain->due_ns = 0;
    return true;
}

bool owner_chain_take_request(struct owner_chain *chain, struct moment now, int64_t *at_ns) {
    int64_t full_ns = clock_later(chain->full_ns, now.mono_ns) + REQUEST_NS;
    if (full_ns - now.mono_ns > REQUESTS_BURST * REQUEST_NS) {
        *at_ns = full_ns - REQUESTS_BURST * REQUEST_NS;
        return false;
    }
    chain->full_ns = full_ns;
    return true;
}

static void on_answer(void *ctx, struct response *response) {
    struct owner_chain *chain = ctx;
    chain->request = 0;
    chain->answered = true;
    response_clear(&chain->answer);
    chain->answer = *response;
    *response = (struct response){.retry_after_ns = -1};
}

static void ask(struct owner_chain *chain, const char *path) {
    struct request request = {.verb = VERB_RAW_GET, .name = path};
    struct error *error = client_submit(chain->client, &request, on_answer, chain, &chain->request);
    if (error)
        finish(chain, OWNER_FAILED, NULL, NULL);
    error_free(error);
}

// The group's length in an apiVersion; 0: the core group.
static size_t group_length(const char *api_version) {
    const char *slash = strchr(api_version, '/');
    return slash ? (size_t)(slash - api_version) : 0;
}

static size_t own_kind(const struct owner_chain *chain, const struct owner_ref *link) {
    size_t len = group_length(link->api_version);
    for (size_t k = 0; k < chain->scope->settings.n_kinds; k++) {
        const wharf_kind *abi = &chain->scope->settings.kinds[k]->abi;
        if (strcmp(abi->kind, link->kind) == 0 && strlen(abi->group) == len &&
            memcmp(abi->group, link->api_version, len) == 0)
            return k;
    }
    return KIND_NONE;
}

// The plural of the link's kind; NULL: not known. *none: the worker does not serve the kind.
static const char *plural_of(const struct owner_chain *chain, const struct owner_ref *link, bool *none) {
    size_t k = own_kind(chain, link);
    *none = false;
    if (k != KIND_NONE)
        return chain->scope->settings.kinds[k]->abi.plural;
    if (strcmp(link->api_version, "v1") == 0 && strcmp(link->kind, "Pod") == 0)
        return "pods";
    AUTO_TEXT key = text_format("%s/%s", link->api_version, link->kind);
    const struct plural *plural = key ? map_get(&chain->plurals, key) : NULL;
    *none = plural && !plural->plural;
    return plural ? plural->plural : NULL;
}

// False: out of memory, or there are too many.
static bool learn_plural(struct owner_chain *chain, const struct owner_ref *link, const struct json *list) {
    const char *found = api_resources_plural(list, link->kind);
    found = found && is_name(found) ? found : NULL;
    struct plural *plural = chain->plurals.count < PLURALS_MAX ? calloc(1, sizeof *plural) : NULL;
    if (!plural)
        return false;
    plural->key = text_format("%s/%s", link->api_version, link->kind);
    plural->plural = found ? strdup(found) : NULL;
    bool known = plural->key && map_get(&chain->plurals, plural->key);
    if (!known && plural->key && (!found || plural->plural) && map_put(&chain->plurals, plural->key, plural))
        return true;
    free(plural->key);
    free(plural->plural);
    free(plural);
    return known;
}

static void ask_plural(struct owner_chain *chain, const struct owner_ref *link) {
    AUTO_TEXT path = api_resources_version_path(link->api_version);
    chain->asked_plural = true;
    if (path)
        ask(chain, path);
    else
        finish(chain, OWNER_NONE, NULL, NULL);
}

static void ask_object(struct owner_chain *chain, const struct owner_ref *link, const char *plural) {
    size_t len = group_length(link->api_version);
    AUTO_TEXT group = strndup(link->api_version, len);
    struct resource resource = {
        .group = group ? group : "", .version = link->api_version + (len > 0 ? len + 1 : 0), .plural = plural};
    AUTO_BUFFER(path, 2048);
    struct error *error = resource_path(&resource, link->namespace_, link->name, NULL, &path);
    chain->asked_plural = false;
    ask(chain, error || path.failed ? "" : path.data);
    error_free(error);
}

// The object at the end of the chain has no controller: is this object a mirror?
static void conclude(struct owner_chain *chain, const struct owner_ref *link, const struct json *object) {
    size_t k = own_kind(chain, link);
    struct pod_mirror mirror = {k, object_namespace(object), object_name(object), object_uid(object)};
    if (k == KIND_NONE || !mirror_is_ours(chain->scope->settings.kinds[k], chain->scope->origin, object) ||
        !is_name(mirror.namespace_) || !is_name(mirror.name) || !is_name(mirror.uid)) {
        finish(chain, OWNER_NONE, NULL, NULL);
        return;
    }
    AUTO_JSON kept = TAKE(chain->answer.value); // `mirror` points into the object
    (void)kept;
    finish(chain, OWNER_FOUND, &mirror, NULL);
}

static void go_up(struct owner_chain *chain, const struct json *object) {
    const struct owner_ref *link = chain->links[chain->depth];
    if (*link->uid && strcmp(link->uid, object_uid(object)) != 0) { // another one of that name
        finish(chain, OWNER_NONE, NULL, NULL);
        return;
    }
    if (chain->depth == 0 && chain->search.read)
        chain->search.read(chain->search.ctx, object);
    const struct json *owner = object_controller(object);
    if (!owner) {
        conclude(chain, link, object);
        return;
    }
    struct owner_ref ref = {json_string_or(json_get(owner, "apiVersion"), ""),
                            json_string_or(json_get(owner, "kind"), ""), link->namespace_,
                            json_string_or(json_get(owner, "name"), ""), json_string_or(json_get(owner, "uid"), "")};
    if (chain->depth + 1 == DEPTH_MAX || !*ref.uid) {
        finish(chain, OWNER_NONE, NULL, NULL);
        return;
    }
    bool set = set_link(&chain->links[++chain->depth], &ref);
    response_clear(&chain->answer);
    chain->tries = 0;
    if (!set)
        finish(chain, OWNER_FAILED, NULL, NULL);
}

static void take_answer(struct owner_chain *chain, struct moment now) {
    chain->answered = false;
    switch (chain->answer.reason) {
    case REASON_OK:
        if (!chain->asked_plural)
            go_up(chain, chain->answer.value);
        else if (!learn_plural(chain, chain->links[chain->depth], chain->answer.value))
            finish(chain, OWNER_FAILED, NULL, NULL);
        break;
    case REASON_NOT_FOUND:
    case REASON_KIND_NOT_FOUND:
    case REASON_NAMESPACE_NOT_FOUND:
        finish(chain, OWNER_NONE, NULL, NULL);
        break;
    case REASON_FORBIDDEN:
    case REASON_UNAUTHORIZED:
        finish(chain, OWNER_REFUSED, NULL, chain->answer.message);
        break;
    default:
        if (++chain->tries >= TRIES_MAX)
            finish(chain, OWNER_FAILED, NULL, NULL);
        else
            chain->due_ns = now.mono_ns + clock_later(chain->answer.retry_after_ns, CLOCK_SECOND << chain->tries);
    }
}

bool owner_chain_knows(struct owner_chain *chain, const char *uid, bool *found, struct pod_mirror *mirror) {
    struct known *known = map_get(&chain->known, uid);
    if (!known)
        return false;
    unlink_known(chain, known);
    link_newest(chain, known);
    *found = known->kind != KIND_NONE;
    *mirror = (struct pod_mirror){known->kind, known->namespace_, known->name, known->mirror};
    return true;
}

// False: nothing more can be done now.
static bool advance(struct owner_chain *chain, struct moment now) {
    const struct owner_ref *link = chain->links[chain->depth];
    struct pod_mirror mirror;
    bool found;
    if (!(chain->fresh && chain->depth == 0) && owner_chain_knows(chain, link->uid, &found, &mirror)) {
        finish(chain, found ? OWNER_FOUND : OWNER_NONE, found ? &mirror : NULL, NULL);
        return true;
    }
    bool unserved;
    const char *plural = plural_of(chain, link, &unserved);
    if (unserved) {
        finish(chain, OWNER_NONE, NULL, NULL);
        return true;
    }
    if (!owner_chain_take_request(chain, now, &chain->due_ns))
        return false;
    if (plural)
        ask_object(chain, link, plural);
    else
        ask_plural(chain, link);
    return true;
}

int64_t owner_chain_tick(struct owner_chain *chain, struct moment now) {
    if (chain->answered)
        take_answer(chain, now);
    while (chain->busy && !chain->request && !chain->answered)
        if (now.mono_ns < chain->due_ns || !advance(chain, now))
            return chain->due_ns;
    return CLOCK_NEVER;
}
