// SPDX-License-Identifier: Apache-2.0
// `wharf rbac`: the permissions that the enabled adapters need, to be applied with kubectl.
#include "core/base/text.h"
#include "core/cmd/document.h"
#include "core/cmd/main.h"
#include "core/cmd/rbac/rbac.h"
#include "core/json/yaml.h"

#include <stdlib.h>
#include <string.h>

enum { FOR, CONFIG, ADAPTERS, ENABLED, NAMESPACE, ACCOUNT, NAMESPACED, USER, WITHOUT_LOGS, EXEC, OUTPUT };

static const struct flag flags[] = {
    [FOR] = VALUE_FLAG("for", 0, "CLUSTER", "the cluster of the output, or wharf guard in a worker", .required = true,
                       .words = WORDS("management", "worker", "guard")),
    [CONFIG] = FLAG_ENABLED_CONFIG,
    [ADAPTERS] = FLAG_ADAPTERS,
    [ENABLED] = FLAG_ENABLED_NAMES,
    [NAMESPACE] = FLAG_HOST_NAMESPACE,
    [ACCOUNT] = FLAG_ACCOUNT,
    [NAMESPACED] = VALUE_FLAG("namespaced", 0, "A,B", "the host may write, and read logs, only in these namespaces"),
    [USER] = VALUE_FLAG("user", 0, "NAME", "grant the rights to this user as well", .check = text_is_dns_subdomain,
                        .expected = "a name like wharf"),
    [WITHOUT_LOGS] = FLAG("without-logs", 0, "worker: without the rights for wharf logs"),
    [EXEC] = FLAG("exec", 0, "worker: with the rights for wharf exec: the host may run commands in pods"),
    [OUTPUT] =
        VALUE_FLAG(NULL, 'o', "FORMAT", "format of the output", .fallback = "yaml", .words = WORDS("yaml", "json")),
};

// The documents as one v1 List.
static struct error *print_json(const struct buffer *text) {
    __attribute__((cleanup(yaml_cleanup))) struct yaml documents = {.value = NULL};
    TRY(yaml_parse_all("rbac", text->data, text->len, &documents));
    AUTO_JSON list = document_make("{'apiVersion':'v1','kind':'List','items':%j}", documents.value);
    return list ? document_print(list, false) : error_no_memory();
}

static struct error *run_rbac(struct call *call) {
    enum { MANAGEMENT, WORKER, GUARD } cluster = flags_word(call, FOR);
    AUTO_TEXT guards_account = text_format("%s-guard", call->values[ACCOUNT]);
    AUTO_BUFFER(text, RBAC_TEXT_MAX);
    __attribute__((cleanup(setup_free))) struct setup setup = {.config = NULL};
    __attribute__((cleanup(rbac_options_clear))) struct rbac_options options = {
        .management = cluster == MANAGEMENT,
        .guard = cluster == GUARD,
        .with_logs = !call->values[WITHOUT_LOGS],
        .with_exec = call->values[EXEC],
        .account = cluster == GUARD ? guards_account : call->values[ACCOUNT],
        .user = call->values[USER]};
    TRY(guards_account ? NULL : error_no_memory());
    if (call->values[NAMESPACED])
        TRY(rbac_read_namespaces(call->values[NAMESPACED], &options));
    TRY(setup_enabled(call, NULL, &setup));
    options.namespace_ = setup_namespace(&setup, call);
    TRY(rbac_print(&options, &setup, &text));
    if (flags_word(call, OUTPUT) > 0)
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
