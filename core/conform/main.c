// SPDX-License-Identifier: Apache-2.0
// The program that `wharf adapter test` runs.
#include "core/base/suggest.h"
#include "core/base/text.h"
#include "core/conform/kit.h"

#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define EXIT_USAGE 2
#define ARGUMENT 1 // getopt_long's return value for an operand

static const struct option flags[] = {{"objects", required_argument, NULL, 'o'},
                                      {"settings", required_argument, NULL, 's'},
                                      {"save", required_argument, NULL, 'S'},
                                      {"quiet", no_argument, NULL, 'q'},
                                      {"verbose", no_argument, NULL, 'v'},
                                      {"help", no_argument, NULL, 'h'},
                                      {NULL, 0, NULL, 0}};

static int usage(const char *problem, const char *what) {
    fprintf(stderr, "error: %s%s\nSee 'wharf adapter --help' for usage.\n", problem, what);
    return EXIT_USAGE;
}

static const char *flag_name(int letter) {
    static char name[32];
    for (const struct option *flag = flags; flag->name; flag++)
        if (flag->val == letter)
            snprintf(name, sizeof(name), "--%s", flag->name);
    return name;
}

static int unknown_flag(const char *argument) {
    static const char *const known[] = {"--objects", "--settings", "--save", "--quiet", "--verbose", "--help"};
    AUTO_TEXT name = strndup(argument, strcspn(argument, "="));
    const char *meant = name ? suggest(name, known, sizeof(known) / sizeof(known[0])) : NULL;
    AUTO_TEXT what =
        text_format("%s%s%s%s", argument, meant ? ", did you mean \"" : "", meant ? meant : "", meant ? "\"?" : "");
    return usage("unknown flag: ", what ? what : argument);
}

static int set_flag(int letter, const char **value) {
    if (optarg[0] == '\0')
        return usage("flag needs an argument: ", flag_name(letter));
    if (*value)
        return usage("flag given twice: ", flag_name(letter));
    *value = optarg;
    return 0;
}

static int set_file(const char *file, struct kit_options *options) {
    if (options->file)
        return usage("unexpected argument: ", file);
    options->file = file;
    return 0;
}

// The exit code, 0 to go on.
static int read_flag(int letter, const char *argument, struct kit_options *options) {
    switch (letter) {
    case ARGUMENT:
        return set_file(optarg, options);
    case 'o':
        return set_flag(letter, &options->objects);
    case 's':
        return set_flag(letter, &options->settings);
    case 'S':
        return set_flag(letter, &options->save);
    case 'q':
        options->quiet = true;
        return 0;
    case 'v':
        options->verbose = true;
        return 0;
    case ':':
        return usage("flag needs an argument: ", flag_name(optopt));
    default:
        if (optopt != 0 && argument[1] == '-')
            return usage("flag takes no argument: ", flag_name(optopt));
        return unknown_flag(argument);
    }
}

static int read_arguments(int argc, char **argv, struct kit_options *options, bool *help) {
    int letter = 0;
    for (int at = optind; (letter = getopt_long(argc, argv, "-:hqv", flags, NULL)) != -1; at = optind) {
        *help |= letter == 'h';
        int code = letter == 'h' ? 0 : read_flag(letter, argv[at], options);
        if (code != 0)
            return code;
    }
    for (int i = optind; i < argc; i++) { // after "--"
        int code = set_file(argv[i], options);
        if (code != 0)
            return code;
    }
    return options->file || *help ? 0 : usage("a file is required: ", "wharf adapter test FILE.so");
}

static int test(const struct kit_options *options) {
    struct kit_result result = {.calls = 0};
    struct error *error = kit_run(options, stdout, &result);
    if (!error)
        return result.findings > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
    fputs("error: ", stderr);
    text_print_line(stderr, error_text(error));
    error_free(error);
    return EXIT_FAILURE;
}

int main(int argc, char **argv) {
    signal(SIGPIPE, SIG_IGN); // a reader that went away is an error of the write
    signal(SIGXFSZ, SIG_IGN); // so is a file that has become too large
    struct kit_options options = {.file = NULL};
    bool help = false;
    int code = read_arguments(argc, argv, &options, &help);
    if (code == 0 && help)
        puts("This is the program behind 'wharf adapter test'. See 'wharf adapter --help' for usage.");
    else if (code == 0)
        code = test(&options);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fputs("error: cannot write to standard output\n", stderr);
        return code == EXIT_SUCCESS ? EXIT_FAILURE : code;
    }
    return code;
}
