// SPDX-License-Identifier: Apache-2.0
// Candidates for the end of an unfinished command line, for the shells' completion; `wharf completion` prints the
// scripts. A host that cannot be reached completes nothing, silently.
#include "core/cmd/remote/remote.h"
#include "core/kube/kubeconfig/kubeconfig_file.h"

#include <ctype.h>

#define NAMES 500 // of workloads, at most

struct completing {
    struct call call; // without a command: the overview
    const char *last; // the word to complete
    bool files;       // a file is expected
    bool partial;     // a candidate goes on: a kind, after which a name follows
};

static void offer(struct completing *completing, const char *before, const char *word, const char *description) {
    AUTO_TEXT whole = text_format("%s%s", before, word);
    if (!whole || !text_has_prefix(whole, completing->last))
        return;
    completing->partial |= text_has_suffix(whole, "/");
    printf("%s%s%s\n", whole, description ? "\t" : "", description ? description : "");
}

static void offer_commands(struct completing *completing) {
    for (const struct subcommand *const *command = main_commands; *command; command++)
        offer(completing, "", (*command)->name, (*command)->summary);
}

static void offer_below(struct completing *completing) {
    const struct subcommand *const *below = completing->call.command->below;
    for (; *below; below++)
        offer(completing, "", strrchr((*below)->name, ' ') + 1, (*below)->summary);
}

static void offer_flags(struct completing *completing) {
    const struct flag *flag;
    for (size_t i = 0; (flag = flags_at(completing->call.command, i)); i++) {
        AUTO_TEXT help = strndup(flag->help, strcspn(flag->help, "\n"));
        if (flag->name)
            offer(completing, "--", flag->name, help);
    }
}

static void offer_words(struct completing *completing, const char *const *words) {
    for (; *words; words++)
        offer(completing, "", *words, NULL);
}

// Opened at the first question.
static struct remote *host_of(struct completing *completing) {
    if (!completing->call.remote)
        error_free(remote_open_call(&completing->call));
    return completing->call.remote;
}

// An item for each name in a list of the host, with `description`.
static void offer_items(struct completing *completing, const char *path, const char *before, const char *name,
                        const char *description) {
    struct remote *host = host_of(completing);
    AUTO_JSON list = NULL;
    AUTO_JSON seen = json_new_object();
    error_free(host ? remote_get(host, path, &list) : NULL);
    for (const struct json *item = json_first(json_get(list, "items")); item; item = json_next(item)) {
        const char *word = json_string_or(json_get(item, name), "");
        if (!json_get(seen, word) && json_set(seen, word, json_new_bool(true)))
            offer(completing, before, word, description ? json_string(json_get(item, description)) : NULL);
    }
}

static void offer_workers(struct completing *completing) {
    offer_items(completing, "/api/v1/workers", "", "name", "state");
}

static void offer_kinds(struct completing *completing) {
    struct remote *host = host_of(completing);
    AUTO_JSON list = NULL;
    error_free(host ? remote_get(host, "/api/v1/adapters", &list) : NULL);
    for (const struct json *a = json_first(json_get(list, "items")); a; a = json_next(a))
        for (const struct json *kind = json_first(json_get(a, "kinds")); kind; kind = json_next(kind)) {
            AUTO_TEXT name = text_format("%s/", json_string_or(json_get(kind, "kind"), ""));
            for (char *c = name; c && *c; c++)
                *c = (char)tolower((unsigned char)*c);
            offer(completing, "", name ? name : "", NULL);
        }
}

// The workloads of the kind before the slash in the namespace.
static void offer_names(struct completing *completing) {
    AUTO_BUFFER(path, 8192);
    AUTO_TEXT kind = strndup(completing->last, strcspn(completing->last, "/"));
    AUTO_TEXT before = text_format("%s/", kind ? kind : "");
    buffer_printf(&path, "/api/v1/workloads?limit=%d", NAMES);
    remote_parameter(&path, "kind", kind ? kind : "");
    if (host_of(completing))
        remote_parameter(&path, "namespace", remote_namespace(&completing->call));
    if (!path.failed && before)
        offer_items(completing, path.data, before, "name", "phase");
}

static void offer_contexts(struct completing *completing) {
    AUTO_TEXT paths = cluster_kubeconfig(flags_value(&completing->call, "kubeconfig"));
    __attribute__((cleanup(kubeconfig_cleanup))) struct kubeconfig config = {.count = 0};
    error_free(paths ? cluster_read_kubeconfigs(paths, &config) : NULL);
    for (size_t i = 0; i < config.count; i++) {
        const struct json *list = json_get(config.files[i].yaml.value, "contexts");
        for (const struct json *item = json_first(list); item; item = json_next(item))
            offer(completing, "", json_string_or(json_get(item, "name"), ""), NULL);
    }
}

static void offer_value(struct completing *completing, const struct flag *flag) {
    const char *name = flag->name ? flag->name : "";
    if (flag->words)
        offer_words(completing, flag->words);
    else if (strcmp(name, "namespace") == 0)
        offer_items(completing, "/api/v1/workloads?limit=1000", "", "namespace", NULL);
    else if (text_has_suffix(name, "context"))
        offer_contexts(completing);
    else if (strcmp(name, "cluster") == 0)
        offer_workers(completing);
    else
        completing->files = strcmp(flag->argument, "FILE") == 0 || strcmp(flag->argument, "DIR") == 0;
}

static void offer_key(void *ctx, const struct config_key *key) {
    offer(ctx, "", key->path, NULL);
}

// Topics of `wharf help`.
static void offer_topics(struct completing *completing) {
    const char *first = completing->call.operand[0];
    if (first && strcmp(first, HELP_CONFIGURATION) == 0) {
        error_free(config_describe(offer_key, completing));
        return;
    }
    offer_commands(completing);
    offer(completing, "", HELP_CONFIGURATION, NULL);
}

static void offer_operand(struct completing *completing) {
    const struct subcommand *command = completing->call.command;
    const char *operand = command->operand ? command->operand : "";
    if (command->operand_words)
        offer_words(completing, command->operand_words);
    else if (text_has_prefix(operand, "[" HELP_CONFIGURATION))
        offer_topics(completing);
    else if (text_has_prefix(operand, OPERAND_OBJECT) && strchr(completing->last, '/'))
        offer_names(completing);
    else if (text_has_prefix(operand, OPERAND_OBJECT))
        offer_kinds(completing);
    else if (text_has_prefix(operand, OPERAND_WORKER))
        offer_workers(completing);
    else
        completing->files = strstr(operand, "FILE");
}

int main_complete(char **words, bool for_kubectl) {
    struct completing completing = {.last = ""};
    struct call *call = &completing.call;
    char **last = words;
    while (*last && last[1])
        last++;
    completing.last = *last ? *last : "";
    call->command = *last && last != words ? main_find_command(words[0]) : NULL;
    *last = NULL;
    bool is_below = call->command && call->command->below && words[1];
    if (is_below)
        call->command = main_find_below(call->command, words[1]);
    if (call->command && !call->command->below)
        error_free(flags_parse(call, words + (is_below ? 2 : 1)));
    if (!*words)
        offer_commands(&completing);
    else if (call->command && call->no_value)
        offer_value(&completing, call->no_value);
    else if (call->command && call->command->below)
        offer_below(&completing);
    else if (call->command && completing.last[0] == '-')
        offer_flags(&completing);
    else if (call->command)
        offer_operand(&completing);
    remote_close(call->remote);
    if (for_kubectl) // 2: no space after the word; 4: no files
        printf(":%d\n", completing.files ? 0 : completing.partial ? 6 : 4);
    else if (completing.files)
        puts(COMPLETE_FILES);
    return EXIT_SUCCESS;
}

// The assembler reads the scripts: core/cmd/line/completion.bash and so on.
#define SCRIPT(shell)                                                                                                  \
    __asm__(".pushsection .rodata\n"                                                                                   \
            "script_" #shell ":\n"                                                                                     \
            ".incbin \"core/cmd/line/completion." #shell "\"\n"                                                        \
            ".byte 0\n"                                                                                                \
            ".popsection\n");                                                                                          \
    extern const char script_##shell[] __attribute__((visibility("hidden")))
SCRIPT(bash);
SCRIPT(zsh);
SCRIPT(fish);

static struct error *run_completion(struct call *call) {
    const char *const scripts[] = {script_bash, script_zsh, script_fish};
    for (size_t i = 0; i < COUNT(scripts); i++)
        if (strcmp(call->operand[0], subcommand_completion.operand_words[i]) == 0)
            fputs(scripts[i], stdout);
    return NULL;
}

SUBCOMMAND(
    completion, run_completion, "print a script for the shell's completion",
    "The script completes commands, flags and their values, and from the running host workers, kinds, namespaces\n"
    "and names of workloads:\n"
    "  source <(wharf completion bash)          in ~/.bashrc\n"
    "  source <(wharf completion zsh)           in ~/.zshrc, after compinit\n"
    "  wharf completion fish | source           in ~/.config/fish/config.fish\n"
    "kubectl completes \"kubectl wharf\" by itself where kubectl_complete-wharf is in PATH (make install puts it\n"
    "beside wharf).\n",
    .operand = "bash|zsh|fish", .operand_words = WORDS("bash", "zsh", "fish"));
