// SPDX-License-Identifier: Apache-2.0
#include "core/conform/report.h"

#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/json/yaml.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const struct {
    const char *name, *where, *expected;
} rules[N_RULES] = {
#define RULE_TEXT(id, name, where, expected) {name, where, expected},
    RULES(RULE_TEXT)};

const char *function_name(enum function function) {
    static const char *const names[N_FUNCTIONS] = {"start",  "phase",  "accept",  "mirror",
                                                   "update", "status", "pod_sets"};
    return names[function];
}

const char *phase_name(int phase) {
    static const char *const names[] = {"PENDING", "SUSPENDED", "ACTIVE", "SUCCEEDED", "FAILED"};
    return phase >= 0 && phase < (int)(sizeof(names) / sizeof(names[0])) ? names[phase] : "unknown";
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

// Another object with the same cause.
static void add_more(struct finding *finding, const struct finding *found) {
    finding->more++;
    size_t size = size_of(found->inputs);
    if (size >= finding->size) {
        json_free(found->inputs);
        return;
    }
    json_free(finding->inputs);
    finding->inputs = found->inputs;
    finding->size = size;
    (void)text_set(&finding->object, found->object);
    (void)text_set(&finding->found, found->found);
}

bool report_add(struct report *report, const struct finding *found, size_t *index) {
    for (size_t i = 0; i < report->count; i++)
        if (same_cause(&report->list[i], found)) {
            add_more(&report->list[i], found);
            if (index)
                *index = i;
            return true;
        }
    struct finding *finding = array_next(&report->list, report->count, sizeof *finding);
    if (!finding) {
        json_free(found->inputs);
        return false;
    }
    *finding = (struct finding){.rule = found->rule,
                                .function = found->function,
                                .kind = strdup(found->kind),
                                .cause = strdup(found->cause),
                                .object = strdup(found->object),
                                .found = strdup(found->found),
                                .inputs = found->inputs,
                                .size = size_of(found->inputs)};
    report->count++; // report_free frees an incomplete finding, too
    if (index)
        *index = report->count - 1;
    return finding->kind && finding->cause && finding->object && finding->found;
}

void report_inputs(struct finding *finding, struct json *inputs) {
    if (finding->inputs) {
        json_free(inputs);
        return;
    }
    finding->inputs = inputs;
    finding->size = size_of(inputs);
}

bool report_warn(struct report *report, const char *kind, const char *text) {
    char *line = text_format("%s: %s", kind, text);
    for (size_t i = 0; line && i < report->n_warnings; i++)
        if (strcmp(report->warnings[i], line) == 0) {
            free(line);
            return true;
        }
    char **grown = line ? realloc(report->warnings, (report->n_warnings + 1) * sizeof(*grown)) : NULL;
    if (!grown) {
        free(line);
        return false;
    }
    report->warnings = grown;
    report->warnings[report->n_warnings++] = line;
    return true;
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
        print_finding(&report->list[i], i + 1, out);
    if (report->n_warnings > 0)
        fputs("\nwarnings:\n", out);
    for (size_t i = 0; i < report->n_warnings; i++) {
        fputs("  ", out);
        text_print_line(out, report->warnings[i]);
    }
}

static struct error *save_one(const struct finding *finding, const char *path) {
    AUTO_BUFFER(text, (size_t)16 << 20);
    buffer_printf(&text, "# %s: %s\n# %s\n", rules[finding->rule].name, function_name(finding->function),
                  finding->object);
    for (const struct json *input = json_first(finding->inputs); input; input = json_next(input))
        if (!buffer_text(&text, "---\n") || !yaml_print(input, &text))
            return error_no_memory();
    FILE *file = fopen(path, "we");
    bool done = file && fwrite(text.data, 1, text.len, file) == text.len;
    if (file && fclose(file) != 0)
        done = false;
    return done ? NULL : error_new(ERROR_IO, "%s: %s", path, strerror(errno));
}

struct error *report_save(const struct report *report, const char *folder, FILE *out) {
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return error_new(ERROR_IO, "%s: %s", folder, strerror(errno));
    for (size_t i = 0; i < report->count; i++) {
        const struct finding *finding = &report->list[i];
        if (!finding->inputs)
            continue;
        AUTO_TEXT path = text_format("%s/%zu-%s.yaml", folder, i + 1, rules[finding->rule].name);
        struct error *error = path ? save_one(finding, path) : error_no_memory();
        if (error)
            return error;
        fprintf(out, "\nsaved the object of %zu. in %s\n", i + 1, path);
    }
    return NULL;
}

void report_free(struct report *report) {
    for (size_t i = 0; i < report->count; i++) {
        struct finding *finding = &report->list[i];
        free(finding->kind);
        free(finding->cause);
        free(finding->object);
        free(finding->found);
        json_free(finding->inputs);
    }
    for (size_t i = 0; i < report->n_warnings; i++)
        free(report->warnings[i]);
    free(report->warnings);
    free(report->list);
    *report = (struct report){.list = NULL};
}
