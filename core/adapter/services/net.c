// SPDX-License-Identifier: Apache-2.0
#include "core/adapter/services/net.h"

#include "core/base/log.h"
#include "core/base/thread.h"

#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define STACK_BYTES ((size_t)64 << 10)
#define MEMBERS_MAX 256 // of an object, until metadata or uid
#define NET_LOOKS 3     // that saw the same call
#define REACT_NS CLOCK_SECOND
#define REACT_LOOK_NS (10 * CLOCK_MS)

_Thread_local struct net_thread net_thread;

static struct {
    pthread_mutex_t mutex;
    pthread_once_t once;
    pthread_key_t key; // its destructor ends a thread's membership
    struct net_thread *threads;
    atomic_bool started;
    const char *_Atomic verdict;
} net = {.mutex = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT};

// -- threads --

// A stack overflow leaves no room for a handler on the thread's own stack. A sanitizer has a stack already.
static void give_stack(struct net_thread *thread) {
    stack_t now;
    if (sigaltstack(NULL, &now) != 0 || (now.ss_flags & SS_DISABLE) == 0)
        return;
    void *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED)
        return;
    if (sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = STACK_BYTES}, NULL) == 0)
        thread->stack = stack;
    else
        munmap(stack, STACK_BYTES);
}

static void leave(void *arg) {
    struct net_thread *thread = arg;
    AUTO_LOCK(&net.mutex);
    *(thread->former ? &thread->former->next : &net.threads) = thread->next;
    if (thread->next)
        thread->next->former = thread->former;
    if (thread->stack && sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, NULL) == 0)
        munmap(thread->stack, STACK_BYTES);
    thread->stack = NULL;
    thread->joined = false;
}

static void make_key(void) {
    (void)pthread_key_create(&net.key, leave);
}

static void join(void) {
    struct net_thread *thread = &net_thread;
    if (thread->joined || !atomic_load(&net.started))
        return;
    (void)pthread_once(&net.once, make_key);
    if (pthread_setspecific(net.key, thread) != 0)
        return;
    AUTO_LOCK(&net.mutex);
    thread->self = pthread_self();
    thread->joined = true;
    thread->former = NULL;
    thread->next = net.threads;
    if (net.threads)
        net.threads->former = thread;
    net.threads = thread;
    give_stack(thread);
}

void net_start(void) {
    atomic_store(&net.started, true);
    join();
}

void net_loading(const char *adapter) {
    join();
    net_thread.loading = adapter;
}

// -- the report --

// Readable ASCII of any text; all of it is in a note, since memory may be damaged and locks held.
static void show(char *out, size_t size, const char *text) {
    size_t len = 0;
    for (; text && text[len] != '\0' && len < size - 1; len++)
        out[len] = text[len] > ' ' && text[len] < 127 && !strchr("\"\\=", text[len]) ? text[len] : '?';
    out[len] = '\0';
}

// json_get may make an index.
static const struct json *member(const struct json *object, const char *key) {
    size_t passed = 0;
    for (const struct json *at = json_first(object); at && passed < MEMBERS_MAX; at = json_next(at), passed++)
        if (json_key(at) && strcmp(json_key(at), key) == 0)
            return at;
    return NULL;
}

static const char *uid_of(const struct adapter_call *call) {
    const struct json *uid = member(member(call->workload, "metadata"), "uid");
    return json_is(uid, JSON_STRING) ? json_string(uid) : NULL;
}

// NULL: the thread loads an adapter.
static void describe(const struct adapter_call *call, struct net_note *out) {
    show(out->adapter, sizeof out->adapter, call ? call->adapter : net_thread.loading);
    show(out->function, sizeof out->function, call ? adapter_function_name(call->function) : "load");
    if (!call)
        return;
    const wharf_kind *kind = call->kind;
    show(out->kind, sizeof out->kind, kind ? kind->plural : NULL);
    size_t len = strlen(out->kind);
    if (kind && kind->group && kind->group[0] != '\0' && len + 1 < sizeof out->kind) {
        out->kind[len] = '.';
        show(out->kind + len + 1, sizeof out->kind - len - 1, kind->group);
    }
    show(out->object, sizeof out->object, call->object);
}

bool net_report(const char *reason) {
    const struct adapter_call *call = atomic_load(&net_thread.call);
    if (!call && !net_thread.loading)
        return false;
    struct net_note note = {.reason = reason};
    describe(call, &note);
    log_urgent("the process ends in an adapter",
               (const struct log_field[]){{.name = "adapter", .value = note.adapter},
                                          {.name = "function", .value = note.function},
                                          {.name = "kind", .value = call ? note.kind : NULL},
                                          {.name = "object", .value = call ? note.object : NULL},
                                          {.name = "reason", .value = reason},
                                          {.name = NULL}});
    if (!call)
        return true;
    show(note.uid, sizeof note.uid, uid_of(call)); // may crash, if the adapter wrote to the object
    mark_leave(&note);
    return true;
}

// -- calls that do not return --

static int64_t processor_ns(const struct net_thread *thread) {
    clockid_t clock;
    struct timespec spent;
    if (pthread_getcpuclockid(thread->self, &clock) != 0 || clock_gettime(clock, &spent) != 0)
        return 0;
    return spent.tv_sec * CLOCK_SECOND + spent.tv_nsec;
}

// Whether the call is the one of the last look.
static bool is_seen_again(struct net_thread *thread, int64_t now_ns) {
    uint64_t count = atomic_load_explicit(&thread->count, memory_order_relaxed);
    if (atomic_load(&thread->call) && count == thread->seen_count && thread->looks > 0) {
        thread->looks++;
        return true;
    }
    thread->looks = atomic_load(&thread->call) ? 1 : 0;
    thread->seen_count = count;
    thread->since_ns = now_ns;
    thread->spent_ns = processor_ns(thread);
    return false;
}

bool net_look(int64_t now_ns) {
    bool over = false;
    AUTO_LOCK(&net.mutex);
    for (struct net_thread *thread = net.threads; thread; thread = thread->next) {
        if (!is_seen_again(thread, now_ns) || thread->looks < NET_LOOKS)
            continue;
        const char *verdict = processor_ns(thread) - thread->spent_ns >= NET_SPENT_NS
                                  ? "no result after 10 s of processor time"
                              : now_ns - thread->since_ns >= NET_WAIT_NS ? "no result after 60 s"
                                                                         : NULL;
        if (verdict)
            atomic_store(&net.verdict, verdict);
        over = over || verdict;
    }
    return over;
}

void net_end_stuck(int64_t now_ns, int64_t waited_ns) {
    const char *none = NULL;
    bool found = false;
    pthread_mutex_lock(&net.mutex);
    for (struct net_thread *thread = net.threads; thread && !found; thread = thread->next) {
        found = is_seen_again(thread, now_ns) && now_ns - thread->since_ns >= waited_ns;
        if (!found)
            continue;
        (void)atomic_compare_exchange_strong(&net.verdict, &none, "no result, and the process has to end");
        found = pthread_kill(thread->self, SIGABRT) == 0;
    }
    pthread_mutex_unlock(&net.mutex);
    for (int64_t left_ns = REACT_NS; found && left_ns > 0; left_ns -= REACT_LOOK_NS)
        nanosleep(&(struct timespec){.tv_nsec = REACT_LOOK_NS}, NULL);
}

const char *net_verdict(void) {
    return atomic_load(&net.verdict);
}
