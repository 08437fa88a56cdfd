// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/bench.h"

#include "core/base/clock.h"
#include "core/base/text.h"
#include "core/json/pointer.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void bench_fail(const char *what) {
    fprintf(stderr, "bench: %s\n", what);
    exit(1);
}

static void must(struct error *error) {
    if (error)
        bench_fail(error_text(error));
}

static void write_file(const char *directory, const char *name, const char *text) {
    AUTO_TEXT path = text_format("%s/%s", directory, name);
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file || fputs(text, file) < 0 || fclose(file) != 0)
        bench_fail("a file cannot be written");
}

static const char *cluster_name(size_t index) {
    static const char *const names[BENCH_CLUSTERS] = {"mgmt", "w1", "w2", "w3"};
    return names[index];
}

void bench_start(struct bench *bench, const char *build, bool tls, bool controllers) {
    *bench = (struct bench){.build = build, .tls = tls};
    text_copy(bench->directory, sizeof bench->directory, "/tmp/wharf-bench-XXXXXX");
    if (!mkdtemp(bench->directory))
        bench_fail("no temporary folder");
    if (tls)
        must(certs_make(&(struct certs_options){0}, &bench->certs));
    for (size_t c = 0; c < BENCH_CLUSTERS; c++) {
        struct world_options options = {.name = cluster_name(c),
                                        .seed = c,
                                        .history = 65536,
                                        .no_controllers = !controllers,
                                        .controller_delay_ns = 1 * CLOCK_MS,
                                        .pod_start_ns = 20 * CLOCK_MS,
                                        .pod_run_ns = 50 * CLOCK_MS};
        bench->clusters[c] = world_new(&options, front_now_ns());
        must(front_start(bench->clusters[c], 0, tls ? &bench->certs : NULL, &bench->fronts[c]));
        AUTO_TEXT text = certs_kubeconfig(tls ? &bench->certs : NULL, cluster_name(c), front_url(bench->fronts[c]));
        AUTO_TEXT name = text_format("%s.kubeconfig", cluster_name(c));
        write_file(bench->directory, name, text);
    }
}

void bench_stop(struct bench *bench) {
    if (bench->host)
        bench_host_stop(bench);
    for (size_t c = 0; c < BENCH_CLUSTERS; c++) {
        front_stop(bench->fronts[c]);
        world_free(bench->clusters[c]);
    }
    free(bench->adapters);
    if (bench->tls)
        certs_free(&bench->certs);
    static const char *const files[] = {"mgmt.kubeconfig", "w1.kubeconfig", "w2.kubeconfig",
                                        "w3.kubeconfig",   "wharf.yaml",    "wharf.log"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        AUTO_TEXT path = text_format("%s/%s", bench->directory, files[i]);
        unlink(path);
    }
    rmdir(bench->directory);
}

static void write_config(const struct bench *bench, const char *retention) {
    char *adapters = realpath(bench->build, NULL);
    AUTO_TEXT text =
        text_format("apiVersion: wharf.dev/v1alpha1\nkind: HostConfiguration\norigin: " BENCH_ORIGIN "\n"
                    "management: {kubeconfig: mgmt.kubeconfig}\n"
                    "workers:\n- {name: w1, kubeconfig: w1.kubeconfig}\n- {name: w2, kubeconfig: w2.kubeconfig}\n"
                    "- {name: w3, kubeconfig: w3.kubeconfig}\n"
                    "adapters:\n  directory: %s/adapters\n  enabled:\n  - name: job\n%s"
                    "mirrorRetention: %s\nrateLimit: {qps: 0}\nlog: {level: warn}\n",
                    adapters, bench->adapters ? bench->adapters : "", retention);
    free(adapters);
    write_file(bench->directory, "wharf.yaml", text);
}

// The host has opened its watches and has nothing to do: its processor time stands still.
static double wait_for_rest(const struct bench *bench) {
    double last = -1;
    int64_t since_ns = clock_now().mono_ns, now_ns = since_ns;
    while (now_ns - since_ns < 1500 * CLOCK_MS) {
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        now_ns = clock_now().mono_ns;
        if (now_ns - bench->host_started_ns > 300 * CLOCK_SECOND)
            bench_fail("the host does not come to rest");
        double cpu = bench_host_cpu(bench);
        if (cpu > last + 0.011 || last < 0) {
            last = cpu;
            since_ns = now_ns;
        }
    }
    return (double)(since_ns - bench->host_started_ns) / 1e9;
}

double bench_host_start(struct bench *bench, const char *retention) {
    write_config(bench, retention);
    AUTO_TEXT program = text_format("%s/wharf", bench->build);
    AUTO_TEXT config = text_format("%s/wharf.yaml", bench->directory);
    AUTO_TEXT log = text_format("%s/wharf.log", bench->directory);
    bench->host_started_ns = clock_now().mono_ns;
    bench->host = fork();
    if (bench->host == 0) {
        int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
        dup2(fd, 2);
        execl(program, "wharf", "run", "--config", config, (char *)NULL);
        _exit(127);
    }
    double seconds = wait_for_rest(bench);
    if (waitpid(bench->host, NULL, WNOHANG) != 0)
        bench_fail("the host ended; is it built?");
    return seconds;
}

void bench_host_stop(struct bench *bench) {
    int status = 0;
    kill(bench->host, SIGTERM);
    if (waitpid(bench->host, &status, 0) != bench->host || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        bench_fail("the host did not end well");
    bench->host = 0;
}

uint64_t bench_bytes(const struct bench *bench) {
    uint64_t bytes = 0;
    for (size_t c = 0; c < BENCH_CLUSTERS; c++)
        bytes += front_bytes(bench->fronts[c]);
    return bytes;
}

static void read_proc(const struct bench *bench, const char *file, char *text, size_t size) {
    AUTO_TEXT path = text_format("/proc/%d/%s", (int)bench->host, file);
    int fd = open(path, O_RDONLY);
    ssize_t len = fd >= 0 ? read(fd, text, size - 1) : -1;
    text[len > 0 ? len : 0] = '\0';
    close(fd);
}

int64_t bench_host_rss(const struct bench *bench) {
    char text[4096];
    read_proc(bench, "status", text, sizeof text);
    const char *at = strstr(text, "VmRSS:");
    return at ? strtoll(at + 6, NULL, 10) * 1024 : 0;
}

double bench_host_cpu(const struct bench *bench) {
    char text[1024];
    read_proc(bench, "stat", text, sizeof text);
    const char *at = strrchr(text, ')'); // fields 14 and 15 are utime and stime (proc(5))
    for (int field = 2; at && field < 14; field++)
        at = strchr(at + 1, ' ');
    if (!at)
        return 0;
    char *next = NULL;
    double ticks = (double)strtoull(at, &next, 10);
    ticks += (double)strtoull(next, NULL, 10);
    return ticks / (double)sysconf(_SC_CLK_TCK);
}

struct json *bench_job(const char *name, const char *changes, size_t extra) {
    static const char text[] =
        "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"x\",\"namespace\":\"default\","
        "\"labels\":{\"app\":\"train\"},\"annotations\":{}},\"spec\":{\"managedBy\":\"wharf.dev/"
        "host\",\"parallelism\":1,"
        "\"completions\":1,\"template\":{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"main\","
        "\"image\":\"example.com/train:1\",\"command\":[\"train\"],\"env\":[]}]}}}}";
    struct json *job = NULL;
    must(json_parse(text, sizeof text - 1, &job));
    bool ok = pointer_set(job, "/metadata/name", json_new_string(name));
    if (changes)
        ok = ok && pointer_set(job, "/metadata/annotations/world.test~1changes", json_new_string(changes));
    for (size_t size = 0; ok && size < extra; size += 96) {
        struct json *variable = json_new_object();
        AUTO_TEXT key = text_format("VARIABLE_%zu", size);
        ok = json_set(variable, "name", json_new_string(key)) &&
             json_set(variable, "value", json_new_string("a value of a usual length, as programs are told with")) &&
             pointer_set(job, "/spec/template/spec/containers/0/env/-", variable);
    }
    if (!ok)
        bench_fail("memory");
    return job;
}
