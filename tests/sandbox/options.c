// SPDX-License-Identifier: Apache-2.0
#include "tests/sandbox/options.h"
#include "core/base/suggest.h"
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
        "      --adapters DIR  also enable the adapters of this folder\n"
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

static int wrong_word(const char *what, const char *word, const char *const *known, size_t count, const char *mark) {
    const char *meant = suggest(word, known, count);
    return wrong("unknown %s \"%s%s\"%s%s%s%s", what, mark, word, meant ? ", did you mean \"" : "", meant ? mark : "",
                 meant ? meant : "", meant ? "\"?" : "");
}

// getopt_long has no word for what it does not know: argv has it.
static int unknown_flag(const char *argument) {
    const char *known[sizeof flags / sizeof *flags];
    size_t count = 0;
    char name[64];
    if (!text_has_prefix(argument, "--"))
        return wrong("unknown flag \"%s\"", argument);
    while (flags[count].name) {
        known[count] = flags[count].name;
        count++;
    }
    text_copy(name, sizeof name, argument + 2);
    name[strcspn(name, "=")] = '\0';
    return wrong_word("flag", name, known, count, "--");
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
        return *optarg ? -1 : wrong("--dir: found nothing, expected a folder");
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

static int read_command(int argc, char **argv, struct options *options) {
    if (optind == argc)
        return -1;
    const char *word = argv[optind++];
    size_t at = 0;
    while (at < N_COMMANDS && strcmp(commands[at], word) != 0)
        at++;
    if (at == N_COMMANDS)
        return wrong_word("command", word, commands, N_COMMANDS, "");
    options->command = word;
    bool about_one = at < 2;
    if (about_one && optind < argc)
        options->cluster = argv[optind++];
    else if (about_one)
        return wrong("%s: expected the name of a cluster, see 'wharf-sandbox list'", word);
    if (optind < argc)
        return wrong("unexpected argument \"%s\"", argv[optind]);
    if (options->n_crds || options->n_stories || options->adapters || options->run || options->detach)
        return wrong("%s takes no flag but --dir", word);
    return -1;
}

int options_read(int argc, char **argv, struct options *options) {
    *options = (struct options){.command = "serve", .workers = 2};
    opterr = 0;
    for (;;) {
        const char *argument = optind < argc ? argv[optind] : "";
        int option = getopt_long(argc, argv, ":h", flags, NULL);
        if (option == -1)
            return read_command(argc, argv, options);
        // Words between flags are moved to the end: what was read is just before optind.
        argument = optind > 0 && text_has_prefix(argv[optind - 1], "-") ? argv[optind - 1] : argument;
        int code = option == ':'   ? wrong("flag needs an argument: %s", argument)
                   : option == '?' ? unknown_flag(argument)
                                   : take(option, options);
        if (code >= 0)
            return code;
    }
}
