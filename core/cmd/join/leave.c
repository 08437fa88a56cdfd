// SPDX-License-Identifier: Apache-2.0
// `wharf leave`: a cluster ceases to be a worker. Every step can be repeated.
#include "core/cmd/join/join.h"
#include "core/cmd/remote/remote.h"
#include "core/engine/mirror/mirror.h"
#include "core/kube/object/object.h"

#define LIST_MAX 500 // of a kind; more are counted later
#define LEFT_MAX 65536

#define AGAIN_NS (500 * CLOCK_MS)
#define HEEDED_NS (15 * CLOCK_SECOND) // until a running host must have begun to drain

static const struct flag flags[] = {
    FLAG("policy", 0, "POLICY",
         "let running workloads finish, move them to other workers, or leave at once and\n"
         "abandon them",
         .fallback = "finish", .words = WORDS("finish", "move", "abandon")),
    FLAG("context", 0, "CONTEXT", "the kubeconfig context of the worker, to remove the rights there"),
    FLAG_KUBECONFIG,
    FLAG_MANAGEMENT_CONTEXT,
    FLAG_MANAGEMENT_KUBECONFIG,
    FLAG_HOST_NAMESPACE,
    FLAG("account", 0, "NAME", "the host's ServiceAccount in the worker (default: that of the Secret, else wharf)",
         CHECK_ACCOUNT),
    FLAG_ENABLED_CONFIG,
    FLAG_ADAPTERS,
    FLAG_ENABLED_NAMES,
    SWITCH("keep-rbac", 0, "leave the ServiceAccount and the rights in the worker"),
    FLAG("timeout", 0, "DURATION",
         "the longest wait for workloads; 0: without limit. Repeat the command to go on waiting", .fallback = "0",
         CHECK_DURATION),
};

struct leave {
    struct call *call;
    const char *name, *policy, *namespace_;
    int64_t began_ns, until_ns; // monotonic; CLOCK_NEVER: no limit
    struct setup setup;
    struct rbac_options rights;        // in the worker
    struct cluster management, worker; // the worker with the operator's credentials, else with the Secret's
    struct json *secrets;              // of all workers
    const struct json *secret;         // one of them; NULL: gone already
    struct remote *host;               // of the call; NULL: none responds
    struct buffer left;                // the worker's mirrors of this host: "3 jobs.batch, 1 rayjobs.ray.io"
    size_t n_left;                     // their number
    bool has_others;                   // there are mirrors of other hosts
};

static void leave_clear(struct leave *leave) {
    cluster_close(&leave->worker);
    cluster_close(&leave->management);
    setup_free(&leave->setup);
    json_free(leave->secrets);
    buffer_free(&leave->left);
}

static bool waits(const struct leave *leave) {
    return leave->secret && strcmp(leave->policy, "abandon") != 0;
}

static struct error *begin_drain(struct leave *leave) {
    AUTO_TEXT path = cluster_path("Secret", leave->namespace_, object_name(leave->secret));
    AUTO_TEXT body = document_text("{'metadata':{'annotations':{'" JOIN_DRAIN "':%s}}}", leave->policy);
    TRY(cluster_patch(&leave->management, path, body));
    printf("management: secret/%s annotated: " JOIN_DRAIN "=%s\n", object_name(leave->secret), leave->policy);
    return NULL;
}

static void count_items(struct leave *leave, const struct json *list, const char *kind) {
    const char *configured = leave->setup.config->origin, *origin = configured ? configured : leave->management.uid;
    size_t own = 0;
    for (const struct json *m = json_first(json_get(list, "items")); m; m = json_next(m)) {
        bool ours = text_equal(object_label(m, MARK_ORIGIN), origin);
        own += ours;
        leave->has_others |= !ours;
    }
    if (own > 0)
        buffer_printf(&leave->left, "%s%zu %s", leave->left.len > 0 ? ", " : "", own, kind);
    leave->n_left += own;
}

static struct error *count_kind(struct leave *leave, const struct kind *kind) {
    bool served = false;
    for (size_t i = 0; !served && kind->abi.versions[i]; i++) {
        const char *group = kind->abi.group;
        AUTO_TEXT path = text_format("/api%s%s/%s/%s?labelSelector=wharf.dev%%2Forigin&limit=%d", *group ? "s/" : "",
                                     group, kind->abi.versions[i], kind->abi.plural, LIST_MAX);
        AUTO_JSON list = NULL;
        TRY(path ? cluster_get(&leave->worker, path, &list) : error_no_memory());
        served = list;
        count_items(leave, list, kind->plural_group);
    }
    return NULL;
}

// Counts the mirrors in the worker.
static struct error *count_left(struct leave *leave) {
    const struct adapters *adapters = leave->setup.adapters;
    buffer_reset(&leave->left);
    leave->n_left = 0;
    leave->has_others = false;
    for (size_t i = 0; adapters && i < adapters->n_kinds; i++)
        TRY(count_kind(leave, adapters->kinds[i]));
    return NULL;
}

static struct error *delete_everywhere(struct cluster *worker, const char *kind, const char *role) {
    AUTO_TEXT path = cluster_path(kind, NULL, NULL);
    AUTO_TEXT query = path ? text_format("%s?fieldSelector=metadata.name%%3D%s", path, role) : NULL;
    AUTO_JSON list = NULL;
    TRY(query ? cluster_get(worker, query, &list) : error_no_memory());
    for (const struct json *o = json_first(json_get(list, "items")); o; o = json_next(o))
        TRY(cluster_delete(worker, kind, object_namespace(o), role));
    return NULL;
}

static struct error *delete_rights(struct cluster *worker, const struct rbac_options *rights) {
    char role[RBAC_NAME_MAX], own[RBAC_NAME_MAX], tenant[RBAC_NAME_MAX];
    rbac_role_name(rights, RIGHT_WORK, role);
    rbac_role_name(rights, RIGHT_OWN, own);
    rbac_role_name(rights, RIGHT_TENANT, tenant);
    TRY(delete_everywhere(worker, "RoleBinding", tenant));
    TRY(cluster_delete(worker, "ClusterRole", NULL, tenant));
    TRY(delete_everywhere(worker, "RoleBinding", role));
    TRY(delete_everywhere(worker, "Role", role));
    TRY(cluster_delete(worker, "ClusterRoleBinding", NULL, role));
    TRY(cluster_delete(worker, "ClusterRole", NULL, role));
    TRY(cluster_delete(worker, "RoleBinding", rights->namespace_, own));
    TRY(cluster_delete(worker, "Role", rights->namespace_, own));
    return cluster_delete(worker, "ServiceAccount", rights->namespace_, rights->account);
}

// Whether the running host drains the worker and has nothing there; without a host, nothing is placed. A host without
// a worker of this name from this Secret never drains.
static struct error *check_host(struct leave *leave, bool *done) {
    AUTO_JSON worker = NULL;
    // The host may be restarting.
    AUTO_ERROR error = leave->host ? remote_worker(leave->host, leave->name, &worker, NULL) : NULL;
    bool drains = json_string(json_get(worker, "drain")) || json_bool(json_get(worker, "leaving"), false);
    *done = !error && (!worker || (drains && json_int64(json_get(worker, "mirrors"), 0) == 0));
    if (!worker || drains || clock_now().mono_ns - leave->began_ns < HEEDED_NS)
        return NULL;
    return error_new(ERROR_REFUSED,
                     "the host has not begun to drain worker %s (%s): its configuration needs workersFrom: {secrets: "
                     "true}, and no worker of that name of its own",
                     leave->name, json_string_or(json_get(worker, "from"), "of unknown origin"));
}

static struct error *await_end(struct leave *leave) {
    AUTO_TEXT printed = NULL;
    for (;;) {
        bool done = true;
        TRY(count_left(leave));
        TRY(check_host(leave, &done));
        if (leave->n_left == 0 && done)
            return NULL;
        if (leave->n_left > 0 && !text_equal(printed, leave->left.data)) {
            printf("worker: waiting for %s\n", leave->left.data);
            (void)text_set(&printed, leave->left.data);
        }
        if (!remote_wait(leave->until_ns, AGAIN_NS))
            return error_new(ERROR_LIMIT, "worker %s still has %s: run the command again to go on waiting", leave->name,
                             leave->n_left > 0 ? leave->left.data : "workloads to give up");
    }
}

// Deletes the orders of `wharf cordon` and `wharf drain`, too.
static struct error *delete_secret(struct leave *leave) {
    AUTO_TEXT path = text_format("/api/v1/namespaces/%s/configmaps/" RIGHTS_WORKERS, leave->namespace_);
    AUTO_TEXT body = document_text("{'data':{%s:null}}", leave->name);
    TRY(cluster_delete(&leave->management, "Secret", leave->namespace_, object_name(leave->secret)));
    return cluster_patch(&leave->management, path, body);
}

// The host closes the connection before losing the rights; without a limit, wait some seconds at most.
static void await_host(struct leave *leave) {
    int64_t until_ns = clock_now().mono_ns + 10 * CLOCK_SECOND;
    for (bool listed = leave->host; listed;) {
        AUTO_JSON worker = NULL;
        error_free(remote_worker(leave->host, leave->name, &worker, NULL));
        listed = worker && remote_wait(until_ns, AGAIN_NS);
    }
}

// Keep rights that another host uses for other mirrors.
static struct error *withdraw(struct leave *leave) {
    AUTO_TEXT owner = NULL;
    TRY(count_left(leave));
    TRY(join_owner(&leave->worker, leave->namespace_, leave->rights.account, &owner));
    if (text_equal(owner, leave->management.uid) || (!owner && !leave->has_others))
        return delete_rights(&leave->worker, &leave->rights);
    printf("worker: serviceaccount/%s and its rights stay: another host uses them\n", leave->rights.account);
    return NULL;
}

// Prints the workloads that `abandon` leaves behind. The worker's own count is newer than the host's.
static struct error *report_abandoned(struct leave *leave) {
    AUTO_JSON state = NULL;
    if (leave->worker.client)
        TRY(count_left(leave));
    else if (leave->host)
        error_free(remote_worker(leave->host, leave->name, &state, NULL));
    int64_t count = leave->worker.client ? (int64_t)leave->n_left : json_int64(json_get(state, "mirrors"), -1);
    bool known = leave->left.len > 0;
    if (count < 0)
        printf("worker %s: the number of workloads there is unknown: their mirrors stay and may run on\n", leave->name);
    else if (count == 0)
        printf("worker %s: no workload is placed there\n", leave->name);
    else
        printf("worker %s: %lld workload%s placed there%s%s%s: %s in the worker and may run on\n", leave->name,
               (long long)count, count == 1 ? " is" : "s are", known ? " (" : "", known ? leave->left.data : "",
               known ? ")" : "", count == 1 ? "its mirror stays" : "their mirrors stay");
    return NULL;
}

static struct error *leave_worker(struct leave *leave) {
    if (!leave->secret)
        printf("management: worker %s has no Secret in namespace %s any more\n", leave->name, leave->namespace_);
    if (waits(leave)) {
        TRY(begin_drain(leave));
        TRY(await_end(leave));
    } else if (leave->secret)
        TRY(report_abandoned(leave));
    if (leave->secret)
        TRY(delete_secret(leave));
    await_host(leave);
    if (!flags_value(leave->call, "keep-rbac"))
        TRY(withdraw(leave));
    printf("worker %s left\n", leave->name);
    return NULL;
}

// --context must be this worker; without the Secret, at least no other worker.
static struct error *check_worker(const struct leave *leave) {
    const char *uid = leave->secret ? object_annotation(leave->secret, JOIN_UID) : NULL;
    if (uid && strcmp(uid, leave->worker.uid) != 0)
        return error_new(
            ERROR_REFUSED,
            "--context: found a cluster with uid %s of namespace kube-system, expected that of worker %s, %s",
            leave->worker.uid, leave->name, uid);
    return NULL;
}

// The error for a worker that did not join, with `more` at the end.
static struct error *no_such_worker(struct leave *leave, const char *more) {
    const struct config *config = leave->setup.config;
    AUTO_BUFFER(names, 65536);
    for (size_t i = 0; i < config->n_workers; i++)
        if (strcmp(config->workers[i].settings.name, leave->name) == 0)
            return error_new(ERROR_NOT_FOUND, "worker %s is in the list of %s, and has no Secret: remove it there%s",
                             leave->name, config->path, more);
    for (const struct json *s = json_first(leave->secrets); s; s = json_next(s))
        buffer_printf(&names, "%s%s", names.len > 0 ? ", " : "", join_worker_of(s));
    return error_new(ERROR_NOT_FOUND, "worker %s does not exist: the workers with a Secret in namespace %s are: %s%s",
                     leave->name, leave->namespace_, names.len > 0 ? names.data : "none", more);
}

static struct error *check_no_worker(struct leave *leave) {
    const struct json *s = json_first(leave->secrets);
    while (s && !text_equal(object_annotation(s, JOIN_UID), leave->worker.uid))
        s = json_next(s);
    if (!s || strcmp(join_worker_of(s), leave->name) == 0)
        return NULL;
    AUTO_TEXT more =
        text_format("; --context: found the cluster of worker %s, expected that of %s", join_worker_of(s), leave->name);
    return more ? no_such_worker(leave, more) : error_no_memory();
}

// The endpoint of --context, else of the Secret.
static struct error *open_worker(struct leave *leave) {
    const struct call *call = leave->call;
    struct endpoint *endpoint = NULL;
    const char *encoded = json_string_or(json_path(leave->secret, "data", "kubeconfig", NULL), "");
    AUTO_BUFFER(text, JOIN_KUBECONFIG_MAX);
    struct error *error = NULL;
    if (flags_value(call, "context"))
        error = cluster_load(flags_value(call, "kubeconfig"), flags_value(call, "context"), &endpoint);
    else if (!(error = text_base64_decode(encoded, &text)))
        error = kubeconfig_parse(text.data, text.len, "the kubeconfig in the Secret", NULL, NULL, &endpoint);
    return cluster_open(&leave->worker, "worker", error, &endpoint);
}

// "wharf-system/wharf"
static const char *account_of(const struct json *secret) {
    const char *account = secret ? object_annotation(secret, JOIN_ACCOUNT) : NULL;
    const char *slash = account ? strchr(account, '/') : NULL;
    return slash && text_is_dns_label(slash + 1) ? slash + 1 : RIGHTS_ACCOUNT;
}

static struct error *open_all(struct leave *leave) {
    struct call *call = leave->call;
    const char *account = flags_value(call, "account");
    bool has_context = flags_value(call, "context");
    TRY(join_open_management(&leave->management, call, &leave->setup));
    TRY(join_list_secrets(&leave->management, leave->namespace_, &leave->secrets));
    leave->secret = json_first(leave->secrets);
    while (leave->secret && strcmp(join_worker_of(leave->secret), leave->name) != 0)
        leave->secret = json_next(leave->secret);
    leave->rights.namespace_ = leave->namespace_;
    leave->rights.account = account ? account : account_of(leave->secret);
    if (!leave->secret && !has_context) // nothing to do
        return no_such_worker(leave, "");
    if (!has_context && !flags_value(call, "keep-rbac"))
        return NULL;
    if (has_context || waits(leave))
        TRY(open_worker(leave));
    if (has_context)
        TRY(leave->secret ? check_worker(leave) : check_no_worker(leave));
    AUTO_JSON state = NULL;
    AUTO_ERROR unreachable = join_open_host(call, &leave->setup, leave->namespace_);
    if (!unreachable)
        unreachable = remote_worker(call->remote, leave->name, &state, NULL);
    leave->host = unreachable ? NULL : call->remote;
    return NULL;
}

static struct error *run_leave(struct call *call) {
    bool has_context = flags_value(call, "context"), keeps = flags_value(call, "keep-rbac");
    int64_t timeout_ns = flags_duration(flags_value(call, "timeout")), now_ns = clock_now().mono_ns;
    __attribute__((cleanup(leave_clear))) struct leave leave = {
        .call = call,
        .name = call->operand[0],
        .policy = flags_value(call, "policy"),
        .began_ns = now_ns,
        .until_ns = timeout_ns > 0 ? now_ns + timeout_ns : CLOCK_NEVER,
        .left = {.max = LEFT_MAX},
    };
    if (!text_is_dns_label(leave.name))
        return error_new(ERROR_USAGE, "found \"%s\", expected the name of a worker", leave.name);
    if (!has_context || !keeps) {
        TRY(setup_enabled(call, &leave.setup));
        leave.namespace_ = setup_namespace(&leave.setup, call);
        TRY(open_all(&leave));
    }
    if (has_context == keeps)
        return error_new(ERROR_USAGE, "expected --context, to remove the rights in the worker, or --keep-rbac");
    return leave_worker(&leave);
}

SUBCOMMAND(
    leave, run_leave, "remove a worker",
    "Drains a worker that joined with wharf join, waits until the host has no mirrors there, deletes the worker's\n"
    "Secret in the management cluster, and then the host's rights in the worker. The command can be interrupted\n"
    "and repeated.\n",
    .operand = OPERAND_WORKER, FLAGS(flags));
