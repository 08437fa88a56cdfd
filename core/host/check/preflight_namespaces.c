// SPDX-License-Identifier: Apache-2.0
// The names of namespaces in the workers (namespaces.map): which namespaces of the management cluster have none, and
// which ones there another host uses. After all other checks, since the default origin is the management cluster's uid.
#include "core/base/namespace_map.h"
#include "core/engine/decide/decide.h"
#include "core/engine/mirror/mirror.h"
#include "core/host/check/preflight_internal.h"
#include "core/kube/client/ask.h"

#define MIRRORS "labelSelector=wharf.dev%2Forigin&limit=500" // of a kind
#define TEXT_MAX ((size_t)4096)

static bool is_mapped(const struct visit *visit) {
    return !visit->management && visit->spec->settings.namespace_map;
}

bool visit_namespace(const struct visit *visit, const char *here, char out[NAMESPACE_SIZE]) {
    return namespace_there(is_mapped(visit) ? visit->spec->settings.namespace_map : NULL, visit->origin, here, out);
}

// By the rules for the namespaces of workloads; those that need labels permit all.
static bool is_wanted(const struct visit *visit, const char *name) {
    const struct namespaces_subject subject = {.name = name, .len = strlen(name)};
    return namespaces_judge(visit->preflight->config->engine.namespaces, &subject) != NAMESPACES_DENIED &&
           namespaces_judge(visit->spec->settings.namespaces, &subject) != NAMESPACES_DENIED;
}

static void check_names(struct visit *visit, const struct json *namespaces) {
    AUTO_BUFFER(reason, TEXT_MAX);
    size_t count = 0;
    for (const struct json *item = json_first(namespaces); item; item = json_next(item)) {
        char there[NAMESPACE_SIZE];
        const char *name = object_name(item);
        if (!is_wanted(visit, name) || visit_namespace(visit, name, there))
            continue;
        if (count++ == 0)
            namespace_describe_none(visit->spec->settings.namespace_map, visit->origin, name, &reason);
    }
    if (count == 1)
        visit_warn(visit, "no workload of this namespace is placed there: %s", reason.data ? reason.data : "");
    else if (count > 1)
        visit_warn(visit, "no workload of %zu namespaces is placed there, for example: %s", count,
                   reason.data ? reason.data : "");
}

// True: a problem was added. Two hosts with other names for their namespaces do not expect each other's objects.
static bool check_mirrors(struct visit *visit, const struct kind *kind) {
    const wharf_kind *abi = &kind->abi;
    __attribute__((cleanup(ask_cleanup))) struct response response = {.message = NULL};
    for (const struct json *item = visit_list(visit, abi, abi->versions[0], MIRRORS, true, &response); item;
         item = json_next(item)) {
        char here[NAMESPACE_SIZE];
        const char *there = object_namespace(item), *origin = object_label(item, MARK_ORIGIN);
        if (text_equal(origin, visit->origin) ||
            !namespace_here(visit->spec->settings.namespace_map, visit->origin, there, here) ||
            strcmp(here, there) == 0)
            continue;
        visit_warn(visit,
                   "namespace %s of this host's namespace %s has mirrors of origin %s too, such as %s %s: expected a "
                   "name with {origin} in namespaces.map",
                   there, here, origin ? origin : "", abi->kind, object_name(item));
        return true;
    }
    return false;
}

static bool open_client(struct visit *visit) {
    bool answers = visit->uid || visit->git_version;
    return answers && visit_open(visit);
}

static void check_worker(struct visit *visit, const struct json *namespaces) {
    const struct adapters *adapters = visit->preflight->adapters;
    check_names(visit, namespaces);
    if (!open_client(visit))
        return;
    visit_check_rights(visit);
    for (size_t i = 0; i < adapters->n_kinds && !check_mirrors(visit, adapters->kinds[i]); i++)
        continue;
    visit_close(visit);
}

// NULL: the host may not list namespaces, and none is checked.
static const struct json *list_namespaces(struct visit *management) {
    const struct json *namespaces = NULL;
    if (!open_client(management))
        return NULL;
    error_free(visit_namespaces(management, &namespaces));
    visit_close(management);
    return namespaces;
}

void visits_check_namespaces(struct visit *visits, size_t count) {
    const struct json *namespaces = NULL;
    bool listed = false;
    for (size_t i = 1; i < count; i++) {
        if (!is_mapped(&visits[i]) || !visits[i].origin)
            continue;
        if (!listed)
            namespaces = list_namespaces(visits);
        listed = true;
        check_worker(&visits[i], namespaces);
    }
}
