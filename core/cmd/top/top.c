// SPDX-License-Identifier: Apache-2.0
// `wharf top`: who used how much, from the accounts of the running host.
#include "core/cmd/top/top.h"

#include "core/cmd/remote/remote.h"

#define CELL_MAX ((size_t)64 << 10)
#define DOCUMENT_MAX ((size_t)64 << 20)
#define MINUTE 60.0
#define HOUR 3600.0
#define GIB (1024.0 * 1024 * 1024)
#define REST "(others)" // beyond the accounts that the host keeps; no object has such a name

enum { BY, NAMESPACE, CSV, OUTPUT };
static const struct flag flags[] = {
    [BY] = FLAG("by", 0, "WHAT", "one row for each of these", .fallback = "namespace",
                .words = WORDS("namespace", "worker", "kind")),
    [NAMESPACE] = FLAG("namespace", 'n', "NAME", "only workloads of this namespace", CHECK_NAMESPACE),
    [CSV] = SWITCH("csv", 0, "comma-separated values with all resources, in seconds"),
    [OUTPUT] =
        FLAG("output", 'o', "FORMAT", "all resources, in seconds, in this format", .words = WORDS("json", "yaml")),
};
static const char *const members[] = {"namespace", "cluster", NULL}; // of an item, by the words of --by; kind: below
static const char *const titles[] = {"NAMESPACE", "WORKER", "KIND"};

struct top_row {
    const char *name;
    double workloads, running, seconds;
    double *used; // by resource
};

struct totals {
    struct json *names;          // of the rows; owns the texts
    const struct json **columns; // resources, in the order of the output
    size_t n_columns;
    struct top_row *rows;
    size_t n_rows;
    struct top_row all;
};

static void totals_clear(struct totals *totals) {
    for (size_t i = 0; i < totals->n_rows; i++)
        free(totals->rows[i].used);
    free(totals->all.used);
    free(totals->rows);
    free(totals->columns);
    json_free(totals->names);
}

// Collecting ---------------------------------------------------------------------------------------------------

static const char *name_of(const struct json *item, enum top_by by, char *space, size_t size) {
    if (members[by])
        return json_string_or(json_get(item, members[by]), REST);
    const char *resource = json_string(json_get(item, "resource")), *group = json_string(json_get(item, "group"));
    if (!resource)
        return REST;
    snprintf(space, size, "%s%s%s", resource, group && *group ? "." : "", group ? group : "");
    return space;
}

// cpu and memory come first.
static int rank_of(const char *resource) {
    return strcmp(resource, "cpu") == 0 ? 0 : strcmp(resource, "memory") == 0 ? 1 : 2;
}

static int compare_columns(const void *a, const void *b) {
    const char *x = json_key(*(const struct json *const *)a), *y = json_key(*(const struct json *const *)b);
    return rank_of(x) != rank_of(y) ? rank_of(x) - rank_of(y) : strcmp(x, y);
}

static bool has_column(const struct totals *totals, const char *resource) {
    for (size_t c = 0; c < totals->n_columns; c++)
        if (strcmp(json_key(totals->columns[c]), resource) == 0)
            return true;
    return false;
}

// The table leaves out the pods, and what Kubernetes calls a resource without being a device.
static bool is_shown(const char *resource, bool all) {
    return all || rank_of(resource) < 2 || strchr(resource, '/') || strcmp(resource, "resourceclaims") == 0;
}

static bool find_columns(const struct json *items, bool all, struct totals *totals) {
    for (const struct json *item = json_first(items); item; item = json_next(item))
        for (const struct json *r = json_first(json_get(item, "resources")); r; r = json_next(r)) {
            if (!is_shown(json_key(r), all) || has_column(totals, json_key(r)))
                continue;
            const struct json **column = array_next(&totals->columns, totals->n_columns, sizeof *column);
            if (!column)
                return false;
            *column = r;
            totals->n_columns++;
        }
    if (totals->n_columns > 0)
        qsort(totals->columns, totals->n_columns, sizeof *totals->columns, compare_columns);
    return true;
}

// NULL: out of memory.
static struct top_row *row_of(struct totals *totals, const char *name) {
    for (size_t i = 0; i < totals->n_rows; i++)
        if (strcmp(totals->rows[i].name, name) == 0)
            return &totals->rows[i];
    struct top_row *row = array_next(&totals->rows, totals->n_rows, sizeof *row);
    double *used = row ? calloc(totals->n_columns + 1, sizeof *used) : NULL;
    if (!used || !json_set(totals->names, name, json_new_bool(true))) {
        free(used);
        return NULL;
    }
    *row = (struct top_row){.name = json_key(json_get(totals->names, name)), .used = used};
    totals->n_rows++;
    return row;
}

static void add_item(const struct json *item, const struct totals *totals, struct top_row *row) {
    row->workloads += json_double(json_get(item, "workloads"), 0);
    row->running += json_double(json_get(item, "running"), 0);
    row->seconds += json_double(json_get(item, "seconds"), 0);
    for (size_t c = 0; c < totals->n_columns; c++)
        row->used[c] += json_double(json_path(item, "resources", json_key(totals->columns[c]), NULL), 0);
}

static int by_use(const void *a, const void *b) {
    const struct top_row *x = a, *y = b;
    if (x->used[0] != y->used[0])
        return x->used[0] < y->used[0] ? 1 : -1;
    if (x->seconds != y->seconds)
        return x->seconds < y->seconds ? 1 : -1;
    return strcmp(x->name, y->name);
}

static struct error *add_up(const struct json *items, enum top_by by, bool all, struct totals *totals) {
    char space[512];
    totals->names = json_new_object();
    if (!totals->names || !find_columns(items, all, totals) ||
        !(totals->all.used = calloc(totals->n_columns + 1, sizeof *totals->all.used)))
        return error_no_memory();
    for (const struct json *item = json_first(items); item; item = json_next(item)) {
        struct top_row *row = row_of(totals, name_of(item, by, space, sizeof space));
        if (!row)
            return error_no_memory();
        add_item(item, totals, row);
        add_item(item, totals, &totals->all);
    }
    totals->all.name = "TOTAL";
    if (totals->n_rows > 0)
        qsort(totals->rows, totals->n_rows, sizeof *totals->rows, by_use);
    return NULL;
}

// Printing -----------------------------------------------------------------------------------------------------

// "9.00s", "12.5min", "340h", and "2.00GiBh" of a unit.
static void add_time(struct text_table *table, double seconds, const char *unit) {
    char text[64];
    bool in_seconds = seconds < MINUTE, in_minutes = seconds < HOUR;
    double number = seconds / (in_seconds ? 1 : in_minutes ? MINUTE : HOUR);
    snprintf(text, sizeof text, "%.*f%s%s",
             number < 10    ? 2
             : number < 100 ? 1
                            : 0,
             number, unit,
             in_seconds   ? "s"
             : in_minutes ? "min"
                          : "h");
    text_table_add(table, seconds > 0 ? text : "0");
}

static void add_row(const struct totals *totals, const struct top_row *row, struct text_table *table) {
    char number[32];
    text_table_add(table, row->name);
    snprintf(number, sizeof number, "%.0f", row->workloads);
    text_table_add(table, number);
    snprintf(number, sizeof number, "%.0f", row->running);
    text_table_add(table, number);
    add_time(table, row->seconds, "");
    for (size_t c = 0; c < totals->n_columns; c++) {
        bool memory = strcmp(json_key(totals->columns[c]), "memory") == 0;
        add_time(table, row->used[c] / (memory ? GIB : 1), memory ? "GiB" : "");
    }
}

static struct error *print_table(const struct totals *totals, enum top_by by) {
    struct text_table table = {.n_columns = totals->n_columns + 4};
    static const char *const heads[] = {"WORKLOADS", "RUNNING", "TIME"};
    text_table_add(&table, titles[by]);
    for (size_t i = 0; i < COUNT(heads); i++)
        text_table_add(&table, heads[i]);
    for (size_t c = 0; c < totals->n_columns; c++) {
        const char *resource = json_key(totals->columns[c]);
        text_table_add(&table, strcmp(resource, "cpu") == 0 ? "CPU" : rank_of(resource) == 1 ? "MEMORY" : resource);
    }
    for (size_t i = 0; i < totals->n_rows; i++)
        add_row(totals, &totals->rows[i], &table);
    if (totals->n_rows > 1)
        add_row(totals, &totals->all, &table);
    return text_table_end(&table, 0, stdout);
}

// Names of resources and workers need no quotes; names from annotations may.
static void put_field(struct buffer *line, const char *text) {
    bool quoted = strpbrk(text, ",\"\r\n");
    if (quoted)
        buffer_char(line, '"');
    for (const char *c = text; *c; c++) {
        if (*c == '"')
            buffer_char(line, '"');
        buffer_char(line, *c);
    }
    if (quoted)
        buffer_char(line, '"');
}

static bool is_in_bytes(const char *resource) {
    return strcmp(resource, "memory") == 0 || text_has_suffix(resource, "storage") ||
           text_has_prefix(resource, "hugepages-");
}

static void put_head(struct buffer *line, const char *resource) {
    AUTO_TEXT head = text_format("%s_%sseconds", resource,
                                 strcmp(resource, "cpu") == 0 ? "core_"
                                 : is_in_bytes(resource)      ? "byte_"
                                                              : "");
    put_field(line, head ? head : resource);
}

static void print_csv(const struct totals *totals, enum top_by by) {
    AUTO_BUFFER(line, CELL_MAX);
    buffer_printf(&line, "%s,workloads,running,time_seconds", flags[BY].words[by]);
    for (size_t c = 0; c < totals->n_columns; c++) {
        buffer_char(&line, ',');
        put_head(&line, json_key(totals->columns[c]));
    }
    text_print_line(stdout, line.data);
    for (size_t i = 0; i < totals->n_rows; i++) {
        const struct top_row *row = &totals->rows[i];
        buffer_reset(&line);
        put_field(&line, row->name);
        buffer_printf(&line, ",%.0f,%.0f,%.3f", row->workloads, row->running, row->seconds);
        for (size_t c = 0; c < totals->n_columns; c++)
            buffer_printf(&line, ",%.3f", row->used[c]);
        text_print_line(stdout, line.failed ? "(too long to print)" : line.data);
    }
}

static void put_document_row(const struct totals *totals, const struct top_row *row, enum top_by by,
                             struct buffer *out) {
    buffer_printf(out, "{\"%s\":", flags[BY].words[by]);
    if (strcmp(row->name, REST) == 0)
        buffer_text(out, "null");
    else
        buffer_json_string(out, row->name, strlen(row->name));
    buffer_printf(out, ",\"workloads\":%.0f,\"running\":%.0f,\"seconds\":%.3f,\"resources\":{", row->workloads,
                  row->running, row->seconds);
    for (size_t c = 0; c < totals->n_columns; c++) {
        const char *resource = json_key(totals->columns[c]);
        buffer_text(out, c > 0 ? "," : "");
        buffer_json_string(out, resource, strlen(resource));
        buffer_printf(out, ":%.3f", row->used[c]);
    }
    buffer_text(out, "}}");
}

// As the API's document, with the sums of each row.
static struct error *print_document(const struct totals *totals, enum top_by by, bool yaml) {
    AUTO_BUFFER(text, DOCUMENT_MAX);
    AUTO_JSON document = NULL;
    buffer_text(&text, "{\"items\":[");
    for (size_t i = 0; i < totals->n_rows; i++) {
        buffer_text(&text, i > 0 ? "," : "");
        put_document_row(totals, &totals->rows[i], by, &text);
    }
    buffer_text(&text, "]}");
    TRY(text.failed ? error_no_memory() : json_parse(text.data, text.len, &document));
    return document_print(document, yaml);
}

struct error *top_print(const struct json *items, enum top_by by, enum top_format format) {
    __attribute__((cleanup(totals_clear))) struct totals totals = {.names = NULL};
    TRY(add_up(items, by, format != TOP_TABLE, &totals));
    if (format == TOP_TABLE)
        return print_table(&totals, by);
    if (format != TOP_CSV)
        return print_document(&totals, by, format == TOP_YAML);
    print_csv(&totals, by);
    return NULL;
}

static struct error *run_top(struct call *call) {
    const char *namespace_ = call->values[NAMESPACE];
    int document = flags_word(call, "output");
    if (call->values[CSV] && document >= 0)
        return error_new(ERROR_USAGE, "--csv cannot be used with --output");
    enum top_format format = document >= 0       ? TOP_JSON + (enum top_format)document
                             : call->values[CSV] ? TOP_CSV
                                                 : TOP_TABLE;
    AUTO_BUFFER(path, 4096);
    AUTO_JSON list = NULL;
    buffer_text(&path, "/api/v1/accounts");
    if (namespace_) // a DNS label
        buffer_printf(&path, "?namespace=%s", namespace_);
    TRY(path.failed ? error_no_memory() : remote_get(call->remote, path.data, &list));
    const struct json *items = json_get(list, "items");
    if (json_size(items) > 0 || format != TOP_TABLE)
        return top_print(items, (enum top_by)flags_word(call, "by"), format);
    printf("No workload has run%s%s.\n", namespace_ ? " in namespace " : "", namespace_ ? namespace_ : "");
    return NULL;
}

SUBCOMMAND(
    top, run_top, "show who used how much: time, cpu, memory, devices",
    "Queries the running host. For each namespace, worker or kind: how long the workloads that exist have run,\n"
    "finished and running ones and all of their attempts, and what their pods requested meanwhile: cpu as time\n"
    "of a core, memory as time of a GiB, other resources as time of one unit, each in seconds, minutes or hours.\n"
    "The largest use of cpu comes first.\n"
    "For workloads that were deleted, use the metrics (docs/accounts.md).\n",
    ASKS_HOST, FLAGS(flags));
