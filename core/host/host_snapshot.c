// SPDX-License-Identifier: Apache-2.0
// The state that other threads read.
#include "core/base/log.h"
#include "core/base/text.h"
#include "core/base/thread.h"
#include "core/config/dependencies.h"
#include "core/host/host_internal.h"
#include "core/host/sources/sources.h"

#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

static int release_object(struct dl_phdr_info *info, size_t size, void *ctx) {
    (void)size;
    (void)ctx;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD || (segment->p_flags & PF_W))
            continue; // dirty pages have no copy in the file
        uintptr_t start = info->dlpi_addr + segment->p_vaddr, end = start + segment->p_memsz;
        start &= ~(page - 1);
        end = (end + page - 1) & ~(page - 1);
        madvise((void *)start, end - start, MADV_DONTNEED); // fails for the vdso, which is fine
    }
    return 0;
}

// Returns free heap to the system and drops pages of program text and constants: libcurl loads about thirty libraries,
// which use most of their text only once, at startup. The kernel reads dropped pages again from the page cache.
static void trim_memory(void) {
    malloc_trim(0);
    dl_iterate_phdr(release_object, NULL);
}

void trim_when_idle(struct host *host, struct moment now, size_t events) {
    host->churn += events;
    if (events > 0)
        host->trim_at_ns = host->churn >= HOST_TRIM_EVENTS ? now.mono_ns + HOST_TRIM_AFTER_NS : CLOCK_NEVER;
    if (now.mono_ns < host->trim_at_ns)
        return;
    trim_memory();
    host->churn = 0;
    host->trim_at_ns = CLOCK_NEVER;
}

// Adds the host's facts about its workers. Without memory the facts are missing.
static void fill_in(const struct host *host, struct stats *stats) {
    for (size_t c = 1; c < stats->n_clusters; c++) {
        const struct host_cluster *cluster = host->clusters[stats->clusters[c].number];
        stats->clusters[c].leaving = cluster->state == CLUSTER_LEAVING;
        stats->clusters[c].max_active = cluster->spec.settings.max_active;
        stats->clusters[c].source = worker_source_kinds[cluster->spec.source]->name;
        stats->clusters[c].from = cluster->spec.origin_text ? strdup(cluster->spec.origin_text) : NULL;
        stats->clusters[c].labels = strdup(cluster->spec.settings.labels ? cluster->spec.settings.labels : "");
    }
}

void snapshot_publish(struct host *host, struct moment now, bool force) {
    if (!force && now.mono_ns < host->published_ns + HOST_PUBLISH_NS) {
        host->publish_due = true;
        return;
    }
    struct stats copy;
    if (stats_copy(engine_stats(host->turn.engine), &copy))
        return;
    fill_in(host, &copy);
    bool in_sync = engine_in_sync(host->turn.engine);
    if (in_sync && !host->trimmed) {
        trim_memory();
        host->churn = HOST_TRIM_EVENTS; // and once more when idle: TLS and the first requests use much memory
        host->trim_at_ns = now.mono_ns + HOST_TRIM_AFTER_NS;
        host->trimmed = true;
        log_plain(LOG_INFO, "in sync");
    }
    pthread_mutex_lock(&host->snapshot_mutex);
    stats_free(&host->snapshot.stats);
    host->snapshot.stats = copy;
    host->snapshot.steps = host->turn.steps;
    host->snapshot.running = true;
    host->snapshot.in_sync = in_sync;
    host->snapshot.been_in_sync |= in_sync;
    host->snapshot.stopping = atomic_load(&host->stop);
    pthread_mutex_unlock(&host->snapshot_mutex);
    host->published_ns = now.mono_ns;
    host->publish_due = false;
}

int64_t host_stalled_ns(struct host *host) {
    return heartbeat_stalled_ns(&host->heart, inbox_waiting_since(host->inbox), clock_now().mono_ns);
}

// With the mutex held.
static struct error *read_clusters(struct host *host, struct host_snapshot *out) {
    int64_t now_ns = clock_now().mono_ns;
    out->readings = calloc(out->stats.n_clusters + 1, sizeof *out->readings);
    out->names = calloc(out->stats.n_clusters + 1, sizeof *out->names);
    if (!out->readings || !out->names)
        return error_no_memory();
    for (size_t c = 0; c < out->stats.n_clusters; c++) {
        struct cluster_reading *reading = &out->readings[c];
        out->names[c] = out->stats.clusters[c].name;
        size_t number = out->stats.clusters[c].number;
        meter_read(&host->clusters[number]->meter, &reading->meter);
        meter_recent(&host->clusters[number]->meter, now_ns, &reading->recent);
        reading->unheard = reading->meter.heard_ns == 0;
        int64_t heard_ns = reading->unheard ? host->made_ns : reading->meter.heard_ns;
        reading->silence_ns = clock_later(now_ns - heard_ns, 0);
        int64_t since_ns;
        reading->inbox = inbox_depth(host->inbox, number, &since_ns);
        reading->inbox_since_ns = since_ns < now_ns ? now_ns - since_ns : 0;
    }
    return NULL;
}

static struct error *copy_snapshot(struct host *host, struct host_snapshot *out) {
    AUTO_LOCK(&host->snapshot_mutex);
    *out = host->snapshot;
    out->taken = clock_now();
    out->stats = (struct stats){0};
    out->notes = (struct reload_notes){.sources = NULL};
    out->features.dependencies = (struct dependency_options){.copy = NULL};
    if (!dependency_options_set(&out->features.dependencies, &host->snapshot.features.dependencies))
        return error_no_memory();
    TRY(stats_copy(&host->snapshot.stats, &out->stats));
    TRY(reload_notes_copy(&host->snapshot.notes, &out->notes));
    return read_clusters(host, out);
}

struct error *host_snapshot(struct host *host, struct host_snapshot *out) {
    struct error *error = copy_snapshot(host, out);
    if (error) {
        host_snapshot_free(out);
        return error;
    }
    if (!out->running)
        out->waits_for = startup_problem(host->startup);
    else
        out->origin = startup_origin(host->startup);
    out->stalled_ns = host_stalled_ns(host);
    out->words = last_words_count(host->words);
    election_thread_read(host->election, &out->election);
    out->kinds = (const struct kind *const *)host_adapters(host)->kinds;
    for (size_t k = 0; k < out->stats.n_kinds; k++)
        for (size_t p = 0; p < STATS_PHASES; p++)
            out->workloads += out->stats.kinds[k].phases[p];
    return NULL;
}

void host_snapshot_free(struct host_snapshot *snapshot) {
    stats_free(&snapshot->stats);
    free(snapshot->readings);
    free(snapshot->names);
    free(snapshot->waits_for);
    dependency_options_clear(&snapshot->features.dependencies);
    reload_notes_free(&snapshot->notes);
}

struct error *reload_notes_copy(const struct reload_notes *from, struct reload_notes *to) {
    *to = (struct reload_notes){.reload = from->reload};
    to->reload.message = NULL; // text_set would free the text of `from`
    bool good = text_set(&to->reload.message, from->reload.message);
    for (size_t i = 0; good && i < from->n_sources; i++)
        good = source_notes_add(&to->sources, &to->n_sources, &from->sources[i]);
    if (good)
        return NULL;
    reload_notes_free(to);
    return error_no_memory();
}

void reload_notes_free(struct reload_notes *notes) {
    free(notes->reload.message);
    source_notes_free(notes->sources, notes->n_sources);
    *notes = (struct reload_notes){.sources = NULL};
}

void host_report_reload(struct host *host, bool successful, int64_t wall_ns, const char *message) {
    AUTO_LOCK(&host->snapshot_mutex);
    struct reload_note *note = &host->snapshot.notes.reload;
    (void)text_set(&note->message, message);
    note->at_wall_ns = wall_ns;
    note->successful = successful;
    if (successful)
        note->success_wall_ns = wall_ns;
}

void host_report_sources(struct host *host, struct source_note *notes, size_t count) {
    AUTO_LOCK(&host->snapshot_mutex);
    struct reload_notes *live = &host->snapshot.notes;
    source_notes_free(live->sources, live->n_sources);
    live->sources = notes;
    live->n_sources = count;
}
