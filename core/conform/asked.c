// SPDX-License-Identifier: Apache-2.0
// The places in objects that the adapter asks for, by the services that it calls with whole objects: each is then tried
// with odd and large values, whether the objects have the place or not.
#include "core/conform/child.h"

#include "core/json/pointer.h"

#define NODES_MAX 1024 // of one call
#define PATHS_MAX ((size_t)64 * 1024)

// A value of the call under way, and its place.
struct node {
    const wharf_value *value;
    const char *path;
};

// Static, since the services have no argument for the state.
static struct {
    wharf_host next; // the services without this layer
    struct run *run;
    struct node nodes[NODES_MAX];
    size_t n_nodes;
    char paths[PATHS_MAX]; // texts of `nodes`
    size_t len;
} asked;

static bool is_on(void) {
    const struct run *run = asked.run;
    return run->thorough && !run->quiet && !run->again && !run->crowded && run->board->stage == STAGE_CALL;
}

static const char *path_of(const wharf_value *value) {
    for (size_t i = asked.n_nodes; value && i > 0; i--)
        if (asked.nodes[i - 1].value == value)
            return asked.nodes[i - 1].path;
    return NULL;
}

static void remember(const wharf_value *value, const char *path) {
    if (value && asked.n_nodes < NODES_MAX)
        asked.nodes[asked.n_nodes++] = (struct node){value, path};
}

// The text "<path><rest>", which lives until the end of the call; NULL: no more room.
static const char *joined(const char *path, const char *rest) {
    char *out = asked.paths + asked.len;
    size_t room = PATHS_MAX - asked.len;
    int len = snprintf(out, room, "%s%s", path, rest);
    if (len < 0 || (size_t)len >= room)
        return NULL;
    asked.len += (size_t)len + 1;
    return out;
}

// Where in the board's list of the kind; NULL: the list is full.
static struct board_place *place_of(const char *path) {
    struct board_places *places = &asked.run->board->places[asked.run->now->index % BOARD_KINDS];
    for (size_t i = 0; i < places->count; i++)
        if (strcmp(places->list[i].pointer, path) == 0)
            return &places->list[i];
    if (places->count >= BOARD_PLACES || strlen(path) >= sizeof(places->list[0].pointer))
        return NULL;
    struct board_place *place = &places->list[places->count];
    text_copy(place->pointer, sizeof(place->pointer), path);
    places->count++;
    return place;
}

static void note(const char *path, bool many) {
    struct board_place *place = path && path[0] == '/' && !pointer_has_star(path) ? place_of(path) : NULL;
    if (place)
        place->many |= many;
}

// Notes the place, and where the value of it is from now on.
static void follow(const wharf_value *value, const char *pointer, const wharf_value *result) {
    const char *path = pointer && is_on() ? path_of(value) : NULL;
    path = path ? joined(path, pointer) : NULL;
    note(path, false);
    if (path)
        remember(result, path);
}

static const wharf_value *ask_find(const wharf_value *value, const char *pointer) {
    const wharf_value *result = asked.next.find(value, pointer);
    follow(value, pointer, result);
    return result;
}

static int ask_is(const wharf_value *value, const char *pointer, const char *text) {
    follow(value, pointer, NULL);
    return asked.next.is(value, pointer, text);
}

static wharf_value *ask_edit(const wharf_call *call, wharf_value *root, const char *pointer) {
    wharf_value *result = asked.next.edit(call, root, pointer);
    follow(root, pointer, result);
    return result;
}

static wharf_value *ask_copy(const wharf_call *call, const wharf_value *value) {
    wharf_value *result = asked.next.copy(call, value);
    const char *path = is_on() ? path_of(value) : NULL;
    if (path)
        remember(result, path);
    return result;
}

// The item of an array at `path`, by its index; its fields have places of their own.
static void follow_item(const char *path, const struct json *array, const wharf_value *item) {
    size_t index = 0;
    for (const struct json *at = json_first(array); at && at != (const struct json *)item; at = json_next(at))
        index++;
    char rest[32];
    snprintf(rest, sizeof(rest), "/%zu", index);
    const char *place = item ? joined(path, rest) : NULL;
    if (place)
        remember(item, place);
}

static void follow_search(const wharf_value *value, const char *pointer, const wharf_value *item) {
    const char *path = pointer && is_on() ? path_of(value) : NULL;
    path = path ? joined(path, pointer) : NULL;
    note(path, true);
    if (path)
        follow_item(path, pointer_find((const struct json *)value, pointer), item);
}

static const wharf_value *ask_find_where(const wharf_value *value, const char *pointer, const char *key,
                                         const char *text) {
    const wharf_value *result = asked.next.find_where(value, pointer, key, text);
    follow_search(value, pointer, result);
    return result;
}

static const wharf_value *ask_condition(const wharf_value *value, const char *type, const char *status) {
    const wharf_value *result = asked.next.condition(value, type, status);
    follow_search(value, "/status/conditions", result);
    return result;
}

// Items are alike: the place of all is that of the first. A member's has its name.
static const wharf_value *ask_first(const wharf_value *value) {
    const wharf_value *result = asked.next.first(value);
    const char *path = is_on() ? path_of(value) : NULL;
    AUTO_BUFFER(step, 1024);
    note(path, true);
    if (path && result && pointer_append_child(&step, json_key((const struct json *)result), 0)) {
        const char *place = joined(path, step.data);
        note(place, false);
        if (place)
            remember(result, place);
    }
    return result;
}

static const wharf_value *ask_next(const wharf_value *item) {
    const wharf_value *result = asked.next.next(item);
    const char *path = is_on() ? path_of(item) : NULL;
    if (path)
        remember(result, path);
    return result;
}

static size_t ask_count(const wharf_value *value) {
    note(is_on() ? path_of(value) : NULL, true);
    return asked.next.count(value);
}

void asked_begin(const struct adapter_invocation *in) {
    asked.n_nodes = 0;
    asked.len = 0;
    if (in->function == FUNCTION_CHILD_PROGRESS) // of objects of another kind
        return;
    remember(in->workload, "");
    remember(in->mirror, "");
    if (in->function != FUNCTION_POD_SETS && in->function != FUNCTION_DEPENDENCIES)
        remember(in->changed, "");
}

void asked_services(struct run *run, wharf_host *table) {
    asked.run = run;
    asked.next = *table;
    table->find = ask_find;
    table->is = ask_is;
    table->edit = ask_edit;
    table->copy = ask_copy;
    table->find_where = ask_find_where;
    table->condition = ask_condition;
    table->first = ask_first;
    table->next = ask_next;
    table->count = ask_count;
}
