// SPDX-License-Identifier: Apache-2.0
// `wharf rbac`: the permissions that the enabled adapters need, to be applied with kubectl.
#include "core/cmd/rbac/rbac.h"

#include "core/adapter/references.h"
#include "core/config/dependencies.h"
#include "core/engine/fence/guard_report.h"
#include "core/host/startup/seal_source.h"
#include "core/json/yaml.h"
#include "core/kube/transport/tenant.h"

#define API "rbac.authorization.k8s.io"

void rbac_options_clear(struct rbac_options *options) {
    free(options->words);
    options->words = NULL;
    options->n_namespaces = 0;
}

struct error *rbac_read_namespaces(const char *text, struct rbac_options *options) {
    options->words = text_words(text, ',');
    for (char **word = options->words; word && *word; word++) {
        if (options->n_namespaces == RBAC_NAMESPACES_MAX)
            return error_new(ERROR_USAGE, "--namespaced: found more than %d namespaces", RBAC_NAMESPACES_MAX);
        char *there = *word, *tenant = strsep(&there, "=");
        there = there ? there : tenant;
        if (!text_is_dns_label(there) || !text_is_dns_label(tenant))
            return error_new(ERROR_USAGE, "--namespaced: found \"%s\", expected names of namespaces like a,b", text);
        options->tenants[options->n_namespaces] = tenant;
        options->namespaces[options->n_namespaces++] = there;
    }
    return options->words ? NULL : error_no_memory();
}

static struct error *check_object(const struct dependency_options *dependencies, const char *object) {
    const char *slash = strchr(object, '/');
    AUTO_TEXT resource = strndup(object, strcspn(object, "/"));
    if (!resource)
        return error_no_memory();
    if (!slash || !reference_is_name(slash + 1))
        return error_new(ERROR_USAGE, "--objects: found \"%s\", expected a resource and a name like secrets/registry",
                         object);
    if (dependency_use_of(dependencies, resource) == DEPENDENCY_IGNORED)
        return error_new(ERROR_USAGE, "--objects: found %s, expected a resource of dependencies.copy or check", object);
    return NULL;
}

struct error *rbac_read_objects(const struct call *call, const struct setup *enabled, struct rbac_options *options) {
    const struct dependency_options *dependencies = &enabled->config->engine.dependencies;
    options->objects = flags_value(call, "objects");
    if (options->objects && !dependencies->by_name)
        return error_new(ERROR_USAGE, "--objects: found without dependencies.watch: names in the configuration, "
                                      "expected both: the watch of all objects needs the right to all");
    AUTO_WORDS objects = text_words(options->objects, ',');
    for (char **object = objects; object && *object; object++)
        TRY(check_object(dependencies, *object));
    return objects ? NULL : error_no_memory();
}

// The management cluster is a worker, too.
static bool has_self(const struct config *config) {
    for (size_t i = 0; i < config->n_workers; i++)
        if (config->workers[i].settings.is_self)
            return true;
    return false;
}

struct error *rbac_rights(const struct rbac_options *options, const struct setup *enabled, struct rights *out) {
    const struct config *config = enabled->config;
    if (options->given) {
        TRY(rights_copy(options->given, out));
        return rbac_add_tenants(options, config, out);
    }
    enum seal_source source = seal_source_of(config);
    struct rights_wanted wanted = rights_wanted_of(config, enabled->adapters);
    wanted.seal = source == SEAL_FROM_SECRET || source == SEAL_FROM_DEFAULT_SECRET;
    wanted.account = options->account;
    wanted.worker_secrets |= !enabled->from_file;
    wanted.callers |= !enabled->from_file;
    wanted.logs = options->with_logs;
    wanted.exec = options->with_exec;
    wanted.objects = options->objects;
    wanted.report_name = options->report;
    if (options->report)
        return rights_make(RIGHTS_OF_REPORTER, &wanted, out);
    if (options->guard)
        return rights_make(RIGHTS_OF_GUARD, &wanted, out);
    unsigned role =
        options->management ? RIGHTS_OF_MANAGEMENT | (has_self(config) ? RIGHTS_OF_WORKER : 0) : RIGHTS_OF_WORKER;
    TRY(rights_make(role, &wanted, out));
    return rbac_add_tenants(options, config, out);
}

void rbac_role_name(const struct rbac_options *options, enum right_scope scope, char out[RBAC_NAME_MAX]) {
    static const char *const suffixes[] = {[RIGHT_OWN] = "", [RIGHT_SEAL] = "-seal", [RIGHT_TENANT] = "-tenant"};
    bool named = scope == RIGHT_OWN || scope == RIGHT_SEAL || scope == RIGHT_TENANT;
    snprintf(out, RBAC_NAME_MAX, "%s%s", options->account,
             named                 ? suffixes[scope]
             : options->guard      ? ""
             : options->management ? "-management"
                                   : "-worker");
}

// `name` is a DNS name: only its type can need quotes, as in a namespace 42 or no.
static void print_name(struct buffer *out, const char *before, const char *name, const char *after) {
    const char *quote = yaml_is_string(name) ? "" : "\"";
    buffer_printf(out, "%s%s%s%s%s", before, quote, name, quote, after);
}

// `namespace_` NULL: none.
static void print_first(struct buffer *out, const char *kind, const char *name, const char *namespace_) {
    buffer_printf(out, "apiVersion: %s\nkind: %s\nmetadata:\n", strcmp(kind, "ServiceAccount") == 0 ? "v1" : API "/v1",
                  kind);
    print_name(out, "  name: ", name, "\n");
    if (namespace_)
        print_name(out, "  namespace: ", namespace_, "\n");
}

static void print_head(struct buffer *out, const char *kind, const char *name, const char *namespace_) {
    buffer_text(out, "---\n");
    print_first(out, kind, name, namespace_);
}

// "a, b"; NULL: none.
static void print_names(struct buffer *out, const char *names) {
    AUTO_WORDS words = text_words(names, ',');
    out->failed |= !words;
    for (char **name = words; name && *name; name++)
        print_name(out, name == words ? "  resourceNames: [" : ", ", *name, name[1] ? "" : "]\n");
}

static void print_right(struct buffer *out, const struct right *right) {
    if (right->comment)
        buffer_printf(out, "# %s\n", right->comment);
    buffer_printf(out, "- apiGroups: [%s]\n  resources: [%s]\n", *right->group != '\0' ? right->group : "\"\"",
                  right->resources);
    print_names(out, right->names);
    buffer_printf(out, "  verbs: [%s]\n", right->verbs);
}

static void print_binding(struct buffer *out, const struct rbac_options *options, const char *role, const char *account,
                          const char *namespace_) {
    const char *kind = namespace_ ? "Role" : "ClusterRole";
    print_head(out, namespace_ ? "RoleBinding" : "ClusterRoleBinding", role, namespace_);
    buffer_printf(out, "roleRef:\n  apiGroup: " API "\n  kind: %s\n", kind);
    print_name(out, "  name: ", role, "\nsubjects:\n- kind: ServiceAccount\n");
    print_name(out, "  name: ", account, "\n");
    print_name(out, "  namespace: ", options->namespace_, "\n");
    if (options->user && strcmp(account, options->account) == 0)
        print_name(out, "- apiGroup: " API "\n  kind: User\n  name: ", options->user, "\n");
}

// A role with the rights of two scopes, or nothing without rights. Returns whether there are any.
static bool print_rules(struct buffer *out, const struct rights *rights, const char *role, enum right_scope scope,
                        enum right_scope or_scope, const char *namespace_) {
    bool any = false;
    for (size_t i = 0; i < rights->count; i++) {
        const struct right *right = &rights->list[i];
        if (right->scope != scope && right->scope != or_scope)
            continue;
        if (!any) {
            print_head(out, namespace_ ? "Role" : "ClusterRole", role, namespace_);
            buffer_text(out, "rules:\n");
        }
        print_right(out, right);
        any = true;
    }
    return any;
}

// The same, and the binding.
static void print_role(struct buffer *out, const struct rbac_options *options, const struct rights *rights,
                       enum right_scope scope, enum right_scope or_scope, const char *namespace_) {
    char role[RBAC_NAME_MAX];
    rbac_role_name(options, scope, role);
    if (print_rules(out, rights, role, scope, or_scope, namespace_))
        print_binding(out, options, role, options->account, namespace_);
}

// What the tenants may do: a role, bound to each tenant in the namespace there.
static void print_tenants(struct buffer *out, const struct rbac_options *options, const struct config *config,
                          const struct rights *rights) {
    char role[RBAC_NAME_MAX];
    struct rbac_tenant tenant = {.index = 0};
    rbac_role_name(options, RIGHT_TENANT, role);
    if (!print_rules(out, rights, role, RIGHT_TENANT, RIGHT_TENANT, NULL))
        return;
    while (rbac_next_tenant(options, config, &tenant)) {
        print_head(out, "RoleBinding", role, tenant.there);
        buffer_text(out, "roleRef:\n  apiGroup: " API "\n  kind: ClusterRole\n");
        print_name(out, "  name: ", role, "\nsubjects:\n- apiGroup: " API "\n  kind: User\n");
        buffer_printf(out, "  name: " TENANT_USER_PREFIX "%s\n", tenant.name);
    }
}

// Rights of the command line's ServiceAccount, and by aggregation of the ClusterRole `view`.
static struct error *print_viewer(const struct rbac_options *options, const struct setup *enabled, struct buffer *out) {
    struct rights_wanted wanted = rights_wanted_of(enabled->config, enabled->adapters);
    __attribute__((cleanup(rights_free))) struct rights rights = {.count = 0};
    TRY(rights_make(RIGHTS_OF_VIEWER, &wanted, &rights));
    print_head(out, "ServiceAccount", RIGHTS_VIEWER, options->namespace_);
    char role[RBAC_NAME_MAX];
    snprintf(role, sizeof(role), "%s-viewer", options->account);
    print_head(out, "ClusterRole", role, NULL);
    buffer_text(out, "  labels:\n    " API "/aggregate-to-view: \"true\"\nrules:\n"
                     "# For wharf status, explain and logs. The role view includes these rights.\n"
                     "- nonResourceURLs: [/wharf]\n  verbs: [get]\n");
    for (size_t i = 0; i < rights.count; i++)
        print_right(out, &rights.list[i]);
    print_binding(out, options, role, RIGHTS_VIEWER, NULL);
    return NULL;
}

static void print_introduction(struct buffer *out, const struct rbac_options *options, bool with_more_namespaces) {
    bool guards = options->guard || options->report;
    const char *where = options->management ? "management"
                        : options->report   ? "guard-report"
                        : options->guard    ? "guard"
                                            : "worker";
    buffer_printf(out,
                  "# Rights of wharf%s in %s cluster, made with `wharf rbac --for %s`; namespace %s%s must exist.\n"
                  "# kubectl apply -f FILE gives the rights to ServiceAccount %s",
                  guards ? " guard" : "", options->management || options->report ? "the management" : "a worker", where,
                  options->namespace_, with_more_namespaces ? " and the others below" : "", options->account);
    if (options->user)
        buffer_printf(out, " and to user %s (a client certificate with CN=%s)", options->user, options->user);
    buffer_text(out, ".\n");
}

struct error *rbac_print(const struct rbac_options *options, const struct setup *enabled, struct buffer *out) {
    __attribute__((cleanup(rights_free))) struct rights rights = {.count = 0};
    TRY(rbac_rights(options, enabled, &rights));
    bool limited = options->n_namespaces > 0;
    print_introduction(out, options, limited || rbac_has_tenants(&rights));
    print_first(out, "ServiceAccount", options->account, options->namespace_);
    print_role(out, options, &rights, RIGHT_CLUSTER, limited ? RIGHT_CLUSTER : RIGHT_WORK, NULL);
    for (size_t i = 0; i < options->n_namespaces; i++)
        print_role(out, options, &rights, RIGHT_WORK, RIGHT_WORK, options->namespaces[i]);
    print_role(out, options, &rights, RIGHT_OWN, RIGHT_OWN, options->namespace_);
    print_tenants(out, options, enabled->config, &rights);
    print_role(out, options, &rights, RIGHT_SEAL, RIGHT_SEAL,
               seal_secret_namespace(enabled->config, options->namespace_));
    if (options->management)
        TRY(print_viewer(options, enabled, out));
    return out->failed ? error_no_memory() : NULL;
}

static const struct flag flags[] = {
    FLAG("for", 0, "CLUSTER",
         "the cluster of the output; or wharf guard in a worker, or with --report-to\n"
         "in the management cluster",
         .required = true, .words = WORDS("management", "worker", "guard", "guard-report")),
    FLAG("origin", 0, "NAME", "guard-report: the origin of the host (wharf.dev/origin)", .check = text_is_dns_label,
         .expected = "the origin of a host"),
    FLAG("worker", 0, "NAME", "guard-report: the worker's name in the host's configuration", .check = text_is_dns_label,
         .expected = "the name of a worker"),
    FLAG_ENABLED_CONFIG,
    FLAG_ADAPTERS,
    FLAG_ENABLED_NAMES,
    FLAG_HOST_NAMESPACE,
    FLAG_ACCOUNT,
    FLAG("namespaced", 0, "A,B",
         "the host may write, and read logs, only in these namespaces; with tenancy: the tenants,\n"
         "NAME=THERE where the worker's namespace has another name"),
    FLAG_OBJECTS,
    FLAG("user", 0, "NAME", "grant the rights to this user as well", .check = text_is_dns_subdomain,
         .expected = "a name like wharf"),
    SWITCH("without-logs", 0, "worker: without the rights for wharf logs"),
    SWITCH("exec", 0, "worker: with the rights for wharf exec: the host may run commands in pods"),
    FLAG(NULL, 'o', "FORMAT", "format of the output", .fallback = "yaml", .words = WORDS("yaml", "json")),
};

// The documents as one v1 List.
static struct error *print_json(const struct buffer *text) {
    __attribute__((cleanup(yaml_cleanup))) struct yaml documents = {.value = NULL};
    TRY(yaml_parse_all("rbac", text->data, text->len, &documents));
    AUTO_JSON list = document_make("{'apiVersion':'v1','kind':'List','items':%j}", documents.value);
    return list ? document_print(list, false) : error_no_memory();
}

static struct error *run_rbac(struct call *call) {
    enum { MANAGEMENT, WORKER, GUARD, REPORT };
    int cluster = flags_word(call, "for");
    const char *origin = flags_value(call, "origin"), *worker = flags_value(call, "worker");
    bool reports = cluster == REPORT;
    char report[GUARD_REPORT_NAME_MAX];
    if (reports != (origin && worker) || (!reports && (origin || worker)))
        return error_new(ERROR_USAGE, "--origin and --worker: expected both with --for guard-report, and none without");
    guard_report_name(origin ? origin : "", worker ? worker : "", report);
    AUTO_TEXT guards_account =
        text_format("%s-guard%s%s", flags_value(call, "account"), reports ? "-" : "", reports ? worker : "");
    AUTO_BUFFER(text, RBAC_TEXT_MAX);
    __attribute__((cleanup(setup_free))) struct setup setup = {.config = NULL};
    __attribute__((cleanup(rbac_options_clear))) struct rbac_options options = {
        .management = cluster == MANAGEMENT,
        .guard = cluster == GUARD,
        .report = reports ? report : NULL,
        .with_logs = !flags_value(call, "without-logs"),
        .with_exec = flags_value(call, "exec"),
        .account = cluster == GUARD || reports ? guards_account : flags_value(call, "account"),
        .user = flags_value(call, "user")};
    TRY(guards_account ? NULL : error_no_memory());
    if (flags_value(call, "namespaced"))
        TRY(rbac_read_namespaces(flags_value(call, "namespaced"), &options));
    TRY(setup_enabled(call, &setup));
    TRY(rbac_read_objects(call, &setup, &options));
    options.namespace_ = setup_namespace(&setup, call);
    TRY(rbac_print(&options, &setup, &text));
    if (flags_word(call, "o") > 0)
        return print_json(&text);
    fputs(text.data, stdout);
    return NULL;
}

SUBCOMMAND(
    rbac, run_rbac, "print the permissions that the host needs",
    "Prints the ServiceAccount, roles and bindings that the host needs in the management cluster or in a worker\n"
    "with the enabled adapters, and nothing more, for kubectl apply -f -. The host watches each kind in all\n"
    "namespaces; --namespaced limits its writes.\n",
    FLAGS(flags));
