// SPDX-License-Identifier: Apache-2.0
// Commands about one workload, by the host's API (docs/api.md): `wharf explain` prints the place of a workload and the
// reasons, `wharf logs` the logs of its pods, and `wharf retry` makes the host forget rejections.
#include "core/cmd/remote/remote.h"
#include "core/cmd/status/status.h"

static struct error *get_explanation(struct call *call, struct json **out) {
    AUTO_BUFFER(path, 8192);
    remote_object_path(call, "/api/v1/workloads", &path);
    return path.failed ? error_no_memory() : remote_get(call->remote, path.data, out);
}

static const struct flag explain_flags[] = {
    FLAG_NAMESPACE,
    FLAG("output", 'o', "FORMAT", "format of the output", .words = WORDS("json", "yaml")),
};

static void field(const char *name, const char *text) {
    if (*text) {
        printf("%-10s ", name);
        text_print_line(stdout, text);
    }
}

static struct error *print_table(const struct json *explanation, const struct status_view *view, const char *heading) {
    const struct json *items = json_get(explanation, view->name);
    if (json_size(items) == 0)
        return NULL;
    struct text_table table = {.n_columns = 0};
    printf("\n%s:\n", heading);
    status_fill(view, true, items, &table);
    return text_table_end(&table, 0, stdout);
}

static void print_place(const struct json *explanation) {
    const char *phase = status_text(explanation, "phase"), *cluster = status_text(explanation, "cluster");
    long long attempt = (long long)json_int64(json_get(explanation, "attempt"), 0);
    const char *there = status_text(json_get(explanation, "mirror"), "namespace");
    bool renamed = *there && strcmp(there, status_text(explanation, "namespace")) != 0;
    AUTO_TEXT place = *cluster
                          ? text_format("%s in %s (%s%s%sattempt %lld)", phase, cluster, renamed ? "namespace " : "",
                                        renamed ? there : "", renamed ? ", " : "", attempt)
                          : text_format("%s, in no worker", phase);
    field("Phase:", place ? place : phase);
}

// Of the newest attempt, which is the last one.
static const char *scores_of(const struct json *explanation) {
    const struct json *attempts = json_get(explanation, "attempts");
    return json_size(attempts) > 0 ? status_text(json_at(attempts, json_size(attempts) - 1), "scores") : "";
}

// In the worker of the placement, else in the management cluster.
static struct error *print_dependencies(const struct json *explanation) {
    const char *cluster = status_text(json_first(json_get(explanation, "dependencies")), "cluster");
    AUTO_TEXT heading = text_format("Refers to (with the states in %s)", *cluster ? cluster : "the management cluster");
    return heading ? print_table(explanation, &status_dependencies, heading) : error_no_memory();
}

// Of a further attempt.
static const char *progress_of(const struct json *explanation) {
    static const char *const texts[][2] = {
        {"owed", "the mirror gets the progress of the earlier attempts, and then runs"},
        {"given", "the mirror began with the progress of the earlier attempts"},
        {"refused", "the mirror began from nothing (Event ProgressRefused)"}};
    const char *mark = status_text(json_get(explanation, "mirror"), "progress");
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (strcmp(mark, texts[i][0]) == 0)
            return texts[i][1];
    return mark;
}

// And what further attempts get.
static void print_progress(const struct json *explanation) {
    const char *now = progress_of(explanation), *off = status_text(explanation, "progressOff");
    AUTO_TEXT text =
        !*off ? NULL : text_format("%s%sfurther attempts begin from nothing (%s)", now, *now ? "; " : "off: ", off);
    field("Progress:", text ? text : now);
}

static void print_words(const struct json *explanation) {
    const struct json *item = json_first(json_get(explanation, "lastWords"));
    if (item)
        puts("\nLast words (wharf logs --previous-attempt prints the kept logs):");
    for (; item; item = json_next(item)) {
        printf("  attempt %lld in ", (long long)json_int64(json_get(item, "attempt"), 0));
        AUTO_TEXT line = text_format("%s: %s", status_text(item, "cluster"), status_text(item, "text"));
        text_print_line(stdout, line ? line : "");
    }
}

static struct error *print_explanation(const struct json *explanation) {
    bool ours = json_bool(json_get(explanation, "ours"), false);
    AUTO_TEXT name = text_format("%s %s/%s", status_text(explanation, "kind"), status_text(explanation, "namespace"),
                                 status_text(explanation, "name"));
    field("Object:", name ? name : "");
    field("Delegated:", ours ? "yes" : "no");
    field("Why:", status_text(explanation, "why"));
    if (ours)
        print_place(explanation);
    field("Scores:", scores_of(explanation));
    field("Waits for:", status_text(explanation, "waitingFor"));
    field("Also runs:", status_text(explanation, "alsoRunHere"));
    print_progress(explanation);
    field("Status:", status_text(json_get(explanation, "mirror"), "statusReduced"));
    field("Until:", status_text(explanation, "until"));
    TRY(print_table(explanation, &status_attempts, "Attempts (times are ages)"));
    TRY(print_table(explanation, &status_fits, "Workers"));
    TRY(print_dependencies(explanation));
    print_words(explanation);
    const struct json *help = json_first(json_get(explanation, "help"));
    if (help)
        puts("\nWhat would help:");
    for (; help; help = json_next(help)) {
        fputs("  ", stdout);
        text_print_line(stdout, json_string_or(help, ""));
    }
    return print_table(explanation, &status_events, "Events");
}

static struct error *run_explain(struct call *call) {
    int yaml = flags_word(call, "output");
    AUTO_JSON explanation = NULL;
    TRY(get_explanation(call, &explanation));
    return yaml >= 0 ? document_print(explanation, yaml) : print_explanation(explanation);
}

SUBCOMMAND(explain, run_explain, "explain where a workload is, and why",
           "Prints whether the object is delegated to this host, and if not, why; each attempt with its worker, times\n"
           "and outcome; the reason for which the workload waits and until when; for each worker, why it accepts the\n"
           "workload or not; the objects that the workload refers to, copied or checked by the configuration's\n"
           "dependencies; and suggestions.\n",
           .operand = OPERAND_OBJECT, ASKS_HOST, FLAGS(explain_flags));

static bool is_number(const char *text) {
    int64_t number = 0;
    return text_to_int64(text, &number);
}

static const struct flag logs_flags[] = {
    FLAG_NAMESPACE,
    SWITCH("follow", 'f', "continue until the workload has finished, also with pods that start later"),
    SWITCH("all-pods", 0, "logs of all pods, each line with its pod and container"),
    FLAG("pod", 0, "NAME", "this pod (default: the newest one that runs or ran)"),
    FLAG("container", 'c', "NAME", "this container (default: the pod's default container)"),
    FLAG("tail", 0, "LINES", "only the last lines (default: all)", .check = is_number, .expected = "a number of lines"),
    FLAG("since", 0, "DURATION", "only lines newer than this age", CHECK_DURATION),
    SWITCH("timestamps", 0, "print the time of each line"),
    SWITCH("previous-attempt", 0,
           "the end of the logs of the last attempt that failed, kept until the workload is deleted"),
};

static struct error *make_logs_path(struct call *call, struct buffer *path) {
    static const char *const parameters[][2] = {
        // flag and name
        {"follow", "follow"},       {"all-pods", "allPods"}, {"timestamps", "timestamps"},           {"pod", "pod"},
        {"container", "container"}, {"tail", "tailLines"},   {"previous-attempt", "previousAttempt"}};
    const char *since = flags_value(call, "since");
    int64_t age_ns = flags_duration(since);
    if (since && age_ns <= 0)
        return error_new(ERROR_USAGE, "--since: found \"%s\", expected a duration, as in 10m", since);
    AUTO_TEXT seconds = text_format("%lld", (long long)((age_ns + CLOCK_SECOND - 1) / CLOCK_SECOND));
    remote_object_path(call, "/api/v1/logs", path);
    for (size_t i = 0; i < COUNT(parameters); i++) {
        const char *value = flags_value(call, parameters[i][0]);
        remote_parameter(path, parameters[i][1], value && *value == '\0' ? "true" : value);
    }
    remote_parameter(path, "sinceSeconds", since ? seconds : NULL);
    return path->failed ? error_no_memory() : NULL;
}

// The kept end of a log has no times, and nothing is added to it.
static struct error *check_previous_attempt(struct call *call) {
    static const char *const others[] = {"follow", "since", "timestamps"};
    for (size_t i = 0; flags_value(call, "previous-attempt") && i < COUNT(others); i++)
        if (flags_value(call, others[i]))
            return error_new(ERROR_USAGE, "--previous-attempt cannot be used with --%s", others[i]);
    return NULL;
}

static struct error *run_logs(struct call *call) {
    TRY(check_previous_attempt(call));
    AUTO_BUFFER(path, 8192);
    TRY(make_logs_path(call, &path));
    return remote_print(call->remote, path.data);
}

SUBCOMMAND(
    logs, run_logs, "print the logs of a workload's pods",
    "Prints the log of a pod of the workload's mirror, in its worker. The caller needs no\n"
    "credentials there, but the right to get pods/log in the workload's namespace of the management cluster.\n"
    "Works until the mirror is deleted, mirrorRetention after its end; with --previous-attempt, the kept end of\n"
    "a failed attempt until the workload is deleted. The name of the pod goes to stderr.\n",
    .operand = OPERAND_OBJECT, ASKS_HOST, FLAGS(logs_flags));

static const struct flag retry_flags[] = {FLAG_NAMESPACE};

static struct error *check_unfinished(const char *object, const struct json *item) {
    const char *phase = status_text(item, "phase");
    if (strcmp(phase, "Succeeded") != 0 && strcmp(phase, "Failed") != 0)
        return NULL;
    return error_new(ERROR_REFUSED,
                     "%s has finished (%s) and is not changed; delete it and create it again to run it again", object,
                     phase);
}

// Reads the workload's group and resource from the host.
static struct error *describe_workload(struct call *call, struct json **out) {
    TRY(get_explanation(call, out));
    if (!json_bool(json_get(*out, "ours"), true))
        return error_new(ERROR_REFUSED, "%s is not delegated to this host: %s", call->object, status_text(*out, "why"));
    return check_unfinished(call->object, *out);
}

// Tries the versions of the adapter until the server serves one.
static struct error *annotate(struct call *call, struct client *client, const struct json *versions,
                              const struct json *item) {
    char now[CLOCK_RFC3339_MAX];
    clock_rfc3339_micro(clock_now().wall_ns, now);
    AUTO_TEXT body = document_text("{'metadata':{'annotations':{'wharf.dev/retry':%s}}}", now);
    if (!body)
        return error_no_memory();
    for (const struct json *version = json_first(versions); version; version = json_next(version)) {
        __attribute__((cleanup(ask_cleanup))) struct response response = {.retry_after_ns = -1};
        const struct request request = {.verb = VERB_MERGE_PATCH,
                                        .resource = {.group = status_text(item, "group"),
                                                     .version = json_string_or(version, ""),
                                                     .plural = status_text(item, "resource")},
                                        .namespace_ = remote_namespace(call),
                                        .name = status_text(item, "name"),
                                        .body = body,
                                        .body_len = strlen(body)};
        struct error *error = ask(client, &request, &response);
        if (error || response.reason == REASON_OK)
            return error;
        if (response.reason != REASON_KIND_NOT_FOUND)
            return error_new(ERROR_IO, "%s: %s", call->object, response.message);
    }
    return error_new(ERROR_NOT_FOUND, "%s: its kind is not served", call->object);
}

// The versions of the item's kind in the host's adapters; a value of `adapters`.
static const struct json *versions_of(const struct json *adapters, const struct json *item) {
    const char *group = status_text(item, "group"), *kind = status_text(item, "kind");
    for (const struct json *a = json_first(json_get(adapters, "items")); a; a = json_next(a))
        for (const struct json *k = json_first(json_get(a, "kinds")); k; k = json_next(k))
            if (strcmp(status_text(k, "group"), group) == 0 && strcmp(status_text(k, "kind"), kind) == 0)
                return json_get(k, "versions");
    return NULL;
}

static struct error *run_retry(struct call *call) {
    AUTO_JSON item = NULL;
    AUTO_JSON adapters = NULL;
    struct client *management = NULL;
    TRY(describe_workload(call, &item));
    TRY(remote_get(call->remote, "/api/v1/adapters", &adapters));
    TRY(remote_management(call->remote, &management));
    TRY(annotate(call, management, versions_of(adapters, item), item));
    printf("%s is retried\n", call->object);
    return NULL;
}

SUBCOMMAND(retry, run_retry, "try a workload at once that waits after a rejection",
           "Sets the annotation wharf.dev/retry on the workload, with the caller's own rights. The host then forgets\n"
           "rejections by workers, and all delays. A workload that has finished is not changed.\n",
           .operand = OPERAND_OBJECT, ASKS_HOST, FLAGS(retry_flags));
