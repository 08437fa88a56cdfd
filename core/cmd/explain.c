// SPDX-License-Identifier: Apache-2.0
// `wharf explain`: the place of a workload and the reasons, by the host's API (docs/api.md).
#include "core/base/text.h"
#include "core/cmd/document.h"
#include "core/cmd/remote/remote.h"
#include "core/cmd/status/status.h"

#include <stdlib.h>
#include <string.h>

enum { NAMESPACE, OUTPUT };
static const struct flag flags[] = {
    [NAMESPACE] = FLAG_NAMESPACE,
    [OUTPUT] = VALUE_FLAG("output", 'o', "FORMAT", "format of the output", .words = WORDS("json", "yaml")),
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
    AUTO_TEXT place = NULL;
    const char *phase = status_text(explanation, "phase"), *cluster = status_text(explanation, "cluster");
    if (*cluster)
        place = text_format("%s in %s (attempt %lld)", phase, cluster,
                            (long long)json_int64(json_get(explanation, "attempt"), 0));
    else
        place = text_format("%s, in no worker", phase);
    field("Phase:", place ? place : phase);
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
    field("Waits for:", status_text(explanation, "waitingFor"));
    field("Also runs:", status_text(explanation, "alsoRunHere"));
    field("Status:", status_text(json_get(explanation, "mirror"), "statusReduced"));
    field("Until:", status_text(explanation, "until"));
    TRY(print_table(explanation, &status_attempts, "Attempts (times are ages)"));
    struct error *error = print_table(explanation, &status_fits, "Workers");
    const struct json *help = json_first(json_get(explanation, "help"));
    if (help)
        puts("\nWhat would help:");
    for (; help; help = json_next(help)) {
        fputs("  ", stdout);
        text_print_line(stdout, json_string_or(help, ""));
    }
    return error ? error : print_table(explanation, &status_events, "Events");
}

static struct error *run_explain(struct call *call) {
    int yaml = flags_word(call, OUTPUT);
    AUTO_JSON explanation = NULL;
    AUTO_BUFFER(path, 8192);
    remote_object_path(call, "/api/v1/workloads", &path);
    TRY(path.failed ? error_no_memory() : remote_get(call->remote, path.data, &explanation));
    return yaml >= 0 ? document_print(explanation, yaml) : print_explanation(explanation);
}

SUBCOMMAND(explain, run_explain, "explain where a workload is, and why",
           "Prints whether the object is delegated to this host, and if not, why; each attempt with its worker, times\n"
           "and outcome; the reason for which the workload waits and until when; for each worker, why it accepts the\n"
           "workload or not; and suggestions.\n",
           .operand = OPERAND_OBJECT, ASKS_HOST, FLAGS(flags));
