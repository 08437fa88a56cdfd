// SPDX-License-Identifier: Apache-2.0
// The conformance kit for authors of adapters, which `wharf adapter test` runs: loads an adapter in a child process,
// calls the functions on given objects, on objects generated from the data of the kinds and on broken copies of both,
// and reports the broken rules of <wharf/adapter.h>.
#include "core/base/text.h"
#include "core/conform/child.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#define CONTROLLER_NAME "wharf.dev/host"
#define EXIT_USAGE 2
#define TIMEOUT_NS (10 * CLOCK_MINUTE)
#define ARGUMENT 1 // getopt_long's return value for an operand

struct kit {
    const char *file;
    const char *objects;       // folder, or NULL
    const char *settings_file; // YAML with the adapter's settings, or NULL
    const char *crd_file;      // YAML with CustomResourceDefinitions, or NULL
    const char *save;          // folder for an object of each finding, or NULL
    bool quiet;                // only findings, warnings and the last line
    bool verbose;              // messages and all fields in the lives of objects
    bool strict;               // warnings fail
    int64_t timeout_ns;        // of the whole run
    struct board *board;
    struct report report;
    struct documents documents, crds;
    struct json *settings;
    char *path;           // of the adapter, absolute
    char copy_folder[64]; // a private folder with a copy, if the loader rejects the file itself; or ""
    char *copy;
};

static void kit_cleanup(struct kit *kit) {
    if (kit->copy)
        unlink(kit->copy);
    if (kit->copy_folder[0] != '\0')
        rmdir(kit->copy_folder);
    free(kit->copy);
    free(kit->path);
    json_free(kit->settings);
    documents_free(&kit->documents);
    documents_free(&kit->crds);
    report_free(&kit->report);
    if (kit->board)
        munmap(kit->board, sizeof(*kit->board));
}

static struct error *copy_adapter(struct kit *kit) {
    char folder[] = "/tmp/wharf-adapter-XXXXXX";
    if (!mkdtemp(folder))
        return error_new(ERROR_IO, "%s: %s", folder, strerror(errno));
    text_copy(kit->copy_folder, sizeof(kit->copy_folder), folder);
    const char *name = strrchr(kit->path, '/');
    kit->copy = text_format("%s%s", folder, name ? name : "/adapter.so");
    AUTO_BUFFER(content, ADAPTER_FILE_MAX);
    TRY(kit->copy ? text_read_file(kit->path, ADAPTER_FILE_MAX, &content) : error_no_memory());
    return text_write_file(kit->copy, O_EXCL, 0700, &content);
}

static void print_warning(const char *words, const char *text) {
    fputs(words, stdout);
    text_print_line(stdout, text);
}

// The loader's checks before any code of the file runs. Wrong owners and permissions are for an operator to correct, so
// an author gets only a warning, and the kit loads a copy in a private folder. *fine is false if the file is no
// adapter.
static struct error *check_file(struct kit *kit, bool *fine) {
    char sha256[65];
    kit->path = realpath(kit->file, NULL);
    if (!kit->path)
        return error_new(ERROR_NOT_FOUND, "%s: %s", kit->file, strerror(errno));
    struct error *refusal __attribute__((cleanup(error_cleanup))) = adapter_file_check(kit->path, NULL, sha256);
    struct error *of_copy __attribute__((cleanup(error_cleanup))) = NULL;
    const struct error *problem = refusal;
    if (refusal && refusal->code == ERROR_REFUSED) {
        TRY(copy_adapter(kit));
        problem = of_copy = adapter_file_check(kit->copy, NULL, sha256);
        if (!problem)
            print_warning("warning: the host would not load the file from there: ", error_text(refusal));
    }
    *fine = !problem;
    struct finding finding = {.rule = RULE_FILE, .function = CALL_LOAD, .kind = "", .object = kit->path};
    finding.cause = finding.found = error_text(problem);
    return *fine || report_add(&kit->report, &finding) != SIZE_MAX ? NULL : error_no_memory();
}

static struct error *read_inputs(struct kit *kit) {
    struct problems problems = {.count = 0};
    struct error *error = kit->objects ? documents_read(kit->objects, &problems, &kit->documents) : NULL;
    for (size_t i = 0; i < problems.count; i++)
        print_warning("warning: left out: ", problems.list[i]);
    if (!error && kit->crd_file)
        error = documents_read(kit->crd_file, &problems, &kit->crds);
    if (!error && kit->crd_file && kit->crds.count == 0)
        error = error_new(ERROR_INVALID, "%s: found no document, expected a CustomResourceDefinition", kit->crd_file);
    problems_free(&problems);
    TRY(error);
    if (kit->settings_file)
        TRY(document_read(kit->settings_file, &kit->settings));
    else if (!(kit->settings = json_new_object()))
        return error_no_memory();
    if (json_is(kit->settings, JSON_OBJECT))
        return NULL;
    return error_new(ERROR_INVALID, "%s: found no mapping, expected the adapter's settings", kit->settings_file);
}

static int compare_ns(const void *a, const void *b) {
    const uint32_t *left = a, *right = b;
    return *left < *right ? -1 : *left > *right;
}

static void print_times(struct kit *kit) {
    for (enum function function = CALL_PHASE; function < N_FUNCTIONS; function++) {
        struct board_times *times = &kit->board->times[function];
        size_t count = times->count < BOARD_TIMES ? times->count : BOARD_TIMES;
        if (count == 0)
            continue;
        qsort(times->ns, count, sizeof(times->ns[0]), compare_ns);
        size_t middle = count / 2;
        printf("time of %s: median %.1f us, worst %.1f us\n", function_name(function), times->ns[middle] / 1000.0,
               times->ns[count - 1] / 1000.0);
    }
}

static struct error *try_adapter(struct kit *kit) {
    struct child_task task = {.file = kit->copy ? kit->copy : kit->path,
                              .controller_name = CONTROLLER_NAME,
                              .settings = kit->settings,
                              .documents = &kit->documents,
                              .documents_given = kit->objects,
                              .crds = &kit->crds,
                              .quiet = kit->quiet,
                              .verbose = kit->verbose,
                              .until_ns = clock_after(clock_ticks(), kit->timeout_ns)};
    TRY(process_trials(&task, kit->board, &kit->report));
    if (kit->board->n_trials == 0 || kit->report.stopped)
        return NULL;
    task.again = true;
    struct error *error = process_trials(&task, kit->board, &kit->report);
    if (!kit->quiet)
        print_times(kit);
    return error;
}

static struct error *test(struct kit *kit) {
    bool fine = false;
    void *board = mmap(NULL, sizeof(*kit->board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (board == MAP_FAILED)
        return error_no_memory();
    kit->board = board;
    kit->report.live = stdout;
    TRY(read_inputs(kit));
    TRY(check_file(kit, &fine));
    if (fine)
        TRY(try_adapter(kit));
    report_print(&kit->report, stdout);
    if (kit->report.count == 0 && kit->board->n_trials > 0 && !kit->report.stopped && !kit->quiet)
        puts("tried: every field missing, null, a boolean, a number, a huge number, a string, an empty string, an "
             "array and an object;\n"
             "numbers at limits; odd Unicode; 10 MB strings, 100,000 items and members, long names; the deepest "
             "nesting; every status\nafter every other; each call twice, in a second process, and in several threads "
             "at once");
    struct error *error = kit->save ? report_save(&kit->report, kit->save, stdout) : NULL;
    printf("\n%llu calls, %llu objects, %zu findings", (unsigned long long)kit->board->calls,
           (unsigned long long)kit->board->objects, kit->report.count);
    if (kit->report.warnings.count > 0)
        printf(", %zu warnings", kit->report.warnings.count);
    putchar('\n');
    return error;
}

static const struct option flags[] = {
    {"objects", required_argument, NULL, 'o'}, {"settings", required_argument, NULL, 's'},
    {"crd", required_argument, NULL, 'c'},     {"save", required_argument, NULL, 'S'},
    {"timeout", required_argument, NULL, 't'}, {"strict", no_argument, NULL, 'T'},
    {"quiet", no_argument, NULL, 'q'},         {"verbose", no_argument, NULL, 'v'},
    {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0}};

static int usage(const char *problem, const char *what) {
    fprintf(stderr, "error: %s%s\nSee 'wharf adapter --help' for usage.\n", problem, what);
    return EXIT_USAGE;
}

static int flag_usage(const char *problem, int letter) {
    char name[32] = "";
    for (const struct option *flag = flags; flag->name; flag++)
        if (flag->val == letter)
            snprintf(name, sizeof(name), "--%s", flag->name);
    return usage(problem, name);
}

static int unknown_flag(const char *argument) {
    static const char *const known[] = {"--objects", "--settings", "--crd",     "--save", "--timeout",
                                        "--strict",  "--quiet",    "--verbose", "--help"};
    AUTO_TEXT name = strndup(argument, strcspn(argument, "="));
    const char *meant = name ? suggest(name, known, sizeof(known) / sizeof(known[0])) : NULL;
    AUTO_TEXT what =
        text_format("%s%s%s%s", argument, meant ? ", did you mean \"" : "", meant ? meant : "", meant ? "\"?" : "");
    return usage("unknown flag: ", what ? what : argument);
}

static int set_flag(int letter, const char **value) {
    if (optarg[0] == '\0')
        return flag_usage("flag needs an argument: ", letter);
    if (*value)
        return flag_usage("flag given twice: ", letter);
    *value = optarg;
    return 0;
}

static int set_timeout(struct kit *kit) {
    if (clock_parse_duration(optarg, &kit->timeout_ns) && kit->timeout_ns > 0)
        return 0;
    return usage("--timeout: expected a duration like 10m, found ", optarg);
}

static int set_file(const char *file, struct kit *kit) {
    if (kit->file)
        return usage("unexpected argument: ", file);
    kit->file = file;
    return 0;
}

// The exit code, 0 to go on.
static int read_flag(int letter, const char *argument, struct kit *kit) {
    switch (letter) {
    case ARGUMENT:
        return set_file(optarg, kit);
    case 'o':
        return set_flag(letter, &kit->objects);
    case 's':
        return set_flag(letter, &kit->settings_file);
    case 'S':
        return set_flag(letter, &kit->save);
    case 'c':
        return set_flag(letter, &kit->crd_file);
    case 't':
        return set_timeout(kit);
    case 'T':
        kit->strict = true;
        return 0;
    case 'q':
        kit->quiet = true;
        return 0;
    case 'v':
        kit->verbose = true;
        return 0;
    case ':':
        return flag_usage("flag needs an argument: ", optopt);
    default:
        if (optopt != 0 && argument[1] == '-')
            return flag_usage("flag takes no argument: ", optopt);
        return unknown_flag(argument);
    }
}

static int read_arguments(int argc, char **argv, struct kit *kit, bool *help) {
    int letter = 0, code = 0;
    for (int at = optind; code == 0 && (letter = getopt_long(argc, argv, "-:hqv", flags, NULL)) != -1; at = optind) {
        *help |= letter == 'h';
        code = letter == 'h' ? 0 : read_flag(letter, argv[at], kit);
    }
    for (int i = optind; i < argc && code == 0; i++) // after "--"
        code = set_file(argv[i], kit);
    if (code != 0 || kit->file || *help)
        return code;
    return usage("a file is required: ", "wharf adapter test FILE.so");
}

static bool failed(const struct kit *kit) {
    const struct report *report = &kit->report;
    return report->count > 0 || report->stopped || (kit->strict && report->warnings.count > 0);
}

static int run_test(struct kit *kit) {
    struct error *error = test(kit);
    if (!error)
        return failed(kit) ? EXIT_FAILURE : EXIT_SUCCESS;
    fputs("error: ", stderr);
    text_print_line(stderr, error_text(error));
    error_free(error);
    return EXIT_FAILURE;
}

int main(int argc, char **argv) {
    signal(SIGPIPE, SIG_IGN); // a reader that went away is an error of the write
    signal(SIGXFSZ, SIG_IGN); // so is a file that has become too large
    __attribute__((cleanup(kit_cleanup))) struct kit kit = {.timeout_ns = TIMEOUT_NS};
    bool help = false;
    int code = read_arguments(argc, argv, &kit, &help);
    if (code == 0 && help)
        puts("This is the program behind 'wharf adapter test'. See 'wharf adapter --help' for usage.");
    else if (code == 0)
        code = run_test(&kit);
    return text_end_output(code);
}
