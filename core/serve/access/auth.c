// SPDX-License-Identifier: Apache-2.0
#include "core/serve/access/access.h"

#include "core/base/text.h"
#include "core/base/thread.h"
#include "core/json/writer.h"

#include <pthread.h>
#include <strings.h>

#define KEPT 512
#define REVIEW_MAX ((size_t)256 * 1024)
#define TOKEN_MAX ((size_t)16 * 1024)

// An answer of the API server. For a token: the user. For an access: "yes", or NULL.
struct kept {
    unsigned char key[DIGEST_SHA256_LEN];
    int64_t used_ns, until_ns;
    char *first, *second;
};

struct auth {
    struct auth_reviewer reviewer;
    uint64_t salt[2];
    pthread_mutex_t lock;
    struct kept answers[KEPT];
    struct kept known[KEPT]; // tokens that were valid a while ago, which do not wait behind new ones
};

struct error *auth_new(const struct auth_reviewer *reviewer, struct auth **out) {
    struct auth *auth = calloc(1, sizeof *auth);
    if (!auth)
        return error_no_memory();
    auth->reviewer = *reviewer;
    if (auth->reviewer.kept_ns == 0)
        auth->reviewer.kept_ns = AUTH_KEPT_NS;
    auth->salt[0] = random_system();
    auth->salt[1] = random_system();
    pthread_mutex_init(&auth->lock, NULL);
    *out = auth;
    return NULL;
}

static void kept_clear(struct kept *kept) {
    free(kept->first);
    free(kept->second);
    *kept = (struct kept){0};
}

void auth_free(struct auth *auth) {
    if (!auth)
        return;
    for (size_t i = 0; i < KEPT; i++) {
        kept_clear(&auth->answers[i]);
        kept_clear(&auth->known[i]);
    }
    pthread_mutex_destroy(&auth->lock);
    free(auth);
}

void auth_user_clear(struct auth_user *user) {
    free(user->name);
    free(user->spec);
    *user = (struct auth_user){0};
}

// Under the lock. NULL: there is none that is valid now.
static struct kept *find_kept(struct kept list[KEPT], const unsigned char *key, int64_t now_ns) {
    for (size_t i = 0; i < KEPT; i++)
        if (now_ns < list[i].until_ns && memcmp(list[i].key, key, sizeof list[i].key) == 0) {
            list[i].used_ns = now_ns;
            return &list[i];
        }
    return NULL;
}

// Whether an answer is kept; copies its texts. False also when out of memory, which costs one more review.
static bool recall(struct auth *auth, const unsigned char *key, int64_t now_ns, char **first, char **second) {
    *first = *second = NULL;
    AUTO_LOCK(&auth->lock);
    const struct kept *kept = find_kept(auth->answers, key, now_ns);
    bool found = kept && text_set(first, kept->first) && text_set(second, kept->second);
    if (!found)
        (void)text_set(first, NULL);
    return found;
}

// Before every other use: an entry that is not valid any more.
static int64_t last_use(const struct kept *kept, int64_t now_ns) {
    return now_ns < kept->until_ns ? kept->used_ns : INT64_MIN;
}

// Replaces the least recently used entry.
static void keep_answer(struct auth *auth, struct kept list[KEPT], const unsigned char *key, int64_t now_ns,
                        int64_t for_ns, const char *first, const char *second) {
    struct kept made = {.used_ns = now_ns, .until_ns = now_ns + for_ns};
    memcpy(made.key, key, sizeof made.key);
    if (!text_set(&made.first, first) || !text_set(&made.second, second)) {
        kept_clear(&made);
        return;
    }
    AUTO_LOCK(&auth->lock);
    struct kept *known = find_kept(list, key, now_ns), *place = known ? known : list;
    for (size_t i = 0; !known && i < KEPT; i++)
        if (last_use(&list[i], now_ns) < last_use(place, now_ns))
            place = &list[i];
    kept_clear(place);
    *place = made;
}

static const struct json *status_of(const struct response *response) {
    return json_get(response->value, "status");
}

static struct error *create_review(struct auth *auth, const char *group, const char *plural, const struct buffer *body,
                                   struct response *response) {
    *response = (struct response){.retry_after_ns = -1};
    struct request request = {.verb = VERB_CREATE,
                              .resource = {.group = group, .version = "v1", .plural = plural, .cluster_scoped = true},
                              .namespace_ = "",
                              .body = body->data,
                              .body_len = body->len};
    struct error *error =
        body->failed ? error_no_memory() : auth->reviewer.review(auth->reviewer.ctx, &request, response);
    if (!error && (response->reason != REASON_OK || !status_of(response)))
        error = error_new(ERROR_IO, "%s", response->message ? response->message : "an answer without a status");
    return error_wrap(error, "the management cluster did not answer a review (%s)", plural);
}

// The status of a TokenReview, or NULL if the token is not valid for the audience; NULL: the API server's own.
static struct error *review_token(struct auth *auth, const char *token, const char *audience, struct response *response,
                                  const struct json **user) {
    AUTO_BUFFER(body, REVIEW_MAX);
    *user = NULL;
    buffer_text(&body, "{\"apiVersion\":\"authentication.k8s.io/v1\",\"kind\":\"TokenReview\",\"spec\":{\"token\":");
    buffer_json_string(&body, token, strlen(token));
    if (audience)
        buffer_printf(&body, ",\"audiences\":[\"%s\"]", audience);
    buffer_text(&body, "}}");
    struct error *error = create_review(auth, "authentication.k8s.io", "tokenreviews", &body, response);
    if (body.data)
        explicit_bzero(body.data, body.len);
    if (error)
        return error;
    const struct json *status = status_of(response);
    bool valid = json_bool(json_get(status, "authenticated"), false);
    // A server without audiences has not checked the audience.
    if (valid && audience)
        valid = strcmp(json_string_or(json_at(json_get(status, "audiences"), 0), ""), audience) == 0;
    *user = valid ? json_get(status, "user") : NULL;
    return NULL;
}

static struct error *read_user(const struct json *user, struct auth_user *out) {
    const char *name = json_string_or(json_get(user, "username"), "");
    if (*name == '\0')
        return error_new(ERROR_REFUSED, "the token is of a user without a name");
    AUTO_BUFFER(spec, REVIEW_MAX);
    buffer_text(&spec, "\"user\":");
    buffer_json_string(&spec, name, strlen(name));
    static const char *const members[] = {"uid", "groups", "extra"};
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        const struct json *member = json_get(user, members[i]);
        if (member && buffer_printf(&spec, ",\"%s\":", members[i]))
            json_print(member, &spec);
    }
    out->name = strdup(name);
    out->spec = buffer_take(&spec, NULL);
    if (out->name && out->spec)
        return NULL;
    auth_user_clear(out);
    return error_no_memory();
}

static struct error *ask_token(struct auth *auth, const char *token, struct auth_user *out) {
    static const char *const audiences[] = {NULL, AUTH_AUDIENCE};
    for (size_t i = 0; i < 2; i++) {
        __attribute__((cleanup(response_clear))) struct response response;
        const struct json *user = NULL;
        TRY(review_token(auth, token, audiences[i], &response, &user));
        if (user)
            return read_user(user, out);
    }
    return error_new(ERROR_REFUSED, "the bearer token is not valid in the management cluster");
}

static bool key_of(const struct auth *auth, const char *kind, const char *a, const char *b,
                   unsigned char key[DIGEST_SHA256_LEN]) {
    AUTO_BUFFER(text, REVIEW_MAX);
    buffer_append(&text, auth->salt, sizeof auth->salt);
    buffer_printf(&text, "%s\n%s\n%s", kind, a, b);
    bool ok = !text.failed && digest_sha256(text.data, text.len, key);
    if (text.data)
        explicit_bzero(text.data, text.len);
    return ok;
}

static bool is_known(struct auth *auth, const unsigned char *key, int64_t now_ns) {
    AUTO_LOCK(&auth->lock);
    return find_kept(auth->known, key, now_ns);
}

bool auth_knows(struct auth *auth, const char *token, int64_t now_ns) {
    unsigned char key[DIGEST_SHA256_LEN];
    return strlen(token) <= TOKEN_MAX && key_of(auth, "token", token, "", key) && is_known(auth, key, now_ns);
}

static void forget_token(struct auth *auth, const unsigned char *key, int64_t now_ns) {
    AUTO_LOCK(&auth->lock);
    struct kept *kept = find_kept(auth->known, key, now_ns);
    if (kept)
        kept_clear(kept);
}

struct error *auth_identify(struct auth *auth, const char *token, int64_t now_ns, struct auth_user *out) {
    unsigned char key[DIGEST_SHA256_LEN];
    *out = (struct auth_user){0};
    if (strlen(token) > TOKEN_MAX)
        return error_new(ERROR_REFUSED, "the bearer token is longer than %zu bytes", TOKEN_MAX);
    if (!key_of(auth, "token", token, "", key))
        return error_no_memory();
    if (recall(auth, key, now_ns, &out->name, &out->spec)) {
        (void)is_known(auth, key, now_ns); // the token is in use
        return NULL;
    }
    struct error *error = ask_token(auth, token, out);
    if (!error) {
        keep_answer(auth, auth->answers, key, now_ns, auth->reviewer.kept_ns, out->name, out->spec);
        keep_answer(auth, auth->known, key, now_ns, AUTH_KNOWN_NS, NULL, NULL);
    } else if (error->code == ERROR_REFUSED) {
        forget_token(auth, key, now_ns);
    }
    return error;
}

static void put_attributes(struct buffer *out, const struct auth_attributes *what) {
    const struct {
        const char *name, *value;
    } members[] = {{"verb", what->verb},
                   {"path", what->path},
                   {"group", what->group},
                   {"resource", what->resource},
                   {"subresource", what->subresource},
                   {"namespace", what->namespace_},
                   {"name", what->name}};
    struct writer writer = {.out = out};
    writer_object(&writer, what->path ? "nonResourceAttributes" : "resourceAttributes");
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        if (members[i].value && *members[i].value)
            writer_string(&writer, members[i].name, members[i].value);
    writer_end(&writer, '}');
}

// "get pods/log in namespace "team-a"".
static void describe_access(struct buffer *out, const struct auth_attributes *what) {
    if (what->path) {
        buffer_printf(out, "%s the path %s", what->verb, what->path);
        return;
    }
    buffer_printf(out, "%s %s%s%s", what->verb, what->resource, what->group && *what->group ? "." : "",
                  what->group ? what->group : "");
    if (what->subresource)
        buffer_printf(out, "/%s", what->subresource);
    if (what->namespace_ && *what->namespace_)
        buffer_printf(out, " in namespace %s", what->namespace_);
    else
        buffer_text(out, " in all namespaces");
}

static struct error *ask_access(struct auth *auth, const struct auth_user *user, const char *attributes,
                                bool *allowed) {
    AUTO_BUFFER(body, REVIEW_MAX);
    buffer_printf(&body,
                  "{\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":\"SubjectAccessReview\",\"spec\":{%s,%s}}",
                  user->spec, attributes);
    __attribute__((cleanup(response_clear))) struct response response;
    TRY(create_review(auth, "authorization.k8s.io", "subjectaccessreviews", &body, &response));
    const struct json *status = status_of(&response);
    *allowed = json_bool(json_get(status, "allowed"), false) && !json_bool(json_get(status, "denied"), false);
    return NULL;
}

struct error *auth_allow(struct auth *auth, const struct auth_user *user, const struct auth_attributes *what,
                         int64_t now_ns) {
    unsigned char key[DIGEST_SHA256_LEN];
    AUTO_BUFFER(attributes, REVIEW_MAX);
    put_attributes(&attributes, what);
    if (attributes.failed || !key_of(auth, "access", user->spec, attributes.data, key))
        return error_no_memory();
    AUTO_TEXT answer = NULL;
    AUTO_TEXT none = NULL;
    bool found = recall(auth, key, now_ns, &answer, &none), allowed = answer;
    if (!found) {
        TRY(ask_access(auth, user, attributes.data, &allowed));
        keep_answer(auth, auth->answers, key, now_ns, auth->reviewer.kept_ns, allowed ? "yes" : NULL, NULL);
    }
    if (allowed)
        return NULL;
    AUTO_BUFFER(text, 4096);
    describe_access(&text, what);
    return error_new(ERROR_REFUSED, "user %s may not %s of the management cluster", user->name,
                     text.failed ? what->verb : text.data);
}

const char *auth_bearer(const char *header) {
    static const char scheme[] = "Bearer ";
    if (!header || strncasecmp(header, scheme, sizeof scheme - 1) != 0)
        return NULL;
    header += sizeof scheme - 1;
    header += strspn(header, " ");
    return *header == '\0' ? NULL : header;
}

bool auth_host_is_local(const char *host) {
    if (!host)
        return false;
    bool bracket = host[0] == '[';
    size_t len = bracket ? strcspn(host, "]") : strcspn(host, ":");
    const char *rest = host + len + (bracket && host[len] == ']');
    if ((bracket && host[len] != ']') || (*rest != '\0' && *rest != ':'))
        return false;
    if (*rest == ':' && rest[1 + strspn(rest + 1, "0123456789")] != '\0')
        return false;
    AUTO_TEXT name = strndup(host + bracket, len - bracket);
    return name && address_is_local(name);
}
