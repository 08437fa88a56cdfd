// SPDX-License-Identifier: Apache-2.0
// Reading of a configuration's values; problems have their position in the file. Internal to config.
#pragma once

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
    const struct config_field *field; // the described key
};

// Where a value is: a chain from the value to the root, on the stack. `key` NULL: item `index` of a list.
struct config_place {
    const struct config_place *up; // NULL: this is the root
    const char *key;
    size_t index;
    const struct config_field *field; // of a mapping; or NULL
};

typedef void config_read_fn(struct config_reader *reader, const struct config_place *place, const struct json *value,
                            void *target);

typedef void config_item_fn(struct config_reader *reader, const struct config_place *place, const struct json *item);

struct config_word { // of an enumeration
    const char *word;
    int value;
};

// A key of a mapping; `read` gets the address of the struct plus `offset`. Fields below `help` depend on the reader.
struct config_field {
    const char *key;
    config_read_fn *read;
    size_t offset;
    bool required;
    const char *help;                   // meaning and default
    size_t line_at;                     // offset of a size_t in the same struct, which gets the line; 0: none
    const char *expected;               // in messages
    const struct config_word *words;    // config_read_word, config_read_switch
    size_t n_words;                     // the same
    int64_t min, max;                   // config_read_whole, config_read_size; max 0: no maximum
    bool is_optional;                   // config_read_size: may be 0
    bool (*is_valid)(const char *text); // config_read_text; NULL: any
    const struct config_field *fields;  // config_read_section
    size_t n_fields;                    // the same
};

#define CONFIG_COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define CONFIG_WORDS(array) .words = (array), .n_words = CONFIG_COUNT(array)
#define CONFIG_SECTION(array) .fields = (array), .n_fields = CONFIG_COUNT(array)
#define CONFIG_LABEL                                                                                                   \
    .is_valid = text_is_dns_label,                                                                                     \
    .expected = "a name of at most 63 lower-case letters, digits and '-' (RFC 1123 label)"

// "<file>:<line>: <key>: ...". `place` NULL: the file as a whole.
void config_problem(struct config_reader *reader, const struct config_place *place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// "<file>:<line>: <key>: found ..., expected ...".
void config_wrong(struct config_reader *reader, const struct config_place *place, const struct json *value,
                  const char *expected);

// Calls `read` for each item of a list, which has at least one. `what` names one item in messages: "worker".
void config_each(struct config_reader *reader, const struct config_place *place, const struct json *value,
                 const char *what, config_item_fn *read);

size_t config_line(struct config_reader *reader, const struct config_place *place);

// Reads a mapping by a table of keys. Null values count as absent. False for any other type.
bool config_mapping(struct config_reader *reader, const struct config_place *place, const struct json *value,
                    const struct config_field *fields, size_t count, void *target);

// The text of a string that is not empty; NULL after reporting the problem.
const char *config_text(struct config_reader *reader, const struct config_place *place, const struct json *value,
                        const char *expected);

// False after reporting a path that begins with ~, which only a shell expands.
bool config_is_path(struct config_reader *reader, const struct config_place *place, const char *text);

// Replaces the text in *slot by a copy.
void config_keep(struct config_reader *reader, char **slot, const char *text);

// `path` below `directory` (absolute), or itself if absolute, without "." segments; free(). NULL: no memory, noted.
char *config_absolute(struct config_reader *reader, const char *directory, const char *path);

// Readers for fields; the comment has the type of `target`.
config_read_fn config_read_text;     // char *
config_read_fn config_read_path;     // char *, made absolute
config_read_fn config_read_paths;    // char *, one or several as in KUBECONFIG, made absolute
config_read_fn config_read_bool;     // bool
config_read_fn config_read_word;     // an enumeration
config_read_fn config_read_switch;   // bool, by a word for false and a word for true
config_read_fn config_read_whole;    // int64_t or size_t
config_read_fn config_read_size;     // size_t, "64MiB"
config_read_fn config_read_duration; // int64_t, 0 allowed
config_read_fn config_read_positive; // int64_t, a duration that is not 0
config_read_fn config_read_selector; // char *, a metav1.LabelSelector as the text of a selector (core/base/selector.h)
config_read_fn config_read_rate;     // double, not negative
config_read_fn config_read_section;  // the struct of the section's fields

// {qps, burst}; the default of burst depends on qps. And statusBytes, if `status_bytes` is not NULL.
void config_read_rates(struct config_reader *reader, const struct config_place *place, const struct json *value,
                       double *qps, double *burst, size_t *status_bytes);

// "redispatch" and "wait", of a bool.
extern const struct config_word config_lost_words[2];

bool config_read_document(struct config_reader *reader); // false: no mapping
// The sections, each with cross-checks.
config_read_fn config_read_management;         // struct worker_spec
config_read_fn config_read_workers;            // struct config
config_read_fn config_read_workers_from;       // struct config_workers_from
config_read_fn config_read_adapters;           // struct config
config_read_fn config_read_placement;          // struct placement_options
config_read_fn config_read_max_active;         // struct worker_spec
config_read_fn config_read_choice;             // enum choice, from a boolean
config_read_fn config_read_credential_plugins; // struct config
config_read_fn config_read_seal;               // struct config_seal
config_read_fn config_read_serve;              // struct config_serve
config_read_fn config_read_namespaces;         // char *
config_read_fn config_read_worker_namespaces;  // char *
// placement.rules, after all other keys, which fill in the keys that a rule omits.
void config_read_rules(struct config_reader *reader, const struct config_place *root);
void config_check_clusters(struct config_reader *reader);
void config_check_adapters(struct config_reader *reader);
void config_check_seal(struct config_reader *reader);
void config_check_election(struct config_reader *reader);
void config_check_fencing(struct config_reader *reader);
void config_check_memory(struct config_reader *reader);
void config_check_workers_from(struct config_reader *reader, const struct config_place *place);

// array_next, which notes no_memory. `list` is the address of the list's pointer.
void *config_grow(struct config_reader *reader, void *list, size_t count, size_t size);

void config_adapter_clear(struct config_adapter *adapter);
void config_placement_clear(struct placement_options *placement);
void config_workers_from_clear(struct config_workers_from *from);
