// SPDX-License-Identifier: Apache-2.0
#include "core/adapter/process/process.h"

#include "core/adapter/process/process_parts.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/base/thread.h"
#include "core/base/usage.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define SLACK ((size_t)64 << 10) // of an answer, besides the value
#define QUESTION_MAX ((size_t)512 << 20)
#define SLICE_NS (20 * CLOCK_MS) // of a patient wait
#define KEPT ((size_t)1 << 20)   // memory of a buffer that is kept
#define STACK ((size_t)256 << 10)
#define BUSY_RETRY_MS 10

void process_set_state(struct adapter_process *process, enum process_state state) {
    process->state = state;
    process->since_ns = clock_ticks();
    pthread_cond_broadcast(&process->changed);
}

void process_wake(struct adapter_process *process) {
    uint64_t one = 1;
    if (write(process->wake, &one, sizeof one) < 0)
        return; // it is full, so the thread wakes up anyway
}

void process_fail(struct adapter_process *process, enum call_trouble trouble, bool grace, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(process->last, sizeof process->last, format, args);
    va_end(args);
    if (!grace)
        child_kill(&process->child);
    process->trouble = trouble;
    process->grace = grace;
    process->places = (struct places){.clock = 0};
    process_set_state(process, PROCESS_ENDS);
    process_wake(process);
}

enum call_trouble process_judge(const struct buffer *frame, char reason[CALL_TROUBLE_MAX]) {
    struct wire wire = frame_content(frame);
    unsigned type = wire_u8(&wire);
    if (type == FRAME_ANSWER)
        return CALL_FINE;
    const char *words = type == FRAME_LAST_WORDS || type == FRAME_LIMIT ? wire_text(&wire) : NULL;
    size_t len = words ? text_visible(words, strlen(words)) : 0;
    if (words && words[0] && words[len] == '\0') {
        text_copy(reason, CALL_TROUBLE_MAX, words);
        return type == FRAME_LIMIT ? CALL_LIMIT : CALL_BROKEN;
    }
    snprintf(reason, CALL_TROUBLE_MAX, "garbage as an answer: a frame of type %u", type);
    return CALL_INVALID;
}

bool process_over_limit(const struct adapter_process *process, int64_t now_ns, char reason[CALL_TROUBLE_MAX]) {
    int64_t used_ns = usage_cpu_ns(process->child.pid) - process->cpu_ns;
    bool cpu = used_ns >= process->limits.cpu_ns;
    if (cpu)
        snprintf(reason, CALL_TROUBLE_MAX, "more than %lld ms of processor time",
                 (long long)(process->limits.cpu_ns / CLOCK_MS));
    else
        snprintf(reason, CALL_TROUBLE_MAX, "no answer within %lld ms", (long long)(PROCESS_WALL_NS / CLOCK_MS));
    int64_t passed_ns = now_ns - process->since_ns;
    bool starves = passed_ns < PROCESS_STARVES_NS && usage_state(process->child.pid) == 'R';
    return cpu || (passed_ns >= PROCESS_WALL_NS && !starves);
}

// For a patient caller: until the thread knows the reason.
static enum call_trouble await_end(struct adapter_process *process, char *text) {
    while (process->state == PROCESS_ENDS)
        clock_condition_wait(&process->changed, &process->lock, CLOCK_SECOND);
    text_copy(text, CALL_TROUBLE_MAX, process->last);
    return process->trouble;
}

// Why the patient caller has no answer.
static void fail(struct adapter_process *process, enum frame_state state, enum call_trouble trouble,
                 const char *reason) {
    if (state == FRAME_GARBAGE)
        process_fail(process, CALL_INVALID, false, "garbage as an answer: a frame of an impossible length");
    else
        process_fail(process, state == FRAME_LATE ? CALL_LIMIT : trouble, state != FRAME_LATE, "%s", reason);
}

// Waits for the answer to the call under way. CALL_FINE: process->in has it. CALL_WAITS: the thread takes it, or sees
// why there is none.
static enum call_trouble wait_for_answer(struct adapter_process *process, char *text) {
    char reason[CALL_TROUBLE_MAX] = "";
    int64_t until_ns = process->since_ns + (process->patient ? SLICE_NS : PROCESS_WAIT_NS);
    enum frame_state state = frame_receive(process->child.channel, &process->in, until_ns);
    // What was used before does not count: this process may have waited for a core meanwhile.
    process->cpu_ns = state == FRAME_LATE ? usage_cpu_ns(process->child.pid) : 0;
    while (state == FRAME_LATE && process->patient && !process_over_limit(process, clock_ticks(), reason))
        state = frame_receive(process->child.channel, &process->in, clock_ticks() + SLICE_NS);
    if (state != FRAME_LATE)
        reason[0] = '\0';
    enum call_trouble trouble = state == FRAME_WHOLE ? process_judge(&process->in, reason) : CALL_BROKEN;
    if (trouble == CALL_FINE)
        return CALL_FINE;
    if (!process->patient)
        return CALL_WAITS;
    fail(process, state, trouble, reason);
    return await_end(process, text);
}

// The answer comes later: the thread takes it.
static void give_up_waiting(struct adapter_process *process, const struct call_question *question) {
    struct late *late = calloc(1, sizeof *late);
    if (late) {
        *late = (struct late){.kind = question->kind, .function = question->function};
        buffer_init(&late->question, QUESTION_MAX);
        buffer_init(&late->answer, process->in.max);
        call_write(&late->question, question, NULL);
    }
    process->pending = late;
    process->state = PROCESS_LATE; // since the call began
    process_wake(process);
}

static enum call_trouble ask(struct adapter_process *process, const struct call_question *question, char *text) {
    call_write(&process->out, question, &process->places);
    if (process->out.failed) { // nothing was sent, so the process does not have what `places` says
        process->places = (struct places){.clock = 0};
        buffer_reset(&process->out);
        snprintf(text, CALL_TROUBLE_MAX, "out of memory");
        return CALL_WAITS;
    }
    process_set_state(process, PROCESS_CALLING);
    buffer_reset(&process->in);
    process->sent = 0;
    int64_t until_ns = process->since_ns + (process->patient ? PROCESS_WALL_NS : PROCESS_WAIT_NS);
    enum frame_state state = frame_send_part(process->child.channel, &process->out, &process->sent, until_ns);
    process->cpu_ns = state == FRAME_LATE ? usage_cpu_ns(process->child.pid) : 0;
    enum call_trouble trouble = state == FRAME_WHOLE ? wait_for_answer(process, text) : CALL_WAITS;
    if (trouble == CALL_WAITS) {
        snprintf(text, CALL_TROUBLE_MAX, "the adapter's process is busy");
        give_up_waiting(process, question);
    }
    if (state == FRAME_WHOLE || (state == FRAME_LATE && !process->patient))
        return trouble;
    process_fail(process, CALL_BROKEN, true, "%s", "");
    return process->patient ? await_end(process, text) : trouble;
}

// For a patient caller: until the process has started, or cannot.
static void await_start(struct adapter_process *process) {
    int64_t until_ns = clock_ticks() + PROCESS_LOAD_NS;
    while (process->state == PROCESS_STARTING || process->state == PROCESS_ENDS ||
           (process->state == PROCESS_DOWN && process->next_start_ns <= clock_ticks()))
        if (!clock_condition_wait(&process->changed, &process->lock, until_ns - clock_ticks()))
            return;
}

static void say_why(const struct adapter_process *process, char *text) {
    bool ended = process->state == PROCESS_DOWN || process->state == PROCESS_STARTING || process->state == PROCESS_ENDS;
    AUTO_BUFFER(why, (size_t)2 * CALL_TROUBLE_MAX);
    buffer_text(&why, !ended             ? "the adapter's process is busy"
                      : process->last[0] ? "the adapter's process starts again after its end: "
                                         : "the adapter's process starts");
    buffer_text(&why, ended ? process->last : "");
    text_copy(text, CALL_TROUBLE_MAX, why.data ? why.data : "");
}

// The answer of an earlier call with the same question.
static enum call_trouble take_known(struct adapter_process *process, struct wire *answer, char *text) {
    enum call_trouble trouble = process->taken->trouble;
    if (trouble == CALL_FINE) {
        *answer = frame_content(&process->taken->answer);
        return CALL_FINE;
    }
    text_copy(text, CALL_TROUBLE_MAX, process->taken->broken);
    late_free(TAKE(process->taken));
    return trouble;
}

// The thread has the lock for as long as the kernel lets it: the engine does not wait for that.
static bool lock(struct adapter_process *process) {
    struct timespec until;
    if (process->patient)
        return pthread_mutex_lock(&process->lock) == 0;
    if (pthread_mutex_trylock(&process->lock) == 0)
        return true;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += PROCESS_WAIT_NS;
    until.tv_sec += until.tv_nsec / CLOCK_SECOND;
    until.tv_nsec %= CLOCK_SECOND;
    return pthread_mutex_timedlock(&process->lock, &until) == 0;
}

// When the next call may be answered.
static uint32_t retry_ms(const struct adapter_process *process) {
    int64_t wait_ns = process->state == PROCESS_DOWN ? process->next_start_ns - clock_ticks() : 0;
    return BUSY_RETRY_MS + (uint32_t)(clock_later(wait_ns, 0) / CLOCK_MS);
}

enum call_trouble process_begin(struct adapter_process *process, const struct call_question *question,
                                struct wire *answer, char *text, uint32_t *wait_ms) {
    enum call_trouble trouble = CALL_WAITS;
    *wait_ms = BUSY_RETRY_MS;
    if (!lock(process)) {
        snprintf(text, CALL_TROUBLE_MAX, "the adapter's process is busy");
        return trouble;
    }
    if (process->patient)
        await_start(process);
    int64_t now_ns = clock_ticks();
    process->taken = process->lates.first ? late_find(&process->lates, question, now_ns) : NULL;
    const struct buffer *known = process->taken ? NULL : memo_find(&process->memo, question, now_ns);
    process->known = known;
    if (process->taken) {
        trouble = take_known(process, answer, text);
    } else if (known) {
        trouble = CALL_FINE;
        *answer = frame_content(known);
    } else if (process->state == PROCESS_IDLE) {
        trouble = ask(process, question, text);
        if (trouble == CALL_FINE) {
            memo_learn(&process->memo, &process->in);
            memo_keep(&process->memo, question, &process->in, now_ns);
            *answer = frame_content(&process->in);
        }
    } else {
        say_why(process, text);
    }
    if (trouble != CALL_FINE) {
        *wait_ms = retry_ms(process);
        pthread_mutex_unlock(&process->lock);
    }
    return trouble;
}

void process_end(struct adapter_process *process, const char *garbage) {
    bool apart = process->taken || process->known; // from the state
    late_free(TAKE(process->taken));
    if (garbage && process->child.pid != 0 && process->state != PROCESS_ENDS)
        process_fail(process, CALL_INVALID, false, "garbage as an answer: %s", garbage);
    else if (!apart)
        process_set_state(process, PROCESS_IDLE);
    buffer_shrink(&process->in, KEPT);
    buffer_shrink(&process->out, KEPT);
    pthread_mutex_unlock(&process->lock);
}

bool adapter_process_state(const struct adapter *adapter, struct adapter_state *out) {
    struct adapter_process *process = adapter->process;
    *out = (struct adapter_state){.isolated = process};
    if (!process)
        return false;
    AUTO_LOCK(&process->lock);
    out->state = process->state == PROCESS_DOWN       ? ADAPTER_WAITS
                 : process->state == PROCESS_ENDS     ? ADAPTER_WAITS
                 : process->state == PROCESS_STARTING ? ADAPTER_STARTS
                                                      : ADAPTER_RUNS;
    out->starts = process->starts;
    out->ends = process->ends;
    out->pid = process->child.pid;
    out->memory = out->pid ? usage_memory(out->pid) : 0;
    text_copy(out->last, sizeof out->last, process->last);
    if (process->state == PROCESS_DOWN)
        out->next_start_ns = clock_now().mono_ns + (process->next_start_ns - clock_ticks());
    return true;
}

bool adapter_process_news(const struct adapter *adapter, struct adapter_news *out) {
    struct adapter_process *process = adapter->process;
    if (!process || !atomic_load(&process->has_news) || !lock(process))
        return false;
    atomic_store(&process->has_news, false);
    *out = process->news;
    process->news = (struct adapter_news){.ready = false};
    pthread_mutex_unlock(&process->lock);
    return true;
}

// -- begin and end --

static struct error *begin(struct adapter_process *process, const struct process_options *options) {
    process->name = strdup(options->name);
    process->file = fcntl(options->file, F_DUPFD_CLOEXEC, PROCESS_FD_MIN);
    process->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (!process->name || !buffer_append(&process->start, options->start, options->start_len))
        return error_no_memory();
    if (process->file < 0 || process->wake < 0)
        return error_new(ERROR_IO, "no descriptor for the adapter's process: %s", strerror(errno));
    TRY(child_program(options->program, &process->program));
    int failed = thread_start("adapter", STACK, process_thread, process, &process->thread);
    if (failed)
        return error_new(ERROR_IO, "no thread for the adapter's process: %s", strerror(failed));
    process->has_thread = true;
    return NULL;
}

// Until the first HELLO, or the end of the first attempt.
static struct error *await_hello(struct adapter_process *process) {
    AUTO_LOCK(&process->lock);
    while (!process->said && process->ends == 0)
        clock_condition_wait(&process->changed, &process->lock, CLOCK_SECOND);
    if (process->said)
        return NULL;
    return error_new(ERROR_REFUSED, "cannot be loaded: its process ended while loading: %s", process->last);
}

struct error *process_new(const struct process_options *options, struct adapter_process **out, const void **hello,
                          size_t *hello_len) {
    struct adapter_process *process = calloc(1, sizeof *process);
    if (!process)
        return error_no_memory();
    *process = (struct adapter_process){.limits = options->limits,
                                        .patient = options->patient,
                                        .program = -1,
                                        .file = -1,
                                        .wake = -1,
                                        .child = {.channel = -1, .watch = -1}};
    buffer_init(&process->start, QUESTION_MAX);
    buffer_init(&process->hello, options->limits.answer + SLACK);
    buffer_init(&process->in, options->limits.answer + SLACK);
    buffer_init(&process->out, QUESTION_MAX);
    buffer_init(&process->memo.key, MEMO_KEY_MAX);
    pthread_mutex_init(&process->lock, NULL);
    clock_condition_init(&process->changed);
    struct error *error = begin(process, options);
    error = error ? error : await_hello(process);
    if (error) {
        process_free(process);
        return error;
    }
    struct wire wire = frame_content(&process->hello);
    *hello = wire.at;
    *hello_len = (size_t)(wire.end - wire.at);
    *out = process;
    return NULL;
}

static void close_all(const struct adapter_process *process) {
    const int fds[] = {process->program, process->file, process->wake};
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

void process_free(struct adapter_process *process) {
    char reason[CALL_TROUBLE_MAX];
    if (!process)
        return;
    if (process->has_thread) {
        pthread_mutex_lock(&process->lock);
        process_set_state(process, PROCESS_STOPS);
        pthread_mutex_unlock(&process->lock);
        process_wake(process);
        pthread_join(process->thread, NULL);
    }
    child_end(&process->child, false, reason);
    close_all(process);
    buffer_free(&process->start);
    buffer_free(&process->hello);
    buffer_free(&process->in);
    buffer_free(&process->out);
    late_free(process->pending);
    lates_clear(&process->lates);
    memo_clear(&process->memo);
    pthread_mutex_destroy(&process->lock);
    pthread_cond_destroy(&process->changed);
    free(process->name);
    free(process);
}
