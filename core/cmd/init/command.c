// SPDX-License-Identifier: Apache-2.0
// `wharf init`: asks nothing, overwrites nothing, and says what comes next.
#include "core/base/text.h"
#include "core/cmd/init/init.h"
#include "core/cmd/main.h"

#include <errno.h>
#include <fcntl.h>
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
                .help = "the file that is made, and never overwritten; - is standard output"},
    [KUBECONFIG] = FLAG_KUBECONFIG,
    [MANAGEMENT_CONTEXT] = {.name = "management-context",
                            .argument = "CONTEXT",
                            .help = "the management cluster's (default: the current one)"},
    [ADAPTERS] = FLAG_ADAPTERS,
};

static struct error *write_new(const char *path, const struct buffer *text) {
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (file < 0 && errno == EEXIST)
        return error_new(ERROR_REFUSED, "%s exists and is not overwritten: -o names another file", path);
    if (file < 0)
        return error_new(ERROR_IO, "%s: %s", path, strerror(errno));
    size_t done = 0;
    ssize_t count = 0;
    while (done < text->len && (count = write(file, text->data + done, text->len - done)) > 0)
        done += (size_t)count;
    struct error *error = done < text->len ? error_new(ERROR_IO, "%s: %s", path, strerror(errno)) : NULL;
    if (close(file) != 0 && !error)
        error = error_new(ERROR_IO, "%s: %s", path, strerror(errno));
    if (error)
        unlink(path);
    return error;
}

static void print_word(FILE *out, const char *word) {
    AUTO_BUFFER(text, TEXT_MAX);
    text_shell_word(&text, word);
    fputs(text.data ? text.data : "", out);
}

static void print_common(FILE *out, const char *const values[]) {
    if (values[KUBECONFIG]) {
        fputs(" --kubeconfig ", out);
        print_word(out, values[KUBECONFIG]);
    }
    if (values[MANAGEMENT_CONTEXT]) {
        fputs(" --management-context ", out);
        print_word(out, values[MANAGEMENT_CONTEXT]);
    }
}

static void print_join(FILE *out, const char *const values[], const char *context) {
    fputs("  wharf join --context ", out);
    print_word(out, context);
    print_common(out, values);
    fputs(" --config ", out);
    print_word(out, values[OUTPUT]);
    fputc('\n', out);
}

static void print_next(FILE *out, const char *const values[], const struct init *init) {
    bool any = false;
    fputs("Next:\n", out);
    if (!init->has_file) {
        fputs("  wharf rbac --for management --config ", out);
        print_word(out, values[OUTPUT]);
        fputs(" | kubectl apply -f -\n", out);
    }
    fputs("  wharf run --config ", out);
    print_word(out, values[OUTPUT]);
    fputc('\n', out);
    for (size_t i = 0; i < init->n_contexts; i++) {
        if (init->contexts[i].management)
            continue;
        print_join(out, values, init->contexts[i].name);
        any = true;
    }
    if (!any)
        print_join(out, values, "CONTEXT");
}

static int run(const struct arguments *arguments) {
    const char *values[N_FLAGS + 1];
    int code = EXIT_SUCCESS;
    if (!flags_read(&subcommand_init, arguments, values, &code))
        return code;
    __attribute__((cleanup(init_clear))) struct init init = {.kubeconfig = NULL};
    AUTO_BUFFER(text, TEXT_MAX);
    bool to_file = strcmp(values[OUTPUT], "-") != 0;
    struct error *error = NULL;
    if (to_file && access(values[OUTPUT], F_OK) == 0)
        error = error_new(ERROR_REFUSED, "%s exists and is not overwritten: -o names another file", values[OUTPUT]);
    if (!error)
        error = init_find(&init, values[KUBECONFIG], values[MANAGEMENT_CONTEXT], values[ADAPTERS]);
    if (!error && !init_write(&init, &text))
        error = error_no_memory();
    if (!error && to_file)
        error = write_new(values[OUTPUT], &text);
    if (error)
        return main_fail(error);
    if (!to_file) {
        fputs(text.data, stdout);
        return EXIT_SUCCESS;
    }
    printf("%s created\n", values[OUTPUT]);
    print_next(stdout, values, &init);
    return EXIT_SUCCESS;
}

const struct subcommand subcommand_init = {
    .name = "init",
    .run = run,
    .flags = flags,
    .n_flags = N_FLAGS,
    .summary = "write a first configuration",
    .text =
        "Writes a commented configuration: the management cluster of your kubeconfig's current context (or of the pod\n"
        "that it runs in), the adapters whose kinds that cluster serves, and workers from Secrets. Prints the next\n"
        "commands. Nothing is asked, no file is overwritten, and nothing is changed in any cluster.\n",
};
