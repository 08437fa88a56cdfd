// SPDX-License-Identifier: Apache-2.0
// What may stand at the end of an unfinished command line, for the shells' completion (completion.c). A host that
// cannot be reached completes nothing, silently.
#include "core/cmd/line/complete.h"

#include "core/base/text.h"
#include "core/cmd/remote/remote.h"
#include "core/config/config.h"
#include "core/kube/kubeconfig/kubeconfig_file.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define NAMES 500 // of workloads, at most

struct outcome;

struct completing {
    const struct subcommand *command; // NULL: of the overview
    char *const *words;               // after the command, without the last
    size_t n_words;
    const char *last; // what is to be completed
    struct outcome *outcome;
};

struct outcome {
    bool files;   // a file is expected
    bool partial; // something that is offered goes on: a kind, after which a name follows
};

static void offer(const struct completing *completing, const char *before, const char *word, const char *what) {
    AUTO_TEXT whole = text_format("%s%s", before, word);
    if (!whole || !text_has_prefix(whole, completing->last))
        return;
    completing->outcome->partial |= text_has_suffix(whole, "/");
    printf("%s%s%s\n", whole, what ? "\t" : "", what ? what : "");
}

static void offer_commands(const struct completing *completing) {
    size_t count = 0;
    const struct subcommand *const *commands = main_commands(&count);
    for (size_t i = 0; i < count; i++)
        offer(completing, "", commands[i]->name, commands[i]->summary);
}

static void offer_flags(const struct completing *completing) {
    for (size_t i = 0; i < completing->command->n_flags; i++) {
        const struct flag *flag = &completing->command->flags[i];
        AUTO_TEXT help = strndup(flag->help, strcspn(flag->help, "\n"));
        if (flag->name)
            offer(completing, "--", flag->name, help);
    }
    offer(completing, "--", "help", "print this help");
}

// The words of "[workers|workloads|adapters]", or of "wide, json or yaml".
static void offer_words(const struct completing *completing, const char *text) {
    for (const char *at = text; *at;) {
        size_t len = strcspn(at, "[]| ,\n;:");
        AUTO_TEXT word = strndup(at, len);
        if (len > 0 && word && strcmp(word, "or") != 0)
            offer(completing, "", word, NULL);
        at += len + (at[len] ? 1 : 0);
    }
}

// The value of a flag among the words; NULL: not given.
static const char *value_of(const struct completing *completing, const char *name, char letter) {
    for (size_t i = 0; i < completing->n_words; i++) {
        const char *word = completing->words[i];
        size_t len = strlen(name);
        bool is_long = text_has_prefix(word, "--") && strncmp(word + 2, name, len) == 0;
        if (is_long && word[2 + len] == '=')
            return word + 3 + len;
        bool is_short = letter && word[0] == '-' && word[1] == letter && word[2] == '\0';
        if (((is_long && word[2 + len] == '\0') || is_short) && i + 1 < completing->n_words)
            return completing->words[i + 1];
    }
    return NULL;
}

static struct remote *open_remote(const struct completing *completing) {
    static const char *const names[REMOTE_N_FLAGS] = {
        "server", "context", "kubeconfig", "config", "host-namespace", "service-account", "certificate-authority"};
    const char *values[REMOTE_N_FLAGS];
    for (size_t i = 0; i < REMOTE_N_FLAGS; i++)
        values[i] = value_of(completing, names[i], 0);
    values[4] = values[4] ? values[4] : "wharf-system";
    struct remote_options options;
    struct remote *remote = NULL;
    remote_options_read(values, 0, &options);
    error_free(remote_open(&options, &remote));
    return remote;
}

static void offer_workers(const struct completing *completing, struct remote *remote) {
    AUTO_JSON list = NULL;
    error_free(remote_get(remote, "/api/v1/workers", &list));
    for (const struct json *item = json_first(json_get(list, "items")); item; item = json_next(item))
        offer(completing, "", json_string_or(json_get(item, "name"), ""), json_string(json_get(item, "state")));
}

static void offer_kinds(const struct completing *completing, struct remote *remote) {
    AUTO_JSON list = NULL;
    error_free(remote_get(remote, "/api/v1/adapters", &list));
    for (const struct json *a = json_first(json_get(list, "items")); a; a = json_next(a))
        for (const struct json *kind = json_first(json_get(a, "kinds")); kind; kind = json_next(kind)) {
            AUTO_TEXT name = text_format("%s/", json_string_or(json_get(kind, "kind"), ""));
            for (char *c = name; c && *c; c++)
                *c = (char)tolower((unsigned char)*c);
            offer(completing, "", name ? name : "", NULL);
        }
}

// The workloads of the kind before the slash in the namespace.
static void offer_names(const struct completing *completing, struct remote *remote) {
    AUTO_JSON list = NULL;
    AUTO_BUFFER(path, 8192);
    const char *namespace_ = value_of(completing, "namespace", 'n');
    AUTO_TEXT kind = strndup(completing->last, strcspn(completing->last, "/"));
    AUTO_TEXT before = text_format("%s/", kind ? kind : "");
    if (!namespace_)
        error_free(remote_namespace(remote, &namespace_));
    buffer_printf(&path, "/api/v1/workloads?limit=%d", NAMES);
    remote_parameter(&path, "kind", kind ? kind : "");
    remote_parameter(&path, "namespace", namespace_ ? namespace_ : "default");
    if (!path.failed && before)
        error_free(remote_get(remote, path.data, &list));
    for (const struct json *item = json_first(json_get(list, "items")); item && before; item = json_next(item))
        offer(completing, before, json_string_or(json_get(item, "name"), ""), json_string(json_get(item, "phase")));
}

static void offer_namespaces(const struct completing *completing, struct remote *remote) {
    AUTO_JSON list = NULL;
    AUTO_JSON seen = json_new_object();
    error_free(remote_get(remote, "/api/v1/workloads?limit=1000", &list));
    for (const struct json *item = json_first(json_get(list, "items")); item; item = json_next(item)) {
        const char *name = json_string_or(json_get(item, "namespace"), "");
        if (json_get(seen, name) || !json_set(seen, name, json_new_bool(true)))
            continue;
        offer(completing, "", name, NULL);
    }
}

static void with_host(const struct completing *completing,
                      void (*ask)(const struct completing *completing, struct remote *remote)) {
    struct remote *remote = open_remote(completing);
    if (remote)
        ask(completing, remote);
    remote_close(remote);
}

static void offer_contexts(const struct completing *completing) {
    const char *paths = value_of(completing, "kubeconfig", 0), *home = getenv("HOME");
    paths = paths ? paths : getenv("KUBECONFIG");
    AUTO_TEXT standard = text_format("%s/.kube/config", home ? home : "");
    AUTO_TEXT list = strdup(paths && *paths ? paths : standard);
    struct kubeconfig config = {.count = 0};
    char *rest = list;
    for (char *path; (path = strsep(&rest, ":"));)
        if (*path)
            error_free(kubeconfig_add(&config, path, true));
    for (size_t i = 0; i < config.count; i++)
        for (const struct json *item = json_first(json_get(config.files[i].yaml.value, "contexts")); item;
             item = json_next(item))
            offer(completing, "", json_string_or(json_get(item, "name"), ""), NULL);
    kubeconfig_cleanup(&config);
}

static void offer_value(const struct completing *completing, const struct flag *flag) {
    const char *name = flag->name ? flag->name : "";
    if (strcmp(name, "namespace") == 0)
        with_host(completing, offer_namespaces);
    else if (text_has_suffix(name, "context"))
        offer_contexts(completing);
    else if (strcmp(name, "output") == 0)
        offer_words(completing, flag->help);
    else if (strcmp(name, "cluster") == 0)
        with_host(completing, offer_workers);
    else if (strcmp(name, "phase") == 0)
        offer_words(completing, "Pending, Suspended, Running, Succeeded, Failed");
    else if (strcmp(name, "policy") == 0)
        offer_words(completing, "finish, move");
    else if (strcmp(flag->argument, "FILE") == 0 || strcmp(flag->argument, "DIR") == 0)
        completing->outcome->files = true;
}

static void offer_key(void *ctx, const struct config_key *key) {
    const struct completing *const *completing = ctx;
    offer(*completing, "", key->path, NULL);
}

// Of `wharf help`.
static void offer_topics(const struct completing *completing) {
    const char *first = completing->n_words > 0 ? completing->words[0] : "";
    if (strcmp(first, HELP_CONFIGURATION) == 0) {
        error_free(config_describe(offer_key, &completing));
        return;
    }
    offer_commands(completing);
    offer(completing, "", HELP_CONFIGURATION, NULL);
}

static void offer_operand(const struct completing *completing) {
    const char *operand = completing->command->operand;
    if (!operand)
        return;
    if (strstr(operand, "FILE"))
        completing->outcome->files = true;
    else if (strstr(operand, "COMMAND]"))
        offer_topics(completing);
    else if (text_has_prefix(operand, MAIN_OBJECT))
        with_host(completing, strchr(completing->last, '/') ? offer_names : offer_kinds);
    else if (strcmp(operand, "WORKER") == 0)
        with_host(completing, offer_workers);
    else if (strchr(operand, '|'))
        offer_words(completing, operand);
}

// The flag whose argument is to be completed; NULL: none is.
static const struct flag *open_flag(const struct completing *completing) {
    const char *word = completing->n_words > 0 ? completing->words[completing->n_words - 1] : "";
    for (size_t i = 0; i < completing->command->n_flags && word[0] == '-'; i++) {
        const struct flag *flag = &completing->command->flags[i];
        bool is_long = flag->name && text_has_prefix(word, "--") && strcmp(word + 2, flag->name) == 0;
        if (flag->argument && (is_long || (flag->letter && word[1] == flag->letter && word[2] == '\0')))
            return flag;
    }
    return NULL;
}

static void complete(const struct arguments *arguments, struct outcome *outcome) {
    struct completing completing = {.last = "", .outcome = outcome};
    size_t count = arguments->argc > 0 ? (size_t)arguments->argc : 0, n_commands = 0;
    if (count > 0)
        completing.last = arguments->argv[count - 1];
    if (count < 2) {
        offer_commands(&completing);
        return;
    }
    const struct subcommand *const *commands = main_commands(&n_commands);
    for (size_t i = 0; i < n_commands; i++)
        if (strcmp(commands[i]->name, arguments->argv[0]) == 0)
            completing.command = commands[i];
    completing.words = arguments->argv + 1;
    completing.n_words = count - 2;
    if (!completing.command)
        return;
    const struct flag *flag = open_flag(&completing);
    if (flag)
        offer_value(&completing, flag);
    else if (completing.last[0] == '-')
        offer_flags(&completing);
    else
        offer_operand(&completing);
}

int main_complete(const struct arguments *arguments, bool for_kubectl) {
    struct outcome outcome = {.files = false};
    complete(arguments, &outcome);
    if (for_kubectl) // 2: no space after it; 4: no files
        printf(":%d\n", outcome.files ? 0 : outcome.partial ? 6 : 4);
    else if (outcome.files)
        puts(COMPLETE_FILES);
    return EXIT_SUCCESS;
}
