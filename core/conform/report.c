// SPDX-License-Identifier: Apache-2.0
#include "core/conform/report.h"

#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/json/yaml.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

static const struct {
    const char *name, *where, *expected;
} rules[N_RULES] = {
#define RULE_TEXT(id, name, where, expected) {name, where, expected},
    RULES(RULE_TEXT)};

const char *function_name(enum function function) {
    static const char *const names[N_FUNCTIONS] = {"start",    "phase",          "accept",   "mirror",
                                                   "update",   "status",         "pod_sets", "dependencies",
                                                   "progress", "child_progress", "score"};
    return names[function];
}

static bool same_cause(const struct finding *a, const struct finding *b) {
    return a->rule == b->rule && a->function == b->function && strcmp(a->kind, b->kind) == 0 &&
           strcmp(a->cause, b->cause) == 0;
}

static size_t size_of(const struct json *inputs) {
    size_t len = 0;
    free(inputs ? json_text(inputs, &len) : NULL);
    return inputs ? len : SIZE_MAX;
}

static void free_finding(struct finding *finding) {
    json_free(finding->inputs);
    free(finding);
}

// Replaces a finding, or an empty place, by a copy. Takes the inputs.
static bool set_finding(struct finding **place, struct finding finding) {
    struct finding *copy = struct_copy_with_texts(&finding, sizeof finding, 4);
    if (!copy) {
        json_free(finding.inputs);
        return false;
    }
    if (*place)
        free_finding(*place);
    *place = copy;
    return true;
}

// A line, for a run that may take long or be broken off.
static void print_live(const struct report *report, const struct finding *found) {
    if (!report->live)
        return;
    fprintf(report->live, "found %zu: %s, function %s", report->count + 1, rules[found->rule].name,
            function_name(found->function));
    if (found->kind[0] != '\0')
        fprintf(report->live, " of %s", found->kind);
    fputs(": ", report->live);
    text_print_line(report->live, found->found);
    fflush(report->live);
}

size_t report_add(struct report *report, const struct finding *found) {
    struct finding new = *found;
    new.size = size_of(found->inputs);
    size_t at = 0;
    while (at < report->count && !same_cause(report->list[at], found))
        at++;
    if (at < report->count) { // another object with the same cause
        new.more = ++report->list[at]->more;
        if (new.size < report->list[at]->size)
            set_finding(&report->list[at], new);
        else
            json_free(new.inputs);
        return at;
    }
    print_live(report, found);
    struct finding **place = array_next(&report->list, report->count, sizeof *place);
    if (!place)
        json_free(new.inputs);
    if (!place || !set_finding(place, new))
        return SIZE_MAX;
    return report->count++;
}

void report_inputs(struct finding *finding, struct json *inputs) {
    if (finding->inputs) {
        json_free(inputs);
        return;
    }
    finding->inputs = inputs;
    finding->size = size_of(inputs);
}

void report_warn(struct report *report, const char *kind, const char *text) {
    AUTO_TEXT line = text_format("%s%s%s", kind, kind[0] != '\0' ? ": " : "", text);
    for (size_t i = 0; line && i < report->warnings.count; i++)
        if (strcmp(report->warnings.list[i], line) == 0)
            return;
    if (line)
        problems_add(&report->warnings, "%s", line);
}

static void print_finding(const struct finding *finding, size_t number, FILE *out) {
    fprintf(out, "\n%zu. %s", number, rules[finding->rule].name);
    if (finding->kind[0] != '\0')
        fprintf(out, ": kind %s", finding->kind);
    fprintf(out, ", function %s\n", function_name(finding->function));
    fprintf(out, "   found:    %s\n", finding->found);
    fprintf(out, "   expected: %s\n", rules[finding->rule].expected);
    fprintf(out, "   rule:     <wharf/adapter.h>, %s\n", rules[finding->rule].where);
    fprintf(out, "   object:   %s\n", finding->object);
    if (finding->more > 0)
        fprintf(out, "   %zu more like this\n", finding->more);
}

void report_print(const struct report *report, FILE *out) {
    for (size_t i = 0; i < report->count; i++)
        print_finding(report->list[i], i + 1, out);
    if (report->warnings.count > 0)
        fputs("\nwarnings:\n", out);
    for (size_t i = 0; i < report->warnings.count; i++) {
        fputs("  ", out);
        text_print_line(out, report->warnings.list[i]);
    }
    if (report->stopped)
        fprintf(out, "\nstopped: %s\n", report->stopped);
}

static struct error *save_one(const struct finding *finding, const char *path) {
    AUTO_BUFFER(text, (size_t)16 << 20);
    buffer_printf(&text, "# %s: %s\n# %s\n", rules[finding->rule].name, function_name(finding->function),
                  finding->object);
    for (const struct json *input = json_first(finding->inputs); input; input = json_next(input))
        if (!buffer_text(&text, "---\n") || !yaml_print(input, &text))
            return error_no_memory();
    return text_write_file(path, O_TRUNC, 0666, &text);
}

struct error *report_save(const struct report *report, const char *folder, FILE *out) {
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return error_new(ERROR_IO, "%s: %s", folder, strerror(errno));
    for (size_t i = 0; i < report->count; i++) {
        const struct finding *finding = report->list[i];
        if (!finding->inputs)
            continue;
        AUTO_TEXT path = text_format("%s/%zu-%s.yaml", folder, i + 1, rules[finding->rule].name);
        TRY(path ? save_one(finding, path) : error_no_memory());
        fprintf(out, "\nsaved the object of %zu. in %s\n", i + 1, path);
    }
    return NULL;
}

void report_free(struct report *report) {
    for (size_t i = 0; i < report->count; i++)
        free_finding(report->list[i]);
    free(report->list);
    problems_free(&report->warnings);
    free(report->stopped);
    *report = (struct report){.list = NULL};
}
