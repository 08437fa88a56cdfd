// SPDX-License-Identifier: Apache-2.0
#include "tests/sandbox/options.h"
#include "core/base/text.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPTION_WORKERS = 256,
    OPTION_DIR,
    OPTION_CRD,
    OPTION_STORY,
    OPTION_ADAPTERS,
    OPTION_RUN,
    OPTION_DETACH,
    OPTION_VERSION
};
static const struct option flags[] = {{"workers", required_argument, NULL, OPTION_WORKERS},
                                      {"dir", required_argument, NULL, OPTION_DIR},
                                      {"crd", required_argument, NULL, OPTION_CRD},
                                      {"story", required_argument, NULL, OPTION_STORY},
                                      {"adapters", required_argument, NULL, OPTION_ADAPTERS},
                                      {"run", no_argument, NULL, OPTION_RUN},
                                      {"detach", no_argument, NULL, OPTION_DETACH},
                                      {"version", no_argument, NULL, OPTION_VERSION},
                                      {"help", no_argument, NULL, 'h'},
                                      {NULL, 0, NULL, 0}};
#define ABOUT_ONE 2 // of these, the first ones are about one cluster
static const char *const commands[] = {"cut", "back", "list", "stop"};
#define N_COMMANDS (sizeof commands / sizeof *commands)

static void print_help(void) {
    fputs(
        "wharf-sandbox serves a management cluster and workers that it simulates, on 127.0.0.1, for trying wharf and\n"
        "adapters with kubectl.\n\n"
        "Usage:\n"
        "  wharf-sandbox [flags]              serve clusters until Ctrl-C, SIGTERM or \"wharf-sandbox stop\"\n"
        "  wharf-sandbox list [--dir DIR]     print the clusters that are served\n"
        "  wharf-sandbox cut NAME [--dir DIR] make a cluster unreachable\n"
        "  wharf-sandbox back NAME [--dir DIR] make it reachable again\n"
        "  wharf-sandbox stop [--dir DIR]     end it, and wait for its end\n\n"
        "Flags:\n"
        "      --workers N     number of worker clusters (default 2, at most 16)\n"
        "      --dir DIR       where kubeconfigs and wharf.yaml are written (default $XDG_RUNTIME_DIR/wharf-sandbox,\n"
        "                      or /tmp/wharf-sandbox-UID)\n"
        "      --crd FILE      serve the kinds of these CustomResourceDefinitions; may be repeated\n"
        "      --story FILE    statuses that the kind's controller writes, YAML documents \"status: {...}\"; for the\n"
        "                      --crd before it, or written PLURAL=FILE; may be repeated\n"
        "      --adapters DIR  also enable the adapters of this directory\n"
        "      --run           also run wharf, with its log in DIR/wharf.log\n"
        "      --detach        return when everything is ready, and serve in the background\n"
        "      --version       print the version\n"
        "  -h, --help          print this\n",
        stdout);
}

static int wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int wrong(const char *format, ...) {
    va_list args;
    fputs("error: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputs("\nSee 'wharf-sandbox --help' for usage.\n", stderr);
    return EXIT_USAGE;
}

static int wrong_word(const char *what, const char *mark, const char *word, const char *const *known, size_t count) {
    const char *meant = suggest(word, known, count);
    return wrong("unknown %s%s%s%s%s%s%s", what, mark, word, meant ? ", did you mean " : "", meant ? mark : "",
                 meant ? meant : "", meant ? "?" : "");
}

static int unknown_flag(const char *argument) {
    const char *known[sizeof flags / sizeof *flags];
    size_t count = 0;
    AUTO_TEXT name = strndup(argument, strcspn(argument, "="));
    while (flags[count].name) {
        known[count] = flags[count].name;
        count++;
    }
    if (!name || !text_has_prefix(name, "--"))
        return wrong("unknown flag: %s", argument);
    return wrong_word("flag: ", "--", name + 2, known, count);
}

// getopt_long takes "--work" for "--workers"; here a flag is written out, so that a new one breaks no script.
static bool is_abbreviated(const char *argument) {
    size_t len = strcspn(argument, "=");
    if (!text_has_prefix(argument, "--"))
        return false;
    for (const struct option *flag = flags; flag->name; flag++)
        if (strlen(flag->name) == len - 2 && strncmp(flag->name, argument + 2, len - 2) == 0)
            return false;
    return true;
}

static int add_story(struct options *options, char *value) {
    if (options->n_stories == FILES_MAX)
        return wrong("--story: at most %d files", FILES_MAX);
    struct story_file *story = &options->stories[options->n_stories++];
    char *equal = strchr(value, '='), *slash = strchr(value, '/');
    *story = (struct story_file){.path = value, .crd = options->n_crds};
    if (equal && (!slash || equal < slash)) {
        *equal = '\0';
        *story = (struct story_file){.path = equal + 1, .kind = value};
    } else if (options->n_crds == 0) {
        return wrong("--story %s: expected after the --crd of its kind, or written PLURAL=FILE", value);
    }
    return -1;
}

static int set_workers(struct options *options) {
    int64_t number;
    if (!text_to_int64(optarg, &number) || number < 1 || number > WORKERS_MAX)
        return wrong("--workers: found \"%s\", expected a number from 1 to %d", optarg, WORKERS_MAX);
    options->workers = (size_t)number;
    return -1;
}

static int take(int option, struct options *options) {
    switch (option) {
    case OPTION_WORKERS:
        return set_workers(options);
    case OPTION_DIR:
        options->directory = optarg;
        return *optarg ? -1 : wrong("--dir: found nothing, expected a directory");
    case OPTION_CRD:
        if (options->n_crds == FILES_MAX)
            return wrong("--crd: at most %d files", FILES_MAX);
        options->crds[options->n_crds++] = optarg;
        return -1;
    case OPTION_STORY:
        return add_story(options, optarg);
    case OPTION_ADAPTERS:
        options->adapters = optarg;
        return -1;
    case OPTION_RUN:
        options->run = true;
        return -1;
    case OPTION_DETACH:
        options->detach = true;
        return -1;
    case OPTION_VERSION:
        puts("wharf-sandbox " WHARF_VERSION);
        return 0;
    default:
        print_help();
        return 0;
    }
}

static int read_word(const char *word, struct options *options) {
    size_t at = 0;
    if (options->command && !options->cluster && options->about_one) {
        options->cluster = word;
        return -1;
    }
    if (options->command)
        return wrong("unexpected argument: %s", word);
    while (at < N_COMMANDS && strcmp(commands[at], word) != 0)
        at++;
    if (at == N_COMMANDS)
        return wrong_word("command: ", "", word, commands, N_COMMANDS);
    options->command = word;
    options->about_one = at < ABOUT_ONE;
    return -1;
}

static int read_next(int argc, char **argv, struct options *options) {
    const char *argument = argv[optind];
    int option = getopt_long(argc, argv, "+:h", flags, NULL);
    if (option == -1)
        return optind < argc ? read_word(argv[optind++], options) : -1;
    if (option == '?' && optopt != 0 && text_has_prefix(argument, "--"))
        return wrong("flag takes no argument: %.*s", (int)strcspn(argument, "="), argument);
    if (option == '?' || is_abbreviated(argument))
        return unknown_flag(argument);
    if (option == ':')
        return wrong("flag needs an argument: %s", argument);
    return take(option, options);
}

static int check(const struct options *options) {
    if (options->about_one && !options->cluster)
        return wrong("%s: expected the name of a cluster, see 'wharf-sandbox list'", options->command);
    bool serves = options->n_crds || options->n_stories || options->adapters || options->run || options->detach ||
                  options->workers;
    return options->command && serves ? wrong("%s takes no flag but --dir", options->command) : -1;
}

int options_read(int argc, char **argv, struct options *options) {
    int code = -1;
    *options = (struct options){.command = NULL};
    opterr = 0;
    optind = 1;
    while (code < 0 && optind < argc)
        code = read_next(argc, argv, options);
    if (code < 0)
        code = check(options);
    if (!options->workers)
        options->workers = WORKERS_DEFAULT;
    return code;
}
