// SPDX-License-Identifier: Apache-2.0
// `wharf explain`: where a workload is and why, as the host sees it (docs/api.md).
#include "core/base/text.h"
#include "core/cmd/line/text_table.h"
#include "core/cmd/remote/remote.h"
#include "core/cmd/status/status.h"

#include <stdlib.h>
#include <string.h>

enum { NAMESPACE, OUTPUT, REMOTE, N_FLAGS = REMOTE + REMOTE_N_FLAGS };
static const struct flag flags[] = {
    [NAMESPACE] = {.name = "namespace",
                   .letter = 'n',
                   .argument = "NAME",
                   .help = "of the object (default: the context's)"},
    [OUTPUT] = {.name = "output", .letter = 'o', .argument = "FORMAT", .help = "json or yaml"},
    [REMOTE] = REMOTE_FLAGS,
};

static const char *text_of(const struct json *item, const char *key) {
    return json_string_or(json_get(item, key), "");
}

static void field(const char *name, const char *text) {
    if (*text) {
        printf("%-10s ", name);
        text_print_line(stdout, text);
    }
}

static void add_age(struct text_table *table, const struct json *item, const char *key) {
    char cell[STATUS_CELL_MAX];
    text_table_add(table, status_age(text_of(item, key), cell));
}

static void begin_table(struct text_table *table, const char *const *titles, size_t count) {
    *table = (struct text_table){.n_columns = count};
    for (size_t i = 0; i < count; i++)
        text_table_add(table, titles[i]);
}

static bool end_table(struct text_table *table, const char *heading) {
    bool good = true;
    if (table->count > table->n_columns || table->failed) {
        printf("\n%s:\n", heading);
        good = text_table_print(table, 0, stdout);
    }
    text_table_free(table);
    return good;
}

static bool print_attempts(const struct json *told) {
    static const char *const titles[] = {"ATTEMPT", "CLUSTER", "PLACED", "STARTED", "ENDED", "OUTCOME", "MESSAGE"};
    struct text_table table;
    begin_table(&table, titles, sizeof titles / sizeof titles[0]);
    for (const struct json *attempt = json_first(json_get(told, "attempts")); attempt; attempt = json_next(attempt)) {
        text_table_add_number(&table, (long long)json_int64(json_get(attempt, "attempt"), 0));
        text_table_add(&table, text_of(attempt, "cluster"));
        add_age(&table, attempt, "placedAt");
        add_age(&table, attempt, "startedAt");
        add_age(&table, attempt, "endedAt");
        text_table_add(&table, text_of(attempt, "outcome"));
        text_table_add(&table, text_of(attempt, "message"));
    }
    return end_table(&table, "Attempts (times are ages)");
}

static bool print_workers(const struct json *told) {
    static const char *const titles[] = {"WORKER", "ACCEPTS IT", "UNTIL", "REASON"};
    struct text_table table;
    begin_table(&table, titles, sizeof titles / sizeof titles[0]);
    for (const struct json *worker = json_first(json_get(told, "workers")); worker; worker = json_next(worker)) {
        text_table_add(&table, text_of(worker, "name"));
        text_table_add(&table, json_bool(json_get(worker, "fit"), false) ? "yes" : "no");
        text_table_add(&table, text_of(worker, "until"));
        text_table_add(&table, text_of(worker, "reason"));
    }
    return end_table(&table, "Workers");
}

static bool print_events(const struct json *told) {
    static const char *const titles[] = {"AGE", "TYPE", "REASON", "MESSAGE"};
    struct text_table table;
    begin_table(&table, titles, sizeof titles / sizeof titles[0]);
    for (const struct json *event = json_first(json_get(told, "events")); event; event = json_next(event)) {
        add_age(&table, event, "lastAt");
        text_table_add(&table, text_of(event, "type"));
        text_table_add(&table, text_of(event, "reason"));
        text_table_add(&table, text_of(event, "message"));
    }
    return end_table(&table, "Events");
}

static void print_place(const struct json *told) {
    AUTO_TEXT place = NULL;
    const char *phase = text_of(told, "phase"), *cluster = text_of(told, "cluster");
    if (*cluster)
        place =
            text_format("%s in %s (attempt %lld)", phase, cluster, (long long)json_int64(json_get(told, "attempt"), 0));
    else
        place = text_format("%s, in no worker", phase);
    field("Phase:", place ? place : phase);
}

static struct error *print_explanation(const struct json *told) {
    bool ours = json_bool(json_get(told, "ours"), false);
    AUTO_TEXT name = text_format("%s %s/%s", text_of(told, "kind"), text_of(told, "namespace"), text_of(told, "name"));
    field("Object:", name ? name : "");
    field("Delegated:", ours ? "yes" : "no");
    field("Why:", text_of(told, "why"));
    if (ours)
        print_place(told);
    field("Waits for:", text_of(told, "waitingFor"));
    field("Also runs:", text_of(told, "alsoRunHere"));
    field("Status:", text_of(json_get(told, "mirror"), "statusReduced"));
    field("Until:", text_of(told, "until"));
    bool good = print_attempts(told) && print_workers(told);
    const struct json *help = json_first(json_get(told, "help"));
    if (help)
        puts("\nWhat would help:");
    for (; help; help = json_next(help)) {
        fputs("  ", stdout);
        text_print_line(stdout, json_string_or(help, ""));
    }
    return good && print_events(told) ? NULL : error_no_memory();
}

static struct error *explain(void *ctx, struct remote *remote) {
    const char *const *values = ctx;
    const char *namespace_ = values[NAMESPACE], *output = values[OUTPUT];
    AUTO_JSON told = NULL;
    AUTO_BUFFER(path, 8192);
    struct error *error = namespace_ ? NULL : remote_namespace(remote, &namespace_);
    if (!error)
        error = remote_object_path("/api/v1/workloads", &values[N_FLAGS], namespace_, &path);
    if (!error)
        error = remote_get(remote, path.data, &told);
    if (error)
        return error;
    return output ? status_print_document(told, *output == 'y') : print_explanation(told);
}

static int run(const struct arguments *arguments) {
    const char *values[N_FLAGS + 2];
    int code = EXIT_SUCCESS;
    if (!flags_read(&subcommand_explain, arguments, values, &code))
        return code;
    const char *output = values[OUTPUT];
    if (!values[N_FLAGS])
        return flags_usage_error(&subcommand_explain, "found no object, expected KIND/NAME, as in job/train");
    if (output && strcmp(output, "json") != 0 && strcmp(output, "yaml") != 0)
        return flags_usage_error(&subcommand_explain, "--output: found \"%s\", expected json or yaml", output);
    return remote_use(values, REMOTE, explain, values);
}

const struct subcommand subcommand_explain = {
    .name = "explain",
    .run = run,
    .operand = MAIN_OBJECT,
    .flags = flags,
    .n_flags = N_FLAGS,
    .summary = "say where a workload is, and why",
    .text = "Whether the object is delegated to this host, and if not, why; each attempt with its worker, times and\n"
            "outcome; what it waits for and until when; for each worker, why it accepts the workload or not; and\n"
            "what would help.\n",
};
