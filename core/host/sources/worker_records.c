// SPDX-License-Identifier: Apache-2.0
#include "core/host/sources/sources.h"

#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/base/thread.h"
#include "core/kube/client/client.h"

#include <pthread.h>
#include <stdatomic.h>

#define GATHER_NS CLOCK_SECOND // between writes: workers identified together share one write
#define STANDBY_NS (10 * CLOCK_SECOND)
#define RETRY_MAX_NS (10 * CLOCK_MINUTE)
#define WRITE_MAX 500 // records in one write
#define UID_MAX 40
#define NAMES " names="

static const struct resource config_maps = {.group = "", .version = "v1", .plural = "configmaps"};

struct worker_record {
    const char *name, *uid, *source, *names; // uid "": not known; source, names "": none
    bool left;
    bool written; // at least once, with the present value
};

struct worker_records {
    pthread_mutex_t mutex;
    struct map list;     // under the mutex: blocks of struct worker_record
    atomic_bool changed; // since the last look
    // Below: on the management cluster's thread.
    bool is_seen;          // the ConfigMap was read, or is known to be missing
    char *version;         // of the ConfigMap; NULL: there is none
    struct json *recorded; // its annotations, or NULL
    uint64_t request;      // in flight; 0: none
    int64_t now_ns;        // of the last tick
    int64_t next_ns;       // time of the next permitted write
    int64_t wait_ns;       // after a failure or a repeated write; 0: neither
    bool again;            // the write in flight repeats a former one: the host does not fight another writer
    enum reason told;      // the last logged failure
};

struct error *worker_records_new(struct worker_records **out) {
    struct worker_records *records = calloc(1, sizeof *records);
    if (!records)
        return error_no_memory();
    map_init(&records->list, random_system());
    pthread_mutex_init(&records->mutex, NULL);
    *out = records;
    return NULL;
}

void worker_records_free(struct worker_records *records) {
    if (!records)
        return;
    map_free_values(&records->list);
    free(records->version);
    json_free(records->recorded);
    pthread_mutex_destroy(&records->mutex);
    free(records);
}

// Rules are separated by ',' in a record, by line feeds in a map.
static void replace_all(char *text, char from, char to) {
    for (; *text; text++)
        *text = *text == from ? to : *text;
}

bool worker_record_read(const char *key, const char *value, struct worker_record_text *out) {
    size_t len = value ? strcspn(value, " ") : 0;
    if (!text_has_prefix(key, WORKER_RECORD_PREFIX) || len == 0 || len >= UID_MAX || !(out->text = strdup(value)))
        return false;
    char *names = strstr(out->text, NAMES), *rest = out->text + len;
    out->names = "";
    if (names) {
        *names = '\0';
        replace_all(names + strlen(NAMES), ',', '\n');
        out->names = names + strlen(NAMES);
    }
    out->source = rest + (*rest == ' ');
    *rest = '\0';
    out->uid = out->text;
    return true;
}

// The records to write --------------------------------------------------------------------------------------------

// Without memory, the next change records the worker.
bool worker_records_set(struct worker_records *records, const char *name, const char *uid, const char *source,
                        const char *names) {
    const struct worker_record record = {
        .name = name, .uid = uid ? uid : "", .source = source ? source : "", .names = names ? names : "", .left = !uid};
    AUTO_LOCK(&records->mutex);
    records->changed = blocks_put(&records->list, &record, sizeof record, 4);
    return records->changed;
}

void worker_records_see(struct worker_records *records, const struct json *map) {
    AUTO_TEXT version = map ? strdup(object_version(map)) : NULL;
    const struct json *annotations = json_path(map, "metadata", "annotations", NULL);
    AUTO_JSON recorded = annotations ? json_copy(annotations) : NULL;
    bool good = (version || !map) && (recorded || !annotations);
    if (good) {
        free(records->version);
        json_free(records->recorded);
        records->version = TAKE(version);
        records->recorded = TAKE(recorded);
    }
    records->is_seen |= good;
    records->changed = true;
}

// The annotation that a worker has; NULL: none.
static const char *recorded_of(const struct worker_records *records, const char *name) {
    AUTO_TEXT key = text_format(WORKER_RECORD_PREFIX "%s", name);
    return key ? json_string(json_get(records->recorded, key)) : NULL;
}

// Another worker has recorded the uid, and was not found to be another cluster: the engine is about to refuse this one,
// after reading the record.
static bool belongs_to_another(const struct worker_records *records, const struct worker_record *record) {
    size_t len = strlen(record->uid);
    for (const struct json *each = json_first(records->recorded); each; each = json_next(each)) {
        const char *value = json_string_or(each, "");
        if (strncmp(value, record->uid, len) != 0 || (value[len] != ' ' && value[len] != '\0') ||
            !text_has_prefix(json_key(each), WORKER_RECORD_PREFIX))
            continue;
        const struct worker_record *other = map_get(&records->list, json_key(each) + strlen(WORKER_RECORD_PREFIX));
        if (other && other != record && !other->left && (*other->uid == '\0' || strcmp(other->uid, record->uid) == 0))
            return true;
    }
    return false;
}

// Adds the annotation of a worker if changed. False: out of memory.
static bool add_annotation(struct worker_records *records, struct worker_record *record, struct json *annotations) {
    const char *found = recorded_of(records, record->name);
    AUTO_TEXT key = text_format(WORKER_RECORD_PREFIX "%s", record->name);
    size_t len = strlen(record->names), end = len > 0 && record->names[len - 1] == '\n' ? len - 1 : len;
    AUTO_TEXT value = text_format("%s%s%s%s%.*s", record->uid, *record->source ? " " : "", record->source,
                                  end > 0 ? NAMES : "", (int)end, record->names);
    if (!key || !value)
        return false;
    replace_all(value, '\n', ',');
    if (record->left)
        return !found || json_set(annotations, key, json_new_null());
    if (*record->uid == '\0' || text_equal(found, value) || belongs_to_another(records, record))
        return true;
    records->again |= record->written;
    record->written = true;
    return json_set(annotations, key, json_new_string(value));
}

// The annotations to change; NULL: none, or no memory.
static struct json *collect_changes(struct worker_records *records) {
    AUTO_JSON annotations = json_new_object();
    bool good = annotations;
    records->again = false;
    AUTO_LOCK(&records->mutex);
    size_t cursor = 0;
    for (struct worker_record *record; good && (record = map_next(&records->list, &cursor));)
        if (record->left && !recorded_of(records, record->name))
            free(map_remove(&records->list, record->name));
        else if (json_size(annotations) < WRITE_MAX)
            good = add_annotation(records, record, annotations);
    records->changed = false;
    return good && json_size(annotations) > 0 ? TAKE(annotations) : NULL;
}

// Writing ---------------------------------------------------------------------------------------------------------

static void wait_longer(struct worker_records *records) {
    records->wait_ns = records->wait_ns ? clock_earlier(2 * records->wait_ns, RETRY_MAX_NS) : GATHER_NS;
    records->next_ns = clock_later(records->next_ns, records->now_ns + records->wait_ns);
}

static void report_failure(struct worker_records *records, enum reason reason, const char *message) {
    bool conflict = reason == REASON_CONFLICT || reason == REASON_ALREADY_EXISTS; // the watch brings the other version
    wait_longer(records);
    records->changed = true;
    if (conflict || records->told == reason)
        return;
    records->told = reason;
    log_fields(LOG_WARN,
               "workers cannot be recorded, so after a restart a worker that claims another's uid may be used in its "
               "place: the host must be allowed to create and patch the ConfigMap in its namespace",
               {"configmap", WORKERS_CONFIG_MAP}, {"error", message});
}

static void on_written(void *ctx, struct response *response) {
    struct worker_records *records = ctx;
    records->request = 0;
    if (response->reason != REASON_OK) {
        report_failure(records, response->reason, response->message);
        return;
    }
    records->told = REASON_OK;
    if (records->again)
        wait_longer(records);
    else
        records->wait_ns = 0;
    if (response->object && !response->object->too_large)
        worker_records_see(records, response->object->value);
}

// {"metadata": {"annotations": ...}}, with the other fields of a patch or a create.
static struct json *make_body(const struct worker_records *records, const char *namespace_, struct json *annotations) {
    AUTO_JSON body = json_new_object();
    struct json *metadata = json_new_object();
    bool good = json_set(metadata, "annotations", annotations);
    good = good && (records->version ? json_set(metadata, "resourceVersion", json_new_string(records->version))
                                     : json_set(metadata, "name", json_new_string(WORKERS_CONFIG_MAP)) &&
                                           json_set(metadata, "namespace", json_new_string(namespace_)));
    good = json_set(body, "metadata", metadata) && good; // takes `metadata` in any case
    good = good && (records->version || (json_set(body, "apiVersion", json_new_string("v1")) &&
                                         json_set(body, "kind", json_new_string("ConfigMap"))));
    return good ? TAKE(body) : NULL;
}

// Takes the annotations.
static struct error *write_records(struct worker_records *records, const struct worker_records_place *place,
                                   struct json *annotations) {
    AUTO_JSON body = make_body(records, place->namespace_, annotations);
    size_t len = 0;
    AUTO_TEXT text = body ? json_text(body, &len) : NULL;
    if (!text)
        return error_no_memory();
    struct request request = {.verb = records->version ? VERB_MERGE_PATCH : VERB_CREATE,
                              .resource = config_maps,
                              .namespace_ = place->namespace_,
                              .name = WORKERS_CONFIG_MAP,
                              .body = text,
                              .body_len = len,
                              .gate = place->gate};
    return client_submit(place->management, &request, on_written, records, &records->request);
}

// When there is nothing in flight.
static int64_t begin_write(struct worker_records *records, const struct worker_records_place *place,
                           struct moment now) {
    if (!records->changed || !records->is_seen)
        return CLOCK_NEVER;
    if (now.mono_ns < records->next_ns)
        return records->next_ns;
    records->next_ns = now.mono_ns + GATHER_NS;
    if (!gate_is_open(place->gate, now.mono_ns)) { // another replica does
        records->next_ns = now.mono_ns + STANDBY_NS;
        return records->next_ns;
    }
    struct json *annotations = collect_changes(records);
    if (!annotations)
        return CLOCK_NEVER;
    struct error *error = write_records(records, place, annotations);
    if (error)
        report_failure(records, REASON_NOT_SENT, error_text(error));
    error_free(error);
    return records->next_ns;
}

int64_t worker_records_tick(struct worker_records *records, const struct worker_records_place *place,
                            struct moment now) {
    records->now_ns = now.mono_ns;
    return records->request ? CLOCK_NEVER : begin_write(records, place, now);
}

void worker_records_stop(struct worker_records *records) {
    records->request = 0;
}
