// SPDX-License-Identifier: Apache-2.0
// `wharf init`: writes a new file and prints the next commands.
#include "core/base/text.h"
#include "core/cmd/init/init.h"
#include "core/cmd/main.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT_MAX ((size_t)1 << 20)

enum { OUTPUT, KUBECONFIG, MANAGEMENT_CONTEXT, ADAPTERS, N_FLAGS };

static const struct flag flags[] = {
    [OUTPUT] = {.name = "output",
                .letter = 'o',
                .argument = "FILE",
                .fallback = "wharf.yaml",
                .help = "the file to create, which must not exist; - is standard output"},
    [KUBECONFIG] = FLAG_KUBECONFIG,
    [MANAGEMENT_CONTEXT] = {.name = "management-context",
                            .argument = "CONTEXT",
                            .help = "the management cluster's (default: the current one)"},
    [ADAPTERS] = FLAG_ADAPTERS,
};

static struct error *file_exists(const char *path) {
    return error_new(ERROR_REFUSED, "%s exists and is not overwritten: -o names another file", path);
}

static struct error *write_new(const char *path, const struct buffer *text) {
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (file < 0)
        return errno == EEXIST ? file_exists(path) : error_new(ERROR_IO, "%s: %s", path, strerror(errno));
    size_t done = 0;
    ssize_t count = 0;
    while (done < text->len && (count = write(file, text->data + done, text->len - done)) > 0)
        done += (size_t)count;
    struct error *error = NULL;
    if (done < text->len)
        error = error_new(ERROR_IO, "%s: %s", path, strerror(errno));
    if (close(file) != 0 && !error)
        error = error_new(ERROR_IO, "%s: %s", path, strerror(errno));
    if (error)
        unlink(path);
    return error;
}

// A command line: words of wharf, and flags with values, which the shell gets in quotes; NULL ends them.
static void print_command(const char *command, ...) {
    AUTO_BUFFER(text, TEXT_MAX);
    va_list args;
    va_start(args, command);
    buffer_printf(&text, "  wharf %s", command);
    for (const char *flag; (flag = va_arg(args, const char *));) {
        const char *value = va_arg(args, const char *);
        if (value) {
            buffer_printf(&text, " %s ", flag);
            text_shell_word(&text, value);
        }
    }
    va_end(args);
    fputs(text.data ? text.data : "", stdout);
}

static void print_join(const char *const *values, const char *context) {
    print_command("join", "--context", context, "--kubeconfig", values[KUBECONFIG], "--management-context",
                  values[MANAGEMENT_CONTEXT], "--config", values[OUTPUT], NULL);
    putchar('\n');
}

static void print_next(const char *const *values, const struct init *init) {
    bool any = false;
    puts("Next:");
    if (!init->has_file) {
        print_command("rbac --for management", "--config", values[OUTPUT], NULL);
        puts(" | kubectl apply -f -");
    }
    print_command("run", "--config", values[OUTPUT], NULL);
    putchar('\n');
    for (size_t i = 0; i < init->n_contexts; i++) {
        if (init->contexts[i].management)
            continue;
        print_join(values, init->contexts[i].name);
        any = true;
    }
    if (!any)
        print_join(values, "CONTEXT");
}

static struct error *run(struct call *call) {
    const char *path = call->values[OUTPUT];
    __attribute__((cleanup(init_clear))) struct init init = {.kubeconfig = NULL};
    AUTO_BUFFER(text, TEXT_MAX);
    bool to_file = strcmp(path, "-") != 0;
    if (to_file && access(path, F_OK) == 0)
        return file_exists(path);
    struct error *error =
        init_find(&init, call->values[KUBECONFIG], call->values[MANAGEMENT_CONTEXT], call->values[ADAPTERS]);
    if (!error && !init_write(&init, &text))
        error = error_no_memory();
    if (!error && to_file)
        error = write_new(path, &text);
    if (error)
        return error;
    if (!to_file)
        fputs(text.data, stdout);
    else {
        printf("%s created\n", path);
        print_next(call->values, &init);
    }
    return NULL;
}

const struct subcommand subcommand_init = {
    .name = "init",
    .run = run,
    .flags = flags,
    .n_flags = N_FLAGS,
    .summary = "write a first configuration",
    .text =
        "Writes a commented configuration: the management cluster of your kubeconfig's current context (or of the pod\n"
        "of this process), the adapters for the kinds of that cluster, and workers from Secrets. Prints the next\n"
        "commands. Asks no questions, overwrites no file, and changes nothing in any cluster.\n",
};
