// SPDX-License-Identifier: Apache-2.0
#include "core/host/check/rights_internal.h"

#include "core/base/buffer.h"
#include "core/base/memory.h"
#include "core/engine/kueue/kueue.h"

#include <stdlib.h>
#include <string.h>

#define RESOURCES_MAX 65536

static const struct right watched = {
    .scope = RIGHT_CLUSTER, .comment = "The kinds of the enabled adapters.", .verbs = "get, list, watch"};

static const struct right leases = {.scope = RIGHT_OWN,
                                    .comment = "The Leases of the host and of the guard (fencing). RBAC cannot limit "
                                               "create to a name.",
                                    .group = "coordination.k8s.io",
                                    .verbs = "get, create, patch"};

static const char *const scope_names[] = {
    [RIGHT_CLUSTER] = "cluster", [RIGHT_WORK] = "work", [RIGHT_OWN] = "own", [RIGHT_SEAL] = "seal"};

const char *right_scope_name(enum right_scope scope) {
    return scope_names[scope];
}

bool right_scope_read(const char *name, enum right_scope *out) {
    for (size_t i = 0; i < sizeof scope_names / sizeof *scope_names; i++)
        if (strcmp(name, scope_names[i]) == 0) {
            *out = (enum right_scope)i;
            return true;
        }
    return false;
}

struct rights_features rights_features_of(const struct config *config) {
    return (struct rights_features){.pod_events = config->pod_events != POD_EVENTS_NONE,
                                    .capacity = config_wants_any_capacity(config),
                                    .create_namespaces = config->engine.create_namespaces,
                                    .fencing = config->engine.fencing.enabled};
}

void rights_free(struct rights *rights) {
    for (size_t i = 0; i < rights->count; i++)
        free(rights->list[i].resources);
    free(rights->list);
    *rights = (struct rights){0};
}

void rights_add(struct rights_table *table, const struct right *right, const char *resources) {
    struct right *added = array_next(&table->rights->list, table->rights->count, sizeof(*added));
    char *copy = strdup(resources);
    if (!added || !copy) {
        free(copy);
        table->no_memory = true;
        return;
    }
    *added = *right;
    added->resources = copy;
    table->rights->count++;
}

static bool is_first_of_group(const struct rights_wanted *wanted, size_t index) {
    for (size_t i = 0; i < index; i++)
        if (strcmp(wanted->kinds[i]->abi.group, wanted->kinds[index]->abi.group) == 0)
            return false;
    return true;
}

static void append_name(struct buffer *names, const char *plural, const char *subresource) {
    buffer_printf(names, "%s%s%s", names->len > 0 ? ", " : "", plural, subresource);
}

// The kinds of one API group: "rayjobs, rayclusters"; with `status` also their status subresources, where they have
// one.
static void add_group(struct rights_table *table, const char *group, struct right right, bool status) {
    const struct rights_wanted *wanted = table->wanted;
    AUTO_BUFFER(names, RESOURCES_MAX);
    for (size_t i = 0; i < wanted->n_kinds; i++) {
        const struct kind *kind = wanted->kinds[i];
        if (strcmp(kind->abi.group, group) != 0)
            continue;
        append_name(&names, kind->abi.plural, "");
        if (status && (kind->abi.flags & WHARF_KIND_NO_STATUS_SUBRESOURCE) == 0)
            append_name(&names, kind->abi.plural, "/status");
    }
    right.group = group;
    if (names.failed)
        table->no_memory = true;
    else
        rights_add(table, &right, names.data);
}

// A right for each API group of the kinds.
static void add_kinds(struct rights_table *table, struct right right, bool status) {
    const struct rights_wanted *wanted = table->wanted;
    for (size_t i = 0; i < wanted->n_kinds; i++) {
        if (!is_first_of_group(wanted, i))
            continue;
        add_group(table, wanted->kinds[i]->abi.group, right, status);
        right.comment = NULL;
    }
}

static bool shares_with_kueue(const struct rights_wanted *wanted) {
    for (size_t i = 0; i < wanted->n_kinds; i++)
        if (kueue_shares(wanted->kinds[i]->managed_by))
            return true;
    return false;
}

static void add_identity(struct rights_table *table) {
    rights_add(
        table,
        &(struct right){.scope = RIGHT_CLUSTER,
                        .comment = "Its uid identifies the cluster; reading it shows whether the cluster answers.",
                        .group = "",
                        .verbs = "get",
                        .name = "kube-system"},
        "namespaces");
}

static void add_kueue(struct rights_table *table) {
    rights_add(table,
               &(struct right){.scope = RIGHT_CLUSTER,
                               .comment = "Whether Kueue has admitted a queued object, and why not.",
                               .group = "kueue.x-k8s.io",
                               .verbs = "list, watch"},
               "workloads");
    if (shares_with_kueue(table->wanted))
        rights_add(table,
                   &(struct right){.scope = RIGHT_CLUSTER,
                                   .comment = "Whether MultiKueue dispatches it.",
                                   .group = "kueue.x-k8s.io",
                                   .verbs = "list"},
                   "admissionchecks");
}

static void add_kueue_of_worker(struct rights_table *table) {
    rights_add(table,
               &(struct right){.scope = RIGHT_CLUSTER,
                               .comment = "Why a worker's Kueue has a mirror queued, and that it suspends what its "
                                          "workload's user suspends.",
                               .group = "kueue.x-k8s.io",
                               .verbs = "list, watch"},
               "workloads");
    rights_add(table, &(struct right){.scope = RIGHT_WORK, .group = "kueue.x-k8s.io", .verbs = "patch"}, "workloads");
}

static void add_callers(struct rights_table *table) {
    rights_add(table,
               &(struct right){.scope = RIGHT_CLUSTER,
                               .comment = "Who calls the host's API, and what they may see.",
                               .group = "authentication.k8s.io",
                               .verbs = "create"},
               "tokenreviews");
    rights_add(table, &(struct right){.scope = RIGHT_CLUSTER, .group = "authorization.k8s.io", .verbs = "create"},
               "subjectaccessreviews");
    rights_add(
        table,
        &(struct right){.scope = RIGHT_CLUSTER, .comment = "What wharf explain shows.", .group = "", .verbs = "list"},
        "events");
}

// In the host's own namespace.
static void add_own(struct rights_table *table) {
    const struct rights_wanted *wanted = table->wanted;
    if (wanted->worker_secrets)
        rights_add(table,
                   &(struct right){.scope = RIGHT_OWN,
                                   .comment =
                                       "Secrets with the kubeconfigs of workers (label wharf.dev/worker), in which the "
                                       "host renews tokens. RBAC cannot limit this to a label: have no other Secrets "
                                       "in the namespace.",
                                   .group = "",
                                   .verbs = "list, watch, patch"},
                   "secrets");
    if (wanted->seal)
        rights_add(table,
                   &(struct right){.scope = RIGHT_SEAL,
                                   .comment =
                                       "The Secret with the key of seals, created if it is missing. RBAC cannot limit "
                                       "create to a name.",
                                   .group = "",
                                   .verbs = "get",
                                   .name = wanted->seal_name},
                   "secrets");
    if (wanted->seal)
        rights_add(table, &(struct right){.scope = RIGHT_SEAL, .group = "", .verbs = "create"}, "secrets");
    rights_add(table,
               &(struct right){.scope = RIGHT_OWN,
                               .comment =
                                   "What operators set with wharf cordon and wharf drain, and which cluster each "
                                   "worker is. RBAC cannot limit create to a name.",
                               .group = "",
                               .verbs = "get, list, watch, patch",
                               .name = RIGHTS_WORKERS},
               "configmaps");
    rights_add(table, &(struct right){.scope = RIGHT_OWN, .group = "", .verbs = "create"}, "configmaps");
}

// Leases of replicas, see election.h.
static void add_leases(struct rights_table *table) {
    rights_add(table,
               &(struct right){.scope = RIGHT_OWN,
                               .comment = "Leases: which replica writes, and whether another host has this origin.",
                               .group = "coordination.k8s.io",
                               .verbs = "list, create, patch, delete"},
               "leases");
}

static struct error *finish(struct rights_table *table) {
    if (!table->no_memory)
        return NULL;
    rights_free(table->rights);
    return error_no_memory();
}

struct error *rights_copy(const struct rights *from, struct rights *to) {
    *to = (struct rights){0};
    struct rights_table table = {.rights = to};
    for (size_t i = 0; i < from->count; i++)
        rights_add(&table, &from->list[i], from->list[i].resources);
    return finish(&table);
}

struct error *rights_management(const struct rights_wanted *wanted, struct rights *out) {
    *out = (struct rights){0};
    struct rights_table table = {.rights = out, .wanted = wanted};
    add_kinds(&table, watched, false);
    add_kinds(&table,
              (struct right){.scope = RIGHT_WORK,
                             .comment = "Annotations and labels that record where a workload was placed, and its "
                                        "status.",
                             .verbs = "patch"},
              true);
    add_kueue(&table);
    rights_add(&table,
               &(struct right){.scope = RIGHT_CLUSTER,
                               .comment = "Events on workloads.",
                               .group = "events.k8s.io",
                               .verbs = "create, patch"},
               "events");
    add_identity(&table);
    if (wanted->namespace_labels)
        rights_add(&table,
                   &(struct right){.scope = RIGHT_CLUSTER,
                                   .comment = "Labels of namespaces, by which placement selects (namespaceSelector).",
                                   .group = "",
                                   .verbs = "get, list, watch"},
                   "namespaces");
    if (wanted->callers)
        add_callers(&table);
    if (wanted->cluster_profiles)
        rights_add(&table,
                   &(struct right){.scope = RIGHT_CLUSTER,
                                   .comment = "Workers from ClusterProfiles.",
                                   .group = "multicluster.x-k8s.io",
                                   .verbs = "get, list, watch"},
                   "clusterprofiles");
    add_own(&table);
    add_leases(&table);
    return finish(&table);
}

// The pods of mirrors.
static void add_pods(struct rights_table *table) {
    const struct rights_wanted *wanted = table->wanted;
    bool called = wanted->logs || wanted->exec;
    if (!called && !wanted->features.pod_events)
        return;
    struct right right = {.scope = RIGHT_WORK, .group = "", .verbs = "get, list"};
    if (called) {
        right.comment = "The pods of mirrors, for wharf logs and wharf exec. Which caller may, the host asks the "
                        "management cluster.";
    }
    rights_add_owners(table, called ? "get, list" : "get");
    rights_add(table, &right, "pods");
    right.comment = NULL;
    right.verbs = "get";
    if (wanted->logs)
        rights_add(table, &right, "pods/log");
    right.verbs = "create, get";
    if (wanted->exec)
        rights_add(table, &right, "pods/exec");
}

struct error *rights_worker(const struct rights_wanted *wanted, struct rights *out) {
    *out = (struct rights){0};
    struct rights_table table = {.rights = out, .wanted = wanted};
    add_kinds(&table, watched, false);
    add_kinds(&table, (struct right){.scope = RIGHT_WORK, .comment = "The mirrors.", .verbs = "create, patch, delete"},
              false);
    add_kueue_of_worker(&table);
    add_identity(&table);
    rights_add(&table,
               &(struct right){.scope = RIGHT_CLUSTER,
                               .comment = "What was rejected for the sake of a namespace or its quota is tried again "
                                          "when that changes.",
                               .group = "",
                               .verbs = "list, watch"},
               "namespaces, resourcequotas");
    if (wanted->features.create_namespaces)
        rights_add(&table,
                   &(struct right){
                       .scope = RIGHT_CLUSTER, .comment = "createNamespaces: true.", .group = "", .verbs = "create"},
                   "namespaces");
    if (wanted->features.pod_events)
        rights_add(
            &table,
            &(struct right){.scope = RIGHT_CLUSTER,
                            .comment = "What happens to the mirrors' pods, reported on the workload (podEvents).",
                            .group = "",
                            .verbs = "list, watch"},
            "events");
    if (wanted->features.capacity)
        rights_add(&table,
                   &(struct right){.scope = RIGHT_CLUSTER,
                                   .comment = "What is left of the nodes (placement.capacity).",
                                   .group = "",
                                   .verbs = "list, watch"},
                   "nodes, pods");
    add_pods(&table);
    if (wanted->features.fencing)
        rights_add(&table, &leases, "leases");
    rights_add(&table,
               &(struct right){.scope = RIGHT_OWN,
                               .comment = "The host renews its own token.",
                               .group = "",
                               .verbs = "create",
                               .name = wanted->account},
               "serviceaccounts/token");
    return finish(&table);
}

struct error *rights_guard(const struct rights_wanted *wanted, struct rights *out) {
    *out = (struct rights){0};
    struct rights_table table = {.rights = out, .wanted = wanted};
    add_kinds(&table, watched, false);
    add_kinds(&table,
              (struct right){.scope = RIGHT_WORK,
                             .comment = "Mirrors that are suspended or deleted when their host is lost.",
                             .verbs = "patch, delete"},
              false);
    struct right kept = leases;
    kept.verbs = "get, list, create, patch";
    rights_add(&table, &kept, "leases");
    return finish(&table);
}

struct error *rights_viewer(const struct rights_wanted *wanted, struct rights *out) {
    *out = (struct rights){0};
    struct rights_table table = {.rights = out, .wanted = wanted};
    add_kinds(&table, (struct right){.scope = RIGHT_CLUSTER, .verbs = "get, list"}, false);
    rights_add(&table, &(struct right){.scope = RIGHT_CLUSTER, .group = "", .verbs = "get"}, "pods/log");
    return finish(&table);
}
