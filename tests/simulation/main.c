// SPDX-License-Identifier: Apache-2.0
// sim [--seeds N] [--from S] [--jobs N] [--once] | sim --seed S [--shrink] [--trace]: runs trials, several processes at
// a time. For a seed that fails: the rule, the time, the last lines of its trace, and the command that runs it again.
// --replicas: only those with several replicas (crew.h), which otherwise run beside the others.
// --once: ends with the first one. --shrink: leaves out what a failing seed fails without.
#include "core/base/log.h"
#include "tests/simulation/breaks.h"
#include "tests/simulation/cuts.h"
#include "tests/simulation/trial.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROCESSES 16
#define REPORTED_MAX 5    // failures that are reported in full, of each process
#define SEED_SECONDS 60   // real time; a trial takes a few hundredths of a second
#define REPLICAS_EVERY 5  // such a seed, divided by this, is also that of a trial with replicas
#define REPEATED_EVERY 25 // such a seed runs twice, with the same result

struct progress {  // shared with the parent
    uint64_t seed; // at work on
    uint64_t passed, failed;
    uint64_t steps;
};

struct settings {
    uint64_t seeds, from, seed;
    unsigned jobs;
    bool one, trace, once, shrink, replicas;
    const char *program;
};

static void tell(const struct trial *trial, bool replicas, const struct settings *settings) {
    flockfile(stderr);
    trial_tell(trial, stderr);
    fprintf(stderr, "  again: %s%s --seed %" PRIu64 " --trace\n", settings->program, replicas ? " --replicas" : "",
            trial->seed);
    funlockfile(stderr);
}

static bool run_once(uint64_t seed, bool replicas, bool tracing, const struct settings *settings, uint64_t *hash) {
    struct trial *trial = trial_new(seed, replicas, tracing, tracing && settings->trace, NULL);
    if (!trial)
        abort();
    bool ok = trial_run(trial);
    *hash = trial->hash;
    if (!ok && tracing)
        tell(trial, replicas, settings);
    else if (!ok)
        fprintf(stderr, "seed %" PRIu64 "%s: %s\n", seed, replicas ? ", replicas" : "", trial->failure);
    trial_free(trial);
    return ok;
}

// A failed trial is run again with its trace kept: it is deterministic.
static bool run_trial(uint64_t seed, bool replicas, const struct settings *settings, bool tell_all) {
    uint64_t hash = 0, again = 0;
    bool ok = run_once(seed, replicas, settings->one, settings, &hash);
    if (settings->one)
        return ok;
    if (!ok && tell_all) {
        run_once(seed, replicas, true, settings, &again);
    } else if (ok && seed % REPEATED_EVERY == 0) {
        run_once(seed, replicas, true, settings, &again);
        if (again != hash) {
            fprintf(stderr, "seed %" PRIu64 " is not deterministic: the second run differs\n", seed);
            return false;
        }
    }
    return ok;
}

static bool run_seed(uint64_t seed, const struct settings *settings, bool tell_all) {
    bool ok = settings->replicas || run_trial(seed, false, settings, tell_all);
    if (settings->replicas || (!settings->one && seed % REPLICAS_EVERY == 0))
        ok = run_trial(settings->replicas ? seed : seed / REPLICAS_EVERY, true, settings, tell_all) && ok;
    return ok;
}

static void work(struct progress *progress, uint64_t first, const struct settings *settings) {
    for (uint64_t seed = first; seed < settings->from + settings->seeds; seed += settings->jobs) {
        progress->seed = seed;
        alarm(SEED_SECONDS);
        if (run_seed(seed, settings, progress->failed < REPORTED_MAX))
            progress->passed++;
        else
            progress->failed++;
        if (settings->once && progress->failed > 0)
            break;
    }
    _exit(0);
}

static pid_t start(struct progress *progress, uint64_t first, const struct settings *settings) {
    pid_t pid = fork();
    if (pid == 0)
        work(progress, first, settings);
    if (pid < 0) {
        perror("sim: fork");
        exit(2);
    }
    return pid;
}

// A process that dies costs one seed; another process continues after it.
static void supervise(struct progress *all, const struct settings *settings) {
    pid_t pids[PROCESSES];
    unsigned alive = 0;
    for (unsigned i = 0; i < settings->jobs; i++, alive++)
        pids[i] = start(&all[i], settings->from + i, settings);
    while (alive > 0) {
        int status = 0;
        pid_t pid = wait(&status);
        unsigned i = 0;
        while (i < settings->jobs && pids[i] != pid)
            i++;
        if (i == settings->jobs)
            continue;
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
            alive--;
            continue;
        }
        fprintf(stderr, "seed %" PRIu64 ": the process died (%s %d); again: %s%s --seed %" PRIu64 " --trace\n",
                all[i].seed, WIFSIGNALED(status) ? "signal" : "exit code",
                WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), settings->program,
                settings->replicas ? " --replicas" : "", all[i].seed);
        all[i].failed++;
        pids[i] = start(&all[i], all[i].seed + settings->jobs, settings);
    }
}

static int run_all(const struct settings *settings) {
    size_t size = PROCESSES * sizeof(struct progress);
    struct progress *all = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) {
        perror("sim: mmap");
        return 2;
    }
    supervise(all, settings);
    uint64_t passed = 0, failed = 0;
    for (unsigned i = 0; i < settings->jobs; i++) {
        passed += all[i].passed;
        failed += all[i].failed;
    }
    printf("%" PRIu64 " passed, %" PRIu64 " failed, 0 skipped\n", passed, failed);
    munmap(all, size);
    return failed != 0;
}

static bool read_settings(int argc, char **argv, struct settings *settings) {
    for (int i = 1; i < argc; i++) {
        int64_t value = 0;
        bool *option = strcmp(argv[i], "--trace") == 0      ? &settings->trace
                       : strcmp(argv[i], "--once") == 0     ? &settings->once
                       : strcmp(argv[i], "--shrink") == 0   ? &settings->shrink
                       : strcmp(argv[i], "--replicas") == 0 ? &settings->replicas
                                                            : NULL;
        if (option) {
            *option = true;
            continue;
        }
        if (i + 1 == argc || !text_to_int64(argv[i + 1], &value) || value < 0)
            return false;
        if (strcmp(argv[i], "--seeds") == 0)
            settings->seeds = (uint64_t)value;
        else if (strcmp(argv[i], "--from") == 0)
            settings->from = (uint64_t)value;
        else if (strcmp(argv[i], "--jobs") == 0 && value > 0 && value <= PROCESSES)
            settings->jobs = (unsigned)value;
        else if (strcmp(argv[i], "--seed") == 0) {
            settings->seed = (uint64_t)value;
            settings->one = true;
        } else {
            return false;
        }
        i++;
    }
    return true;
}

int main(int argc, char **argv) {
    struct settings settings = {.seeds = 200, .jobs = 2, .program = argv[0]};
    if (!read_settings(argc, argv, &settings)) {
        fprintf(stderr, "usage: %s [--seeds N] [--from S] [--jobs N] [--once] | --seed S [--shrink] [--trace]\n",
                argv[0]);
        return 2;
    }
    log_setup(LOG_TEXT, LOG_ERROR);
    int null = settings.trace ? -1 : open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (null >= 0) // faults make guards report errors, among which the failures would be lost
        log_to(null);
    size_t n_kinds;
    const struct sim_kind *kinds = sim_kinds(&n_kinds); // read before fork
    for (size_t k = 0; k < n_kinds; k++)
        breaks_wrap(kinds[k].kind);
    if (!settings.one)
        return run_all(&settings);
    bool ok = settings.shrink ? !cuts_shrink(settings.seed, settings.replicas, settings.trace)
                              : run_seed(settings.seed, &settings, true);
    printf("%d passed, %d failed, 0 skipped\n", ok, !ok);
    return !ok;
}
