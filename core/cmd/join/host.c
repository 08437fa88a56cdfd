// SPDX-License-Identifier: Apache-2.0
// The host's rights in the worker: needed by the running host, without a configuration; and checked with its new
// credentials. The state of the worker at the host.
#include "core/cmd/join/join.h"

#include <stdio.h>

#define QUERY_MAX 1024
#define LOST_MAX 4096

void join_needed_clear(struct join_needed *needed) {
    rights_free(&needed->rights);
    json_free(needed->document);
    *needed = (struct join_needed){.document = NULL};
}

// The word becomes part of a role.
static bool is_plain(const char *text) {
    return strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789.-:/") == strlen(text);
}

// Joins the texts of an array into one that lives as long as the document; NULL: no memory, or not plain.
static const char *words(struct json *item, const char *key) {
    AUTO_BUFFER(text, RBAC_TEXT_MAX);
    for (const struct json *w = json_first(json_get(item, key)); w; w = json_next(w)) {
        if (!is_plain(json_string_or(w, "*")))
            return NULL;
        buffer_printf(&text, "%s%s", text.len > 0 ? ", " : "", json_string(w));
    }
    if (text.len == 0 || text.failed || !json_set(item, key, json_new_string(text.data)))
        return NULL;
    return json_string(json_get(item, key));
}

// Whether this right leads to any other right. The host needs no right of these groups except for its own token.
static bool is_dangerous(const struct right *right, const char *account) {
    static const char *const groups[] = {"rbac.authorization.k8s.io", "certificates.k8s.io", "apiextensions.k8s.io",
                                         "admissionregistration.k8s.io"};
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (strcmp(right->group, groups[i]) == 0)
            return true;
    if (strstr(right->verbs, "impersonate")) // granted here, and for the tenants' names only
        return true;
    bool own_token = strcmp(right->resources, "serviceaccounts/token") == 0 && text_equal(right->names, account);
    return *right->group == '\0' && !own_token &&
           (strstr(right->resources, "secrets") || strstr(right->resources, "serviceaccounts"));
}

static struct error *read_right(struct json *item, const char *account, struct rights *rights) {
    struct right *right = array_next(&rights->list, rights->count, sizeof *right);
    if (!right)
        return error_no_memory();
    const char *resources = words(item, "resources");
    *right = (struct right){.group = json_string_or(json_get(item, "group"), ""),
                            .resources = resources ? strdup(resources) : NULL,
                            .verbs = words(item, "verbs"),
                            .names = json_string(json_get(item, "name"))};
    if (right->resources && right->verbs && is_plain(right->group) && (!right->names || is_plain(right->names)) &&
        right_scope_read(json_string_or(json_get(item, "scope"), ""), &right->scope) && !is_dangerous(right, account)) {
        rights->count++;
        return NULL;
    }
    free(right->resources);
    if (resources && *right->group == '\0' && !strchr(resources, '/'))
        return error_new(ERROR_USAGE,
                         "the host asks for rights on %s, as with dependencies in its configuration; they are only "
                         "granted with that configuration: give --config",
                         resources);
    return error_new(ERROR_INVALID, "its /api/v1/rights has a right that no host needs: %.40s of %.80s",
                     right->verbs ? right->verbs : "?", resources ? resources : "?");
}

// `logs`: with the rights for wharf logs. A host without the parameter `exec` always reports its right.
static struct error *read_needed(const struct join *join, struct remote *host, bool logs, struct join_needed *needed) {
    AUTO_BUFFER(path, QUERY_MAX);
    buffer_text(&path, "/api/v1/rights");
    remote_parameter(&path, "account", join->rights.account);
    remote_parameter(&path, "logs", logs ? "true" : "false");
    remote_parameter(&path, "exec", join->rights.with_exec ? "true" : "false");
    TRY(path.failed ? error_no_memory() : remote_get(host, path.data, &needed->document));
    for (struct json *i = json_first(json_get(needed->document, "items")); i; i = json_next(i))
        if (join->rights.with_exec || !text_equal(json_string(json_at(json_get(i, "resources"), 0)), "pods/exec"))
            TRY(read_right(i, join->rights.account, &needed->rights));
    if (needed->rights.count == 0)
        return error_new(ERROR_INVALID, "its /api/v1/rights is empty");
    return NULL;
}

struct error *join_read_needed(struct join *join) {
    struct call *call = join->call;
    AUTO_ERROR error = join_open_host(call, &join->setup, join->namespace_);
    if (!error)
        error = read_needed(join, call->remote, join->rights.with_logs, &join->needed);
    if (!error && !join->rights.with_logs)
        error = read_needed(join, call->remote, true, &join->needed_with_logs);
    if (!error) {
        join->rights.given = &join->needed.rights;
        return NULL;
    }
    if (error->code == ERROR_USAGE)
        return TAKE(error);
    fprintf(stderr,
            "adapters: job, as no configuration is given and no host answers (%s); --config or --adapters-enabled "
            "names others\n",
            error_text(error));
    return NULL;
}

static bool is_granted(const struct rights *rights, const char *group, const char *resource, const char *verb,
                       const char *name) {
    for (size_t i = 0; i < rights->count; i++) {
        const struct right *right = &rights->list[i];
        if (strcmp(right->group, group) == 0 && text_list_has(right->resources, resource) &&
            text_list_has(right->verbs, verb) && (!right->names || (name && text_list_has(right->names, name))))
            return true;
    }
    return false;
}

// "; list, watch of nodes": the verbs of a rule on one resource, or one object, that are no longer granted.
static void put_lost(const struct json *rule, const char *group, const char *resource, const char *name,
                     const struct rights *rights, struct buffer *out) {
    size_t lost = 0;
    for (const struct json *v = json_first(json_get(rule, "verbs")); v; v = json_next(v)) {
        const char *verb = json_string_or(v, "");
        if (is_granted(rights, group, resource, verb, name))
            continue;
        buffer_printf(out, "%s%s", lost > 0 ? ", " : out->len > 0 ? "; " : "", verb);
        lost++;
    }
    if (lost > 0)
        buffer_printf(out, " of %s%s%s%s%s", resource, *group ? "." : "", group, name ? " " : "", name ? name : "");
}

static void put_lost_of_role(const struct json *role, const struct rights *rights, struct buffer *out) {
    for (const struct json *rule = json_first(json_get(role, "rules")); rule; rule = json_next(rule))
        for (const struct json *g = json_first(json_get(rule, "apiGroups")); g; g = json_next(g))
            for (const struct json *r = json_first(json_get(rule, "resources")); r; r = json_next(r)) {
                const struct json *name = json_first(json_get(rule, "resourceNames"));
                do
                    put_lost(rule, json_string_or(g, ""), json_string_or(r, ""), json_string(name), rights, out);
                while ((name = json_next(name)));
            }
}

// The user has asked for the limits of --namespaced and --without-logs.
static struct error *rights_without_limits(const struct join *join, struct rights *out) {
    struct rbac_options options = join->rights; // with its tenants
    options.with_logs = true;
    options.objects = NULL;
    if (options.given && !join->rights.with_logs)
        options.given = &join->needed_with_logs.rights;
    return rbac_rights(&options, &join->setup, out);
}

struct error *join_check_lost(struct join *join, bool agreed) {
    char name[RBAC_NAME_MAX];
    AUTO_JSON role = NULL;
    AUTO_BUFFER(lost, LOST_MAX);
    __attribute__((cleanup(rights_free))) struct rights rights = {.count = 0};
    rbac_role_name(&join->rights, RIGHT_CLUSTER, name);
    TRY(cluster_get_object(&join->worker, "ClusterRole", NULL, name, &role));
    TRY(rights_without_limits(join, &rights));
    put_lost_of_role(role, &rights, &lost);
    if (lost.len == 0)
        return NULL;
    if (agreed) {
        printf("%s: ClusterRole %s loses %s\n", join->worker.role, name, lost.data);
        return NULL;
    }
    return error_new(ERROR_REFUSED,
                     "%s: ClusterRole %s would lose %s: give the host's configuration with --config%s, or "
                     "--reduce-rights if the host no longer needs them",
                     join->worker.role, name, lost.data,
                     strstr(lost.data, "pods/exec") ? ", or --exec for wharf exec" : "");
}

#define STATE_NS (200 * CLOCK_MS)
#define START_NS (5 * CLOCK_SECOND) // for a host with --config that has just been started

static bool is_local(const struct setup *setup) {
    return setup->from_file && config_serves(&setup->config->serve);
}

struct error *join_open_host(struct call *call, const struct setup *setup, const char *namespace_) {
    bool local = is_local(setup);
    const char *variable = setup->named ? NULL : getenv("WHARF_SERVER");
    const char *own = flags_value(call, "management-kubeconfig");
    struct remote_options options = {.server = variable && *variable != '\0' ? variable : NULL,
                                     .host_namespace = namespace_};
    if (local)
        options.config = setup->config->path;
    else {
        options.kubeconfig = own ? own : flags_value(call, "kubeconfig");
        options.context = flags_value(call, "management-context");
    }
    return call->remote ? NULL : remote_open(&options, &call->remote);
}

static struct error *not_ready(const struct join *join, const struct json *worker) {
    if (!worker)
        return error_new(ERROR_NOT_FOUND,
                         "the host does not list worker %s: its configuration needs workersFrom: {secrets: true}, and "
                         "its namespace must be %s",
                         join->name, join->namespace_);
    const char *reason = json_string_or(json_get(worker, "reason"), "");
    return error_new(ERROR_REFUSED, "the host shows worker %s as %s%s%s", join->name,
                     json_string_or(json_get(worker, "state"), "unknown"), *reason != '\0' ? ": " : "", reason);
}

struct error *join_await_ready(const struct join *join) {
    int64_t now_ns = clock_now().mono_ns, until_ns = now_ns + flags_duration(flags_value(join->call, "timeout"));
    int64_t started_ns = is_local(&join->setup) ? clock_earlier(until_ns, now_ns + START_NS) : now_ns;
    struct error *error = join_open_host(join->call, &join->setup, join->namespace_);
    for (bool reached = false;;) {
        AUTO_JSON worker = NULL;
        if (!error)
            error = remote_worker(join->call->remote, join->name, &worker, NULL);
        reached |= !error;
        if (text_equal(json_string(json_get(worker, "state")), "Ready")) {
            printf("host: worker %s is Ready\n", join->name);
            return NULL;
        }
        if (join->call->remote && remote_wait(reached ? until_ns : started_ns, STATE_NS)) {
            error_free(TAKE(error));
            continue;
        }
        if (reached)
            return error ? error : not_ready(join, worker);
        printf("no host answers yet (%s): with workersFrom: {secrets: true} it uses worker %s once it runs\n",
               error_text(error), join->name);
        error_free(error);
        return NULL;
    }
}

// The new credentials ---------------------------------------------------------------------------------------------

#define AUTHORIZER_NS (5 * CLOCK_SECOND) // until granted rights must be in effect
#define VERSIONS_MAX 16
#define AGAIN_NS (50 * CLOCK_MS)

static struct error *denied(const char *tenant, const struct access_review *question) {
    AUTO_TEXT text = access_review_text(question);
    return error_new(ERROR_REFUSED, "%s%s may not %s", tenant ? "user " TENANT_USER_PREFIX : "the host",
                     tenant ? tenant : "", text ? text : question->verb);
}

static struct error *review_once(struct cluster *cluster, const char *tenant, const struct access_review *question,
                                 bool *allowed) {
    AUTO_JSON review = NULL;
    AUTO_BUFFER(body, ACCESS_REVIEW_MAX);
    if (!access_review_write(question, &body))
        return error_no_memory();
    const struct http_request request = {.method = HTTP_POST,
                                         .path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                                         .content_type = "application/json",
                                         .tenant = tenant,
                                         .body = body.data};
    TRY(cluster_send(cluster, &request, &review));
    *allowed = json_bool(json_path(review, "status", "allowed", NULL), false);
    return NULL;
}

struct checking {
    struct cluster *cluster;
    const char *tenant; // whose rights; NULL: the host's
    int64_t until_ns;   // monotonic
    size_t count;
};

// An authorizer applies new roles after a moment.
static struct error *check_one(void *ctx, const struct access_review *question) {
    struct checking *checking = ctx;
    bool allowed = false;
    checking->count++;
    for (;;) {
        TRY(review_once(checking->cluster, checking->tenant, question, &allowed));
        if (allowed)
            return NULL;
        if (!remote_wait(checking->until_ns, AGAIN_NS))
            return denied(checking->tenant, question);
    }
}

// The rights of the tenants, as the tenants.
static struct error *check_tenants(const struct join *join, struct checking *checking, const struct right *right) {
    struct rbac_tenant tenant = {.index = 0};
    struct error *error = NULL;
    while (!error && rbac_next_tenant(&join->rights, join->setup.config, &tenant)) {
        checking->tenant = tenant.name;
        error = right_each(right, tenant.there, check_one, checking);
    }
    checking->tenant = NULL;
    return error;
}

static struct error *check_scope(const struct join *join, struct checking *checking, const struct right *right) {
    if (right->scope == RIGHT_OWN)
        return right_each(right, join->namespace_, check_one, checking);
    if (right->scope != RIGHT_WORK || join->rights.n_namespaces == 0)
        return right_each(right, NULL, check_one, checking);
    for (size_t i = 0; i < join->rights.n_namespaces; i++)
        TRY(right_each(right, join->rights.namespaces[i], check_one, checking));
    return NULL;
}

// A kind that the worker lacks is no error: other workers may serve the kind.
static struct error *report_kind(struct cluster *cluster, const char *group, const char *plural,
                                 const char *const *versions) {
    bool served = false;
    TRY(cluster_serves(cluster, group, plural, versions, &served));
    if (!served)
        printf("%s: does not serve %s%s%s: none of them will be placed there\n", cluster->role, plural,
               *group ? "." : "", group);
    return NULL;
}

// The kinds of the host, which may not be enabled here.
static struct error *report_kinds_of_host(struct cluster *cluster, const struct json *kinds) {
    for (const struct json *kind = json_first(kinds); kind; kind = json_next(kind)) {
        const char *versions[VERSIONS_MAX + 1] = {NULL};
        const struct json *version = json_first(json_get(kind, "versions"));
        for (size_t i = 0; version && i < VERSIONS_MAX; version = json_next(version))
            versions[i++] = json_string_or(version, "");
        TRY(report_kind(cluster, json_string_or(json_get(kind, "group"), ""),
                        json_string_or(json_get(kind, "resource"), ""), versions));
    }
    return NULL;
}

// An API server accepts a new token after a moment.
static struct error *open_as_host(struct join *join, int64_t until_ns, struct cluster *cluster) {
    AUTO_BUFFER(kubeconfig, JOIN_KUBECONFIG_MAX);
    TRY(join_kubeconfig(join, NULL, join->token, &kubeconfig));
    for (;;) {
        struct endpoint *endpoint = NULL;
        struct error *error =
            kubeconfig_parse(kubeconfig.data, kubeconfig.len, "the new credentials", NULL, NULL, &endpoint);
        error = cluster_open(cluster, join->worker.role, error, &endpoint);
        if (!error || error->code != ERROR_REFUSED || !remote_wait(until_ns, AGAIN_NS))
            return error;
        error_free(error);
        cluster_close(cluster);
    }
}

struct error *join_check_rights(struct join *join) {
    __attribute__((cleanup(cluster_close))) struct cluster cluster = {.role = NULL};
    __attribute__((cleanup(rights_free))) struct rights rights = {.count = 0};
    struct checking checking = {.cluster = &cluster, .until_ns = clock_now().mono_ns + AUTHORIZER_NS};
    const struct adapters *adapters = join->setup.adapters;
    TRY(open_as_host(join, checking.until_ns, &cluster));
    TRY(rbac_rights(&join->rights, &join->setup, &rights));
    for (size_t i = 0; i < rights.count; i++)
        if (rights.list[i].scope != RIGHT_TENANT)
            TRY(error_wrap(check_scope(join, &checking, &rights.list[i]), "%s", join->worker.role));
    for (size_t i = 0; i < rights.count; i++) // with the right to act as the tenants
        if (rights.list[i].scope == RIGHT_TENANT)
            TRY(error_wrap(check_tenants(join, &checking, &rights.list[i]), "%s", join->worker.role));
    if (join->rights.given)
        TRY(report_kinds_of_host(&cluster, json_get(join->needed.document, "kinds")));
    for (size_t i = 0; !join->rights.given && i < adapters->n_kinds; i++) {
        const wharf_kind *kind = &adapters->kinds[i]->abi;
        TRY(report_kind(&cluster, kind->group, kind->plural, kind->versions));
    }
    printf("%s: the host can connect and has all %zu rights that it needs\n", cluster.role, checking.count);
    return NULL;
}
