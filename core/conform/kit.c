// SPDX-License-Identifier: Apache-2.0
#include "core/conform/kit.h"

#include "core/base/text.h"
#include "core/conform/child.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONTROLLER_NAME "wharf.dev/host"

struct kit {
    const struct kit_options *options;
    FILE *out;
    struct board *board;
    struct report report;
    struct documents documents;
    struct json *settings;
    char *path;        // of the adapter, absolute
    char *copy_folder; // a private folder with a copy, if the loader rejects the file itself; or NULL
    char *copy;
};

static void kit_cleanup(struct kit *kit) {
    if (kit->copy)
        unlink(kit->copy);
    if (kit->copy_folder)
        rmdir(kit->copy_folder);
    free(kit->copy);
    free(kit->copy_folder);
    free(kit->path);
    json_free(kit->settings);
    documents_free(&kit->documents);
    report_free(&kit->report);
    if (kit->board)
        munmap(kit->board, sizeof(*kit->board));
}

static struct error *write_copy(const char *from, const char *to) {
    AUTO_BUFFER(content, ADAPTER_FILE_MAX);
    struct error *error = text_read_file(from, ADAPTER_FILE_MAX, &content);
    if (error)
        return error;
    int fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
    bool done = fd >= 0 && text_write_fd(fd, content.data, content.len);
    if (fd >= 0 && close(fd) != 0)
        done = false;
    return done ? NULL : error_new(ERROR_IO, "%s: %s", to, strerror(errno));
}

static struct error *copy_adapter(struct kit *kit) {
    kit->copy_folder = strdup("/tmp/wharf-adapter-XXXXXX");
    if (!kit->copy_folder)
        return error_no_memory();
    if (!mkdtemp(kit->copy_folder)) {
        struct error *error = error_new(ERROR_IO, "%s: %s", kit->copy_folder, strerror(errno));
        free(kit->copy_folder);
        kit->copy_folder = NULL;
        return error;
    }
    const char *name = strrchr(kit->path, '/');
    kit->copy = text_format("%s%s", kit->copy_folder, name ? name : "/adapter.so");
    return kit->copy ? write_copy(kit->path, kit->copy) : error_no_memory();
}

static bool add_finding(struct kit *kit, enum rule rule, const char *found) {
    struct finding finding = {.rule = rule,
                              .function = CALL_LOAD,
                              .kind = (char *)"",
                              .cause = (char *)found,
                              .object = kit->path,
                              .found = (char *)found};
    return report_add(&kit->report, &finding, NULL);
}

// The loader's checks before any code of the file runs. Wrong owners and permissions are for an operator to correct, so
// an author gets only a warning, and the kit loads a copy in a private folder. *fine is false if the file is no
// adapter.
static struct error *check_file(struct kit *kit, bool *fine) {
    char sha256[65];
    *fine = true;
    kit->path = realpath(kit->options->file, NULL);
    if (!kit->path)
        return error_new(ERROR_NOT_FOUND, "%s: %s", kit->options->file, strerror(errno));
    struct error *refusal __attribute__((cleanup(error_cleanup))) = adapter_file_check(kit->path, NULL, sha256);
    if (!refusal)
        return NULL;
    if (refusal->code == ERROR_REFUSED) {
        struct error *error = copy_adapter(kit);
        if (error)
            return error;
        struct error *other __attribute__((cleanup(error_cleanup))) = adapter_file_check(kit->copy, NULL, sha256);
        if (!other) {
            fputs("warning: the host would not load the file from there: ", kit->out);
            text_print_line(kit->out, error_text(refusal));
            return NULL;
        }
        *fine = false;
        return add_finding(kit, RULE_FILE, error_text(other)) ? NULL : error_no_memory();
    }
    *fine = false;
    return add_finding(kit, RULE_FILE, error_text(refusal)) ? NULL : error_no_memory();
}

static struct error *read_inputs(struct kit *kit) {
    const struct kit_options *options = kit->options;
    struct problems problems = {.count = 0};
    struct error *error = NULL;
    if (options->objects)
        error = documents_read(options->objects, &problems, &kit->documents);
    for (size_t i = 0; i < problems.count; i++) {
        fputs("warning: left out: ", kit->out);
        text_print_line(kit->out, problems.list[i]);
    }
    problems_free(&problems);
    if (!error && options->settings)
        error = document_read(options->settings, &kit->settings);
    else if (!error && !(kit->settings = json_new_object()))
        error = error_no_memory();
    if (!error && !json_is(kit->settings, JSON_OBJECT))
        error = error_new(ERROR_INVALID, "%s: found no mapping, expected the adapter's settings", options->settings);
    return error;
}

static int compare_ns(const void *a, const void *b) {
    const uint32_t *left = a, *right = b;
    return *left < *right ? -1 : *left > *right;
}

static void print_times(struct kit *kit) {
    for (enum function function = CALL_PHASE; function < N_FUNCTIONS; function++) {
        struct board_times *times = &kit->board->times[function];
        size_t count = times->count < BOARD_TIMES ? times->count : BOARD_TIMES;
        if (count == 0)
            continue;
        qsort(times->ns, count, sizeof(times->ns[0]), compare_ns);
        uint32_t median = times->ns[count / 2];
        fprintf(kit->out, "time of %s: median %.1f us, worst %.1f us\n", function_name(function), median / 1000.0,
                times->ns[count - 1] / 1000.0);
    }
}

static struct error *try_adapter(struct kit *kit) {
    struct child_task task = {.file = kit->copy ? kit->copy : kit->path,
                              .controller_name = CONTROLLER_NAME,
                              .settings = kit->settings,
                              .documents = &kit->documents,
                              .quiet = kit->options->quiet,
                              .verbose = kit->options->verbose};
    struct error *error = process_trials(&task, kit->board, &kit->report, kit->out);
    if (error || kit->board->n_trials == 0)
        return error;
    task.again = true;
    error = process_trials(&task, kit->board, &kit->report, kit->out);
    if (!kit->options->quiet)
        print_times(kit);
    return error;
}

static void print_summary(struct kit *kit) {
    report_print(&kit->report, kit->out);
    if (kit->report.count == 0 && !kit->options->quiet)
        fputs("tried: every field missing, null, a boolean, a number, a huge number, a string, an empty string, an "
              "array and an object;\n"
              "numbers at limits; odd Unicode; 10 MB strings, 100,000 items and members, long names; the deepest "
              "nesting; every status\nafter every other; each call twice, in a second process, and in several threads "
              "at once\n",
              kit->out);
}

struct error *kit_run(const struct kit_options *options, FILE *out, struct kit_result *result) {
    __attribute__((cleanup(kit_cleanup))) struct kit kit = {.options = options, .out = out};
    kit.board = mmap(NULL, sizeof(*kit.board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (kit.board == MAP_FAILED) {
        kit.board = NULL;
        return error_no_memory();
    }
    bool fine = false;
    struct error *error = read_inputs(&kit);
    if (!error)
        error = check_file(&kit, &fine);
    if (!error && fine)
        error = try_adapter(&kit);
    if (error)
        return error;
    print_summary(&kit);
    if (options->save)
        error = report_save(&kit.report, options->save, out);
    *result = (struct kit_result){kit.board->calls, kit.board->objects, kit.report.count, kit.report.n_warnings};
    fprintf(out, "\n%llu calls, %llu objects, %zu findings", (unsigned long long)result->calls,
            (unsigned long long)result->objects, result->findings);
    if (result->warnings > 0)
        fprintf(out, ", %zu warnings", result->warnings);
    fputc('\n', out);
    return error;
}
