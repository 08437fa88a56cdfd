// SPDX-License-Identifier: Apache-2.0
// The command line: which command, with which flags.
#include "core/cmd/main.h"

#include "core/base/suggest.h"
#include "core/cmd/host_main.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_CONFIG "/etc/wharf/wharf.yaml"
#define FLAG_CONFIG 1u
#define FLAG_ONLINE 2u
#define TAKES_TOPIC 4u
#define FLAG_PLAN 8u
#define FLAG_ADAPTER 16u // has a subcommand, and reads its arguments itself

struct command {
    const char *name;
    int (*run)(const struct arguments *arguments);
    unsigned flags;
    const char *summary;
    const char *text;
};

static int run_host(const struct arguments *arguments);
static int run_help(const struct arguments *arguments);

static const struct command commands[] = {
    {"run", run_host, FLAG_CONFIG, "run the host",
     "Watches the management cluster for workloads that are delegated to this host, runs a mirror of each in a worker\n"
     "cluster, and copies the mirror's status back. SIGTERM or SIGINT ends it once the writes under way are done,\n"
     "after ten seconds or with a second signal in any case. Logs go to stderr.\n"},
    {"check", main_check, FLAG_CONFIG | FLAG_ONLINE, "check the configuration, kubeconfigs and adapters",
     "Reads the configuration, every kubeconfig and certificate in it, and loads every adapter. Each problem is told "
     "on\n"
     "a line of its own on stderr. Exits with 0 if there is none, with 1 if there is one.\n"},
    {"adapters", main_adapters, FLAG_CONFIG, "list the adapters and their kinds",
     "Loads the adapters that the configuration enables and prints a line for each kind: the adapter's name, version\n"
     "and ABI, the kind with its versions, the field that delegates and the value of it that this host answers to,\n"
     "the adapter's file and the SHA-256 of it. Exits with 1 if an adapter could not be loaded.\n"},
    {"plan", main_plan, FLAG_CONFIG | FLAG_PLAN, "tell what would become of objects",
     "Reads objects from a file of YAML or JSON and tells for each what would happen if it were created in the\n"
     "management cluster: which adapter takes it, whether it is delegated to this host, and the mirror that would\n"
     "be created, as YAML; sentences are comments. Nothing is created. Exits with 0 if all that adapters are for\n"
     "would be delegated, with 3 if something would not, with 1 if something is wrong.\n"},
    {"adapter", main_adapter, FLAG_ADAPTER, "test an adapter (for its author)",
     "Loads an adapter in a process of its own and calls its functions on the objects of a folder, on objects\n"
     "made from what its kinds say of themselves, and on broken ones made from both. Tells which rules of\n"
     "<wharf/adapter.h> it does not keep, and where they are written. Exits with 0 if there is nothing to tell,\n"
     "with 1 if there is.\n"},
    {"version", main_version, 0, "print the version", "Prints the version of the host and of its adapter ABI.\n"},
    {"help", run_help, TAKES_TOPIC, "print help, also for one command",
     "Prints help for all or one of the commands.\n"},
};

#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static const struct command *find_command(const char *name) {
    for (size_t i = 0; i < N_COMMANDS; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

static void print_overview(FILE *out) {
    fputs("wharf runs Kubernetes workloads that are delegated with .spec.managedBy in worker clusters.\n\n"
          "Usage:\n  wharf COMMAND [flags]\n\nCommands:\n",
          out);
    for (size_t i = 0; i < N_COMMANDS; i++)
        fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
    fputs("\nUse \"wharf help COMMAND\" for more about a command.\n", out);
}

static void print_command(const struct command *command) {
    printf("%s\nUsage:\n  wharf %s%s%s\n", command->text, command->name,
           (command->flags & TAKES_TOPIC) != 0 ? " [COMMAND]" : "",
           (command->flags & FLAG_ADAPTER) != 0                  ? " test FILE.so [flags]"
           : (command->flags & FLAG_PLAN) != 0                   ? " -f FILE [flags]"
           : (command->flags & (FLAG_CONFIG | FLAG_ONLINE)) != 0 ? " [flags]"
                                                                 : "");
    fputs("\nFlags:\n", stdout);
    if ((command->flags & FLAG_CONFIG) != 0)
        fputs("      --config FILE   the configuration file (default " DEFAULT_CONFIG ")\n", stdout);
    if ((command->flags & FLAG_ONLINE) != 0)
        fputs(
            "      --online        also check that each cluster answers, serves the kinds of the adapters, and allows\n"
            "                      what the host does there\n",
            stdout);
    if ((command->flags & FLAG_PLAN) != 0)
        fputs("  -f FILE             the objects, one or several documents or lists; - is standard input\n"
              "      --status FILE   also tell what status the workload gets when its mirror has this one: a status,\n"
              "                      or an object with one\n"
              "      --cluster NAME  also try the mirror in this worker (server-side dry run): what its admission\n"
              "                      changes or refuses\n",
              stdout);
    if ((command->flags & FLAG_ADAPTER) != 0)
        fputs("      --objects DIR   a folder with objects of its kinds, YAML or JSON; documents beside an object\n"
              "                      that have a status and no kind are statuses of its mirror\n"
              "      --settings FILE the adapter's settings, YAML\n"
              "      --save DIR      write an object that shows it into this folder, for each finding\n",
              stdout);
    fputs("  -h, --help          print this\n", stdout);
}

static int unknown_command(const char *name) {
    const char *known[N_COMMANDS];
    for (size_t i = 0; i < N_COMMANDS; i++)
        known[i] = commands[i].name;
    const char *meant = suggest(name, known, N_COMMANDS);
    fprintf(stderr, "error: unknown command \"%s\" for \"wharf\"%s%s%s\n", name, meant ? ", did you mean \"" : "",
            meant ? meant : "", meant ? "\"?" : "");
    fputs("See 'wharf help' for usage.\n", stderr);
    return EXIT_USAGE;
}

static int run_host(const struct arguments *arguments) {
    return host_main(arguments->config);
}

static int run_help(const struct arguments *arguments) {
    if (!arguments->topic) {
        print_overview(stdout);
        return EXIT_SUCCESS;
    }
    const struct command *command = find_command(arguments->topic);
    if (!command)
        return unknown_command(arguments->topic);
    print_command(command);
    return EXIT_SUCCESS;
}

static int usage_error(const struct command *command, const char *problem, const char *what) {
    fprintf(stderr, "error: %s%s\nSee 'wharf %s --help' for usage.\n", problem, what, command->name);
    return EXIT_USAGE;
}

// The value of "--flag=value" or of "--flag value"; *at moves on to the latter. NULL if there is none.
static const char *flag_value(char **argv, int argc, int *at, size_t name_len) {
    if (argv[*at][name_len] == '=')
        return argv[*at] + name_len + 1;
    return *at + 1 < argc ? argv[++*at] : NULL;
}

static bool is_flag(const char *argument, const char *flag) {
    size_t len = strlen(flag);
    return strncmp(argument, flag, len) == 0 && (argument[len] == '\0' || argument[len] == '=');
}

// -1: go on; -2: it is none of them; else the exit code.
static int read_plan_argument(const struct command *command, int argc, char **argv, int *at,
                              struct arguments *arguments) {
    const struct {
        const char *flag;
        const char **value;
    } flags[] = {{"-f", &arguments->file}, {"--status", &arguments->status}, {"--cluster", &arguments->cluster}};
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        if (!is_flag(argv[*at], flags[i].flag))
            continue;
        const char *value = flag_value(argv, argc, at, strlen(flags[i].flag));
        if (!value || value[0] == '\0')
            return usage_error(command, "flag needs an argument: ", flags[i].flag);
        if (*flags[i].value)
            return usage_error(command, "flag given twice: ", flags[i].flag);
        *flags[i].value = value;
        return -1;
    }
    return -2;
}

// -1: go on; else the exit code.
static int read_argument(const struct command *command, int argc, char **argv, int *at, struct arguments *arguments) {
    const char *argument = argv[*at];
    if (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0) {
        print_command(command);
        return EXIT_SUCCESS;
    }
    if ((command->flags & FLAG_CONFIG) != 0 && is_flag(argument, "--config")) {
        arguments->config = flag_value(argv, argc, at, strlen("--config"));
        bool given = arguments->config && arguments->config[0] != '\0';
        return given ? -1 : usage_error(command, "flag needs an argument: ", "--config");
    }
    if ((command->flags & FLAG_ONLINE) != 0 && is_flag(argument, "--online")) {
        arguments->online = true;
        return argument[strlen("--online")] == '\0' ? -1 : usage_error(command, "flag takes no argument: ", "--online");
    }
    if ((command->flags & FLAG_PLAN) != 0) {
        int code = read_plan_argument(command, argc, argv, at, arguments);
        if (code != -2)
            return code;
    }
    if (argument[0] == '-' && argument[1] != '\0')
        return usage_error(command, "unknown flag: ", argument);
    if ((command->flags & TAKES_TOPIC) != 0 && !arguments->topic) {
        arguments->topic = argument;
        return -1;
    }
    return usage_error(command, "unexpected argument: ", argument);
}

static int run_command(const struct command *command, int argc, char **argv) {
    struct arguments arguments = {.config = DEFAULT_CONFIG, .argc = argc - 2, .argv = argv + 2};
    for (int i = 2; i < argc; i++) {
        if ((command->flags & FLAG_ADAPTER) != 0 && strcmp(argv[i], "--help") != 0 && strcmp(argv[i], "-h") != 0)
            continue;
        int code = read_argument(command, argc, argv, &i, &arguments);
        if (code >= 0)
            return code;
    }
    if ((command->flags & FLAG_PLAN) != 0 && !arguments.file)
        return usage_error(command, "flag is required: ", "-f");
    return command->run(&arguments);
}

static int dispatch(int argc, char **argv) {
    if (argc < 2) {
        print_overview(stderr);
        return EXIT_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        name = "help";
    else if (strcmp(name, "--version") == 0)
        name = "version";
    const struct command *command = find_command(name);
    if (command)
        return run_command(command, argc, argv);
    if (name[0] == '-') {
        fprintf(stderr, "error: unknown flag: %s\nSee 'wharf help' for usage.\n", name);
        return EXIT_USAGE;
    }
    return unknown_command(name);
}

int main(int argc, char **argv) {
    signal(SIGPIPE, SIG_IGN); // a reader that went away is an error of the write
    signal(SIGXFSZ, SIG_IGN); // so is a file that has become too large
    int code = dispatch(argc, argv);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fputs("error: cannot write to standard output\n", stderr);
        return code == EXIT_SUCCESS ? EXIT_FAILURE : code;
    }
    return code;
}
