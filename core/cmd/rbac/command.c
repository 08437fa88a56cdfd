// SPDX-License-Identifier: Apache-2.0
// `wharf rbac`: the permissions that the enabled adapters need, to be applied with kubectl.
#include "core/base/text.h"
#include "core/cmd/main.h"
#include "core/cmd/rbac/rbac.h"
#include "core/json/yaml.h"

#include <stdlib.h>
#include <string.h>

enum { FOR, CONFIG, ADAPTERS, ENABLED, NAMESPACE, ACCOUNT, NAMESPACED, USER, WITHOUT_LOGS, EXEC, OUTPUT, N_FLAGS };

static const struct flag flags[] = {
    [FOR] = {.name = "for",
             .argument = "CLUSTER",
             .required = true,
             .help = "management or worker: the cluster that the output is for; guard: of wharf\nguard in a worker"},
    [CONFIG] = FLAG_ENABLED_CONFIG,
    [ADAPTERS] = FLAG_ADAPTERS,
    [ENABLED] = FLAG_ENABLED_NAMES,
    [NAMESPACE] = FLAG_HOST_NAMESPACE,
    [ACCOUNT] = FLAG_ACCOUNT,
    [NAMESPACED] = {.name = "namespaced",
                    .argument = "A,B",
                    .help = "the host may write, and read logs, only in these namespaces"},
    [USER] = {.name = "user", .argument = "NAME", .help = "grant the rights to this user as well"},
    [WITHOUT_LOGS] = {.name = "without-logs", .help = "worker: leave out what wharf logs needs"},
    [EXEC] = {.name = "exec", .help = "worker: add what wharf exec needs: the host may run commands in pods"},
    [OUTPUT] = {.letter = 'o', .argument = "FORMAT", .fallback = "yaml", .help = "yaml or json"},
};

// The documents as one v1 List.
static struct error *print_json(const struct buffer *text) {
    __attribute__((cleanup(yaml_cleanup))) struct yaml documents = {.value = NULL};
    struct error *error = yaml_parse_all("rbac", text->data, text->len, &documents);
    if (error)
        return error;
    AUTO_JSON list = json_new_object();
    AUTO_BUFFER(lines, 8 * RBAC_TEXT_MAX);
    if (!list || !json_set(list, "apiVersion", json_new_string("v1")) ||
        !json_set(list, "kind", json_new_string("List")) || !json_set(list, "items", json_copy(documents.value)) ||
        !json_print_lines(list, &lines))
        return error_no_memory();
    puts(lines.data);
    return NULL;
}

static struct error *print(const char *const values[], struct rbac_options *options) {
    __attribute__((cleanup(enabled_free))) struct enabled enabled = {.config = NULL};
    AUTO_BUFFER(text, RBAC_TEXT_MAX);
    struct error *error = values[NAMESPACED] ? rbac_read_namespaces(values[NAMESPACED], options) : NULL;
    if (!error)
        error = enabled_load(values[CONFIG], values[ADAPTERS], values[ENABLED], &enabled);
    options->namespace_ = error ? NULL : enabled_namespace(&enabled, values[NAMESPACE]);
    if (!error)
        error = rbac_print(options, &enabled, &text);
    if (!error && strcmp(values[OUTPUT], "json") == 0)
        error = print_json(&text);
    else if (!error)
        fputs(text.data, stdout);
    return error;
}

static int run(const struct arguments *arguments) {
    const char *values[N_FLAGS + 1];
    int code = EXIT_SUCCESS;
    if (!flags_read(&subcommand_rbac, arguments, values, &code))
        return code;
    bool management = strcmp(values[FOR], "management") == 0;
    bool guard = strcmp(values[FOR], "guard") == 0;
    if (!management && !guard && strcmp(values[FOR], "worker") != 0)
        return flags_usage_error(&subcommand_rbac, "--for: found %s, expected management, worker or guard",
                                 values[FOR]);
    if (strcmp(values[OUTPUT], "yaml") != 0 && strcmp(values[OUTPUT], "json") != 0)
        return flags_usage_error(&subcommand_rbac, "-o: found %s, expected yaml or json", values[OUTPUT]);
    if (values[NAMESPACE] && !text_is_dns_label(values[NAMESPACE]))
        return flags_usage_error(&subcommand_rbac, "--namespace: found %s, expected the name of a namespace",
                                 values[NAMESPACE]);
    if (!text_is_dns_label(values[ACCOUNT]))
        return flags_usage_error(&subcommand_rbac, "--account: found %s, expected the name of a ServiceAccount",
                                 values[ACCOUNT]);
    if (values[USER] && !text_is_dns_subdomain(values[USER]))
        return flags_usage_error(&subcommand_rbac, "--user: found %s, expected a name like wharf", values[USER]);
    char guards_account[RBAC_NAME_MAX];
    snprintf(guards_account, sizeof guards_account, "%s-guard", values[ACCOUNT]);
    __attribute__((cleanup(rbac_options_clear))) struct rbac_options options = {.management = management,
                                                                                .guard = guard,
                                                                                .with_logs = !values[WITHOUT_LOGS],
                                                                                .with_exec = values[EXEC],
                                                                                .account = guard ? guards_account
                                                                                                 : values[ACCOUNT],
                                                                                .user = values[USER]};
    struct error *error = print(values, &options);
    return error ? main_fail(error) : EXIT_SUCCESS;
}

const struct subcommand subcommand_rbac = {
    .name = "rbac",
    .run = run,
    .flags = flags,
    .n_flags = N_FLAGS,
    .summary = "print the permissions that the host needs",
    .text =
        "Prints the ServiceAccount, roles and bindings that the host needs in the management cluster or in a worker\n"
        "with the enabled adapters, and nothing more, for kubectl apply -f -. The host watches each kind in all\n"
        "namespaces; --namespaced limits what it may write.\n",
};
