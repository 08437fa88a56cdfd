// SPDX-License-Identifier: Apache-2.0
// The wanted workers, merged from all sources: of two with one name the configuration's wins, then the directory's.
// Among Secrets and ClusterProfiles the present holder of the name keeps the name, also after a restart; else the
// oldest wins. Each change of a source passes on the complete set. From any thread.
#pragma once

#include "core/base/map.h"
#include "core/base/problems.h"
#include "core/config/config.h"
#include "core/host/tokens/tokens.h"

struct client;
struct folder_watcher;
struct gate;
struct host;

// One item of a source of workers; owns its strings.
struct source_note {
    char *origin_text;            // "Secret wharf-system/w1"
    char *name;                   // of the worker; NULL: not known
    char *problem;                // why the item, or its newest version, is not used; NULL: usable
    struct token_life token_life; // 0: not known
};
void source_notes_free(struct source_note *notes, size_t count);
// Appends a copy; false: out of memory.
bool source_notes_add(struct source_note **notes, size_t *count, const struct source_note *note);

// Workers, and what became of each item: of one source, or merged.
struct source_list {
    struct worker_spec *specs;
    size_t count;
    struct source_note *notes;
    size_t n_notes;
};
void source_list_clear(struct source_list *list);

// A kind of objects in the management cluster that describe workers is one file, which reads such an object, and one
// row of the table.
struct worker_source_kind {
    const char *name; // "Secret", in the API and in messages
    // Below: of objects in the management cluster only.
    const char *title; // "Secrets of workers"
    const char *group, *plural;
    const char *const *versions; // one, see reflector_options
    const char *label;           // selects objects with the value "true"; NULL: all objects
    const char *part;            // that has the kubeconfig: "key kubeconfig"
    bool renews;                 // the host renews tokens in the objects
    bool is_for_others; // objects may have other readers: objects without credentials for the host are no problem
    bool (*is_on)(const struct config_workers_from *from);
    const char *(*namespace_of)(const struct config_workers_from *from); // NULL: the host's own
    // Reads the object into `out`, which has its source and origin_text. ERROR_NOT_FOUND: the object has no credentials
    // for the host.
    struct error *(*read)(const struct json *object, const struct config_workers_from *from, struct worker_spec *out);
};

extern const struct worker_source_kind worker_secret_kind, worker_profile_kind;
extern const struct worker_source_kind *const worker_source_kinds[WORKER_SOURCES];

static inline bool worker_source_has_objects(enum worker_source source) {
    return worker_source_kinds[source]->read;
}
// Reads an object of the source; clears `out` on failure.
struct error *worker_source_read(enum worker_source source, const struct json *object,
                                 const struct config_workers_from *from, struct worker_spec *out);

struct sources_options {
    // Takes the content of the merged list, with the notes of all sources, also of items that lost a conflict. Called
    // by the caller that changes a source, never twice at the same time.
    void (*apply)(void *ctx, struct source_list *list, enum removal removal);
    void *ctx;
    bool silent; // conflicts are not logged
};

struct sources;
struct error *sources_new(const struct sources_options *options, struct sources **out);
void sources_free(struct sources *sources);

// Replaces the workers of a source; takes the list.
void sources_set(struct sources *sources, enum worker_source source, struct source_list list);

// Replaces the entries of the ConfigMap; takes the content of the map: struct worker_override by name. NULL: no
// entries. Until the first call, all workers are cordoned.
void sources_override(struct sources *sources, struct map *overrides);
// NULL: none. On the thread that calls sources_override; valid until the next call.
const struct worker_override *sources_find_override(const struct sources *sources, const char *name);

// How workers leave that are no longer in the set; for the next change.
void sources_set_removal(struct sources *sources, enum removal removal);

// The workers of a configuration, as sources_set.
struct error *sources_set_config(struct sources *sources, const struct config *config);

// Objects -------------------------------------------------------------------------------------------------------
// Objects of the management cluster that describe workers: Secrets, ClusterProfiles, and the ConfigMap wharf-workers.
// docs/workers.md has their fields. Errors say which field is wrong, and do not name the object.

#define WORKER_SECRET_LABEL "wharf.dev/worker"
#define WORKER_NAME_ANNOTATION "wharf.dev/worker-name"
#define WORKER_TOKEN_ANNOTATION "wharf.dev/token-service-account"
#define WORKERS_CONFIG_MAP "wharf-workers"
#define CLUSTER_PROFILE_GROUP "multicluster.x-k8s.io"

// "Secret wharf-system/w1"; NULL when out of memory.
char *worker_object_text(const char *kind, const struct json *object);

// "NAMESPACE/NAME" of annotation wharf.dev/token-service-account; *name is in the Secret. ERROR_NOT_FOUND: no such
// annotation.
struct error *worker_secret_account(const struct json *secret, char namespace_[64], const char **name);

// The worker's name, labels, weight, order and limits, shared by Secrets and ClusterProfiles.
struct error *worker_object_name(const struct json *object, struct worker_spec *out);

// Weight, order, maxActive and labels of a worker in the directory. `text` is the kubeconfig: extensions: [{name:
// wharf.dev, extension: {labels: {...}, weight: 2, order: 1, maxActive: "10,jobs.batch=5"}}].
struct error *worker_placement_of_kubeconfig(const char *text, size_t len, struct worker_spec *out);

// Checks the kubeconfig text of a spec without the network, and sets spec->revision. `life` is zero where the
// credentials are no token that expires. *usable: with an error, whether the worker could still be opened later (a
// certificate that is not valid now).
struct error *worker_spec_check(struct worker_spec *spec, const struct exec_policy *policy, int64_t wall_ns,
                                struct token_life *life, bool *usable);

// "finish", "move", "" or NULL; false: another text.
bool drain_read(const char *text, enum drain *out);

// An entry of the ConfigMap wharf-workers, and the host's record there (sources.h).
struct worker_override {
    const char *name;
    const char *uid, *source; // "": not recorded, or the worker comes from no object
    const char *names;        // of namespaces, as worker_settings.namespace_map; "": the same
    bool sets_cordoned, cordoned;
    bool sets_drain;
    enum drain drain;
};
#define WORKER_OVERRIDE_TEXTS 4
// The texts in `out` belong to the caller.
struct error *worker_override_read(const char *name, const char *text, struct worker_override *out);

// Maps of structs that begin with `n_texts` texts, of which the first is the key. A struct and its texts are one block;
// see map_free_values.
bool blocks_put(struct map *blocks, const void *from, size_t size, size_t n_texts); // copies; false: out of memory

// The kubeconfig with another token for the user of `context` ("" or NULL: current-context); free().
struct error *kubeconfig_with_token(const char *text, const char *context, const char *token, char **out);

// Items: of one source of workers. Each has the newest usable version and, if a later version is unusable, the reason.
// Not thread-safe.
struct source_item {
    char *key;                    // "wharf-system/w1", or the name of a file
    char *origin_text;            // "Secret wharf-system/w1"
    struct worker_spec spec;      // the good version; name NULL: there has been none
    char *problem;                // of the newest version; NULL: the newest version is usable
    struct token_life token_life; // 0: not known
    bool seen;                    // in the list that is being read
    bool held;                    // stays although missing from the list
};

// Zero-initialised, but for `source`.
struct source_items {
    enum worker_source source;
    struct source_item *list; // by key
    size_t count;
    bool changed; // since the last source_items_publish
};

void source_items_free(struct source_items *items);

struct source_item *source_items_find(const struct source_items *items, const char *key); // NULL: none
// Finds or adds the item; NULL: out of memory. Valid until the next call.
struct source_item *source_items_at(struct source_items *items, const char *key, const char *origin_text);
void source_items_remove(struct source_items *items, const char *key);

// Before and after reading a list: removes items that were neither seen nor held.
void source_items_unsee(struct source_items *items);
void source_items_sweep(struct source_items *items);
// Holds the unseen items until seen again; returns their number.
size_t source_items_hold(struct source_items *items);

// Takes the spec and clears it.
void source_item_accept(struct source_items *items, struct source_item *item, struct worker_spec *spec);
// The newest version is unusable: takes the error, and logs any new problem.
void source_item_refuse(struct source_items *items, struct source_item *item, struct error *error);

// Passes all items to `sources`, if anything has changed.
void source_items_publish(struct source_items *items, struct sources *sources);

// The directory: NAME.kubeconfig or NAME.yaml is worker NAME. Runs on the watcher's thread, or before the watcher
// starts.
struct source_folder;
// `sources` and `watcher` outlive the folder; the rest is copied.
struct error *source_folder_new(struct sources *sources, struct folder_watcher *watcher, const char *directory,
                                const struct exec_policy *policy, struct source_folder **out);
void source_folder_free(struct source_folder *folder); // the workers stay in `sources`; NULL is allowed

// Adds a problem, prefixed with `where`, for each unusable file, or for the directory. `good` receives the usable
// files; NULL: only check.
void source_folder_check(const char *directory, const struct exec_policy *policy, const char *where,
                         struct problems *problems, struct source_items *good);

const char *source_folder_directory(const struct source_folder *folder);

// The sources in the management cluster: objects, and the ConfigMap wharf-workers, which cordons workers of any source.
// A watcher on the management cluster's thread.
struct source_objects;
// `sources` and `host` outlive the result.
struct error *source_objects_new(struct sources *sources, struct host *host, struct source_objects **out);
// After the host has stopped. NULL is allowed.
void source_objects_free(struct source_objects *objects);

// Another configuration, which takes effect soon. From any thread, also before source_objects_attach.
void source_objects_configure(struct source_objects *objects, const struct config *config);

// Begins. ERROR_NO_MEMORY only.
struct error *source_objects_attach(struct source_objects *objects);

// The records of the host in ConfigMap wharf-workers: the cluster uid of each worker after identification, and the
// Secret or ClusterProfile that the worker comes from, as annotations. After a restart the record distinguishes a
// worker from another one that claims its uid, and its object from another one that claims its name.
//
//     known.wharf.dev/w1: 7f0c9a1e-... Secret wharf-system/w1 names=team-*={origin}-{namespace}
//
// The names of namespaces there are those of the present mirrors: a changed namespaces.map waits for their end.
#define WORKER_RECORD_PREFIX "known.wharf.dev/"

struct worker_record_text { // parts of one text
    char *text;             // owned
    const char *uid, *source, *names;
};
// Reads an annotation of the ConfigMap; `source` is "" where the worker comes from no object. False: an unrelated
// annotation, or out of memory.
bool worker_record_read(const char *key, const char *value, struct worker_record_text *out);

struct worker_records;
struct error *worker_records_new(struct worker_records **out);
void worker_records_free(struct worker_records *records); // NULL is allowed

// From the engine's thread. `uid` "": the worker is not identified, or is refused; NULL: the worker has left. `source`
// NULL: the worker comes from no object. `names`: its map of namespaces; NULL: none. True: worker_records_tick has
// work.
bool worker_records_set(struct worker_records *records, const char *name, const char *uid, const char *source,
                        const char *names);

// The rest: on the management cluster's thread.

// The present ConfigMap; NULL: none.
void worker_records_see(struct worker_records *records, const struct json *map);

struct worker_records_place {
    struct client *management; // which belongs to the caller, and stays the same until worker_records_stop
    const char *namespace_;
    struct gate *gate; // no writes while closed; NULL: always open
};
// Writes the records that are due; returns the monotonic time of the next call needed.
int64_t worker_records_tick(struct worker_records *records, const struct worker_records_place *place,
                            struct moment now);
// The client is about to be freed.
void worker_records_stop(struct worker_records *records);
