// SPDX-License-Identifier: Apache-2.0
#include "core/base/log.h"

#include "core/base/clock.h"
#include "core/base/text.h"
#include "core/base/thread.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#define LINE_MAX_BYTES ((size_t)64 * 1024)
#define LOST_LINE_MAX ((size_t)160)
#define VALUE_MAX_BYTES ((size_t)4 * 1024)

static atomic_int current_format = LOG_TEXT;
static atomic_int current_level = LOG_INFO;
static atomic_int current_fd = STDERR_FILENO;

void log_setup(enum log_format format, enum log_level level) {
    atomic_store(&current_format, (int)format);
    atomic_store(&current_level, (int)level);
}

void log_to(int fd) {
    atomic_store(&current_fd, fd);
}

bool log_enabled(enum log_level level) {
    return (int)level <= atomic_load(&current_level);
}

// Long values are truncated to keep lines readable, and within their maximum.
static size_t shown_len(const char *text) {
    size_t len = strnlen(text, VALUE_MAX_BYTES + 1);
    if (len <= VALUE_MAX_BYTES)
        return len;
    len = VALUE_MAX_BYTES;
    while (len > 0 && ((unsigned char)text[len] & 0xC0) == 0x80)
        len--;
    return len;
}

// In text lines a value is unquoted if it is an unambiguous word.
static bool needs_quotes(const char *text, size_t len, const char *special) {
    if (len == 0 || text_visible(text, len) < len)
        return true;
    for (size_t i = 0; i < len; i++)
        if (strchr(special, text[i]))
            return true;
    return false;
}

static void append_value(struct buffer *out, bool json, const char *text, const char *special) {
    size_t len = shown_len(text);
    if (json || needs_quotes(text, len, special))
        buffer_json_shown(out, text, len);
    else
        buffer_append(out, text, len);
}

static void append_field(struct buffer *out, bool json, const struct log_field *field) {
    if (field->type == LOG_STRING && !field->value)
        return;
    buffer_char(out, json ? ',' : ' ');
    if (json)
        buffer_json_shown(out, field->name, strlen(field->name));
    else
        buffer_text(out, field->name);
    buffer_char(out, json ? ':' : '=');
    if (field->type == LOG_STRING)
        append_value(out, json, field->value, " \"'=\\");
    else if (field->type == LOG_INTEGER)
        buffer_printf(out, "%" PRId64, field->integer);
    else
        buffer_printf(out, "%.1f", field->real);
}

// The line up to the message.
static void append_head(struct buffer *out, bool json, enum log_level level) {
    static const char *const names[] = {"error", "warn", "info", "debug"};
    static const char *const capitals[] = {"ERROR", "WARN", "INFO", "DEBUG"};
    char time[CLOCK_RFC3339_MAX];
    clock_rfc3339_micro(clock_now().wall_ns, time);
    if (json)
        buffer_printf(out, "{\"time\":\"%s\",\"level\":\"%s\",\"message\":", time, names[level]);
    else
        buffer_printf(out, "%s %-5s ", time, capitals[level]);
}

static void build_line(struct buffer *out, enum log_level level, const char *message, const struct log_field *fields) {
    bool json = atomic_load(&current_format) == LOG_JSON;
    append_head(out, json, level);
    append_value(out, json, message, "");
    for (; fields && fields->name; fields++)
        append_field(out, json, fields);
    buffer_text(out, json ? "}\n" : "\n");
}

static size_t write_lost_line(uint64_t lost, char out[LOST_LINE_MAX]) {
    char time[CLOCK_RFC3339_MAX];
    clock_rfc3339_micro(clock_now().wall_ns, time);
    bool json = atomic_load(&current_format) == LOG_JSON;
    int len = snprintf(out, LOST_LINE_MAX, "%s%s%s%" PRIu64 " log lines were lost%s\n", json ? "{\"time\":\"" : "",
                       time, json ? "\",\"level\":\"warn\",\"message\":\"" : " WARN  ", lost, json ? "\"}" : "");
    return len > 0 ? (size_t)len : 0;
}

// -- the thread that writes --

#define HALF_BYTES ((size_t)128 * 1024) // one is filled while the other is written
#define LOOK_NS (2 * CLOCK_MS)

enum state { DIRECT, WRITING, DEAF };

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t filled;
    pthread_t thread;
    char halves[2][HALF_BYTES];
    size_t filling, len; // which half is filled, and how far
    uint64_t unreported; // lines lost since the last report
    bool stop;
    // Also read without the mutex, in signal handlers after a crash.
    atomic_int state;
    atomic_bool idle; // nothing is queued or being written
    atomic_uint_fast64_t lost;
} writer = {.mutex = PTHREAD_MUTEX_INITIALIZER, .filled = PTHREAD_COND_INITIALIZER, .idle = true};

// Lost lines are reported after the lines taken now and before later ones.
static const char *swap_halves(size_t *len) {
    const char *full = writer.halves[writer.filling];
    *len = writer.len;
    writer.filling = 1 - writer.filling;
    writer.len = 0;
    if (writer.unreported > 0) {
        writer.len = write_lost_line(writer.unreported, writer.halves[writer.filling]);
        writer.unreported = 0;
    }
    return full;
}

// Line by line, so that each one is one write(2).
static void write_lines(const char *text, size_t len) {
    for (const char *end = text + len; text < end;) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        size_t line = newline ? (size_t)(newline - text) + 1 : (size_t)(end - text);
        (void)text_write_fd(atomic_load(&current_fd), text, line); // waits if the file is non-blocking
        text += line;
    }
}

static void *writer_main(void *arg) {
    (void)arg;
    pthread_mutex_lock(&writer.mutex);
    for (;;) {
        if (writer.len > 0) {
            size_t len;
            const char *text = swap_halves(&len);
            pthread_mutex_unlock(&writer.mutex);
            write_lines(text, len);
            pthread_mutex_lock(&writer.mutex);
            continue;
        }
        atomic_store(&writer.idle, true);
        if (writer.stop)
            break;
        pthread_cond_wait(&writer.filled, &writer.mutex);
    }
    pthread_mutex_unlock(&writer.mutex);
    return NULL;
}

bool log_start(void) {
    if (atomic_load(&writer.state) != DIRECT)
        return false;
    writer.stop = false;
    bool started = thread_start("log", 0, writer_main, NULL, &writer.thread) == 0;
    if (started)
        atomic_store(&writer.state, WRITING);
    return started;
}

static bool put_line(const char *line, size_t len) {
    if (atomic_load(&writer.state) == DIRECT)
        return false;
    pthread_mutex_lock(&writer.mutex);
    int state = atomic_load(&writer.state);
    if (state == WRITING && writer.unreported == 0 && len <= HALF_BYTES - writer.len) {
        memcpy(writer.halves[writer.filling] + writer.len, line, len);
        writer.len += len;
        if (atomic_exchange(&writer.idle, false))
            pthread_cond_signal(&writer.filled);
    } else if (state != DIRECT) {
        writer.unreported++;
        atomic_fetch_add(&writer.lost, 1);
    }
    pthread_mutex_unlock(&writer.mutex);
    return state != DIRECT;
}

// Polls instead of waiting on a condition variable, because signal handlers call it too.
bool log_flush(int64_t within_ns) {
    for (int64_t waited_ns = 0; atomic_load(&writer.state) == WRITING; waited_ns += LOOK_NS) {
        if (atomic_load(&writer.idle))
            return true;
        if (waited_ns >= within_ns)
            return false;
        nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
    }
    return atomic_load(&writer.state) == DIRECT;
}

bool log_stop(int64_t within_ns) {
    bool written = log_flush(within_ns);
    pthread_mutex_lock(&writer.mutex);
    bool running = atomic_load(&writer.state) == WRITING;
    written = written && atomic_load(&writer.idle);
    if (running)
        atomic_store(&writer.state, written ? DIRECT : DEAF);
    writer.stop = true;
    pthread_cond_signal(&writer.filled);
    pthread_mutex_unlock(&writer.mutex);
    if (running && written)
        pthread_join(writer.thread, NULL);
    else if (running)
        pthread_detach(writer.thread);
    return written;
}

uint64_t log_lost(void) {
    return atomic_load(&writer.lost);
}

// -- a line --

void log_line(enum log_level level, const char *message, const struct log_field *fields) {
    static const char lost[] = "ERROR a log line was lost: out of memory, or too long\n";
    if (!log_enabled(level))
        return;
    int saved = errno;
    AUTO_BUFFER(line, LINE_MAX_BYTES);
    build_line(&line, level, message, fields);
    const char *text = line.failed ? lost : line.data;
    size_t len = line.failed ? sizeof lost - 1 : line.len;
    // A line that cannot be written is lost, for example on EPIPE, or if another process has made the file
    // non-blocking.
    if (!put_line(text, len))
        while (write(atomic_load(&current_fd), text, len) < 0 && errno == EINTR)
            continue;
    errno = saved;
}

// -- a line without memory --

#define URGENT_MAX 2048
#define URGENT_FLUSH_NS CLOCK_SECOND

static size_t put(char *out, size_t len, const char *text) {
    while (*text != '\0' && len < URGENT_MAX)
        out[len++] = *text++;
    return len;
}

void log_urgent(const char *message, const struct log_field *fields) {
    char line[URGENT_MAX + 1], time[CLOCK_RFC3339_MAX];
    bool json = atomic_load(&current_format) == LOG_JSON;
    clock_rfc3339_micro(clock_now().wall_ns, time);
    size_t len = put(line, 0, json ? "{\"time\":\"" : time);
    len = put(line, len, json ? time : " ERROR ");
    len = put(line, len, json ? "\",\"level\":\"error\",\"message\":\"" : "");
    len = put(line, len, message);
    len = put(line, len, json ? "\"" : "");
    for (; fields->name; fields++) {
        if (!fields->value)
            continue;
        bool quoted = json || *fields->value == '\0' || strchr(fields->value, ' ');
        len = put(line, len, json ? ",\"" : " ");
        len = put(line, len, fields->name);
        len = put(line, len, json ? "\":" : "=");
        len = put(line, len, quoted ? "\"" : "");
        len = put(line, len, fields->value);
        len = put(line, len, quoted ? "\"" : "");
    }
    len = put(line, len, json ? "}" : "");
    line[len < URGENT_MAX ? len : URGENT_MAX - 1] = '\n';
    len += len < URGENT_MAX ? 1 : 0;
    (void)log_flush(URGENT_FLUSH_NS);
    (void)text_write_fd(atomic_load(&current_fd), line, len);
}
