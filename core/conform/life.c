// SPDX-License-Identifier: Apache-2.0
// The life of an object in a file: statuses of the mirror and changes by users, one document a step. For each step the
// report has the phase of the workload and the carried fields of a change.
#include "core/conform/child.h"

#include "core/adapter/phase.h"
#include "core/json/pointer.h"

#include <strings.h>

#define LINE_MAX ((size_t)64 * 1024)
#define LIST_MAX 4000 // bytes of pointers on a line
#define SHOWN_MAX 6   // of the pointers, unless verbose
#define MESSAGE_MAX 120

struct life {
    struct run *run;
    const struct document *step;
    size_t number; // of the step
    const struct json *workload, *mirror;
    wharf_mirror_state state;
    int final;           // the final phase of the mirror; -1: none
    struct buffer lines; // written at the end, so that no line is repeated after a crash
};

bool life_is_step(const struct document *step) {
    const struct json *value = step->value;
    return !json_get(value, "kind") && (json_get(value, "status") || json_get(value, "patch") ||
                                        json_get(value, "lost") || json_get(value, "unplaced"));
}

bool life_is_same(const struct document *a, const struct document *b) {
    size_t len = strlen(a->source) - strlen(strrchr(a->source, ':'));
    return strncmp(a->source, b->source, len) == 0 && b->source[len] == ':';
}

bool life_is_of(const struct documents *documents, const struct document *step, const struct document *object) {
    if (strcmp(step->folder, object->folder) != 0 || life_is_same(step, object))
        return strcmp(step->folder, object->folder) == 0;
    for (size_t i = 0; i < documents->count; i++)
        if (json_get(documents->list[i].value, "kind") && life_is_same(&documents->list[i], step))
            return false;
    return true;
}

static void begin_line(struct life *life, const char *what) {
    buffer_printf(&life->lines, "%s  %zu %-8s", life->lines.len > 0 ? "\n" : "", life->number, what);
}

// -- the phase --

const char *phase_name(int phase) {
    static const char *const names[] = {"PENDING", "SUSPENDED", "ACTIVE", "SUCCEEDED", "FAILED"};
    return phase >= 0 && phase < (int)(sizeof(names) / sizeof(names[0])) ? names[phase] : "unknown";
}

static void check_expected(struct life *life, const char *found) {
    const char *expected = json_string(json_get(life->step->value, "phase"));
    if (!expected || strcasecmp(expected, found) == 0)
        return;
    buffer_printf(&life->lines, "; the file says %s", expected);
    run_report(life->run, RULE_STORY, CALL_PHASE, "", "the workload is %s, and the file says %s", found, expected);
}

static void print_phase(struct life *life) {
    struct run *run = life->run;
    struct adapter_probe probe;
    wharf_phase phase;
    probe_begin(&probe, run, life->workload, NULL, WHARF_MIRROR_NONE);
    wharf_result result = adapter_phase(&probe.call, life->workload, &phase);
    bool known = result == WHARF_OK && phase.phase <= WHARF_FAILED;
    const char *name = known ? phase_word(phase.phase) : "unknown";
    buffer_printf(&life->lines, " %s", name);
    if (known && phase.reason && phase.reason[0] != '\0')
        buffer_printf(&life->lines, " (%.100s)", phase.reason);
    if (known && run->verbose && phase.message && phase.message[0] != '\0')
        buffer_printf(&life->lines, ": %.300s", phase.message);
    probe_end(&probe);
    check_expected(life, name);
}

// -- the fields of a change --

// The end of a changed field.
enum end { CARRIED, LEFT_OUT, REMOVED, N_ENDS };

struct pointers {
    size_t count;
    char text[LIST_MAX];
};

struct spec_change {
    struct life *life;
    const struct json *mirror; // after the change
    struct pointers lists[N_ENDS];
};

static void add_pointer(struct spec_change *change, enum end end, const char *pointer) {
    struct pointers *list = &change->lists[end];
    size_t len = strlen(list->text);
    if (list->count++ < SHOWN_MAX || change->life->run->verbose)
        snprintf(list->text + len, LIST_MAX - len, "%s%s", len > 0 ? ", " : " ", pointer);
}

static void print_pointers(const struct spec_change *change, enum end end, const char *words, const char **comma) {
    const struct pointers *list = &change->lists[end];
    struct life *life = change->life;
    if (list->count == 0)
        return;
    buffer_printf(&life->lines, "%s %s%s", *comma, words, list->text);
    if (list->count > SHOWN_MAX && !life->run->verbose)
        buffer_printf(&life->lines, " and %zu more", list->count - SHOWN_MAX);
    *comma = ";";
}

// Whether `removed` of the kind names the field, or a container of the field.
static bool is_removed(const wharf_kind *kind, const char *pointer) {
    char prefix[1024];
    text_copy(prefix, sizeof(prefix), pointer);
    for (; prefix[0] != '\0'; *strrchr(prefix, '/') = '\0')
        for (const char *const *removed = kind->removed; removed && *removed; removed++)
            if (pointer_matches(*removed, prefix))
                return true;
    return strcmp(pointer, kind->managed_by) == 0;
}

static void sort_out(struct spec_change *change, const char *pointer, const struct json *value) {
    enum end end = is_removed(&change->life->run->now->kind.abi, pointer) ? REMOVED : LEFT_OUT;
    add_pointer(change, json_equal(pointer_find(change->mirror, pointer), value) ? CARRIED : end, pointer);
}

// Every field that differs in `now`, which is NULL for a field that is gone.
static void compare(struct spec_change *change, struct buffer *at, const struct json *before, const struct json *now) {
    if (json_equal(before, now))
        return;
    bool objects = json_is(before, JSON_OBJECT) && json_is(now, JSON_OBJECT);
    bool arrays = json_is(before, JSON_ARRAY) && json_is(now, JSON_ARRAY) && json_size(before) == json_size(now);
    if (!objects && !arrays) {
        sort_out(change, at->data, now);
        return;
    }
    size_t len = at->len, index = 0;
    for (const struct json *item = json_first(now); item; item = json_next(item), index++) {
        const char *key = json_key(item);
        const struct json *old = key ? json_get(before, key) : json_at(before, index);
        if (pointer_append_child(at, key, index))
            compare(change, at, old, item);
        buffer_truncate(at, len);
    }
    for (const struct json *item = objects ? json_first(before) : NULL; item; item = json_next(item)) {
        if (!json_get(now, json_key(item)) && pointer_append(at, json_key(item)))
            compare(change, at, item, NULL);
        buffer_truncate(at, len);
    }
}

static void compare_part(struct spec_change *change, const struct json *before, const struct json *now,
                         const char *pointer) {
    AUTO_BUFFER(at, 4096);
    if (buffer_text(&at, pointer))
        compare(change, &at, pointer_find(before, pointer), pointer_find(now, pointer));
}

static void print_change(struct life *life, const struct json *before, const struct json *after) {
    struct spec_change change = {.life = life, .mirror = after};
    compare_part(&change, before, life->workload, "/spec");
    compare_part(&change, before, life->workload, "/metadata/labels");
    compare_part(&change, before, life->workload, "/metadata/annotations");
    const char *comma = "", *message = life->run->answer;
    print_pointers(&change, CARRIED, "carried", &comma);
    print_pointers(&change, LEFT_OUT, "left out", &comma);
    print_pointers(&change, REMOVED, "not in mirrors", &comma);
    bool whole = life->run->verbose || strlen(message) <= MESSAGE_MAX;
    if (message[0] != '\0')
        buffer_printf(&life->lines, "%s \"%.*s%s\"", comma, whole ? (int)strlen(message) : MESSAGE_MAX, message,
                      whole ? "" : "...");
}

// -- the steps --

// Postponed changes may follow once the mirror has changed.
static void carry_on(struct life *life) {
    const struct json *before = life->mirror;
    life->mirror = step_change(life->run, life->workload, before);
    struct spec_change change = {.life = life, .mirror = life->mirror};
    compare_part(&change, before, life->mirror, "/spec");
    const char *comma = "";
    print_pointers(&change, CARRIED, "now carried", &comma);
    buffer_text(&life->lines, comma);
}

static void copy_status(struct life *life) {
    life->workload = step_status(life->run, life->workload, life->mirror, life->state);
    print_phase(life);
}

static void step_patch(struct life *life, const struct json *patch) {
    const struct json *before = life->workload;
    const struct json *input = input_patched(before, patch);
    if (!input)
        return;
    life->workload = input;
    begin_line(life, "patch");
    if (life->mirror) {
        life->run->answer[0] = '\0';
        life->mirror = step_change(life->run, life->workload, life->mirror);
        print_change(life, before, life->mirror);
        buffer_text(&life->lines, ";");
    }
    copy_status(life);
}

// A mirror's end must stay, whatever the controller writes later.
static void check_final(struct life *life) {
    int phase = step_phase(life->run, life->mirror);
    if (life->final >= 0 && phase >= 0 && phase != life->final)
        run_report(life->run, RULE_FINISHED, CALL_PHASE, "life",
                   "the mirror's phase was WHARF_%s, and is WHARF_%s with the next status in the file",
                   phase_name(life->final), phase_name(phase));
    life->final = phase >= 0 && phase_is_final((wharf_phase_kind)phase) ? phase : -1;
}

static void step_controller(struct life *life, const struct json *status) {
    if (!life->mirror)
        life->mirror = step_mirror(life->run, life->workload, NULL);
    life->state = WHARF_MIRROR_PRESENT;
    const struct json *seen = life->mirror ? input_with_status(life->mirror, status) : NULL;
    begin_line(life, "status");
    if (!seen) {
        buffer_text(&life->lines, " no mirror");
        return;
    }
    life->mirror = seen;
    check_final(life);
    carry_on(life);
    copy_status(life);
}

static void step_without(struct life *life, const char *what, wharf_mirror_state state) {
    life->mirror = NULL;
    life->final = -1;
    life->state = state;
    begin_line(life, what);
    copy_status(life);
}

static void step(struct life *life) {
    const struct json *value = life->step->value;
    const struct json *status = json_get(value, "status"), *patch = json_get(value, "patch");
    life->number++;
    text_copy(life->run->board->object, sizeof(life->run->board->object), life->step->source);
    if (json_bool(json_get(value, "unplaced"), false))
        step_without(life, "unplaced", WHARF_MIRROR_NONE);
    if (json_bool(json_get(value, "lost"), false))
        step_without(life, "lost", WHARF_MIRROR_LOST);
    if (json_is(patch, JSON_OBJECT))
        step_patch(life, patch);
    if (json_is(status, JSON_OBJECT))
        step_controller(life, status);
}

void life_run(struct run *run, const struct subject *subject, size_t first) {
    const struct documents *documents = run->documents;
    const char *source = documents->list[first].source, *colon = strrchr(source, ':');
    struct life life = {.run = run, .workload = input_copy(subject->object), .final = -1, .lines.max = LINE_MAX};
    if (!json_bool(json_get(documents->list[first].value, "unplaced"), false) && life.workload)
        life.mirror = step_mirror(run, life.workload, NULL);
    life.state = life.mirror ? WHARF_MIRROR_PRESENT : WHARF_MIRROR_NONE;
    for (size_t i = first; i < documents->count && life.workload; i++) {
        life.step = &documents->list[i];
        if (!life_is_same(&documents->list[first], life.step))
            break;
        if (life_is_step(life.step))
            step(&life);
    }
    run_print(run, "%.*s", (int)(colon - source), source);
    for (const char *line = life.lines.data, *end; line && *line != '\0'; line = end + (*end == '\n')) {
        end = strchrnul(line, '\n');
        run_print(run, "%.*s", (int)(end - line), line);
    }
    buffer_free(&life.lines);
}
