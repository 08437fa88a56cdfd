// SPDX-License-Identifier: Apache-2.0
// `wharf status`.
#include "core/cmd/status/status.h"

#include "core/base/text.h"
#include "core/cmd/document.h"
#include "core/cmd/remote/remote.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define PAGE 1000 // workloads in one answer
#define WATCH_SECONDS 1

#define EXIT_NOT_READY 3

enum { OUTPUT, NAMESPACE, KIND, NAME, CLUSTER, PHASE, SELECTOR, WATCH, WAIT, TIMEOUT };
static const struct flag flags[] = {
    [OUTPUT] = VALUE_FLAG("output", 'o', "FORMAT", "format of the output", .words = WORDS("wide", "json", "yaml")),
    [NAMESPACE] = VALUE_FLAG("namespace", 'n', "NAME", "only workloads of this namespace"),
    [KIND] = VALUE_FLAG("kind", 0, "KIND", "only workloads of this kind, as in job or rayjobs.ray.io"),
    [NAME] = VALUE_FLAG("name", 0, "NAME", "only workloads of this name"),
    [CLUSTER] = VALUE_FLAG("cluster", 0, "NAME", "only workloads in this worker; only this worker"),
    [PHASE] = VALUE_FLAG("phase", 0, "PHASE", "only workloads in this phase",
                         .words = WORDS("Pending", "Suspended", "Running", "Succeeded", "Failed")),
    [SELECTOR] = VALUE_FLAG("selector", 'l', "SELECTOR",
                            "only workloads with matching labels, as of kubectl; wharf reads the labels from the\n"
                            "management cluster with your rights"),
    [WATCH] = FLAG("watch", 'w', "print each change, until interrupted"),
    [WAIT] = FLAG("wait", 0, "wait until the host, or with workers each worker, is ready"),
    [TIMEOUT] =
        VALUE_FLAG("timeout", 0, "DURATION", "the longest wait, as 2m (default: without limit)", CHECK_DURATION),
};

enum output { OUTPUT_TABLE = -1, OUTPUT_WIDE, OUTPUT_JSON, OUTPUT_YAML }; // the words of --output

struct asked {
    struct call *call;
    struct remote *remote;
    const struct status_view *view; // NULL: the summary and the workers
    struct status_filter filter;
    enum output output;
    bool watch;
    struct status_wait wait;
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

// Removes the others; `name` NULL: none.
static void keep_worker(const char *name, struct json *items) {
    for (struct json *item = json_first(items), *next; name && item; item = next) {
        next = json_next(item);
        if (strcmp(json_string_or(json_get(item, "name"), ""), name) == 0)
            continue;
        json_detach_child(items, item);
        json_free(item);
    }
}

static struct error *get_list(const struct asked *asked, const struct status_view *view, struct json **out) {
    AUTO_BUFFER(path, 4096);
    buffer_printf(&path, "/api/v1/%s", view->name);
    if (view == &status_workloads)
        buffer_printf(&path, "?limit=%d", PAGE);
    if (view == &status_workloads && asked->since)
        buffer_printf(&path, "&since=%lld", (long long)asked->since);
    if (view == &status_workloads)
        status_filter_query(&asked->filter, &path);
    struct error *error = path.failed ? error_no_memory() : remote_get(asked->remote, path.data, out);
    if (!error && view == &status_workers)
        keep_worker(asked->filter.cluster, json_get(*out, "items"));
    if (error || view != &status_workloads)
        return error;
    error = get_rest(asked, path.data, *out);
    return error ? error : status_filter_select(&asked->filter, asked->remote, json_get(*out, "items"));
}

// The columns of the terminal, which limit the table.
static size_t limit_of(const struct asked *asked) {
    struct winsize size;
    bool limited = asked->output == OUTPUT_TABLE && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
    return limited ? size.ws_col : 0;
}

static void print_none(const struct asked *asked, const struct status_view *view) {
    const struct status_filter *filter = &asked->filter;
    bool narrows = view != &status_adapters && status_filter_narrows(filter);
    AUTO_TEXT where = filter->namespace_ ? text_format(" in namespace %s", filter->namespace_) : strdup("");
    printf("No %s found%s%s.\n", view->name, where ? where : "", narrows ? " that match" : "");
}

static struct error *print_list(const struct asked *asked, const struct status_view *view) {
    AUTO_JSON list = NULL;
    struct error *error = get_list(asked, view, &list);
    if (error || asked->output >= OUTPUT_JSON)
        return error ? error : document_print(list, asked->output == OUTPUT_YAML);
    struct text_table table = {.limit = limit_of(asked)};
    status_fill(view, asked->output == OUTPUT_WIDE, json_get(list, "items"), &table);
    if (json_size(json_get(list, "items")) == 0)
        print_none(asked, view);
    else
        return text_table_end(&table, 0, stdout);
    text_table_free(&table);
    return NULL;
}

// The counts of the host are of all namespaces.
static struct error *count_namespace(const struct asked *asked, struct json *status) {
    AUTO_JSON list = NULL;
    struct json *counts = NULL;
    TRY(get_list(asked, &status_workloads, &list));
    TRY(status_count(asked->filter.namespace_, json_get(list, "items"), &counts));
    if (!json_set(status, "workloads", counts))
        return error_no_memory();
    return NULL;
}

static struct error *print_overview(struct asked *asked) {
    AUTO_JSON status = NULL;
    TRY(remote_get(asked->remote, "/api/v1/status", &status));
    if (asked->filter.namespace_)
        TRY(count_namespace(asked, status));
    if (!json_bool(json_get(status, "ready"), false))
        asked->call->code = EXIT_NOT_READY;
    if (asked->output >= OUTPUT_JSON)
        return document_print(status, asked->output == OUTPUT_YAML);
    status_print_summary(status);
    return print_list(asked, &status_workers);
}

// The last printed row of each item, by key.
struct watching {
    struct asked *asked;
    struct json *printed; // an object
    bool titled;
};

// A row without fields that change all the time.
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
    struct text_table table = {.limit = limit_of(asked)};
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
    if (!error)
        error = text_table_end(&table, watching->titled, stdout);
    else
        text_table_free(&table);
    watching->titled = true;
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

// Each filter is for some of the tables: ignoring one silently would show too much.
static struct error *check_filters(const char *const *values, const struct asked *asked) {
    static const struct {
        int flag;
        bool overview, workers;
        const char *selects;
    } rules[] = {
        {NAMESPACE, true, false, "workloads"},
        {KIND, false, false, "workloads: expected wharf status workloads"},
        {NAME, false, false, "workloads: expected wharf status workloads"},
        {CLUSTER, false, true, "workloads or workers: expected wharf status workloads or workers"},
        {PHASE, false, false, "workloads: expected wharf status workloads"},
        {SELECTOR, false, false, "workloads: expected wharf status workloads"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        bool fits = asked->view == &status_workloads || (!asked->view && rules[i].overview) ||
                    (asked->view == &status_workers && rules[i].workers);
        if (values[rules[i].flag] && !fits)
            return error_new(ERROR_USAGE, "--%s selects %s", flags[rules[i].flag].name, rules[i].selects);
    }
    return NULL;
}

static void read_filters(const char *const *values, struct asked *asked) {
    asked->filter = (struct status_filter){.namespace_ = values[NAMESPACE],
                                           .kind = values[KIND],
                                           .name = values[NAME],
                                           .cluster = values[CLUSTER],
                                           .phase = values[PHASE],
                                           .selector = values[SELECTOR]};
    asked->watch = values[WATCH];
    asked->wait = (struct status_wait){.wait = values[WAIT],
                                       .workers = asked->view == &status_workers,
                                       .worker = asked->filter.cluster,
                                       .timeout_ns = flags_duration(values[TIMEOUT])};
}

static struct error *check_wait(const char *const *values, const struct asked *asked) {
    if (asked->watch && (asked->output >= OUTPUT_JSON || asked->wait.wait || asked->filter.selector))
        return error_new(ERROR_USAGE, "--watch prints a table: found --%s",
                         asked->wait.wait         ? "wait"
                         : asked->filter.selector ? "selector"
                                                  : "output");
    if (asked->watch && !asked->view && asked->filter.namespace_)
        return error_new(ERROR_USAGE, "--watch shows the workers: --namespace selects workloads: expected "
                                      "wharf status workloads");
    if (asked->wait.wait && asked->view && asked->view != &status_workers)
        return error_new(ERROR_USAGE, "--wait is for the host and its workers: found \"%s\"", asked->view->name);
    if (values[TIMEOUT] && !asked->wait.wait)
        return error_new(ERROR_USAGE, "--timeout is for --wait, which is not given");
    return NULL;
}

static struct error *run_status(struct call *call) {
    struct asked asked = {.call = call, .remote = call->remote, .output = (enum output)flags_word(call, OUTPUT)};
    for (size_t i = 0; call->operand[0] && i < COUNT(views); i++)
        if (strcmp(call->operand[0], views[i]->name) == 0)
            asked.view = views[i];
    read_filters(call->values, &asked);
    TRY(check_filters(call->values, &asked));
    TRY(check_wait(call->values, &asked));
    if (asked.watch) {
        asked.view = asked.view ? asked.view : &status_workers;
        return watch(&asked);
    }
    AUTO_TEXT obstacle = NULL;
    if (asked.wait.wait)
        TRY(status_await(&asked.wait, asked.remote, &obstacle));
    TRY(asked.view ? print_list(&asked, asked.view) : print_overview(&asked));
    if (obstacle) {
        char after[CLOCK_RFC3339_MAX];
        clock_duration_text(asked.wait.timeout_ns, after);
        fprintf(stderr, "error: %s after %s\n", obstacle, after);
        call->code = EXIT_NOT_READY;
    }
    return NULL;
}

SUBCOMMAND(status, run_status, "show the workers, where workloads run, and the adapters",
           "Queries the running host. Without an operand: whether the host is ready, its workloads by phase, and the\n"
           "workers. A host on this machine is reached at its Unix socket, at the address in its configuration, or at\n"
           "127.0.0.1:9440; else the host is reached through the API server of the management cluster.\n"
           "Exits with 3 if the host is not ready, and after --timeout if --wait is still waiting.\n",
           .operand = "[workers|workloads|adapters]", .operand_words = WORDS("workers", "workloads", "adapters"),
           ASKS_HOST, FLAGS(flags));
