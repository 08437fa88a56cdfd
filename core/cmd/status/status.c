// SPDX-License-Identifier: Apache-2.0
// `wharf status`.
#include "core/cmd/status/status.h"

#include "core/base/suggest.h"
#include "core/base/text.h"
#include "core/cmd/remote.h"
#include "core/json/yaml.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PAGE 1000 // workloads in one answer
#define LIST_MAX ((size_t)256 << 20)
#define WATCH_SECONDS 1

enum { OUTPUT, NAMESPACE, WATCH, REMOTE, N_FLAGS = REMOTE + REMOTE_N_FLAGS };
static const struct flag flags[] = {
    [OUTPUT] = {.name = "output", .letter = 'o', .argument = "FORMAT", .help = "wide, json or yaml"},
    [NAMESPACE] = {.name = "namespace", .letter = 'n', .argument = "NAME", .help = "only workloads of this namespace"},
    [WATCH] = {.name = "watch", .letter = 'w', .help = "print each change, until interrupted"},
    [REMOTE] = REMOTE_FLAGS,
};

enum output { OUTPUT_TABLE, OUTPUT_WIDE, OUTPUT_JSON, OUTPUT_YAML };

struct asked {
    struct remote *remote;
    const struct status_view *view; // NULL: the summary and the workers
    const char *namespace_;
    enum output output;
    bool watch;
    int64_t since; // workloads that changed after this sequence only; 0: all
};

static const struct status_view *const views[] = {&status_workers, &status_workloads, &status_adapters};

// Appends the pages after the first to `list`.
static struct error *get_rest(const struct asked *asked, const char *path, struct json *list) {
    const char *next = json_string_or(json_get(list, "continue"), "");
    while (*next) {
        AUTO_BUFFER(query, 8192);
        buffer_text(&query, path);
        remote_parameter(&query, "continue", next);
        AUTO_JSON page = NULL;
        struct error *error = query.failed ? error_no_memory() : remote_get(asked->remote, query.data, &page);
        if (error)
            return error;
        struct json *items = json_get(page, "items"), *all = json_get(list, "items");
        for (struct json *item; (item = json_first(items));) {
            json_detach_child(items, item);
            if (!json_append(all, item))
                return error_no_memory();
        }
        if (!json_set(list, "continue", json_new_string(json_string_or(json_get(page, "continue"), ""))))
            return error_no_memory();
        next = json_string_or(json_get(list, "continue"), "");
    }
    json_remove(list, "continue");
    return NULL;
}

static struct error *get_list(const struct asked *asked, const struct status_view *view, struct json **out) {
    AUTO_BUFFER(path, 4096);
    buffer_printf(&path, "/api/v1/%s", view->name);
    if (view == &status_workloads)
        buffer_printf(&path, "?limit=%d", PAGE);
    if (view == &status_workloads && asked->since)
        buffer_printf(&path, "&since=%lld", (long long)asked->since);
    if (view == &status_workloads)
        remote_parameter(&path, "namespace", asked->namespace_);
    struct error *error = path.failed ? error_no_memory() : remote_get(asked->remote, path.data, out);
    return error || view != &status_workloads ? error : get_rest(asked, path.data, *out);
}

struct error *status_print_document(const struct json *document, bool yaml) {
    AUTO_BUFFER(text, LIST_MAX);
    if (!(yaml ? yaml_print(document, &text) : json_print_lines(document, &text) && buffer_char(&text, '\n')))
        return error_no_memory();
    fputs(text.data, stdout);
    return NULL;
}

static struct error *print_list(const struct asked *asked, const struct status_view *view) {
    AUTO_JSON list = NULL;
    struct error *error = get_list(asked, view, &list);
    if (error || asked->output >= OUTPUT_JSON)
        return error ? error : status_print_document(list, asked->output == OUTPUT_YAML);
    struct text_table table = {.n_columns = 0};
    status_fill(view, asked->output == OUTPUT_WIDE, json_get(list, "items"), &table);
    if (json_size(json_get(list, "items")) == 0)
        printf("No %s found.\n", view->name);
    else if (!text_table_print(&table, 0, stdout))
        error = error_no_memory();
    text_table_free(&table);
    return error;
}

static struct error *print_overview(const struct asked *asked) {
    AUTO_JSON status = NULL;
    struct error *error = remote_get(asked->remote, "/api/v1/status", &status);
    if (error || asked->output >= OUTPUT_JSON)
        return error ? error : status_print_document(status, asked->output == OUTPUT_YAML);
    status_print_summary(status);
    return print_list(asked, &status_workers);
}

// What was printed of each item last, by its key.
struct watching {
    struct asked *asked;
    struct json *printed; // an object
    bool titled;
};

// A row without what passes by itself.
static uint64_t hash_of(const struct json *item) {
    AUTO_JSON copy = json_copy(item);
    json_remove(copy, "lastContactSeconds");
    json_remove(copy, "latencySeconds");
    json_remove(copy, "inFlight");
    return json_hash(copy);
}

static struct error *print_changes(struct watching *watching) {
    struct asked *asked = watching->asked;
    AUTO_JSON list = NULL;
    struct error *error = get_list(asked, asked->view, &list);
    asked->since = json_int64(json_get(list, "sequence"), asked->since);
    struct text_table table = {.n_columns = 0};
    bool wide = asked->output == OUTPUT_WIDE;
    status_add_titles(asked->view, wide, &table);
    for (const struct json *item = json_first(json_get(list, "items")); item && !error; item = json_next(item)) {
        char hash[24];
        snprintf(hash, sizeof hash, "%llx", (unsigned long long)hash_of(item));
        const char *key = json_string_or(json_get(item, asked->view->key), "");
        if (strcmp(json_string_or(json_get(watching->printed, key), ""), hash) == 0)
            continue;
        status_add_row(asked->view, wide, item, &table);
        if (!json_set(watching->printed, key, json_new_string(hash)))
            error = error_no_memory();
    }
    if (!error && !text_table_print(&table, watching->titled, stdout))
        error = error_no_memory();
    watching->titled = true;
    text_table_free(&table);
    return fflush(stdout) == 0 || error ? error : error_new(ERROR_IO, "cannot write to standard output");
}

static struct error *watch(struct asked *asked) {
    struct watching watching = {.asked = asked, .printed = json_new_object()};
    struct error *error = watching.printed ? NULL : error_no_memory();
    while (!error) {
        error = print_changes(&watching);
        if (!error)
            nanosleep(&(struct timespec){.tv_sec = WATCH_SECONDS}, NULL);
    }
    json_free(watching.printed);
    return error;
}

static struct error *show(void *ctx, struct remote *remote) {
    struct asked *asked = ctx;
    asked->remote = remote;
    if (asked->watch)
        return watch(asked);
    return asked->view ? print_list(asked, asked->view) : print_overview(asked);
}

static int read_operand(const char *operand, struct asked *asked) {
    const char *names[sizeof views / sizeof views[0]];
    for (size_t i = 0; operand && i < sizeof views / sizeof views[0]; i++) {
        names[i] = views[i]->name;
        if (strcmp(operand, names[i]) == 0)
            asked->view = views[i];
    }
    if (!operand || asked->view)
        return 0;
    const char *meant = suggest(operand, names, sizeof names / sizeof names[0]);
    return flags_usage_error(&subcommand_status, "found \"%s\", expected workers, workloads or adapters%s%s%s", operand,
                             meant ? "; did you mean \"" : "", meant ? meant : "", meant ? "\"?" : "");
}

static int read_output(const char *output, struct asked *asked) {
    static const char *const formats[] = {
        [OUTPUT_TABLE] = "", [OUTPUT_WIDE] = "wide", [OUTPUT_JSON] = "json", [OUTPUT_YAML] = "yaml"};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (strcmp(output ? output : "", formats[i]) == 0) {
            asked->output = (enum output)i;
            return 0;
        }
    return flags_usage_error(&subcommand_status, "--output: found \"%s\", expected wide, json or yaml", output);
}

static int run(const struct arguments *arguments) {
    const char *values[N_FLAGS + 1];
    int code = EXIT_SUCCESS;
    if (!flags_read(&subcommand_status, arguments, values, &code))
        return code;
    struct asked asked = {.namespace_ = values[NAMESPACE]};
    code = read_operand(values[N_FLAGS], &asked);
    if (code == 0)
        code = read_output(values[OUTPUT], &asked);
    if (code == 0 && values[WATCH] && asked.output >= OUTPUT_JSON)
        code = flags_usage_error(&subcommand_status, "--watch prints a table: found --output %s", values[OUTPUT]);
    if (code != 0)
        return code;
    asked.watch = values[WATCH];
    if (asked.watch && !asked.view)
        asked.view = &status_workers;
    return remote_use(values, REMOTE, show, &asked);
}

const struct subcommand subcommand_status = {
    .name = "status",
    .run = run,
    .operand = "[workers|workloads|adapters]",
    .flags = flags,
    .n_flags = N_FLAGS,
    .summary = "show the workers, where workloads run, and the adapters",
    .text = "Asks the running host. Without an operand: whether it is ready, its workloads by phase, and the workers.\n"
            "The host is reached at the address in its configuration, or at 127.0.0.1:9440, if there is one on this\n"
            "machine, else through the API server of the management cluster, as kubectl reaches it.\n",
};
