// SPDX-License-Identifier: Apache-2.0
#include "core/base/text.h"
#include "core/conform/child.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INPUTS_MAX ((size_t)256 * 1024)
#define WITH_INPUTS 200 // findings of a rule with inputs; later ones have none
#define FOUND_MAX 600

static void send_line(const struct run *run, const struct json *line) {
    size_t len = 0;
    char *text = json_text(line, &len);
    if (!text)
        return;
    text[len] = '\n'; // in the place of the NUL
    (void)text_write_fd(run->out, text, len + 1);
    free(text);
}

// A text of an adapter may have any bytes, and the report shows the text.
static struct json *safe_text(const char *text) {
    AUTO_BUFFER(clean, 65536);
    return text_show(&clean, text) ? json_new_string(clean.data ? clean.data : "") : NULL;
}

static bool set_inputs(struct json *line, const struct json *workload, const struct json *mirror) {
    AUTO_JSON inputs = json_new_array();
    bool done = inputs && (!workload || json_append(inputs, json_copy(workload))) &&
                (!mirror || json_append(inputs, json_copy(mirror)));
    size_t len = 0;
    char *text = done ? json_text(inputs, &len) : NULL;
    done = text && len <= INPUTS_MAX && json_set(line, "inputs", json_copy(inputs));
    free(text);
    return done;
}

void run_report(struct run *run, enum rule rule, enum function function, const char *cause, const char *format, ...) {
    char found[FOUND_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(found, sizeof(found), format, args);
    va_end(args);
    AUTO_JSON line = json_new_object();
    if (!json_set(line, "rule", json_new_int64(rule)) || !json_set(line, "function", json_new_int64(function)) ||
        !json_set(line, "kind", json_new_string(run->board->kind)) || !json_set(line, "cause", safe_text(cause)) ||
        !json_set(line, "object", safe_text(run->board->object)) || !json_set(line, "found", safe_text(found)))
        return;
    if (run->said[rule]++ < WITH_INPUTS)
        set_inputs(line, run->workload, run->mirror);
    send_line(run, line);
}

void run_report_inputs(struct run *run, const struct json *workload, const struct json *mirror) {
    AUTO_JSON line = json_new_object();
    if (json_set(line, "trial", json_new_int64((int64_t)run->board->trial)) &&
        json_set(line, "ordinal", json_new_int64(run->board->ordinal)) && set_inputs(line, workload, mirror))
        send_line(run, line);
}

void run_warn(struct run *run, const char *format, ...) {
    char text[FOUND_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    AUTO_JSON line = json_new_object();
    if (json_set(line, "warn", safe_text(text)) && json_set(line, "kind", json_new_string(run->board->kind)))
        send_line(run, line);
}

void run_print(struct run *run, const char *format, ...) {
    char text[4096];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    AUTO_JSON line = json_new_object();
    if (json_set(line, "tell", safe_text(text)))
        send_line(run, line);
}
