// SPDX-License-Identifier: Apache-2.0
// The syntax of kubeconfig files: one or several, their entries by name, and type-checked fields. kubeconfig.c and
// kubeconfig_sections.c have their meaning.
#pragma once

#include "core/json/yaml.h"
#include "core/kube/kubeconfig/kubeconfig.h"

struct kubeconfig_file {
    char *path;      // as given, for messages
    char *directory; // absolute: the base of relative paths in the file; NULL: a text, which may name no files
    struct yaml yaml;
};

struct kubeconfig {
    struct kubeconfig_file *files; // the first definition wins
    size_t count;
};

// Adds a file. `optional`: a missing file is skipped.
struct error *kubeconfig_add(struct kubeconfig *config, const char *path, bool optional);
// Adds a text; `name` stands for the path.
struct error *kubeconfig_add_text(struct kubeconfig *config, const char *name, const char *text, size_t len);
void kubeconfig_cleanup(struct kubeconfig *config);

// The first current-context that is not empty, or NULL.
struct error *kubeconfig_current_context(const struct kubeconfig *config, const char **out);

// A named entry of a list, e.g. clusters[2].cluster.
struct kubeconfig_entry {
    const struct kubeconfig_file *file; // NULL: not found
    const char *section;                // "clusters"
    const char *inner;                  // "cluster"; "user.exec" for a part of it
    size_t index;
    struct json *item;  // of the section
    struct json *value; // the object, or NULL if empty
};

// out->file is NULL if no file has the entry.
struct error *entry_find(const struct kubeconfig *config, const char *section, const char *inner, const char *name,
                         struct kubeconfig_entry *out);

// The object at `field` as an entry of its own; `inner` is "<out of the entry>.<field>". out->value is NULL if absent,
// null or empty.
struct error *entry_part(const struct kubeconfig_entry *entry, const char *field, const char *inner,
                         struct kubeconfig_entry *out);

// Appends the names in `section`, comma-separated, for messages.
bool entry_names(const struct kubeconfig *config, const char *section, struct buffer *out);

// NULL if the field is absent, null or empty. The text belongs to the file.
struct error *entry_text(const struct kubeconfig_entry *entry, const char *field, const char **out);
// The same, copied. *out stays NULL if the field is absent, which is an error with `expected`.
struct error *entry_copy(const struct kubeconfig_entry *entry, const char *field, const char *expected, char **out);
// The first of a list of strings, all checked; NULL: absent, null or empty.
struct error *entry_list(const struct kubeconfig_entry *entry, const char *field, const struct json **first);
struct error *entry_bool(const struct kubeconfig_entry *entry, const char *field, bool *out);

// "<file>:<line>: clusters[0].cluster.<field>: <message>"
struct error *entry_error(const struct kubeconfig_entry *entry, const char *field, enum error_code code,
                          const char *format, ...) __attribute__((format(printf, 4, 5)));

// "<file>:<line>: clusters[0].cluster.<field>"; `field` NULL: the entry. NULL when out of memory.
char *entry_place(const struct kubeconfig_entry *entry, const char *field);

// Puts "<file>:<line>: ...<field>: " before an error's message. NULL stays NULL.
struct error *entry_wrap(const struct kubeconfig_entry *entry, const char *field, struct error *error);

// A growing list that ends with NULL; text_list_free().
struct kubeconfig_texts {
    char **list;
    size_t count, capacity;
};
// Takes `text`, also on failure. False: NULL, or out of memory.
bool texts_add(struct kubeconfig_texts *texts, char *text);

// kubeconfig_sections.c interprets the clusters and users (k8s.io/client-go/tools/clientcmd/api/v1). Both fill in their
// part of `endpoint`, possibly in part on failure; endpoint_free frees all.
struct error *kubeconfig_read_cluster(const struct kubeconfig_entry *entry, struct endpoint *endpoint);
struct error *kubeconfig_read_user(const struct kubeconfig_entry *entry, const struct kubeconfig_entry *cluster,
                                   const struct exec_policy *policy, struct endpoint *endpoint);
