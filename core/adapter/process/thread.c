// SPDX-License-Identifier: Apache-2.0
// The thread that owns a process: its starts, its limits while nobody waits for it, and its late answers. The process
// asks the kernel to end it with this thread.
#include "core/adapter/process/hello.h"
#include "core/adapter/process/process_parts.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/base/usage.h"

#include <poll.h>
#include <unistd.h>

#define LOOK_NS (10 * CLOCK_MS)      // between two looks at the limits
#define QUIET_NS (60 * CLOCK_SECOND) // after that, an end is the first one again
#define DELAY_NS CLOCK_SECOND

static struct {
    void (*ready)(void *ctx);
    void *ctx;
    pthread_mutex_t lock;
} listener = {.lock = PTHREAD_MUTEX_INITIALIZER};

void adapter_process_on_ready(void (*ready)(void *ctx), void *ctx) {
    pthread_mutex_lock(&listener.lock);
    listener.ready = ready;
    listener.ctx = ctx;
    pthread_mutex_unlock(&listener.lock);
}

static void tell_ready(void) {
    pthread_mutex_lock(&listener.lock);
    if (listener.ready)
        listener.ready(listener.ctx);
    pthread_mutex_unlock(&listener.lock);
}

// What the thread waits for in a state: events of a descriptor, and a time.
static void plan(const struct adapter_process *process, struct pollfd *out, int64_t *until_ns) {
    *out = (struct pollfd){.fd = -1, .events = POLLIN};
    *until_ns = CLOCK_NEVER;
    switch (process->state) {
    case PROCESS_DOWN:
        *until_ns = process->next_start_ns;
        break;
    case PROCESS_STARTING:
        out->fd = process->child.channel;
        *until_ns = clock_ticks() + LOOK_NS;
        break;
    case PROCESS_IDLE:
    case PROCESS_CALLING:
        out->fd = process->child.watch;
        break;
    case PROCESS_LATE:
        out->fd = process->child.channel;
        out->events |= process->sent < process->out.len ? POLLOUT : 0;
        *until_ns = clock_ticks() + LOOK_NS;
        break;
    case PROCESS_ENDS:
    case PROCESS_STOPS:
        *until_ns = 0;
        break;
    }
}

static void wait_for(const struct adapter_process *process, struct pollfd of, int64_t until_ns) {
    struct pollfd polled[] = {{.fd = process->wake, .events = POLLIN}, of};
    int64_t left_ns = until_ns == CLOCK_NEVER ? CLOCK_NEVER : clock_later(until_ns - clock_ticks(), 0);
    struct timespec timeout = {left_ns / CLOCK_SECOND, left_ns % CLOCK_SECOND};
    uint64_t count;
    if (ppoll(polled, 2, until_ns == CLOCK_NEVER ? NULL : &timeout, NULL) > 0 && (polled[0].revents & POLLIN) != 0 &&
        read(process->wake, &count, sizeof count) < 0)
        return; // another wake-up was there already
}

static void start(struct adapter_process *process) {
    struct process_child child;
    process_set_state(process, PROCESS_STARTING);
    process->starts++;
    pthread_mutex_unlock(&process->lock); // takes a while
    struct error *error = child_start(process->program, process->file, &child);
    bool sent = !error && frame_send(child.channel, &process->start, clock_ticks() + PROCESS_LOAD_NS);
    pthread_mutex_lock(&process->lock);
    if (!error)
        process->child = child;
    buffer_reset(&process->in);
    if (process->state == PROCESS_STARTING && !sent)
        process_fail(process, CALL_BROKEN, true, "%s", error ? error_text(error) : "");
    error_free(error);
}

static bool is_same(struct wire a, struct wire b) {
    size_t len = (size_t)(a.end - a.at);
    return len == (size_t)(b.end - b.at) && memcmp(a.at, b.at, len) == 0;
}

// The first HELLO is kept; the later ones must be the same.
static void take_hello(struct adapter_process *process) {
    struct buffer *in = &process->in, *hello = &process->hello;
    if (!process->said && !buffer_append(hello, in->data, in->len)) {
        process_fail(process, CALL_BROKEN, false, "%s", "out of memory");
        return;
    }
    if (process->said && !is_same(hello_constant(hello), hello_constant(in))) {
        process_fail(process, CALL_BROKEN, false, "%s", "it loaded other kinds than at its first start");
        return;
    }
    process->said = true;
    process->up_ns = clock_ticks();
    process_set_state(process, PROCESS_IDLE);
}

static bool is_hello(const struct buffer *frame) {
    struct wire wire = frame_content(frame);
    return wire_u8(&wire) == FRAME_HELLO;
}

static bool look_for_hello(struct adapter_process *process) {
    char reason[CALL_TROUBLE_MAX];
    enum frame_state state = frame_receive(process->child.channel, &process->in, 0);
    enum call_trouble trouble = state == FRAME_WHOLE ? process_judge(&process->in, reason) : CALL_FINE;
    if (state == FRAME_WHOLE && is_hello(&process->in))
        take_hello(process);
    else if (trouble != CALL_FINE)
        process_fail(process, trouble, true, "%s", reason);
    else if (state == FRAME_ENDED)
        process_fail(process, CALL_BROKEN, true, "%s", "");
    else if (state != FRAME_LATE)
        process_fail(process, CALL_INVALID, false, "%s", "garbage while loading");
    else if (usage_cpu_ns(process->child.pid) >= PROCESS_LOAD_CPU_NS)
        process_fail(process, CALL_LIMIT, false, "more than %lld ms of processor time while loading",
                     (long long)(PROCESS_LOAD_CPU_NS / CLOCK_MS));
    else if (clock_ticks() - process->since_ns >= PROCESS_LOAD_NS)
        process_fail(process, CALL_LIMIT, false, "not loaded within %lld s",
                     (long long)(PROCESS_LOAD_NS / CLOCK_SECOND));
    return process->state == PROCESS_IDLE;
}

// Moves the answer from the receiving buffer to the pending question.
static void take_late(struct adapter_process *process) {
    struct late *late = TAKE(process->pending);
    memo_learn(&process->memo, &process->in);
    if (late && !late->question.failed && buffer_append(&late->answer, process->in.data, process->in.len)) {
        late->at_ns = clock_ticks();
        late_keep(&process->lates, TAKE(late));
    }
    late_free(late);
    process_set_state(process, PROCESS_IDLE);
}

// True: the answer is known.
static bool look_for_answer(struct adapter_process *process) {
    char reason[CALL_TROUBLE_MAX];
    // What went wrong there is seen below.
    (void)frame_send_part(process->child.channel, &process->out, &process->sent, 0);
    bool asked = process->sent == process->out.len;
    enum frame_state state = frame_receive(process->child.channel, &process->in, 0);
    enum call_trouble trouble = state == FRAME_WHOLE ? process_judge(&process->in, reason) : CALL_BROKEN;
    if (state == FRAME_WHOLE && !asked)
        process_fail(process, CALL_INVALID, false, "garbage as an answer: it came before the question");
    else if (trouble == CALL_FINE)
        take_late(process);
    else if (state == FRAME_WHOLE)
        process_fail(process, trouble, true, "%s", reason);
    else if (state == FRAME_ENDED)
        process_fail(process, CALL_BROKEN, true, "%s", "");
    else if (state == FRAME_GARBAGE)
        process_fail(process, CALL_INVALID, false, "garbage as an answer: a frame of an impossible length");
    else if (process_over_limit(process, clock_ticks(), reason))
        process_fail(process, CALL_LIMIT, false, "%s", reason);
    return process->state == PROCESS_IDLE;
}

// 0 after the first end, then 1 s, 2 s, and so on.
static int64_t delay_ns(unsigned failures) {
    return failures > 1 ? clock_doubled(DELAY_NS, failures - 2, PROCESS_DELAY_MAX_NS) : 0;
}

static void plan_next_start(struct adapter_process *process) {
    int64_t now_ns = clock_ticks();
    process->failures = process->up_ns && now_ns - process->up_ns > QUIET_NS ? 1 : process->failures + 1;
    process->up_ns = 0;
    process->ends++;
    process->next_start_ns = now_ns + delay_ns(process->failures);
    log_fields(LOG_WARN, "the process of an adapter has ended", {"adapter", process->name}, {"reason", process->last},
               LOG_INT("restartMs", (process->next_start_ns - now_ns) / CLOCK_MS));
}

static void break_pending(struct adapter_process *process) {
    struct late *late = TAKE(process->pending);
    if (!late || late->question.failed) {
        late_free(late);
        return;
    }
    late->trouble = process->trouble;
    text_copy(late->broken, sizeof late->broken, process->last);
    late->at_ns = clock_ticks();
    late_keep(&process->lates, late);
}

// True: the engine has to know.
static bool end_child(struct adapter_process *process) {
    char own[CALL_TROUBLE_MAX];
    struct process_child child = process->child;
    bool grace = process->grace, broke = process->pending, loaded_again = process->said && !process->up_ns;
    process->child = (struct process_child){.channel = -1, .watch = -1};
    pthread_mutex_unlock(&process->lock); // takes a while
    child_end(&child, grace, own);
    pthread_mutex_lock(&process->lock);
    if (!process->last[0])
        text_copy(process->last, sizeof process->last, own);
    process->news.ready |= broke;
    if (loaded_again)
        text_copy(process->news.failed, sizeof process->news.failed, process->last);
    plan_next_start(process);
    break_pending(process);
    if (process->state == PROCESS_ENDS)
        process_set_state(process, PROCESS_DOWN);
    return broke || loaded_again;
}

// True: there is news for the engine, usually that who waits for the process may call again.
static bool look(struct adapter_process *process) {
    struct pollfd ended = {.fd = process->child.watch, .events = POLLIN};
    switch (process->state) {
    case PROCESS_DOWN:
        if (process->next_start_ns <= clock_ticks())
            start(process);
        return false;
    case PROCESS_STARTING:
        return look_for_hello(process);
    case PROCESS_LATE:
        return look_for_answer(process);
    case PROCESS_ENDS:
        return end_child(process);
    case PROCESS_IDLE:
        if (ended.fd >= 0 && poll(&ended, 1, 0) > 0)
            process_fail(process, CALL_BROKEN, true, "%s", "");
        return false;
    case PROCESS_CALLING:
    case PROCESS_STOPS:
        break;
    }
    return false;
}

void *process_thread(void *owned) {
    struct adapter_process *process = owned;
    for (;;) {
        struct pollfd of;
        int64_t until_ns = 0;
        pthread_mutex_lock(&process->lock);
        bool news = look(process), stops = process->state == PROCESS_STOPS;
        process->news.ready |= news && process->state == PROCESS_IDLE;
        if (news)
            atomic_store(&process->has_news, true);
        plan(process, &of, &until_ns);
        pthread_mutex_unlock(&process->lock);
        if (news)
            tell_ready();
        if (stops)
            return NULL;
        wait_for(process, of, until_ns);
    }
}
