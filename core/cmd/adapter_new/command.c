// SPDX-License-Identifier: Apache-2.0
// `wharf adapter new`
#include "core/cmd/adapter_new/write.h"

#include "core/base/text.h"
#include "core/cmd/main.h"

#define TEXT_MAX ((size_t)64 << 20)

static const char *const languages[] = {"c", "cpp", "rust", NULL};

static const struct flag flags[] = {
    FLAG("crd", 0, "FILE", "the kind's CustomResourceDefinition, YAML or JSON", .required = true),
    FLAG("kind", 0, "KIND", "the kind, if the file has several CRDs"),
    FLAG("language", 'l', "LANGUAGE", "the language of the source", .words = languages, .fallback = "c"),
    FLAG("output", 'o', "DIR", "the directory to create (default NAME); one that exists must be empty"),
    SWITCH("generic", 0, "print settings for the generic adapter instead, as YAML"),
};

// The sentences about the members without a guess.
static void print_open_questions(const struct description *d) {
    bool any = false;
    for (enum member i = 0; i < N_MEMBERS; i++) {
        const char *note = d->members[i].note;
        if (!note || d->members[i].count > 0)
            continue;
        if (!any)
            puts("Not guessed:");
        any = true;
        printf("  %s: ", write_member_name(i));
        text_print_line(stdout, note);
    }
}

static struct error *print_generic(const struct description *d) {
    AUTO_BUFFER(text, TEXT_MAX);
    if (!write_generic(d, &text))
        return error_no_memory();
    fputs(text.data, stdout);
    return NULL;
}

static struct error *write_source(struct description *d, const struct call *call) {
    const char *output = flags_value(call, "output"), *directory = output ? output : d->name;
    enum language language = (enum language)flags_word(call, "language");
    TRY(write_directory(d, language, directory));
    printf("%s created for %s (%s, %s)\n", directory, d->kind, d->group, d->main_version);
    print_open_questions(d);
    AUTO_BUFFER(command, TEXT_MAX);
    buffer_text(&command, "make -C ");
    text_shell_word(&command, directory);
    printf("Next: compare the comments in %s with the kind's controller, then\n  %s test\n",
           write_source_name(d, language), command.data ? command.data : "");
    return NULL;
}

static struct error *run_new(struct call *call) {
    __attribute__((cleanup(description_cleanup))) struct description d = {.name = call->operand[0]};
    bool generic = flags_value(call, "generic");
    if (!generic && !d.name)
        return error_new(ERROR_USAGE, "found no NAME, expected the adapter's name");
    if (!generic && !text_is_dns_label(d.name))
        return error_new(ERROR_USAGE, "NAME: found \"%s\", expected lower-case letters, digits and \"-\"", d.name);
    if (generic && (d.name || flags_value(call, "output")))
        return error_new(ERROR_USAGE, "--generic prints settings: expected neither NAME nor --output");
    TRY(guess_kind(flags_value(call, "crd"), flags_value(call, "kind"), &d));
    return generic ? print_generic(&d) : write_source(&d, call);
}

const struct subcommand subcommand_adapter_new = {
    .name = "adapter new",
    .run = run_new,
    .operand = "[NAME]",
    .summary = "start an adapter, guessed from a CRD",
    .text =
        "Writes a directory with the source of an adapter, a Makefile, a sample object and its lives. The data of the\n"
        "kind are guessed from the schema of its CRD: managedBy or a label, suspension, pod templates, carried and\n"
        "removed fields, conditions. A comment has the reason of each guess, or says what was not found.\n",
    FLAGS(flags),
};
