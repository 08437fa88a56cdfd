// SPDX-License-Identifier: Apache-2.0
// dependencies of the configuration, in some trials: most Jobs name ConfigMaps, Secrets, ServiceAccounts, claims and
// classes. Users create, change, delete and replace these sources; strangers have objects of the same names in workers,
// with the same content or another; tokens are written, copies taken, checked objects come and go. need_rules.h has
// what must hold meanwhile.
#pragma once

#include "core/adapter/references.h"
#include "core/config/engine_settings.h"
#include "tests/simulation/trial.h"

#define NEEDS_MAX 64 // objects of a trial, as bits of a set
#define NEEDS_UIDS 24

enum need_resource {
    NEED_CONFIGMAPS,
    NEED_SECRETS,
    NEED_ACCOUNTS,
    NEED_CLAIMS,
    NEED_PRIORITIES,
    NEED_RUNTIMES,
    NEED_RESOURCES
};

struct need_names {
    const char *group, *plural, *resource; // resource: as in the configuration
    bool cluster_scoped;
};
extern const struct need_names need_names[NEED_RESOURCES];

enum secret_nature { SECRET_PLAIN, SECRET_PULL, SECRET_TOKEN, SECRET_HELM, SECRET_BOOTSTRAP }; // the last three: denied

// Beginnings of contents: of ConfigMaps, of Secrets, and of Secrets that are never copied.
#define NEED_CONFIG_TEXT "CONFIG"
#define NEED_SECRET_TEXT "SECRET"
#define NEED_DENIED_TEXT "DENIED"

struct thing {
    enum need_resource resource;
    enum secret_nature nature;
    char namespace_[16], name[64]; // namespace_: "" of a cluster-scoped one
    bool labelled;                 // its source has label wharf.dev/copy=true
    bool retyped;                  // of a Secret: its source has the other type
    bool pulls;                    // of a ServiceAccount: it names a pull secret
    bool pulled;                   // or did at some time
    unsigned content;              // the newest number of a content
    char uids[NEEDS_UIDS][40];     // that sources of this name have had
    unsigned n_uids;
};

struct needs;
void needs_choose(struct trial *trial);       // plan.needs
struct needs *needs_new(struct trial *trial); // and trial->need_rules
void needs_drop(struct trial *trial);
int64_t needs_due(const struct trial *trial);
void needs_act(struct trial *trial);
// Everything that a workload needs can be had from now on.
void needs_end(struct trial *trial);
// A cluster that was wiped is set up again.
void needs_set_up(struct trial *trial, size_t cluster);

struct dependency_options needs_options(const struct trial *trial);
// Permissions on one of the resources are taken away.
void needs_deny(struct trial *trial, size_t cluster);

// A new Job, of a user's, names some of them.
void needs_ask(struct trial *trial, struct json *job);
// What a new object of another kind names can be had.
void needs_provide(struct trial *trial, size_t kind, const struct json *object);

size_t needs_count(const struct trial *trial);
struct thing *needs_at(const struct trial *trial, size_t index);
// The index of an object; needs_count(): it is none of this trial's.
size_t needs_find(const struct trial *trial, const char *group, const char *plural, const char *namespace_,
                  const char *name);
size_t needs_find_reference(const struct trial *trial, const struct reference *reference);
enum need_resource needs_resource(const char *group, const char *plural); // NEED_RESOURCES: none of them
// The object in a cluster; NULL: there is none.
const struct json *needs_object(struct trial *trial, size_t cluster, size_t index);
// By its resource, and by the label of its source; a Secret may have a type that is never copied.
bool needs_may_be_copied(struct trial *trial, size_t index);
// It is copied, as its source is now; else workers have to have it.
bool needs_is_copied(struct trial *trial, size_t index);
bool needs_copies(const struct trial *trial, enum need_resource resource); // as configured
// The parts that count are equal: content and type, and what is copied of a ServiceAccount or a claim.
bool needs_are_equal(enum need_resource resource, const struct json *a, const struct json *b);
// Another writer's object: a field of a ServiceAccount that only that object has does not matter.
bool needs_suffice(enum need_resource resource, const struct json *there, const struct json *source);
