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

static void start_cluster(struct bench *bench, const struct bench_options *wanted) {
    const size_t c = bench->n_clusters;
    const struct certs *certs = bench->tls ? &bench->certs : NULL;
    char name[32] = "mgmt";
    if (c > 0)
        snprintf(name, sizeof name, "w%zu", c);
    struct world_options options = {.name = name,
                                    .seed = c,
                                    .history = 65536,
                                    .no_controllers = !wanted->controllers,
                                    .controller_delay_ns = 1 * CLOCK_MS,
                                    .pod_start_ns = 20 * CLOCK_MS,
                                    .pod_run_ns = 50 * CLOCK_MS};
    bench->clusters[c] = world_new(&options, front_now_ns());
    must(front_start(bench->clusters[c], 0, certs, &bench->fronts[c]));
    front_set_cost(bench->fronts[c], &wanted->cost);
    AUTO_TEXT text = certs_kubeconfig(certs, name, front_url(bench->fronts[c]));
    AUTO_TEXT file = text_format("%s.kubeconfig", name);
    write_file(bench->directory, file, text);
    bench->n_clusters++;
}

void bench_start(struct bench *bench, const struct bench_options *options) {
    size_t workers = options->workers ? options->workers : BENCH_WORKERS;
    *bench = (struct bench){.build = options->build, .tls = options->tls};
    text_copy(bench->directory, sizeof bench->directory, "/tmp/wharf-bench-XXXXXX");
    if (!mkdtemp(bench->directory))
        bench_fail("no temporary folder");
    if (bench->tls)
        must(certs_make(&(struct certs_options){0}, &bench->certs));
    while (bench->n_clusters <= workers)
        start_cluster(bench, options);
}

static void remove_file(const struct bench *bench, const char *name) {
    AUTO_TEXT path = text_format("%s/%s", bench->directory, name);
    unlink(path);
}

void bench_stop(struct bench *bench) {
    if (bench->host)
        bench_host_stop(bench);
    for (size_t c = 0; c < bench->n_clusters; c++) {
        AUTO_TEXT kubeconfig = text_format("%s.kubeconfig", world_name(bench->clusters[c]));
        remove_file(bench, kubeconfig);
        front_stop(bench->fronts[c]);
        world_free(bench->clusters[c]);
    }
    free(bench->adapters);
    if (bench->tls)
        certs_free(&bench->certs);
    remove_file(bench, "wharf.yaml");
    remove_file(bench, "wharf.log");
    rmdir(bench->directory);
}

static void write_config(const struct bench *bench, const char *retention) {
    char *adapters = realpath(bench->build, NULL);
    AUTO_BUFFER(workers, 1 << 16);
    for (size_t c = 1; c < bench->n_clusters; c++)
        buffer_printf(&workers, "- {name: %s, kubeconfig: %s.kubeconfig}\n", world_name(bench->clusters[c]),
                      world_name(bench->clusters[c]));
    AUTO_TEXT text = text_format("apiVersion: wharf.dev/v1alpha1\nkind: HostConfiguration\norigin: " BENCH_ORIGIN "\n"
                                 "management: {kubeconfig: mgmt.kubeconfig}\n"
                                 "workers:\n%s"
                                 "adapters:\n  directory: %s/adapters\n  enabled:\n  - name: job\n%s"
                                 "mirrorRetention: %s\nrateLimit: {qps: 0}\nlog: {level: warn}\n",
                                 workers.data, adapters, bench->adapters ? bench->adapters : "", retention);
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
        if (cpu > last + 0.009 + 0.0005 * (double)bench->n_clusters || last < 0) {
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
    for (size_t c = 0; c < bench->n_clusters; c++)
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
    clockid_t clock;
    struct timespec time = {0};
    if (clock_getcpuclockid(bench->host, &clock) != 0 || clock_gettime(clock, &time) != 0)
        return 0;
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

void bench_count_connections(struct bench *bench) {
    for (size_t c = 0; c < bench->n_clusters; c++)
        front_count_connections(bench->fronts[c]);
}

struct bench_connections bench_connections(struct bench *bench) {
    struct bench_connections sum = {0};
    for (size_t c = 0; c < bench->n_clusters; c++) {
        struct front_connections one = front_connections(bench->fronts[c]);
        sum.opened += one.opened;
        sum.most += one.most;
        sum.most_of_one = one.most > sum.most_of_one ? one.most : sum.most_of_one;
    }
    return sum;
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
