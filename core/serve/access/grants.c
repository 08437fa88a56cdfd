// SPDX-License-Identifier: Apache-2.0
#include "core/serve/access/access.h"

#include "core/base/text.h"
#include "core/base/thread.h"

#include <pthread.h>
#include <stdatomic.h>

#define STACK ((size_t)256 * 1024)

struct grant {
    struct grants *grants;
    struct grant *next;
    char *token, *namespace_;
    struct auth_attributes what;
    int64_t due_ns;
    unsigned unverified; // reviews in a row
    bool in_review, is_freed;
    atomic_bool lost;
    char *reason;
};

struct grants {
    struct auth *auth;
    int64_t every_ns;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct grant *first;
    bool running, stopping;
    pthread_t thread; // from the first grant on
};

struct error *grants_new(struct auth *auth, int64_t every_ns, struct grants **out) {
    struct grants *grants = calloc(1, sizeof *grants);
    if (!grants)
        return error_no_memory();
    clock_condition_init(&grants->changed);
    pthread_mutex_init(&grants->lock, NULL);
    grants->auth = auth;
    grants->every_ns = every_ns;
    *out = grants;
    return NULL;
}

static void destroy_grant(struct grant *grant) {
    sensitive_free(grant->token);
    free(grant->namespace_);
    free(grant->reason);
    free(grant);
}

static struct error *review_grant(struct auth *auth, const struct grant *grant) {
    __attribute__((cleanup(auth_user_clear))) struct auth_user user;
    int64_t now_ns = clock_now().mono_ns;
    TRY(auth_identify(auth, grant->token, now_ns, &user));
    return auth_allow(auth, &user, &grant->what, now_ns);
}

// Under the lock, except during the review.
static void review_one(struct grants *grants, struct grant *grant) {
    grant->in_review = true;
    pthread_mutex_unlock(&grants->lock);
    AUTO_ERROR error = review_grant(grants->auth, grant);
    pthread_mutex_lock(&grants->lock);
    bool refused = error && error->code == ERROR_REFUSED;
    grant->in_review = false;
    grant->due_ns = clock_now().mono_ns + grants->every_ns;
    grant->unverified = error && !refused ? grant->unverified + 1 : 0;
    if (refused || grant->unverified >= GRANTS_UNVERIFIED) {
        grant->reason = strdup(error_text(error));
        atomic_store(&grant->lost, true);
    }
    if (grant->is_freed)
        destroy_grant(grant);
}

// The next grant to review, of grants that are not lost; NULL: none. Under the lock.
static struct grant *find_next(const struct grants *grants) {
    struct grant *next = NULL;
    for (struct grant *grant = grants->first; grant; grant = grant->next)
        if (!atomic_load(&grant->lost) && (!next || grant->due_ns < next->due_ns))
            next = grant;
    return next;
}

static void *run_grants(void *arg) {
    struct grants *grants = arg;
    AUTO_LOCK(&grants->lock);
    while (!grants->stopping) {
        struct grant *next = find_next(grants);
        int64_t now_ns = clock_now().mono_ns;
        if (!next)
            pthread_cond_wait(&grants->changed, &grants->lock);
        else if (now_ns >= next->due_ns)
            review_one(grants, next);
        else
            (void)clock_condition_wait(&grants->changed, &grants->lock, next->due_ns - now_ns);
    }
    return NULL;
}

static struct grant *grant_new(struct grants *grants, const char *token, const struct auth_attributes *what) {
    struct grant *grant = calloc(1, sizeof *grant);
    if (!grant)
        return NULL;
    grant->grants = grants;
    grant->due_ns = clock_now().mono_ns + grants->every_ns;
    grant->what = *what;
    if (text_set(&grant->token, token) && text_set(&grant->namespace_, what->namespace_)) {
        grant->what.namespace_ = grant->namespace_;
        return grant;
    }
    destroy_grant(grant);
    return NULL;
}

struct error *grants_add(struct grants *grants, const char *token, const struct auth_attributes *what,
                         struct grant **out) {
    struct grant *grant = grant_new(grants, token, what);
    if (!grant)
        return error_no_memory();
    AUTO_LOCK(&grants->lock);
    if (!grants->running)
        grants->running = thread_start("grants", STACK, run_grants, grants, &grants->thread) == 0;
    if (!grants->running) {
        destroy_grant(grant);
        return error_new(ERROR_STOPPED, "no thread can be started that reviews the right again");
    }
    grant->next = grants->first;
    grants->first = *out = grant;
    pthread_cond_signal(&grants->changed);
    return NULL;
}

bool grant_is_lost(const struct grant *grant) {
    return grant && atomic_load(&grant->lost);
}

const char *grant_reason(const struct grant *grant) {
    return grant->reason ? grant->reason : "the right was withdrawn";
}

void grant_free(struct grant *grant) {
    if (!grant)
        return;
    struct grants *grants = grant->grants;
    AUTO_LOCK(&grants->lock);
    struct grant **place = &grants->first;
    while (*place != grant)
        place = &(*place)->next;
    *place = grant->next;
    grant->is_freed = true;
    if (!grant->in_review)
        destroy_grant(grant);
    pthread_cond_signal(&grants->changed);
}

void grants_free(struct grants *grants) {
    if (!grants)
        return;
    pthread_mutex_lock(&grants->lock);
    grants->stopping = true;
    pthread_cond_signal(&grants->changed);
    pthread_mutex_unlock(&grants->lock);
    if (grants->running)
        pthread_join(grants->thread, NULL);
    pthread_cond_destroy(&grants->changed);
    pthread_mutex_destroy(&grants->lock);
    free(grants);
}
