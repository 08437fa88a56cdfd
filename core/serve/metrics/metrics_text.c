// SPDX-License-Identifier: Apache-2.0
#include "core/serve/metrics/metrics.h"

#include "core/base/text.h"

#include <inttypes.h>
#include <stdio.h>

#define LABELS_MAX 3

void metrics_family(struct buffer *out, const char *name, const char *type, const char *help) {
    if (!type)
        type = text_has_suffix(name, "_total") ? "counter" : "gauge";
    buffer_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

// "label value" in the exposition format, with escapes for backslash, quote and line feed.
static void print_label_value(struct buffer *out, const char *value) {
    for (; *value; value++) {
        if (*value == '\n') {
            buffer_text(out, "\\n");
            continue;
        }
        if (*value == '\\' || *value == '"')
            buffer_char(out, '\\');
        buffer_char(out, *value);
    }
}

static void print_series(struct buffer *out, const char *name, const char *ending, const struct label *labels) {
    buffer_text(out, name);
    buffer_text(out, ending);
    for (const struct label *l = labels; l && l->name; l++) {
        buffer_printf(out, "%c%s=\"", l == labels ? '{' : ',', l->name);
        print_label_value(out, l->value);
        buffer_char(out, '"');
    }
    buffer_text(out, labels && labels->name ? "} " : " ");
}

static void print_double(struct buffer *out, double value) {
    buffer_printf(out, "%.15g\n", value);
}

void metrics_sample(struct buffer *out, const char *name, const struct label *labels, uint64_t value) {
    print_series(out, name, "", labels);
    buffer_printf(out, "%" PRIu64 "\n", value);
}

void metrics_sample_double(struct buffer *out, const char *name, const struct label *labels, double value) {
    print_series(out, name, "", labels);
    print_double(out, value);
}

void metrics_sample_seconds(struct buffer *out, const char *name, const struct label *labels, int64_t value_ns) {
    metrics_sample_double(out, name, labels, (double)value_ns / 1e9);
}

void metrics_single(struct buffer *out, const char *name, const char *help, uint64_t value) {
    metrics_family(out, name, NULL, help);
    metrics_sample(out, name, NULL, value);
}

void metrics_buckets(struct buffer *out, const char *name, const struct label *labels, const uint64_t *buckets,
                     const int64_t *bounds_ns, size_t n_buckets, int64_t sum_ns) {
    char bound[32] = "+Inf";
    struct label all[LABELS_MAX + 2] = {{NULL, NULL}};
    size_t n = 0;
    for (const struct label *l = labels; l && l->name && n < LABELS_MAX; l++)
        all[n++] = *l;
    all[n] = (struct label){"le", bound};
    uint64_t sum = 0;
    for (size_t i = 0; i < n_buckets; i++) {
        sum += buckets[i];
        if (i + 1 < n_buckets)
            snprintf(bound, sizeof bound, "%g", (double)bounds_ns[i] / 1e9);
        else
            snprintf(bound, sizeof bound, "+Inf");
        print_series(out, name, "_bucket", all);
        buffer_printf(out, "%" PRIu64 "\n", sum);
    }
    print_series(out, name, "_sum", labels);
    print_double(out, (double)sum_ns / 1e9);
    print_series(out, name, "_count", labels);
    buffer_printf(out, "%" PRIu64 "\n", sum);
}

void metrics_histogram(struct buffer *out, const char *name, const char *help, const struct histogram *histogram,
                       int64_t first_ns) {
    int64_t bounds_ns[HISTOGRAM_BUCKETS];
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
        bounds_ns[i] = first_ns << i;
    metrics_family(out, name, "histogram", help);
    metrics_buckets(out, name, NULL, histogram->buckets, bounds_ns, HISTOGRAM_BUCKETS, histogram->sum_ns);
}
