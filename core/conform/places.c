// SPDX-License-Identifier: Apache-2.0
// Odd and large values at a place that the adapter asked for, and the growth of time with the number of items there.
#include "core/conform/child.h"

#include "core/json/pointer.h"

#define SMALL ((size_t)200)
#define STEP ((size_t)500) // the least of three sizes, each twice the one before
#define LARGE (4 * STEP)
#define ROUNDS 3
#define SUSPECT 25 // times the time of SMALL, for ten times the size
#define STEEP 9    // times the time of STEP, for four times the size
#define LEAST_NS (2 * CLOCK_MS)

// The state of the subject with the place, or else the last one.
static size_t best_state(const struct subject *subject, const char *pointer) {
    size_t best = subject->n_states > 0 ? subject->n_states - 1 : NO_STATE;
    for (size_t i = 0; i < subject->n_states; i++) {
        AUTO_JSON object = subject_with(subject, i);
        if (pointer_find(object, pointer))
            best = i;
    }
    return best;
}

static void try_values(struct run *run, struct trial trial, bool has) {
    for (size_t how = 0; mutation_next(has, trial.type, &how); how++) {
        trial.how = how;
        AUTO_BUFFER(words, 4096);
        AUTO_JSON made = trial_object(run, &trial, &words);
        if (!pointer_find(made, trial.pointer))
            continue;
        const struct json *object = input_copy(made);
        text_copy(run->board->object, sizeof(run->board->object), words.data ? words.data : "");
        run->object_len = strlen(run->board->object);
        run->ordinary = trial.type != TRIAL_HEAVY;
        if (object)
            broken_trial(run, &trial, object);
        run->board->objects++;
        input_reset();
    }
}

// -- growth --

// An item like one that is there, with a name and a type of its own.
static struct json *make_item(const struct json *like, size_t number) {
    static const char *const names[] = {"name", "type", "key", "id"};
    AUTO_JSON item = like ? json_copy(like) : parsed("{\"name\":\"n\",\"type\":\"T\",\"status\":\"True\"}");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *text = json_string(json_get(item, names[i]));
        AUTO_TEXT other = text ? text_format("%s%zu", text, number) : NULL;
        if (other && !json_set(item, names[i], json_new_string(other)))
            return NULL;
    }
    return TAKE(item);
}

// The object with `count` items or members at the pointer; NULL: impossible.
static struct json *grown(const struct json *object, const char *pointer, size_t count) {
    AUTO_JSON copy = json_copy(object);
    const struct json *old = pointer_find(copy, pointer), *like = json_is_container(old) ? json_first(old) : NULL;
    bool map = json_is(old, JSON_OBJECT);
    AUTO_JSON value = map ? json_new_object() : json_new_array();
    for (size_t i = 0; value && i < count; i++) {
        char key[32];
        snprintf(key, sizeof(key), "k%zu", i);
        if (map ? !json_set(value, key, make_item(like, i)) : !json_append(value, make_item(like, i)))
            return NULL;
    }
    // A fresh parse has the indexes of an object from a server.
    AUTO_TEXT text = value && pointer_set(copy, pointer, TAKE(value)) ? json_text(copy, NULL) : NULL;
    return text ? parsed(text) : NULL;
}

static int64_t time_of(struct run *run, enum function function, const struct json *object, size_t rounds) {
    int64_t least_ns = CLOCK_NEVER;
    for (size_t i = 0; i < rounds; i++) {
        int64_t start_ns = clock_processor();
        crowd_ask(run, function, object, object);
        least_ns = clock_earlier(least_ns, clock_processor() - start_ns);
    }
    return least_ns;
}

// The growth may be that of the kit's copies: three sizes, each more than once, must show it.
static void confirm(struct run *run, enum function function, const struct json *object, const char *pointer) {
    double ms[3];
    for (size_t i = 0; i < 3; i++) {
        AUTO_JSON sized = grown(object, pointer, STEP << i);
        ms[i] = (double)time_of(run, function, sized, ROUNDS) / (double)CLOCK_MS;
    }
    if (ms[2] > STEEP * ms[0])
        run_report(run, RULE_GROWTH, function, pointer,
                   "took %.2f ms with %zu items at %s, %.2f ms with %zu, %.2f ms with %zu", ms[0], STEP, pointer, ms[1],
                   2 * STEP, ms[2], LARGE);
}

static void try_growth(struct run *run, const struct json *object, const char *pointer) {
    struct board *board = run->board;
    size_t kind = run->now->index % BOARD_KINDS;
    AUTO_JSON small = grown(object, pointer, SMALL);
    AUTO_JSON large = grown(object, pointer, LARGE);
    if (!small || !large)
        return;
    snprintf(board->object, sizeof(board->object), "an object with many items at %s", pointer);
    run->workload = run->mirror = NULL;
    for (enum function function = CALL_PHASE; function < N_FUNCTIONS; function++) {
        if (!tested_has(run->now, function) || board->slow[kind][function] > 0 || !probe_enter(run, function))
            continue;
        board->stage = STAGE_CALL;
        int64_t small_ns = time_of(run, function, small, 1), large_ns = time_of(run, function, large, 1);
        if (large_ns > LEAST_NS && large_ns > SUSPECT * small_ns)
            confirm(run, function, object, pointer);
        board->stage = STAGE_HOST;
        state_check(run, function, STATE_CALL);
    }
}

void place_trial(struct run *run, const struct trial *trial) {
    const struct board_places *places = &run->board->places[run->now->index % BOARD_KINDS];
    if (trial->how >= places->count || run->again)
        return;
    char pointer[sizeof(places->list[0].pointer)];
    text_copy(pointer, sizeof(pointer), places->list[trial->how].pointer);
    const struct subject *subject = &run->now->subjects[trial->subject];
    struct trial values = {
        .type = TRIAL_BROKEN, .tested = trial->tested, .subject = trial->subject, .pointer = pointer};
    values.state = best_state(subject, pointer);
    AUTO_JSON object = subject_with(subject, values.state);
    bool has = pointer_find(object, pointer);
    try_values(run, values, has);
    values.type = TRIAL_HEAVY;
    try_values(run, values, has);
    if (places->list[trial->how].many)
        try_growth(run, object, pointer);
}
