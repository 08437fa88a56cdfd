// SPDX-License-Identifier: Apache-2.0
// `wharf adapter new`: a CustomResourceDefinition becomes the description of a kind, and the description becomes the
// source of an adapter in one of three languages, or settings of the generic adapter. The description has the form of
// wharf_kind: a list of rows for each member. Each row has the reason for its guess.
#pragma once

#include "core/json/json.h"
#include "core/json/yaml.h"

#include <wharf/adapter.h>

// A place in the schema of the kind. "*" stands for the items of a list and for the members of a map.
struct schema_place {
    const struct schema_place *up; // NULL: the spec or the status itself
    const struct json *schema;
    const char *name;    // "suspend", or "*"
    const char *pointer; // "/spec/groups/*/replicas"
    unsigned depth;      // 0: the spec or the status itself
    enum { NOT_PODS, POD_TEMPLATE, POD_SPEC, TEMPLATE_BY_NAME } pods;
    bool in_list;  // the pointer has a "*"
    bool required; // by the schema of the parent
    bool fixed;    // a rule of the schema forbids changes, of the field or of a parent
};

struct schema_places {
    struct schema_place **list; // parents before children
    size_t count;
};

// The members of wharf_kind that can be guessed.
enum member {
    GROUP,
    VERSIONS,
    KIND,
    PLURAL,
    FLAGS,
    MANAGED_BY,
    MANAGED_BY_BUILTIN,
    MANAGED_BY_ALLOWED,
    SUSPEND,
    SUSPEND_VALUE,
    CARRIED,
    REMOVED,
    PODS,
    STATUS_REMOVED,
    OBSERVED_GENERATION,
    CONDITION_TIME,
    SUSPENDED_STATUS,
    RESUMED_STATUS,
    PHASES,
    FINISHED_AT,
    REFERENCES,
    CONTINUITY,
    N_MEMBERS
};

// A value of a member, or an item of its list. NULL or 0: unused.
struct guess_row {
    const char *text;                      // the value; of an item its pointer, of a status change the type
    const char *value;                     // of a phase rule; `key` of a carried field; of a status change the status;
                                           // of a reference `optional`; of a value for later attempts its name
    const wharf_reference *refers;         // of a reference: the kind; NULL: a part, of containers or volumes
    const char *status, *reason, *message; // of a phase rule; of a status change
    const char *const *counts;             // of pods, ends with NULL
    uint32_t number, flags;                // `when`, the phase, or the bits
    bool is_known;                         // a phase rule that the schema names
    bool is_condition;                     // `text` is a list of conditions
    bool is_template;                      // the fields of a pod template that can change while the object is suspended
    const char *why;                       // a comment; NULL: none
};

// The fields of WHARF_CARRIED_POD_TEMPLATE; ends with NULL.
#define TEMPLATE_FIELDS 5
extern const char *const template_fields[TEMPLATE_FIELDS + 1];

struct guess_rows {
    struct guess_row *list;
    size_t count;
    const char *note; // a sentence about the whole member, also without rows; NULL: none
};

struct description {
    // The CRD.
    struct yaml file;
    const struct json *document, *version; // the CRD; its version with the schema that is used
    const char *group, *kind, *plural, *singular, *main_version;
    bool has_subresource;
    const struct json *schema;
    struct schema_places spec, status;

    const char *name; // of the adapter
    struct guess_rows members[N_MEMBERS];

    char **kept; // all texts made by description_text
    size_t n_kept;
    bool failed; // out of memory
};

// crd.c
// Reads the only CRD of the file, or the one of `kind` (NULL: any), and finds the places of its schema.
struct error *crd_read(const char *path, const char *kind, struct description *out);
// Whether the version's schema has the place of a pointer without "*".
bool crd_has(const struct json *version, const char *pointer);
const char *crd_version_name(const struct json *version);
bool crd_is_served(const struct json *version);

// description.c
void description_cleanup(struct description *description);
// A text that lives as long as the description; "" when out of memory.
const char *description_text(struct description *description, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// Appends a row; never NULL: when out of memory a row that is lost.
struct guess_row *description_add(struct description *description, enum member member, const char *text,
                                  const char *why);
void description_note(struct description *description, enum member member, const char *note);
// The only row of a member; NULL: none.
const struct guess_row *description_row(const struct description *description, enum member member);

// schema.c
struct error *places_find(struct description *description, const char *root, struct schema_places *out);
void places_free(struct schema_places *places);
const struct json *schema_properties(const struct json *schema); // the first one, or NULL
const struct json *schema_property(const struct json *schema, const char *name);
// The property that the first segment of *pointer names; NULL: none. The rest of the pointer is then at *pointer.
const struct json *schema_step(const struct json *schema, const char **pointer);
bool schema_is(const struct json *schema, const char *type);
const char *schema_text(const struct json *schema); // the description, or ""
bool schema_is_open(const struct json *schema);     // accepts any object, and names no member
bool schema_is_pod_spec(const struct json *schema);
// The place of this pointer; NULL: none.
const struct schema_place *places_at(const struct schema_places *places, const char *pointer);
// "a boolean, \"suspend suspends all Jobs.\"": what the schema says.
const char *schema_says(struct description *description, const struct schema_place *place);
// Whether the text has the word, not as a part of another one.
bool text_has_word(const char *text, const char *word);
// Whether the text is in a list that ends with NULL, in any case of letters.
bool text_is_one_of(const char *text, const char *const *list);

// sample.c. An object that is valid by the schema as far as a schema without its rules (CEL) says, with each field of
// the description. NULL when out of memory. json_free()
struct json *sample_object(struct description *description);
// The steps in which an object gets to the phase of a rule, or without a pointer to any status, or is suspended: an
// array of documents as in wharf adapter test.
struct json *sample_life(struct description *description, const struct guess_row *rule);

// sample_value.c
// The smallest value that the schema accepts (NULL: an object); NULL when out of memory.
struct json *sample_value(const struct json *schema);
struct json *sample_pod_template(void);
// The value at a pattern, made with its parents if it is missing: the first item of a list, the first member of a map.
// NULL: the schema has no such place, or out of memory.
struct json *sample_reach(struct json *root, const struct json *schema, const char *pattern);

// The value of a managedBy field for the kind's own controller; NULL: the schema names none.
const char *guess_builtin(struct description *description, const struct json *schema);

// guess.c
// Reads the CRD and fills the description, whose other members are zero.
struct error *guess_kind(const char *path, const char *kind, struct description *out);

// For guess_kind.
void guess_references(struct description *description);
void guess_pods(struct description *description);       // guess_pods.c
void guess_status(struct description *description);     // guess_status.c
void guess_continuity(struct description *description); // guess_continuity.c

// guess_phases.c, for guess_status.
void guess_phases(struct description *description, const struct schema_place *conditions);
// A text of the status named like a state, and one with an enum if wanted; NULL: none.
const struct schema_place *guess_state(const struct description *description, bool with_enum);
const struct json *conditions_items(const struct schema_place *conditions); // the schema of a condition; NULL for NULL
