// SPDX-License-Identifier: Apache-2.0
#include "core/host/check/rights.h"

#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/config/dependencies.h"
#include "core/engine/kueue/kueue.h"
#include "core/host/check/rights_internal.h"
#include "core/host/startup/seal_source.h"

#define RESOURCE_LIST_MAX 65536

// When a rule applies.
enum {
    SHARES_KUEUE = 1 << 0, // a kind shares its field managedBy with MultiKueue
    LABELS = 1 << 1,
    CALLERS = 1 << 2,
    PROFILES = 1 << 3,
    SECRETS = 1 << 4,
    SEAL = 1 << 5,
    CREATES = 1 << 6,
    POD_EVENTS = 1 << 7,
    CAPACITY = 1 << 8,
    LOGS = 1 << 9,
    EXEC = 1 << 10,
    LOGS_OR_EXEC = 1 << 11,
    PODS_OF_EVENTS = 1 << 12, // pod Events or retryElsewhere, and neither logs nor exec
    FENCING = 1 << 13,
    ELECTION = 1 << 14,
    ORIGIN = 1 << 15,
    DEPENDENCIES = 1 << 16,
    WATCHES_ALL = 1 << 17, // dependencies.watch
    WATCHES_NAMES = 1 << 18,
    TENANTS = 1 << 19,
    LAST_WORDS = 1 << 20,
    LAST_LOGS = 1 << 21, // lastWords: logs, without tenants
    CAUSES = 1 << 22,    // retryElsewhere, without pod Events
    REPORTS = 1 << 23,   // fencing.reports
    RETRIES = 1 << 24    // retryElsewhere
};

enum subject {
    FIXED,
    KINDS,
    KINDS_AND_STATUS,
    STATUS_WITH_PROGRESS, // of the kinds whose mirrors go on where a former one was
    OWNERS,
    OWNED,
    CHILDREN, // of mirrors, with progress of their own
    CHILDREN_STATUS,
    REFERRED, // dependencies.copy and dependencies.check
    COPIED    // dependencies.copy
};            // of a rule: its own resources, those of the enabled kinds, or those of the configuration
enum named { ANY, KUBE_SYSTEM, SEAL_SECRET, WORKERS_MAP, LAST_WORDS_MAP, REPORT_MAP, ACCOUNT };

struct rule {
    unsigned roles, when; // when 0: always
    enum right_scope scope;
    const char *group, *resources, *verbs;
    const char *comment;
    enum named name;
    enum subject subject;
    const char *checked; // the verbs that `wharf check` asks for; NULL: none
    unsigned check_when; // as `when`, in addition
};

#define CORE ""
#define KUEUE "kueue.x-k8s.io"
#define LEASES "coordination.k8s.io", "leases"
#define MANAGEMENT RIGHTS_OF_MANAGEMENT
#define WORKER RIGHTS_OF_WORKER
#define GUARD_LEASES "The Leases of the host and of the guard (fencing). RBAC cannot limit create to a name."
#define OF_KINDS NULL, NULL
#define UNCHECKED NULL, 0
#define PLAIN ANY, FIXED, UNCHECKED

static const struct rule rules[] = {
    {MANAGEMENT | WORKER | RIGHTS_OF_GUARD, 0, RIGHT_CLUSTER, OF_KINDS, "get, list, watch",
     "The kinds of the enabled adapters.", ANY, KINDS, "get, list, watch", 0},
    {MANAGEMENT, 0, RIGHT_WORK, OF_KINDS, "patch",
     "Annotations and labels that record where a workload was placed, and its status.", ANY, KINDS_AND_STATUS, "patch",
     0},
    {MANAGEMENT, 0, RIGHT_WORK, OF_KINDS, "list",
     "Objects that a controller here makes for delegated workloads (ownedObjects).", ANY, OWNED, "list", 0},
    {WORKER, 0, RIGHT_WORK, OF_KINDS, "create, patch, delete", "The mirrors.", ANY, KINDS, "create, patch, delete", 0},
    {WORKER, 0, RIGHT_WORK, OF_KINDS, "patch",
     "The progress of former attempts, which a new mirror gets before it runs. Without: each attempt starts from "
     "nothing.",
     ANY, STATUS_WITH_PROGRESS, "patch", 0},
    {WORKER, 0, RIGHT_CLUSTER, OF_KINDS, "list",
     "Objects that a controller makes for mirrors: the progress that they get in a further attempt.", ANY, CHILDREN,
     "list", 0},
    {WORKER, 0, RIGHT_WORK, OF_KINDS, "patch", NULL, ANY, CHILDREN_STATUS, "patch", 0},
    {MANAGEMENT | WORKER, DEPENDENCIES, RIGHT_CLUSTER, OF_KINDS, "get, list, watch",
     "Objects that workloads refer to (dependencies).", ANY, REFERRED, "get, list, watch", WATCHES_ALL},
    {WORKER, DEPENDENCIES, RIGHT_WORK, OF_KINDS, "create, patch, delete", "Copies of such objects.", ANY, COPIED,
     "create, patch, delete", WATCHES_ALL},
    {WORKER, DEPENDENCIES, RIGHT_WORK, OF_KINDS, NULL, NULL, ANY, COPIED, "create", WATCHES_NAMES},
    {RIGHTS_OF_GUARD, 0, RIGHT_WORK, OF_KINDS, "patch, delete",
     "Mirrors that are suspended or deleted when their host is lost.", ANY, KINDS, UNCHECKED},
    {RIGHTS_OF_VIEWER, 0, RIGHT_CLUSTER, OF_KINDS, "get, list", NULL, ANY, KINDS, UNCHECKED},
    {RIGHTS_OF_VIEWER, 0, RIGHT_CLUSTER, CORE, "pods/log", "get", NULL, PLAIN},
    {MANAGEMENT, 0, RIGHT_CLUSTER, KUEUE, "workloads", "list, watch",
     "Whether Kueue has admitted a queued object, and why not.", ANY, FIXED, "list", SHARES_KUEUE},
    {MANAGEMENT, SHARES_KUEUE, RIGHT_CLUSTER, KUEUE, "admissionchecks", "list", "Whether MultiKueue dispatches it.",
     ANY, FIXED, "list", 0},
    {WORKER, 0, RIGHT_CLUSTER, KUEUE, "workloads", "list, watch",
     "Why a worker's Kueue queues a mirror, and suspension of the mirror when its workload is suspended.", PLAIN},
    {WORKER, 0, RIGHT_WORK, KUEUE, "workloads", "patch", NULL, PLAIN},
    {MANAGEMENT, 0, RIGHT_CLUSTER, "events.k8s.io", "events", "create, patch", "Events on workloads.", ANY, FIXED,
     "create, patch", 0},
    {MANAGEMENT, LAST_WORDS, RIGHT_CLUSTER, CORE, "configmaps", "list",
     "The namespaces with last words of failed workloads (lastWords).", LAST_WORDS_MAP, FIXED, "list", 0},
    {MANAGEMENT, LAST_WORDS, RIGHT_WORK, CORE, "configmaps", "get, create, patch, delete",
     "The last words of failed workloads (lastWords). Server-side apply creates, so the name limits create, too.",
     LAST_WORDS_MAP, FIXED, "get, create, patch, delete", 0},
    {WORKER, LAST_WORDS, RIGHT_WORK, CORE, "pods", NULL, NULL, ANY, FIXED, "get, list", 0},
    {WORKER, LAST_LOGS, RIGHT_WORK, CORE, "pods/log", NULL, NULL, ANY, FIXED, "get", 0},
    {WORKER, RETRIES, RIGHT_WORK, CORE, "pods", NULL, NULL, ANY, FIXED, "get, list", 0},
    {WORKER, RETRIES, RIGHT_CLUSTER, CORE, "events", NULL, NULL, ANY, FIXED, "list", 0},
    {MANAGEMENT | WORKER, 0, RIGHT_CLUSTER, CORE, "namespaces", "get",
     "Its uid identifies the cluster; reading it shows whether the cluster answers.", KUBE_SYSTEM, FIXED, "get",
     ORIGIN},
    {MANAGEMENT, LABELS, RIGHT_CLUSTER, CORE, "namespaces", "get, list, watch",
     "Labels of namespaces, by which placement selects (namespaceSelector).", ANY, FIXED, "list, watch", 0},
    {MANAGEMENT, TENANTS, RIGHT_CLUSTER, CORE, "namespaces", "get, list, watch",
     "Uids of namespaces, to which namespaces of workers consent (tenancy).", ANY, FIXED, "list, watch", 0},
    {WORKER, TENANTS, RIGHT_CLUSTER, CORE, "namespaces", "get, list, watch",
     "The consent of namespaces (tenancy), annotation wharf.dev/tenant.", ANY, FIXED, "list, watch", 0},
    {MANAGEMENT, CALLERS, RIGHT_CLUSTER, "authentication.k8s.io", "tokenreviews", "create",
     "Authentication and authorization of callers of the host's API.", PLAIN},
    {MANAGEMENT, CALLERS, RIGHT_CLUSTER, "authorization.k8s.io", "subjectaccessreviews", "create", NULL, PLAIN},
    {MANAGEMENT, CALLERS, RIGHT_CLUSTER, CORE, "events", "list", "Events for wharf explain.", PLAIN},
    {MANAGEMENT, PROFILES, RIGHT_CLUSTER, "multicluster.x-k8s.io", "clusterprofiles", "get, list, watch",
     "Workers from ClusterProfiles.", ANY, FIXED, "list, watch", 0},
    {MANAGEMENT, SECRETS, RIGHT_OWN, CORE, "secrets", "list, watch, patch",
     "Secrets with the kubeconfigs of workers (label wharf.dev/worker), in which the host renews tokens. RBAC cannot "
     "limit this to a label: have no other Secrets in the namespace.",
     ANY, FIXED, "list, watch, patch", 0},
    {MANAGEMENT, SEAL, RIGHT_SEAL, CORE, "secrets", "get",
     "The Secret with the key of seals, created if it is missing. RBAC cannot limit create to a name.", SEAL_SECRET,
     FIXED, "get", 0},
    {MANAGEMENT, SEAL, RIGHT_SEAL, CORE, "secrets", "create", NULL, PLAIN},
    {MANAGEMENT, 0, RIGHT_OWN, CORE, "configmaps", "get, list, watch, patch",
     "Cordons and drains of operators, and the identity of each worker. RBAC cannot limit create to a name.",
     WORKERS_MAP, FIXED, "get, list, watch, patch", 0},
    {MANAGEMENT, 0, RIGHT_OWN, CORE, "configmaps", "create", NULL, ANY, FIXED, "create", 0},
    {MANAGEMENT, REPORTS, RIGHT_OWN, CORE, "configmaps", "list, watch",
     "What guards of lost workers report (fencing.reports). RBAC cannot limit this to a label.", ANY, FIXED,
     "list, watch", 0},
    {RIGHTS_OF_REPORTER, 0, RIGHT_OWN, CORE, "configmaps", "create, patch",
     "What the mirrors in the worker have achieved, for their host. Server-side apply creates, so the name limits "
     "create, too.",
     REPORT_MAP, FIXED, UNCHECKED},
    {MANAGEMENT, 0, RIGHT_OWN, LEASES, "list, create, patch, delete",
     "Leases: which replica writes, and whether another host has this origin.", ANY, FIXED, "list, create, patch",
     ELECTION},
    {WORKER, 0, RIGHT_CLUSTER, CORE, "namespaces, resourcequotas", "list, watch",
     "Mirrors rejected because of a namespace or its quota are tried again after a change.", PLAIN},
    {WORKER, CREATES, RIGHT_CLUSTER, CORE, "namespaces", "create", "createNamespaces: true.", ANY, FIXED, "create", 0},
    {WORKER, POD_EVENTS, RIGHT_CLUSTER, CORE, "events", "list, watch",
     "Events of the mirrors' pods, reported on the workload (podEvents).", PLAIN},
    {WORKER, CAUSES, RIGHT_CLUSTER, CORE, "events", "list", "Why a mirror does not start (placement.retryElsewhere).",
     PLAIN},
    {WORKER, CAPACITY, RIGHT_CLUSTER, CORE, "nodes, pods", "list, watch",
     "Free capacity of the nodes (placement.capacity).", ANY, FIXED, "list, watch", 0},
    {WORKER, LOGS_OR_EXEC, RIGHT_CLUSTER, OF_KINDS, "get, list", NULL, ANY, OWNERS, UNCHECKED},
    {WORKER, PODS_OF_EVENTS, RIGHT_CLUSTER, OF_KINDS, "get", NULL, ANY, OWNERS, UNCHECKED},
    {WORKER, LOGS_OR_EXEC, RIGHT_WORK, CORE, "pods", "get, list",
     "The pods of mirrors, for wharf logs and wharf exec. Which caller may, the host asks the management cluster.",
     PLAIN},
    {WORKER, PODS_OF_EVENTS, RIGHT_WORK, CORE, "pods", "get, list", NULL, PLAIN},
    {WORKER, LOGS, RIGHT_WORK, CORE, "pods/log", "get", NULL, PLAIN},
    {WORKER, EXEC, RIGHT_WORK, CORE, "pods/exec", "create, get", NULL, PLAIN},
    {WORKER, FENCING, RIGHT_OWN, LEASES, "get, create, patch", GUARD_LEASES, ANY, FIXED, "get, create, patch", 0},
    {RIGHTS_OF_GUARD, 0, RIGHT_OWN, LEASES, "get, list, create, patch", GUARD_LEASES, PLAIN},
    {WORKER, 0, RIGHT_OWN, CORE, "serviceaccounts/token", "create", "The host renews its own token.", ACCOUNT, FIXED,
     UNCHECKED},
};

static const char *const scope_names[] = {[RIGHT_CLUSTER] = "cluster",
                                          [RIGHT_WORK] = "work",
                                          [RIGHT_OWN] = "own",
                                          [RIGHT_SEAL] = "seal",
                                          [RIGHT_TENANT] = "tenant"};

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
                                    .pod_causes = config_retries_elsewhere(config),
                                    .capacity = config_wants_any_capacity(config),
                                    .create_namespaces = config->engine.create_namespaces,
                                    .fencing = config->engine.fencing.enabled,
                                    .reports = config->engine.fencing.enabled && config->fencing_reports,
                                    .tenants = config->engine.tenancy.impersonate,
                                    .last_words = config_last_words(config),
                                    .dependencies = config->engine.dependencies};
}

struct rights_wanted rights_wanted_of(const struct config *config, const struct adapters *adapters) {
    return (struct rights_wanted){.kinds = (const struct kind *const *)adapters->kinds,
                                  .n_kinds = adapters->n_kinds,
                                  .seal_name = seal_secret_name(config),
                                  .worker_secrets = config->workers_from.secrets,
                                  .cluster_profiles = config->workers_from.cluster_profiles,
                                  .namespace_labels = config_needs_namespaces(config),
                                  .callers = config_serves(&config->serve),
                                  .features = rights_features_of(config)};
}

void rights_free(struct rights *rights) {
    for (size_t i = 0; i < rights->count; i++)
        free(rights->list[i].resources);
    free(rights->list);
    *rights = (struct rights){0};
}

void rights_add(struct rights_table *table, const struct right *right, const char *resources) {
    struct right *added = array_next(&table->rights->list, table->rights->count, sizeof(*added));
    const char *names = right->names ? right->names : "";
    char *block = added ? text_format("%s%c%s%c%s", resources, 0, right->group, 0, names) : NULL;
    table->no_memory |= !block;
    if (!block)
        return;
    *added = *right;
    added->resources = block;
    added->group = block + strlen(block) + 1;
    added->names = right->names ? added->group + strlen(added->group) + 1 : NULL;
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

static bool gets_progress(const struct kind *kind) {
    return kind->abi.progress && !kind->starts_anew;
}

// The kinds of one API group: "rayjobs, rayclusters"; with their status subresources, if any, or only these.
static void add_group(struct rights_table *table, const char *group, struct right right, enum subject subject) {
    const struct rights_wanted *wanted = table->wanted;
    AUTO_BUFFER(names, RESOURCE_LIST_MAX);
    for (size_t i = 0; i < wanted->n_kinds; i++) {
        const wharf_kind *kind = &wanted->kinds[i]->abi;
        if (strcmp(kind->group, group) != 0)
            continue;
        if (subject != STATUS_WITH_PROGRESS)
            append_name(&names, kind->plural, "");
        bool has_status = (kind->flags & WHARF_KIND_NO_STATUS_SUBRESOURCE) == 0;
        if (subject == STATUS_WITH_PROGRESS ? gets_progress(wanted->kinds[i])
                                            : has_status && subject == KINDS_AND_STATUS)
            append_name(&names, kind->plural, "/status");
    }
    right.group = group;
    if (names.failed)
        table->no_memory = true;
    else if (names.len > 0)
        rights_add(table, &right, names.data);
}

// A right for each API group of the kinds.
static void add_kinds(struct rights_table *table, struct right right, enum subject subject) {
    const struct rights_wanted *wanted = table->wanted;
    for (size_t i = 0; i < wanted->n_kinds; i++) {
        size_t before = table->rights->count;
        if (is_first_of_group(wanted, i))
            add_group(table, wanted->kinds[i]->abi.group, right, subject);
        if (table->rights->count > before)
            right.comment = NULL;
    }
}

// Owners ----------------------------------------------------------------------------------------------------------

// Objects that controllers create between an object and its pods: owner references lead to the pods (pods.h,
// owner.h). All pods of other kinds belong to the object itself, or the host cannot read an object in between.
#define BETWEEN_KINDS 5
static const struct {
    const char *group, *resource;
    const char *kinds[BETWEEN_KINDS]; // plural.group
} between[] = {
    {"batch",
     "jobs",
     {"jobsets.jobset.x-k8s.io", "trainjobs.trainer.kubeflow.org", "mpijobs.kubeflow.org", "rayjobs.ray.io",
      "appwrappers.workload.codeflare.dev"}},
    {"jobset.x-k8s.io", "jobsets", {"trainjobs.trainer.kubeflow.org"}},
    {"ray.io", "rayclusters", {"rayjobs.ray.io", "rayservices.ray.io"}},
    {"tekton.dev", "taskruns", {"pipelineruns.tekton.dev"}},
};

#define N_BETWEEN (sizeof(between) / sizeof(between[0]))

// Whether some kind with such objects is enabled. A kind that is itself enabled is readable anyway.
static bool is_needed(const struct rights_wanted *wanted, size_t index) {
    bool needed = false;
    for (size_t i = 0; i < wanted->n_kinds; i++) {
        const wharf_kind *abi = &wanted->kinds[i]->abi;
        if (strcmp(abi->group, between[index].group) == 0 && strcmp(abi->plural, between[index].resource) == 0)
            return false;
        for (size_t k = 0; k < BETWEEN_KINDS && between[index].kinds[k]; k++)
            needed |= strcmp(wanted->kinds[i]->plural_group, between[index].kinds[k]) == 0;
    }
    return needed;
}

static void add_owners(struct rights_table *table, const char *verbs) {
    const char *comment = "Objects between mirrors and their pods, which are found by owner references.";
    for (size_t i = 0; i < N_BETWEEN; i++) {
        if (!is_needed(table->wanted, i))
            continue;
        rights_add(
            table,
            &(struct right){.scope = RIGHT_CLUSTER, .comment = comment, .group = between[i].group, .verbs = verbs},
            between[i].resource);
        comment = NULL;
    }
}

static void add_owned(struct rights_table *table, struct right right) {
    const struct rights_wanted *wanted = table->wanted;
    for (size_t i = 0; i < wanted->n_kinds; i++) {
        const struct owned_objects *owned = &wanted->kinds[i]->owned;
        bool known = !owned->plural;
        for (size_t k = 0; k < i && !known; k++)
            known = text_equal(wanted->kinds[k]->owned.plural, owned->plural) &&
                    text_equal(wanted->kinds[k]->owned.group, owned->group);
        right.group = owned->group;
        if (!known)
            rights_add(table, &right, owned->plural);
    }
}

static bool is_kind(const struct kind *kind, const wharf_child *child) {
    return strcmp(kind->abi.plural, child->plural) == 0 && strcmp(kind->abi.group, child->group) == 0;
}

static bool has_child(const struct kind *kind, const wharf_child *wanted, const wharf_child *end) {
    for (const wharf_child *c = kind->abi.children; c && c != end && c->plural; c++)
        if (strcmp(c->plural, wanted->plural) == 0 && strcmp(c->group, wanted->group) == 0)
            return true;
    return false;
}

// Not again where an earlier kind has the child, or a rule for kinds gives the right.
static bool is_known_child(const struct rights_wanted *wanted, size_t of, const wharf_child *child, bool reads) {
    if (has_child(wanted->kinds[of], child, child))
        return true;
    for (size_t k = 0; k < wanted->n_kinds; k++)
        if ((k < of && !wanted->kinds[k]->starts_anew && has_child(wanted->kinds[k], child, NULL)) ||
            (is_kind(wanted->kinds[k], child) && (reads || gets_progress(wanted->kinds[k]))))
            return true;
    return false;
}

static void add_children(struct rights_table *table, struct right right, bool status) {
    const struct rights_wanted *wanted = table->wanted;
    for (size_t i = 0; i < wanted->n_kinds; i++) {
        const struct kind *kind = wanted->kinds[i];
        for (const wharf_child *c = kind->starts_anew ? NULL : kind->abi.children; c && c->plural; c++) {
            if (is_known_child(wanted, i, c, !status))
                continue;
            AUTO_TEXT resource = text_format("%s%s", c->plural, status ? "/status" : "");
            right.group = c->group;
            table->no_memory |= !resource;
            rights_add(table, &right, resource ? resource : "");
            right.comment = NULL;
        }
    }
}

// Tables ----------------------------------------------------------------------------------------------------------

static bool shares_with_kueue(const struct rights_wanted *wanted) {
    for (size_t i = 0; i < wanted->n_kinds; i++)
        if (kueue_shares(wanted->kinds[i]->managed_by))
            return true;
    return false;
}

static unsigned conditions_of(const struct rights_wanted *wanted) {
    bool called = wanted->logs || wanted->exec;
    const struct rights_features *features = &wanted->features;
    return (shares_with_kueue(wanted) ? SHARES_KUEUE : 0) | (wanted->namespace_labels ? LABELS : 0) |
           (wanted->callers ? CALLERS : 0) | (wanted->cluster_profiles ? PROFILES : 0) |
           (wanted->worker_secrets ? SECRETS : 0) | (wanted->seal ? SEAL : 0) |
           (features->create_namespaces ? CREATES : 0) | (features->pod_events ? POD_EVENTS : 0) |
           (features->last_words != LAST_WORDS_NONE ? LAST_WORDS : 0) |
           (features->last_words == LAST_WORDS_LOGS && !features->tenants ? LAST_LOGS : 0) |
           (features->capacity ? CAPACITY : 0) | (features->tenants ? TENANTS : 0) | (wanted->logs ? LOGS : 0) |
           (wanted->exec ? EXEC : 0) | (called ? LOGS_OR_EXEC : 0) |
           ((features->pod_events || features->pod_causes) && !called ? PODS_OF_EVENTS : 0) |
           (features->pod_causes ? RETRIES : 0) | (features->pod_causes && !features->pod_events ? CAUSES : 0) |
           (dependency_options_any(&features->dependencies) ? DEPENDENCIES : 0) |
           (features->dependencies.by_name ? WATCHES_NAMES : WATCHES_ALL) | (features->fencing ? FENCING : 0) |
           (features->reports ? REPORTS : 0) | (wanted->election ? ELECTION : 0) | (wanted->origin ? ORIGIN : 0);
}

// With tenancy, the tenants write, and read logs; the host lists pods.
static enum right_scope scope_of(const struct rights_table *table, const struct rule *rule, const char *verbs) {
    bool reads = rule->resources && !strchr(rule->resources, '/') && text_has_prefix(verbs, "get");
    bool acts = (rule->roles & WORKER) && rule->scope == RIGHT_WORK && !reads;
    return acts && table->wanted->features.tenants ? RIGHT_TENANT : rule->scope;
}

static const char *without_of(const struct rule *rule) {
    if (rule->subject == STATUS_WITH_PROGRESS || rule->subject == CHILDREN || rule->subject == CHILDREN_STATUS)
        return "further attempts of workloads start from nothing there, until wharf join or wharf rbac grants it "
               "(docs/lifecycle.md)";
    if (rule->when == RETRIES)
        return "placement.retryElsewhere has no effect there, failures are final (docs/placement.md)";
    if (rule->when == LAST_WORDS)
        return "last words of failed workloads are not kept (lastWords in docs/logs.md)";
    return rule->when == LAST_LOGS ? "last words of failed workloads are kept without logs (lastWords in docs/logs.md)"
                                   : NULL;
}

static void add_rule(struct rights_table *table, const struct rule *rule, const char *verbs) {
    const char *const names[] = {[ANY] = NULL,
                                 [KUBE_SYSTEM] = "kube-system",
                                 [SEAL_SECRET] = table->wanted->seal_name,
                                 [WORKERS_MAP] = RIGHTS_WORKERS,
                                 [LAST_WORDS_MAP] = RIGHTS_LAST_WORDS,
                                 [REPORT_MAP] = table->wanted->report_name,
                                 [ACCOUNT] = table->wanted->account};
    const struct right right = {.scope = scope_of(table, rule, verbs),
                                .comment = rule->comment,
                                .group = rule->group,
                                .verbs = verbs,
                                .names = names[rule->name],
                                .without = without_of(rule)};
    if (rule->subject == REFERRED || rule->subject == COPIED)
        rights_add_dependencies(table, &right, rule->subject == COPIED);
    else if (rule->subject == OWNERS)
        add_owners(table, verbs);
    else if (rule->subject == OWNED)
        add_owned(table, right);
    else if (rule->subject == CHILDREN || rule->subject == CHILDREN_STATUS)
        add_children(table, right, rule->subject == CHILDREN_STATUS);
    else if (rule->subject == FIXED)
        rights_add(table, &right, rule->resources);
    else
        add_kinds(table, right, rule->subject);
}

static struct error *finish_table(struct rights_table *table) {
    if (!table->no_memory)
        return NULL;
    rights_free(table->rights);
    return error_no_memory();
}

struct error *rights_add_impersonation(struct rights *rights, const char *users) {
    struct rights_table table = {.rights = rights};
    struct right right = {.scope = RIGHT_CLUSTER,
                          .comment = "The host acts as the tenants, and as nobody else (tenancy).",
                          .group = CORE,
                          .verbs = "impersonate",
                          .names = users};
    rights_add(&table, &right, "users");
    right.comment = NULL;
    right.names = TENANT_GROUP;
    rights_add(&table, &right, "groups");
    return finish_table(&table);
}

struct error *rights_copy(const struct rights *from, struct rights *to) {
    *to = (struct rights){0};
    struct rights_table table = {.rights = to};
    for (size_t i = 0; i < from->count; i++)
        rights_add(&table, &from->list[i], from->list[i].resources);
    return finish_table(&table);
}

struct error *rights_make(unsigned roles, const struct rights_wanted *wanted, struct rights *out) {
    *out = (struct rights){0};
    struct rights_table table = {.rights = out, .wanted = wanted};
    unsigned conditions = conditions_of(wanted);
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        const struct rule *rule = &rules[i];
        const char *verbs = wanted->checked ? rule->checked : rule->verbs;
        bool applies = (rule->roles & roles) && (rule->when == 0 || (rule->when & conditions));
        if (applies && verbs && (!wanted->checked || rule->check_when == 0 || (rule->check_when & conditions)))
            add_rule(&table, rule, verbs);
    }
    return finish_table(&table);
}

// With each name, or once without one.
static struct error *each_name(char *const *names, struct access_review question, right_visit visit, void *ctx) {
    do {
        question.name = *names;
        TRY(visit(ctx, &question));
    } while (*names && *++names);
    return NULL;
}

struct error *right_each(const struct right *right, const char *namespace_, right_visit visit, void *ctx) {
    AUTO_WORDS resources = text_words(right->resources, ',');
    AUTO_WORDS verbs = text_words(right->verbs, ',');
    AUTO_WORDS names = text_words(right->names, ',');
    if (!resources || !verbs || !names)
        return error_no_memory();
    for (char **at = resources; *at; at++) {
        char *subresource = *at, *resource = strsep(&subresource, "/");
        for (char **verb = verbs; *verb; verb++) {
            const struct access_review question = {right->group, resource, subresource, *verb, NULL, namespace_};
            TRY(each_name(names, question, visit, ctx));
        }
    }
    return NULL;
}
