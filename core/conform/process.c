// SPDX-License-Identifier: Apache-2.0
#include "core/conform/child.h"

#include "core/base/usage.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LOOK_MS 50
// Limits of one call, which are the host's times thirty and five: a call of this process includes the kit's checks,
// and the machine may have other things to do.
#define HANG_CPU_NS (3 * CLOCK_SECOND)
#define HANG_WAIT_NS (5 * CLOCK_SECOND) // in which the process waits and uses no processor time
#define CRASHES_MAX 12                  // of one function of a kind, which is then skipped
#define HANGS_MAX 2
#define DEATHS_MAX 3
#define TEXT_MAX ((size_t)2 << 20)
#define LAST_WORDS 200
#define MEMORY_MAX ((size_t)2 << 30)        // of a child
#define CALL_MEMORY_MAX ((size_t)256 << 20) // of one call: all that a process of the host's has
#define HANG_MEMORY_MAX                                                                                                \
    ((size_t)8 << 20) // of a call that does not return: above this limit the finding is about memory

struct child {
    pid_t pid;
    int lines; // findings and lines for the report
    int words; // the child's stdout and stderr
    struct buffer text;
    uint64_t call; // number of the call at the last check, and the times since then
    int64_t cpu_ns;
    int64_t idle_cpu_ns, idle_ns; // processor time at the begin of the wait, and the time since then
    size_t memory;
    bool hung, waits;
    bool stopped;   // the time of the whole run is over
    size_t swollen; // the memory limit that the call exceeded, or 0
    int status;     // of waitpid
};

struct crew {
    struct child_task task;
    struct board *board; // of the task
    struct report *report;
    size_t ended[BOARD_KINDS][N_FUNCTIONS]; // how often a child died in the function
    size_t hung[BOARD_KINDS][N_FUNCTIONS];
    size_t deaths;  // of children that no skip of a call prevented
    size_t pending; // the finding that has no inputs yet, or SIZE_MAX
};

static struct error *start(const struct crew *crew, struct child *child) {
    int ends[2];
    if (child->words < 0 || pipe2(ends, O_CLOEXEC) != 0)
        return error_new(ERROR_IO, "no child can be made: %s", strerror(errno));
    fflush(NULL);
    child->pid = fork();
    if (child->pid == 0) {
        struct child_task task = crew->task;
        task.out = ends[1];
        close(ends[0]);
        dup2(child->words, STDOUT_FILENO);
        dup2(child->words, STDERR_FILENO);
        _exit(child_main(&task));
    }
    close(ends[1]);
    child->lines = ends[0];
    return child->pid < 0 ? error_new(ERROR_IO, "no child can be made: %s", strerror(errno)) : NULL;
}

static void child_cleanup(struct child *child) {
    if (child->lines >= 0)
        close(child->lines);
    if (child->words >= 0)
        close(child->words);
    buffer_free(&child->text);
}

static const char *member(const struct json *line, const char *key) {
    return json_string_or(json_get(line, key), "");
}

// A line that is not the child's own.
static void report_foreign(struct crew *crew, const char *text, size_t len) {
    const struct board *board = crew->board;
    char shown[LAST_WORDS + 1];
    text_copy(shown, size_least(len + 1, sizeof(shown)), text);
    AUTO_TEXT found =
        text_format("%s wrote to a descriptor of the host: \"%s\"", function_name(board->function), shown);
    struct finding finding = {.rule = RULE_IO,
                              .function = board->function,
                              .kind = board->kind,
                              .cause = "descriptor",
                              .object = board->object,
                              .found = found ? found : ""};
    report_add(crew->report, &finding);
}

static void take_line(struct crew *crew, const char *text, size_t len) {
    AUTO_JSON line = NULL;
    error_free(json_parse(text, len, &line));
    const char *tell = json_string(json_get(line, "tell")), *warning = json_string(json_get(line, "warn"));
    AUTO_JSON inputs = json_detach(line, "inputs");
    if (tell && !crew->task.quiet) {
        text_print_line(stdout, tell);
    } else if (warning) {
        report_warn(crew->report, member(line, "kind"), warning);
    } else if (json_get(line, "rule")) {
        struct finding found = {.rule = (enum rule)json_int64(json_get(line, "rule"), 0),
                                .function = (enum function)json_int64(json_get(line, "function"), 0),
                                .kind = member(line, "kind"),
                                .cause = member(line, "cause"),
                                .object = member(line, "object"),
                                .found = member(line, "found"),
                                .inputs = TAKE(inputs)};
        report_add(crew->report, &found);
    } else if (inputs && crew->pending < crew->report->count) {
        report_inputs(crew->report->list[crew->pending], TAKE(inputs));
        crew->pending = SIZE_MAX;
    } else if (!line) {
        report_foreign(crew, text, len);
    }
}

// False at the end.
static bool read_lines(struct crew *crew, struct child *child) {
    char chunk[65536];
    ssize_t len = read(child->lines, chunk, sizeof(chunk));
    if (len < 0)
        return errno == EINTR || errno == EAGAIN;
    if (len == 0)
        return false;
    if (!buffer_append(&child->text, chunk, (size_t)len))
        buffer_reset(&child->text);
    size_t start = 0;
    const char *end;
    while (start < child->text.len && (end = memchr(child->text.data + start, '\n', child->text.len - start))) {
        take_line(crew, child->text.data + start, (size_t)(end - child->text.data) - start);
        start = (size_t)(end - child->text.data) + 1;
    }
    buffer_consume(&child->text, start);
    return true;
}

// Whether the main thread of a process waits for something other than the processor.
static bool sleeps(pid_t pid) {
    char state = usage_state(pid);
    return state == 'S' || state == 'D';
}

// Kills a child after a call that does not return or takes too much memory. A call that is still allocating when the
// time is up counts as one with too much memory: the speed of allocation depends on the machine.
static void look_at_call(const struct crew *crew, struct child *child) {
    const struct board *board = crew->board;
    int64_t cpu = usage_cpu_ns(child->pid), now = clock_ticks();
    size_t memory = usage_memory(child->pid);
    bool changed = child->call != board->calls || board->stage != STAGE_CALL;
    if (changed) {
        child->call = board->calls;
        child->cpu_ns = cpu;
        child->memory = memory;
    }
    if (cpu != child->idle_cpu_ns || changed || !sleeps(child->pid)) {
        child->idle_cpu_ns = cpu;
        child->idle_ns = now;
    }
    bool busy = cpu - child->cpu_ns > HANG_CPU_NS;
    child->waits = board->stage == STAGE_CALL && now - child->idle_ns > HANG_WAIT_NS;
    bool late = busy || child->waits;
    if (memory > MEMORY_MAX)
        child->swollen = MEMORY_MAX;
    else if (memory > child->memory + CALL_MEMORY_MAX)
        child->swollen = CALL_MEMORY_MAX;
    else if (late && memory > child->memory + HANG_MEMORY_MAX)
        child->swollen = HANG_MEMORY_MAX;
    else
        child->hung = late;
    child->stopped = now > crew->task.until_ns;
    if (child->hung || child->swollen > 0 || child->stopped)
        kill(child->pid, SIGKILL);
}

static void attend(struct crew *crew, struct child *child) {
    struct pollfd wait = {.fd = child->lines, .events = POLLIN};
    for (bool open = true; open;) {
        int ready = poll(&wait, 1, LOOK_MS);
        if (ready > 0)
            open = read_lines(crew, child);
        if (!child->hung && child->swollen == 0 && !child->stopped)
            look_at_call(crew, child);
        // A process that the adapter made may keep the pipe open.
        if (ready == 0 && waitpid(child->pid, &child->status, WNOHANG) == child->pid)
            return;
    }
    while (waitpid(child->pid, &child->status, 0) < 0 && errno == EINTR)
        continue;
}

// The end of the child's stdout and stderr, on one line.
static void last_words(const struct child *child, char out[LAST_WORDS + 1]) {
    off_t size = lseek(child->words, 0, SEEK_END);
    off_t from = size > LAST_WORDS ? size - LAST_WORDS : 0;
    ssize_t len = size > 0 ? pread(child->words, out, LAST_WORDS, from) : 0;
    out[len > 0 ? len : 0] = '\0';
    for (char *c = out; *c != '\0'; c++)
        if ((unsigned char)*c < 0x20 || (unsigned char)*c >= 0x7f)
            *c = ' ';
}

// What a death is a sign of, in words.
struct death {
    enum rule rule;
    char *found;
};

static struct death describe_end(const struct crew *crew, const struct child *child) {
    char words[LAST_WORDS + 1];
    last_words(child, words);
    const struct board *board = crew->board;
    const char *name = function_name(board->function), *before = words[0] != '\0' ? "; last output: " : "";
    int number = WTERMSIG(child->status);
    if (board->severed)
        return (struct death){RULE_IO, text_format("%s closed or replaced descriptors of the host", name)};
    if (board->forbidden[0] != '\0')
        return (struct death){RULE_FORBIDDEN,
                              text_format("%s makes the system call %s, at which the host's sandbox ends the process",
                                          name, board->forbidden)};
    if (WIFEXITED(child->status))
        return (struct death){RULE_EXIT, text_format("%s ended the process with exit code %d%s%s", name,
                                                     WEXITSTATUS(child->status), before, words)};
    if (board->wrote_input)
        return (struct death){RULE_INPUT,
                              text_format("%s wrote to a read-only object (all inputs are in read-only memory)", name)};
    const char *how = board->stage == STAGE_CALL ? " died" : " returned, and then the process died";
    return (struct death){
        RULE_CRASH, text_format("%s%s of signal %d (%s)%s%s", name, how, number, strsignal(number), before, words)};
}

// In a call, or after one, when the host used memory that the adapter had damaged.
static struct death describe_death(const struct crew *crew, const struct child *child) {
    const char *name = function_name(crew->board->function);
    if (child->swollen > 0)
        return (struct death){RULE_MEMORY,
                              text_format("%s took more than %zu MB of memory", name, child->swollen >> 20)};
    if (child->waits)
        return (struct death){RULE_HANG, text_format("%s waited for %d seconds and did not return", name,
                                                     (int)(HANG_WAIT_NS / CLOCK_SECOND))};
    if (child->hung)
        return (struct death){RULE_HANG,
                              text_format("%s did not return in %d seconds", name, (int)(HANG_CPU_NS / CLOCK_SECOND))};
    return describe_end(crew, child);
}

// Whether the first pass found what makes the function call the system.
static bool is_explained(const struct crew *crew, enum rule rule) {
    static const enum rule causes[] = {RULE_IO, RULE_THREADS, RULE_STATE, RULE_CLOCK, RULE_TIME, RULE_EXIT, RULE_HANG};
    const struct board *board = crew->board;
    bool any = false;
    for (size_t i = 0; i < crew->report->count && rule == RULE_FORBIDDEN; i++)
        for (size_t c = 0; c < sizeof(causes) / sizeof(causes[0]); c++)
            any |= crew->report->list[i]->rule == causes[c] && crew->report->list[i]->function == board->function &&
                   strcmp(crew->report->list[i]->kind, board->kind) == 0;
    return any;
}

// False: nothing new.
static bool report_death(struct crew *crew, const struct child *child) {
    struct board *board = crew->board;
    struct death death = describe_death(crew, child);
    struct finding finding = {.rule = death.rule, .function = board->function, .kind = board->kind};
    finding.cause = death.rule == RULE_FORBIDDEN ? board->forbidden : "";
    finding.object = board->object;
    finding.found = death.found ? death.found : "";
    crew->pending = SIZE_MAX;
    bool new = !is_explained(crew, death.rule);
    if (new) {
        size_t index = report_add(crew->report, &finding);
        crew->pending = board->function == CALL_LOAD ? SIZE_MAX : index;
    }
    free(death.found);
    return new;
}

// Ends the run. Always false.
static bool stop(struct crew *crew, const char *reason) {
    const struct board *board = crew->board;
    free(crew->report->stopped);
    crew->report->stopped =
        text_format("%s; tried %zu of %zu objects%s, at last %s%s%s with %s", reason,
                    crew->task.again ? board->n_trials - 1 - board->trial : board->trial, board->n_trials,
                    crew->task.again ? " a second time" : "", function_name(board->function),
                    board->kind[0] != '\0' ? " of " : "", board->kind, board->object);
    return false;
}

// Skips the call in the next child, or the whole function after CRASHES_MAX.
static bool leave_out(struct crew *crew, bool hung, bool told) {
    struct board *board = crew->board;
    size_t kind = board->kind_index % BOARD_KINDS;
    enum function function = board->function;
    if (function == CALL_LOAD)
        return false;
    if (board->given_up[kind][function] && crew->deaths++ >= DEATHS_MAX)
        return stop(crew, "the process dies whatever is left out");
    crew->hung[kind][function] += hung;
    if (++crew->ended[kind][function] >= CRASHES_MAX || crew->hung[kind][function] >= HANGS_MAX) {
        board->given_up[kind][function] = true;
        if (told)
            printf("%s of %s is skipped from now on: %zu calls did not return\n", function_name(function), board->kind,
                   crew->ended[kind][function]);
    }
    // Drop the skips of finished trials.
    board->skips[board->n_skips % BOARD_SKIPS] = (struct board_skip){board->trial, board->ordinal};
    if (board->n_skips < BOARD_SKIPS)
        board->n_skips++;
    return true;
}

struct error *process_trials(const struct child_task *task, struct board *board, struct report *report) {
    struct crew crew = {.task = *task, .board = board, .report = report, .pending = SIZE_MAX};
    crew.task.board = board;
    for (bool more = true; more;) {
        __attribute__((cleanup(child_cleanup))) struct child child = {
            .lines = -1, .words = memfd_create("words", MFD_CLOEXEC), .text.max = TEXT_MAX};
        board->stage = STAGE_HOST;
        board->wrote_input = board->severed = false;
        board->forbidden[0] = '\0';
        TRY(start(&crew, &child));
        attend(&crew, &child);
        if (board->stage == STAGE_ERROR)
            return error_new(ERROR_INVALID, "%s", board->object);
        if (WIFEXITED(child.status) && WEXITSTATUS(child.status) == 0 && board->stage == STAGE_DONE)
            return NULL;
        if (child.stopped) {
            stop(&crew, "the time is over (--timeout)");
            break;
        }
        bool told = report_death(&crew, &child);
        more = leave_out(&crew, child.hung || child.swollen > 0, told);
        crew.task.from = task->again ? board->n_trials - 1 - board->trial : board->trial;
    }
    return NULL;
}
