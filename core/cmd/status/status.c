// SPDX-License-Identifier: Apache-2.0
// `wharf status`: tables of the host's API for selected workloads, at once or when the host or the workers are ready.
#include "core/cmd/status/status.h"

#include "core/cmd/remote/remote.h"

#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define PAGE 1000         // workloads in one answer
#define SELECTOR_PAGE 500 // objects of the management cluster
#define PATH_MAX_BYTES ((size_t)64 << 10)
#define WATCH_SECONDS 1
#define LONG_NS CLOCK_MINUTE // a workload that has waited for longer counts as waiting, as for the host
#define AGAIN_NS (500 * CLOCK_MS)

#define EXIT_NOT_READY 3

enum { OUTPUT, NAMESPACE, KIND, NAME, CLUSTER, PHASE, SELECTOR, WATCH, WAIT, TIMEOUT };
static const struct flag flags[] = {
    [OUTPUT] = FLAG("output", 'o', "FORMAT", "format of the output", .words = WORDS("wide", "json", "yaml")),
    [NAMESPACE] = FLAG("namespace", 'n', "NAME", "only workloads of this namespace"),
    [KIND] = FLAG("kind", 0, "KIND", "only workloads of this kind, as in job or rayjobs.ray.io"),
    [NAME] = FLAG("name", 0, "NAME", "only workloads of this name"),
    [CLUSTER] = FLAG("cluster", 0, "NAME", "only workloads in this worker; only this worker"),
    [PHASE] = FLAG("phase", 0, "PHASE", "only workloads in this phase",
                   .words = WORDS("Pending", "Suspended", "Running", "Succeeded", "Failed")),
    [SELECTOR] = FLAG("selector", 'l', "SELECTOR",
                      "only workloads with matching labels, as of kubectl; wharf reads the labels from the\n"
                      "management cluster with your rights"),
    [WATCH] = SWITCH("watch", 'w', "print each change, until interrupted"),
    [WAIT] = SWITCH("wait", 0, "wait until the host, or with workers each worker, is ready"),
    [TIMEOUT] = FLAG("timeout", 0, "DURATION", "the longest wait, as 2m (default: without limit)", CHECK_DURATION),
};

enum output { OUTPUT_TABLE = -1, OUTPUT_WIDE, OUTPUT_JSON, OUTPUT_YAML }; // the words of --output

struct asked {
    struct call *call;
    const char *const *values;      // of the flags
    const struct status_view *view; // NULL: the summary and the workers
    enum output output;
    int64_t since; // workloads that changed after this sequence only; 0: all
};

static const struct status_view *const views[] = {&status_workers, &status_workloads, &status_adapters};

// Adds the uids of a page of the objects of one version of a kind that the selector matches. `next` NULL: the first
// one.
static struct error *read_page(const struct asked *asked, struct client *client, const struct json *kind,
                               const char *version, const char *next, struct response *response, struct json *uids) {
    const char *group = status_text(kind, "group"), *namespace_ = asked->values[NAMESPACE];
    AUTO_BUFFER(path, PATH_MAX_BYTES);
    buffer_printf(&path, "%s%s/%s%s%s/%s?labelSelector=", *group ? "/apis/" : "/api", group, version,
                  namespace_ ? "/namespaces/" : "", namespace_ ? namespace_ : "", status_text(kind, "resource"));
    text_percent_encode(&path, asked->values[SELECTOR]);
    buffer_printf(&path, "&limit=%d", SELECTOR_PAGE);
    remote_parameter(&path, "continue", next);
    TRY(path.failed ? error_no_memory() : ask_raw(client, path.data, response));
    for (const struct json *i = json_first(json_get(response->value, "items")); i; i = json_next(i)) {
        const char *uid = json_string(json_path(i, "metadata", "uid", NULL));
        if (uid && !json_set(uids, uid, json_new_bool(true)))
            return error_no_memory();
    }
    return NULL;
}

// Adds the uids of the first version that the management cluster serves.
static struct error *read_kind(const struct asked *asked, struct client *client, const struct json *kind,
                               struct json *uids) {
    bool served = false;
    const struct json *versions = json_get(kind, "versions");
    for (const struct json *v = json_first(versions); !served && v; v = json_next(v)) {
        AUTO_TEXT next = NULL;
        do {
            __attribute__((cleanup(ask_cleanup))) struct response response = {.retry_after_ns = -1};
            TRY(read_page(asked, client, kind, json_string_or(v, ""), next, &response, uids));
            served = response.code != 404;
            if (served && response.reason != REASON_OK)
                return error_new(ERROR_REFUSED, "--selector: %s.%s: %s", status_text(kind, "resource"),
                                 status_text(kind, "group"), response.message);
            if (!text_set_filled(&next, json_string(json_path(response.value, "metadata", "continue", NULL))))
                return error_no_memory();
        } while (next);
    }
    return NULL;
}

// Whether a workload of the kind is among the items.
static bool has_kind(const struct json *items, const struct json *kind) {
    for (const struct json *i = json_first(items); i; i = json_next(i))
        if (text_equal(json_string(json_get(i, "resource")), json_string(json_get(kind, "resource"))) &&
            text_equal(json_string(json_get(i, "group")), json_string(json_get(kind, "group"))))
            return true;
    return false;
}

// Keeps the items with a `key` that is a member of `names`.
static void keep_items(const char *key, const struct json *names, struct json *items) {
    for (struct json *item = json_first(items), *next; item; item = next) {
        next = json_next(item);
        if (!json_get(names, status_text(item, key)))
            json_remove_child(items, item);
    }
}

// The host has no labels: labels come from the management cluster, with the caller's rights.
static struct error *select_items(const struct asked *asked, struct json *items) {
    struct remote *remote = asked->call->remote;
    AUTO_JSON adapters = NULL;
    AUTO_JSON uids = json_new_object();
    struct client *client = NULL;
    TRY(uids ? remote_get(remote, "/api/v1/adapters", &adapters) : error_no_memory());
    TRY(remote_management(remote, &client));
    for (const struct json *a = json_first(json_get(adapters, "items")); a; a = json_next(a))
        for (const struct json *k = json_first(json_get(a, "kinds")); k; k = json_next(k))
            if (has_kind(items, k))
                TRY(read_kind(asked, client, k, uids));
    keep_items("uid", uids, items);
    return NULL;
}

// Appends the pages after the first to `list`.
static struct error *get_rest(const struct asked *asked, const char *path, struct json *list) {
    const char *next = status_text(list, "continue");
    while (*next) {
        AUTO_BUFFER(query, 8192);
        buffer_text(&query, path);
        remote_parameter(&query, "continue", next);
        AUTO_JSON page = NULL;
        TRY(query.failed ? error_no_memory() : remote_get(asked->call->remote, query.data, &page));
        struct json *items = json_get(page, "items"), *all = json_get(list, "items");
        for (struct json *item; (item = json_first(items));) {
            json_detach_child(items, item);
            if (!json_append(all, item))
                return error_no_memory();
        }
        if (!json_set(list, "continue", json_new_string(status_text(page, "continue"))))
            return error_no_memory();
        next = status_text(list, "continue");
    }
    json_remove(list, "continue");
    return NULL;
}

// Only the worker of --cluster, if given.
static struct error *keep_worker(const struct asked *asked, struct json *items) {
    const char *name = asked->values[CLUSTER];
    AUTO_JSON names = name ? document_make("{%s:true}", name) : NULL;
    if (names)
        keep_items("name", names, items);
    return name && !names ? error_no_memory() : NULL;
}

static struct error *get_list(const struct asked *asked, const struct status_view *view, struct json **out) {
    bool workloads = view == &status_workloads;
    AUTO_BUFFER(path, 4096);
    buffer_printf(&path, "/api/v1/%s", view->name);
    if (workloads)
        buffer_printf(&path, "?limit=%d", PAGE);
    if (workloads && asked->since)
        buffer_printf(&path, "&since=%lld", (long long)asked->since);
    for (int i = NAMESPACE; workloads && i <= PHASE; i++) // the parameters of the API have the names of the flags
        remote_parameter(&path, flags[i].name, asked->values[i]);
    TRY(path.failed ? error_no_memory() : remote_get(asked->call->remote, path.data, out));
    struct json *items = json_get(*out, "items");
    if (view == &status_workers)
        return keep_worker(asked, items);
    if (!workloads)
        return NULL;
    TRY(get_rest(asked, path.data, *out));
    return asked->values[SELECTOR] ? select_items(asked, items) : NULL;
}

// The columns of the terminal, which limit the table.
static size_t limit_of(const struct asked *asked) {
    struct winsize size;
    bool limited = asked->output == OUTPUT_TABLE && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
    return limited ? size.ws_col : 0;
}

static void print_none(const struct asked *asked, const struct status_view *view) {
    const char *namespace_ = asked->values[NAMESPACE];
    bool narrows = false;
    for (int i = KIND; i <= SELECTOR; i++)
        narrows |= asked->values[i] && view != &status_adapters;
    printf("No %s found%s%s%s.\n", view->name, namespace_ ? " in namespace " : "", namespace_ ? namespace_ : "",
           narrows ? " that match" : "");
}

static struct error *print_list(const struct asked *asked, const struct status_view *view) {
    AUTO_JSON list = NULL;
    TRY(get_list(asked, view, &list));
    if (asked->output >= OUTPUT_JSON)
        return document_print(list, asked->output == OUTPUT_YAML);
    if (json_size(json_get(list, "items")) == 0) {
        print_none(asked, view);
        return NULL;
    }
    struct text_table table = {.limit = limit_of(asked)};
    status_fill(view, asked->output == OUTPUT_WIDE, json_get(list, "items"), &table);
    return text_table_end(&table, 0, stdout);
}

static bool increment(struct json *counts, const char *key) {
    return json_set(counts, key, json_new_int64(json_int64(json_get(counts, key), 0) + 1));
}

static bool waits_long(const struct json *waiting) {
    int64_t since_ns = 0;
    return clock_parse_rfc3339(status_text(waiting, "since"), &since_ns) && clock_now().wall_ns - since_ns > LONG_NS;
}

// The counts of the host are of all namespaces.
static struct error *count_namespace(const struct asked *asked, struct json *status) {
    AUTO_JSON list = NULL;
    TRY(get_list(asked, &status_workloads, &list));
    const struct json *items = json_get(list, "items");
    AUTO_JSON total = json_new_int64((int64_t)json_size(items));
    struct json *counts =
        total ? document_make("{'namespace':%s,'total':%j,'byPhase':{},'waiting':{}}", asked->values[NAMESPACE], total)
              : NULL;
    bool good = json_set(status, "workloads", counts);
    for (const struct json *item = json_first(items); good && item; item = json_next(item)) {
        const struct json *waiting = json_get(item, "waiting");
        good = increment(json_get(counts, "byPhase"), status_text(item, "phase")) &&
               (!waits_long(waiting) || increment(json_get(counts, "waiting"), status_text(waiting, "reason")));
    }
    return good ? NULL : error_no_memory();
}

static struct error *print_overview(struct asked *asked) {
    AUTO_JSON status = NULL;
    TRY(remote_get(asked->call->remote, "/api/v1/status", &status));
    if (asked->values[NAMESPACE])
        TRY(count_namespace(asked, status));
    if (!json_bool(json_get(status, "ready"), false))
        asked->call->code = EXIT_NOT_READY;
    if (asked->output >= OUTPUT_JSON)
        return document_print(status, asked->output == OUTPUT_YAML);
    status_print_summary(status);
    return print_list(asked, &status_workers);
}

// A row without fields that change all the time.
static uint64_t hash_of(const struct json *item) {
    AUTO_JSON copy = json_copy(item);
    json_remove(copy, "lastContactSeconds");
    json_remove(copy, "latencySeconds");
    json_remove(copy, "inFlight");
    return json_hash(copy);
}

// `printed` has the hash of the last printed row of each item, by key.
static struct error *print_changes(struct asked *asked, struct json *printed, bool titled) {
    AUTO_JSON list = NULL;
    TRY(get_list(asked, asked->view, &list));
    asked->since = json_int64(json_get(list, "sequence"), asked->since);
    struct text_table table = {.limit = limit_of(asked)};
    bool wide = asked->output == OUTPUT_WIDE;
    status_add_row(asked->view, wide, NULL, &table);
    for (const struct json *item = json_first(json_get(list, "items")); item; item = json_next(item)) {
        const char *key = status_text(item, asked->view->key);
        const struct json *former = json_get(printed, key);
        int64_t hash = (int64_t)hash_of(item);
        if (former && json_int64(former, 0) == hash)
            continue;
        status_add_row(asked->view, wide, item, &table);
        table.failed |= !json_set(printed, key, json_new_int64(hash));
    }
    return text_table_end(&table, titled, stdout);
}

static struct error *watch(struct asked *asked) {
    AUTO_JSON printed = json_new_object();
    if (!printed)
        return error_no_memory();
    for (bool titled = false;; titled = true) {
        TRY(print_changes(asked, printed, titled));
        if (fflush(stdout) != 0 || ferror(stdout)) // told at the end of the program
            return NULL;
        nanosleep(&(struct timespec){.tv_sec = WATCH_SECONDS}, NULL);
    }
}

// Each filter is for some of the tables: ignoring one silently would show too much.
static struct error *check_flags(const struct asked *asked) {
    const char *const *values = asked->values;
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
    for (size_t i = 0; i < COUNT(rules); i++) {
        bool fits = asked->view == &status_workloads || (!asked->view && rules[i].overview) ||
                    (asked->view == &status_workers && rules[i].workers);
        if (values[rules[i].flag] && !fits)
            return error_new(ERROR_USAGE, "--%s selects %s", flags[rules[i].flag].name, rules[i].selects);
    }
    if (values[WATCH] && (asked->output >= OUTPUT_JSON || values[WAIT] || values[SELECTOR]))
        return error_new(ERROR_USAGE, "--watch prints a table: found --%s",
                         values[WAIT]       ? "wait"
                         : values[SELECTOR] ? "selector"
                                            : "output");
    if (values[WATCH] && !asked->view && values[NAMESPACE])
        return error_new(ERROR_USAGE, "--watch shows the workers: --namespace selects workloads: expected "
                                      "wharf status workloads");
    if (values[WAIT] && asked->view && asked->view != &status_workers)
        return error_new(ERROR_USAGE, "--wait is for the host and its workers: found \"%s\"", asked->view->name);
    if (values[TIMEOUT] && !values[WAIT])
        return error_new(ERROR_USAGE, "--timeout is for --wait, which is not given");
    return NULL;
}

static struct error *check_host(const struct asked *asked, char **obstacle) {
    AUTO_JSON status = NULL;
    TRY(remote_get(asked->call->remote, "/api/v1/status", &status));
    if (json_bool(json_get(status, "ready"), false))
        return NULL;
    *obstacle = strdup("the host is not ready");
    return *obstacle ? NULL : error_no_memory();
}

static struct error *check_workers(const struct asked *asked, char **obstacle) {
    AUTO_JSON list = NULL;
    TRY(get_list(asked, &status_workers, &list));
    const char *wanted = asked->values[CLUSTER];
    const struct json *worker = json_first(json_get(list, "items"));
    bool any = worker;
    while (worker && strcmp(status_text(worker, "state"), "Ready") == 0)
        worker = json_next(worker);
    if (any && !worker)
        return NULL;
    *obstacle = any ? text_format("worker %s is %s", status_text(worker, "name"), status_text(worker, "state"))
                    : text_format("there is no worker%s%s", wanted ? " " : "", wanted ? wanted : "");
    return *obstacle ? NULL : error_no_memory();
}

// With --wait: until the host, or each worker is ready. *obstacle: why one is not (free()); NULL: ready. A host that
// does not respond may be starting.
static struct error *await_ready(const struct asked *asked, char **obstacle) {
    int64_t timeout_ns = flags_duration(asked->values[TIMEOUT]);
    int64_t until_ns = timeout_ns ? clock_after(clock_now().mono_ns, timeout_ns) : CLOCK_NEVER;
    for (;;) {
        *obstacle = NULL;
        struct error *error = asked->view ? check_workers(asked, obstacle) : check_host(asked, obstacle);
        bool again = error ? error->code == ERROR_IO : !!*obstacle;
        if (!again || !remote_wait(until_ns, AGAIN_NS))
            return error;
        error_free(error);
        free(*obstacle);
    }
}

static struct error *run_status(struct call *call) {
    struct asked asked = {.call = call, .values = call->values, .output = (enum output)flags_word(call, "output")};
    for (size_t i = 0; call->operand[0] && i < COUNT(views); i++)
        if (strcmp(call->operand[0], views[i]->name) == 0)
            asked.view = views[i];
    TRY(check_flags(&asked));
    if (call->values[WATCH]) {
        asked.view = asked.view ? asked.view : &status_workers;
        return watch(&asked);
    }
    AUTO_TEXT obstacle = NULL;
    if (call->values[WAIT])
        TRY(await_ready(&asked, &obstacle));
    TRY(asked.view ? print_list(&asked, asked.view) : print_overview(&asked));
    if (obstacle) {
        char after[CLOCK_RFC3339_MAX];
        clock_duration_text(flags_duration(call->values[TIMEOUT]), after);
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
