// SPDX-License-Identifier: Apache-2.0
// Queues and threads. Readers take the engine's wishes in order, at most WORDS_READERS_OF_WORKER of one worker at a
// time, and leave the entries to the keeper, which changes the ConfigMap of a namespace once for many of them. Only
// then the engine hears that the read is over, and may delete the mirror.
#include "core/host/words/words_internal.h"

#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/base/thread.h"

#define STACK ((size_t)512 * 1024)
#define GATHER_NS (CLOCK_SECOND / 5) // for more changes of the same namespace
#define AGAIN_NS (2 * CLOCK_SECOND)  // after a failure
#define POLL_NS (CLOCK_SECOND / 4)   // while wishes wait for a worker
#define IDLE_NS (60 * CLOCK_MINUTE)
#define TRIES 3                            // of a read, and of a write
#define FULL ((size_t)256)                 // changes that wait for the keeper: readers wait, too
#define TOLD_NS CLOCK_MINUTE               // between two log lines about the same trouble
#define SWEEP_FIRST_NS (10 * CLOCK_SECOND) // after the first use,
#define SWEEP_NS (60 * CLOCK_MINUTE)       // and between two
#define KEPT_NS CLOCK_MINUTE               // how long what was read of a ConfigMap holds
#define REFUSALS ((size_t)64)
#define KEY_MAX ((size_t)160)

struct refusals { // of rights in a namespace of a cluster, the last ones
    struct {
        char key[KEY_MAX];
        int64_t until_ns;
    } list[REFUSALS];
    size_t next;
};

struct reader {
    struct word_keeper *words;
    pthread_t thread;
    struct words_link worker, management;
    struct json *kept; // the ConfigMap of the namespace `kept_of`, or NULL,
    char kept_of[64];
    int64_t kept_ns; // as read then; 0: not
    char of[64];     // the worker that is being read; "": none. Under the mutex
};

struct task_list {
    struct words_task *first, **end; // end: where the next one goes; only with a first one
    size_t count;
};

struct word_keeper {
    struct words_source source;
    _Atomic int level; // enum last_words
    atomic_bool stop;
    char *origin; // before the threads start
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct task_list wishes, changes; // under the mutex, like everything below
    int64_t gather_ns;                // until then, the keeper waits for more changes
    struct words_counts counts;
    struct refusals refusals;
    int64_t dropped_told_ns, failed_told_ns;
    size_t n_readers;
    struct reader readers[WORDS_READERS];
    struct reader keeper;
    bool keeps; // the keeper runs
};

static void task_free(struct words_task *task) {
    free(task->wish);
    free(task->key);
    free(task->value);
    free(task->text);
    free(task);
}

static void append(struct task_list *list, struct words_task *task) {
    *(list->first ? list->end : &list->first) = task;
    list->end = &task->next;
    task->next = NULL;
    list->count++;
}

static struct words_task *take(struct task_list *list, struct words_task **at) {
    struct words_task *task = *at;
    *at = task->next;
    if (!task->next)
        list->end = at;
    list->count--;
    return task;
}

// Under the mutex.
static void add_change(struct word_keeper *words, struct words_task *task) {
    if (!words->changes.first)
        words->gather_ns = clock_now().mono_ns + GATHER_NS;
    append(&words->changes, task);
    pthread_cond_broadcast(&words->changed);
}

// The engine's deletion of the mirror waits for this. `text` NULL: nothing to tell.
static void answer(struct word_keeper *words, const struct words_wish *wish, const char *text) {
    if (!wish->forget)
        words->source.post(words->source.ctx, &(struct engine_event){.type = EVENT_WORDS,
                                                                     .cluster = wish->cluster,
                                                                     .kind = wish->kind,
                                                                     .words = {wish->namespace_, wish->name, wish->uid,
                                                                               text, wish->attempt}});
}

// Trouble -----------------------------------------------------------------------------------------------------------

// A worker may let the host read pods and not their logs.
#define LOGS_OF "logs of "

static bool key_of(const char *cluster, const char *namespace_, char key[KEY_MAX]) {
    return snprintf(key, KEY_MAX, "%s/%s", cluster, namespace_) < (int)KEY_MAX;
}

static bool is_refused(struct word_keeper *words, const char *cluster, const char *namespace_) {
    char key[KEY_MAX];
    bool refused = false;
    int64_t now_ns = clock_now().mono_ns;
    AUTO_LOCK(&words->mutex);
    for (size_t i = 0; key_of(cluster, namespace_, key) && i < REFUSALS && !refused; i++)
        refused = words->refusals.list[i].until_ns > now_ns && strcmp(words->refusals.list[i].key, key) == 0;
    return refused;
}

static void refuse(struct word_keeper *words, const char *cluster, const char *namespace_, const char *problem) {
    char key[KEY_MAX];
    if (!key_of(cluster, namespace_, key))
        return;
    pthread_mutex_lock(&words->mutex);
    size_t at = 0;
    while (at < REFUSALS && strcmp(words->refusals.list[at].key, key) != 0)
        at++;
    bool known = at < REFUSALS;
    if (!known)
        at = words->refusals.next++ % REFUSALS;
    text_copy(words->refusals.list[at].key, KEY_MAX, key);
    words->refusals.list[at].until_ns = clock_now().mono_ns + WORDS_REFUSED_NS;
    pthread_mutex_unlock(&words->mutex);
    if (!known)
        log_fields(LOG_WARN,
                   "the cluster does not let the host keep last words of failed workloads: grant the rights that wharf "
                   "rbac prints, or set lastWords: none",
                   {"cluster", cluster}, {"namespace", namespace_}, {"error", problem});
}

static bool may_tell(struct word_keeper *words, int64_t *told_ns) {
    int64_t now_ns = clock_now().mono_ns;
    AUTO_LOCK(&words->mutex);
    bool may = *told_ns == 0 || now_ns - *told_ns >= TOLD_NS;
    if (may)
        *told_ns = now_ns;
    return may;
}

static void count(struct word_keeper *words, enum words_result result) {
    AUTO_LOCK(&words->mutex);
    words->counts.results[result]++;
}

static void tell_failure(struct word_keeper *words, const char *text, const struct words_wish *wish,
                         const char *cluster, const char *problem) {
    count(words, WORDS_FAILED);
    if (may_tell(words, &words->failed_told_ns))
        log_fields(LOG_WARN, text, {"cluster", cluster}, {"namespace", wish->namespace_}, {"name", wish->name},
                   {"error", problem});
}

// Readers ------------------------------------------------------------------------------------------------------------

static size_t readers_of(const struct word_keeper *words, const char *worker) {
    size_t n = 0;
    for (size_t i = 0; i < WORDS_READERS; i++)
        n += strcmp(words->readers[i].of, worker) == 0;
    return n;
}

// The first wish about a worker with a free reader. Under the mutex.
static struct words_task *take_wish(struct word_keeper *words, struct reader *reader) {
    int64_t now_ns = clock_now().mono_ns;
    if (words->changes.count >= FULL)
        return NULL;
    for (struct words_task **at = &words->wishes.first; *at; at = &(*at)->next) {
        const char *worker = (*at)->wish->worker;
        if ((*at)->due_ns > now_ns || readers_of(words, worker) >= WORDS_READERS_OF_WORKER)
            continue;
        text_copy(reader->of, sizeof reader->of, worker);
        return take(&words->wishes, at);
    }
    return NULL;
}

// What earlier processes have kept in the namespace: after a restart, many are asked about.
static struct error *read_kept(struct reader *reader, const char *namespace_) {
    struct word_keeper *words = reader->words;
    int64_t now_ns = clock_now().mono_ns;
    if (reader->kept_ns > 0 && now_ns - reader->kept_ns < KEPT_NS && strcmp(reader->kept_of, namespace_) == 0)
        return NULL;
    json_free(TAKE(reader->kept));
    reader->kept_ns = 0;
    TRY(words_link_use(&words->source, &reader->management, "management", &words->stop));
    TRY(words_get(&reader->management, namespace_, &reader->kept));
    text_copy(reader->kept_of, sizeof reader->kept_of, namespace_);
    reader->kept_ns = now_ns;
    return NULL;
}

// An earlier process has kept them.
static struct error *find_kept(struct reader *reader, const struct words_task *task, bool *kept) {
    TRY(read_kept(reader, task->wish->namespace_));
    AUTO_TEXT key = text_format("%s.%u", task->wish->uid, task->wish->attempt);
    *kept = key && json_get(json_get(reader->kept, "data"), key);
    return NULL;
}

// Fills key, value and text of the task; without a value there is nothing to keep.
static struct error *read_words(struct reader *reader, struct words_task *task) {
    struct word_keeper *words = reader->words;
    const wharf_kind *kind = words->source.kind(words->source.ctx, task->wish->kind);
    struct words_read read = {
        .wish = task->wish, .kind = kind, .level = LAST_WORDS_REASONS, .link = &reader->worker, .stop = &words->stop};
    AUTO_TEXT resource = *kind->group ? text_format("%s.%s", kind->plural, kind->group) : strdup(kind->plural);
    __attribute__((cleanup(words_clear))) struct words out = {.resource = resource,
                                                              .name = task->wish->name,
                                                              .uid = task->wish->uid,
                                                              .origin = words->origin,
                                                              .worker = task->wish->worker,
                                                              .attempt = task->wish->attempt,
                                                              .at_ns = clock_now().wall_ns};
    __attribute__((cleanup(pods_clear))) struct pods pods = {.list = NULL};
    AUTO_BUFFER(key, 128);
    AUTO_BUFFER(value, WORDS_ENTRY_BYTES);
    AUTO_BUFFER(text, WORDS_SHORT);
    if (!resource)
        return error_no_memory();
    char logs[KEY_MAX];
    snprintf(logs, sizeof logs, LOGS_OF "%s", task->wish->worker);
    if (!is_refused(words, logs, task->wish->space))
        read.level = (enum last_words)atomic_load(&words->level);
    TRY(words_link_use(&words->source, &reader->worker, task->wish->worker, &words->stop));
    struct error *error = words_read(&read, &pods, &out);
    if (read.refused)
        refuse(words, error ? task->wish->worker : logs, task->wish->space, error ? error_text(error) : read.problem);
    if (error || out.count == 0)
        return error;
    if (!words_write(&out, &key, &value) || !words_shorten(&out, &text))
        return error_no_memory();
    task->key = buffer_take(&key, NULL);
    task->value = buffer_take(&value, NULL);
    task->text = buffer_take(&text, NULL);
    return task->key && task->value && task->text ? NULL : error_no_memory();
}

static bool is_wanted(struct reader *reader, struct words_task *task) {
    struct word_keeper *words = reader->words;
    bool kept = false;
    if (is_refused(words, task->wish->worker, task->wish->space) ||
        is_refused(words, "management", task->wish->namespace_))
        return false;
    AUTO_ERROR error = task->wish->fresh ? NULL : find_kept(reader, task, &kept);
    if (error && error->code == ERROR_REFUSED)
        refuse(words, "management", task->wish->namespace_, error_text(error));
    return !error && !kept;
}

// After the others. Under no lock.
static void enqueue(struct word_keeper *words, struct words_task *task) {
    AUTO_LOCK(&words->mutex);
    append(&words->wishes, task);
    pthread_cond_broadcast(&words->changed);
}

// True: the task is in a queue again.
static bool read_one(struct reader *reader, struct words_task *task) {
    struct word_keeper *words = reader->words;
    if (!is_wanted(reader, task))
        return false;
    AUTO_ERROR error = read_words(reader, task);
    if (error) {
        words_link_close(&reader->worker);
        bool failed = error->code != ERROR_REFUSED && error->code != ERROR_STOPPED;
        if (failed && ++task->tries < TRIES) {
            task->due_ns = clock_now().mono_ns + AGAIN_NS;
            enqueue(words, task);
            return true;
        }
        if (failed)
            tell_failure(words, "the last words of a failed workload cannot be read", task->wish, task->wish->worker,
                         error_text(error));
        return false;
    }
    task->tries = 0;
    if (!task->value) {
        count(words, WORDS_EMPTY);
        return false;
    }
    AUTO_LOCK(&words->mutex);
    add_change(words, task);
    return true;
}

static void *run_reader(void *arg) {
    struct reader *reader = arg;
    struct word_keeper *words = reader->words;
    pthread_mutex_lock(&words->mutex);
    while (!atomic_load(&words->stop)) {
        struct words_task *task = take_wish(words, reader);
        if (!task) { // perhaps one has to wait after a failure
            (void)clock_condition_wait(&words->changed, &words->mutex, words->wishes.first ? POLL_NS : IDLE_NS);
            continue;
        }
        pthread_mutex_unlock(&words->mutex);
        if (!read_one(reader, task)) {
            answer(words, task->wish, NULL);
            task_free(task);
        }
        pthread_mutex_lock(&words->mutex);
        *reader->of = '\0';
        pthread_cond_broadcast(&words->changed);
    }
    pthread_mutex_unlock(&words->mutex);
    words_link_close(&reader->worker);
    words_link_close(&reader->management);
    json_free(reader->kept);
    return NULL;
}

// The keeper --------------------------------------------------------------------------------------------------------

// The changes of the first one's namespace. Under the mutex.
static size_t take_changes(struct word_keeper *words, struct words_task *out[WORDS_BATCH]) {
    size_t n = 0;
    for (struct words_task **at = &words->changes.first; *at && n < WORDS_BATCH;)
        if (n > 0 && strcmp((*at)->wish->namespace_, out[0]->wish->namespace_) != 0)
            at = &(*at)->next;
        else
            out[n++] = take(&words->changes, at);
    return n;
}

static struct error *keep_all(struct word_keeper *words, struct words_task *const *tasks, size_t n) {
    struct words_change changes[WORDS_BATCH];
    for (size_t i = 0; i < n; i++)
        changes[i] = (struct words_change){tasks[i]->key, tasks[i]->value};
    TRY(words_link_use(&words->source, &words->keeper.management, "management", &words->stop));
    return words_keep(&words->keeper.management, tasks[0]->wish->namespace_, changes, n);
}

static void keep_later(struct word_keeper *words, struct words_task *task) {
    AUTO_LOCK(&words->mutex);
    add_change(words, task);
    words->gather_ns = clock_now().mono_ns + AGAIN_NS;
}

static void keep(struct word_keeper *words, struct words_task *const *tasks, size_t n) {
    const char *namespace_ = tasks[0]->wish->namespace_;
    bool refused = is_refused(words, "management", namespace_);
    AUTO_ERROR error = refused ? NULL : keep_all(words, tasks, n);
    bool failed = error && error->code != ERROR_REFUSED && error->code != ERROR_STOPPED;
    if (error && error->code == ERROR_REFUSED)
        refuse(words, "management", namespace_, error_text(error));
    if (error)
        words_link_close(&words->keeper.management);
    for (size_t i = 0; i < n; i++) {
        if (failed && ++tasks[i]->tries < TRIES) {
            keep_later(words, tasks[i]);
            continue;
        }
        if (failed)
            tell_failure(words, "the last words of a failed workload cannot be kept", tasks[i]->wish, "management",
                         error_text(error));
        else if (!refused && !error && tasks[i]->value)
            count(words, WORDS_KEPT);
        answer(words, tasks[i]->wish, tasks[i]->text);
        task_free(tasks[i]);
    }
}

static void sweep(struct word_keeper *words) {
    struct words_link *link = &words->keeper.management;
    struct error *error = words_link_use(&words->source, link, "management", &words->stop);
    if (!error)
        error = words_sweep(&words->source, link, words->origin);
    if (error) {
        words_link_close(link);
        log_fields(LOG_DEBUG, "last words of workloads that are gone cannot be looked for",
                   {"error", error_text(error)});
    }
    error_free(error);
}

static void *run_keeper(void *arg) {
    struct word_keeper *words = arg;
    struct words_task *tasks[WORDS_BATCH];
    int64_t sweep_ns = clock_now().mono_ns + SWEEP_FIRST_NS;
    pthread_mutex_lock(&words->mutex);
    while (!atomic_load(&words->stop)) {
        int64_t now_ns = clock_now().mono_ns;
        if (words->changes.first && now_ns < words->gather_ns) {
            (void)clock_condition_wait(&words->changed, &words->mutex, words->gather_ns - now_ns);
        } else if (words->changes.first) {
            size_t n = take_changes(words, tasks);
            pthread_mutex_unlock(&words->mutex);
            keep(words, tasks, n);
            pthread_mutex_lock(&words->mutex);
            pthread_cond_broadcast(&words->changed); // readers may wait for room
        } else if (now_ns >= sweep_ns) {
            pthread_mutex_unlock(&words->mutex);
            sweep(words);
            sweep_ns = clock_now().mono_ns + SWEEP_NS;
            pthread_mutex_lock(&words->mutex);
        } else {
            (void)clock_condition_wait(&words->changed, &words->mutex, sweep_ns - now_ns);
        }
    }
    pthread_mutex_unlock(&words->mutex);
    words_link_close(&words->keeper.management);
    return NULL;
}

// The engine's side -------------------------------------------------------------------------------------------------

struct error *last_words_new(const struct words_source *source, struct word_keeper **out) {
    struct word_keeper *words = *out = calloc(1, sizeof *words);
    if (!words)
        return error_no_memory();
    words->source = *source;
    pthread_mutex_init(&words->mutex, NULL);
    clock_condition_init(&words->changed);
    return NULL;
}

void last_words_stop(struct word_keeper *words) {
    pthread_mutex_lock(&words->mutex);
    bool stopped = atomic_exchange(&words->stop, true);
    pthread_cond_broadcast(&words->changed);
    pthread_mutex_unlock(&words->mutex);
    for (size_t i = 0; i < words->n_readers && !stopped; i++)
        pthread_join(words->readers[i].thread, NULL);
    if (words->keeps && !stopped)
        pthread_join(words->keeper.thread, NULL);
}

void last_words_free(struct word_keeper *words) {
    if (!words)
        return;
    last_words_stop(words);
    struct words_task *const lists[] = {words->wishes.first, words->changes.first};
    for (size_t i = 0; i < 2; i++)
        for (struct words_task *task = lists[i], *next; task; task = next) {
            next = task->next;
            task_free(task);
        }
    pthread_cond_destroy(&words->changed);
    pthread_mutex_destroy(&words->mutex);
    free(words->origin);
    free(words);
}

// With the first wish. Under the mutex.
static void start_readers(struct word_keeper *words) {
    while (words->n_readers < WORDS_READERS && !atomic_load(&words->stop)) {
        struct reader *reader = &words->readers[words->n_readers];
        reader->words = words;
        if (thread_start("words reader", STACK, run_reader, reader, &reader->thread) != 0)
            return;
        words->n_readers++;
    }
}

void last_words_configure(struct word_keeper *words, enum last_words level, const char *origin) {
    atomic_store(&words->level, (int)level);
    AUTO_LOCK(&words->mutex);
    if (!words->origin && origin)
        words->origin = strdup(origin);
    // Also without a wish: the keeper looks for entries that former processes left.
    if (level != LAST_WORDS_NONE && words->origin && !words->keeps && !atomic_load(&words->stop))
        words->keeps = thread_start("last words", STACK, run_keeper, words, &words->keeper.thread) == 0;
}

// False: there is no room, or no thread.
static bool accept_task(struct word_keeper *words, struct words_task *task) {
    AUTO_LOCK(&words->mutex);
    bool forget = task->wish->forget;
    if (!forget)
        start_readers(words);
    size_t waiting = forget ? words->changes.count : words->wishes.count;
    if (!words->keeps || waiting >= WORDS_QUEUE || (!forget && words->n_readers == 0))
        return false;
    if (forget) {
        add_change(words, task);
        return true;
    }
    append(&words->wishes, task);
    pthread_cond_broadcast(&words->changed);
    return true;
}

void last_words_take(struct word_keeper *words, struct words_wish *wish) {
    struct words_task *task = calloc(1, sizeof *task);
    bool complete = task && (!wish->forget || (task->key = strdup(wish->uid)));
    if (task)
        task->wish = wish;
    if (complete && accept_task(words, task))
        return;
    if (!wish->forget) { // a forgotten one is left to the sweep
        count(words, WORDS_DROPPED);
        answer(words, wish, NULL);
        if (may_tell(words, &words->dropped_told_ns))
            log_fields(LOG_WARN, "the last words of failed workloads are not kept: too many fail at a time",
                       {"cluster", wish->worker}, {"namespace", wish->namespace_}, {"name", wish->name});
    }
    if (task)
        task_free(task);
    else
        free(wish);
}

struct words_counts last_words_count(struct word_keeper *words) {
    AUTO_LOCK(&words->mutex);
    struct words_counts counts = words->counts;
    counts.waiting = words->wishes.count + words->changes.count;
    return counts;
}
