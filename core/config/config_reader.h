// SPDX-License-Identifier: Apache-2.0
// Reading of a configuration's values by tables of keys; problems have their position in the file. Internal to config.
#pragma once

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/config/config.h"
#include "core/json/yaml.h"

struct config_reader {
    const char *file;              // for messages
    char *directory;               // of the file, absolute; base of relative paths
    const char *adapter_directory; // instead of adapters.directory; or NULL
    struct yaml yaml;
    struct problems *problems;
    struct config *config;
    bool no_memory; // reading continues, and fails at the end
    // Set: reads nothing, and passes every key to `describe`, see config_describe.
    void (*describe)(void *ctx, const struct config_key *key);
    void *describe_ctx;
    const struct config_field *field; // the described key; NULL: done
};

// A value to read, and its place: a chain to the root, on the stack. `key` NULL: item `index` of a list.
struct config_value {
    struct config_reader *reader;
    const struct config_value *up; // NULL: this is the root
    const char *key;
    size_t index;
    const struct config_field *field; // of a mapping; or NULL
    const struct json *json;
    void *target; // where the result belongs
    size_t known; // problems before the value was read
};

// False after reporting a problem.
typedef bool config_read_fn(const struct config_value *value);

struct config_word { // of an enumeration; the last one is zero
    const char *word;
    int value;
};

// A key of a mapping, in an array that ends with a zero. The target of `read` is the address of the struct plus
// `offset`.
struct config_field {
    const char *key;
    config_read_fn *read;
    size_t offset;
    const char *help; // meaning and default
    bool required;
    size_t line_at;        // offset of a size_t in the same struct, which gets the line; 0: none
    size_t given_at;       // offset of a bool in the same struct, which becomes true; 0: none
    config_read_fn *check; // after a successful `read`; or NULL
    // These depend on the reader:
    const char *expected;               // in messages
    const struct config_word *words;    // config_read_word, config_read_switch
    int64_t min, max;                   // numbers, sizes, durations in ns; max 0: no maximum. Words: numbers instead
    int64_t unit;                       // a duration is a multiple of it; 0: any
    bool may_be_empty;                  // a size: may be 0; a list: may have no item
    bool (*is_valid)(const char *text); // config_read_text; NULL: any
    const char *characters;             // of a word, config_read_words; the sign of a pattern
    const struct config_field *fields;  // config_read_section; of a list's item, for config_clear
    const char *item;                   // config_read_list: "worker"; config_read_words: the expected list
    config_read_fn *read_item;          // config_read_list; the target is a new item, zeroed
    size_t item_size;                   // the same
};

#define CONFIG_COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define CONFIG_WORDS(...)                                                                                              \
    .words = (const struct config_word[]) {                                                                            \
        __VA_ARGS__, {                                                                                                 \
            NULL, 0                                                                                                    \
        }                                                                                                              \
    }
#define CONFIG_LABEL                                                                                                   \
    .is_valid = text_is_dns_label,                                                                                     \
    .expected = "a name of at most 63 lower-case letters, digits and '-' (RFC 1123 label)"

// "<file>:<line>: <key>: ...". Returns false.
bool config_problem(const struct config_value *value, const char *format, ...) __attribute__((format(printf, 2, 3)));
// "<file>:<line>: <key>: found ..., expected ...". Returns false.
bool config_wrong(const struct config_value *value, const char *expected);

// A child of the value: a member of a mapping, or the item `index` of a list.
struct config_value config_child(const struct config_value *value, const struct json *child, size_t index);
bool config_has(const struct config_value *value, const char *key); // a member that is not null

// Reads a mapping by a table of keys. Null values count as absent. False for any other type.
bool config_mapping(const struct config_value *value, const struct config_field *fields, void *target);
// Frees the texts, mappings and lists of the fields.
void config_clear(const struct config_field *fields, void *target);

// The text of a string that is not empty; NULL after reporting the problem.
const char *config_text(const struct config_value *value, const char *expected);
// False after reporting a path that begins with ~, which only a shell expands.
bool config_is_path(const struct config_value *value, const char *text);
// Replaces the text at the target by `text`, which it takes; NULL: no memory, which is noted.
bool config_take(const struct config_value *value, char *text);
// `path` below `directory` (absolute), or itself if absolute, without "." segments; free(). NULL: no memory.
char *config_absolute(const char *directory, const char *path);

// Readers for fields; the comment has the type of the target.
config_read_fn config_read_text;     // char *
config_read_fn config_read_path;     // char *, made absolute
config_read_fn config_read_paths;    // char *, one or several as in KUBECONFIG, made absolute
config_read_fn config_read_words;    // char *, a list joined by commas; NULL if it may be empty and is
config_read_fn config_read_selector; // char *, a metav1.LabelSelector as the text of a selector (core/base/selector.h)
config_read_fn config_read_object;   // struct json *, a copy of a mapping
config_read_fn config_read_bool;     // bool
config_read_fn config_read_word;     // an enumeration
config_read_fn config_read_switch;   // bool, by a word for false and a word for true
config_read_fn config_read_whole;    // int64_t or size_t
config_read_fn config_read_size;     // size_t, "64MiB"
config_read_fn config_read_duration; // int64_t, ns
config_read_fn config_read_rate;     // double, not negative
config_read_fn config_read_section;  // the struct of the section's fields
config_read_fn config_read_list; // an array's pointer, followed by its size_t; items that read_item rejects are dropped

// Reads {qps, burst}: the default of burst depends on qps.
bool config_check_rates(const struct config_value *value, double qps, double *burst);

// The sections with files of their own.
extern const struct config_field config_management[];   // struct worker_spec
extern const struct config_field config_workers_from[]; // struct config_workers_from
extern const struct config_field config_adapters[];     // struct config
extern const struct config_field config_placement[];    // struct placement_options
extern const struct config_field config_dependencies[]; // struct dependency_options
config_read_fn config_check_management;
config_read_fn config_check_workers_from;
config_read_fn config_check_dependencies;
config_read_fn config_read_workers;                          // struct worker_spec *, size_t
config_read_fn config_read_worker;                           // struct worker_spec
config_read_fn config_read_namespaces;                       // char *
extern const struct config_field config_worker_namespaces[]; // struct worker_settings, from `namespaces` on
// The checks of a worker's namespaces.map; completes the map.
void config_check_namespaces(struct config_reader *reader, struct worker_spec *worker);
config_read_fn config_read_tenancy; // struct tenancy_options

bool config_read_document(const struct config_value *root); // and the checks of keys against each other
// placement.rules, after all other keys, which fill in the keys that a rule omits.
void config_read_rules(const struct config_value *root);
void config_check_clusters(const struct config_value *root);
void config_check_adapters(const struct config_value *root);
void config_check_tenancy(const struct config_value *root);

void config_clear_document(struct config *config);
