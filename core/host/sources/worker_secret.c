// SPDX-License-Identifier: Apache-2.0
// A worker's Secret.
#include "core/base/text.h"
#include "core/engine/clusters/clusters.h"
#include "core/engine/store/store.h"
#include "core/host/sources/sources.h"
#include "core/kube/object/object.h"

#include <math.h>

#define KUBECONFIG_MAX ((size_t)1 << 20) // of a Secret as a whole
#define RATE_MAX 1e6

// That of the cluster that `wharf join` has found, or of a person's own finding.
static struct error *read_uid(const struct json *secret, struct worker_spec *out) {
    const char *uid = object_annotation(secret, IDENTITY_ANNOTATION);
    if (!uid)
        return NULL;
    if (*uid == '\0' || strlen(uid) >= STORE_UID_MAX)
        return error_new(ERROR_INVALID,
                         "annotation " IDENTITY_ANNOTATION ": found \"%.80s\", expected the uid of namespace "
                         "kube-system in the worker",
                         uid);
    out->settings.uid = strdup(uid);
    return out->settings.uid ? NULL : error_no_memory();
}

// NULL: the entry is absent.
static struct error *read_data(const struct json *secret, const char *key, char **out) {
    const char *base64 = json_string(json_path(secret, "data", key, NULL));
    AUTO_BUFFER(text, KUBECONFIG_MAX);
    *out = NULL;
    if (!base64)
        return NULL;
    struct error *error = text_base64_decode(base64, &text);
    if (!error && text.data && strlen(text.data) != text.len)
        error = error_new(ERROR_INVALID, "found a NUL byte, expected text");
    if (error)
        return error_wrap(error, "key %s", key);
    *out = buffer_take(&text, NULL);
    return *out ? NULL : error_no_memory();
}

static struct error *read_number(const struct json *secret, const char *key, double *out) {
    const char *text = object_annotation(secret, key);
    if (!text)
        return NULL;
    char *end = NULL;
    double found = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(found) || found <= 0 || found > RATE_MAX)
        return error_new(ERROR_INVALID, "annotation %s: found \"%.40s\", expected a number from 1 to 1000000", key,
                         text);
    *out = found;
    return NULL;
}

static struct error *read_rates(const struct json *secret, struct worker_settings *out) {
    TRY(read_number(secret, "wharf.dev/qps", &out->qps));
    TRY(read_number(secret, "wharf.dev/burst", &out->burst));
    if (out->burst > 0 && out->burst < 1)
        return error_new(ERROR_INVALID, "annotation wharf.dev/burst: found less than 1, expected at least 1");
    if (out->burst > 0 && out->qps <= 0)
        return error_new(ERROR_INVALID, "annotation wharf.dev/burst: found it without wharf.dev/qps, expected both");
    if (out->qps > 0 && out->burst <= 0)
        out->burst = out->qps < 1 ? 1 : 2 * out->qps;
    return NULL;
}

// "team-*,-team-x": patterns separated by commas; a '-' before a pattern denies.
static struct error *read_namespaces(const struct json *secret, struct worker_spec *out) {
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789-*";
    const char *text = object_annotation(secret, "wharf.dev/namespaces");
    AUTO_BUFFER(rule, KUBECONFIG_MAX);
    for (const char *at = text; at && *at; at += *at == ',') {
        size_t len = strcspn(at, ","), deny = *at == '-';
        if (len == deny || strspn(at, allowed) < len)
            return error_new(ERROR_INVALID,
                             "annotation wharf.dev/namespaces: found \"%.40s\", expected namespaces or patterns "
                             "separated by ',', like team-*,-team-x",
                             at);
        buffer_printf(&rule, "%c%.*s\n", deny ? '-' : '+', (int)(len - deny), at + deny);
        at += len;
    }
    out->settings.namespaces = rule.len > 0 ? buffer_take(&rule, NULL) : NULL;
    return rule.failed || (text && *text && !out->settings.namespaces) ? error_no_memory() : NULL;
}

static struct error *read_policy(const struct json *secret, struct worker_spec *out) {
    const char *cordoned = object_annotation(secret, "wharf.dev/cordoned");
    const char *drain = object_annotation(secret, "wharf.dev/drain");
    if (cordoned && strcmp(cordoned, "true") != 0 && strcmp(cordoned, "false") != 0)
        return error_new(ERROR_INVALID,
                         "annotation wharf.dev/cordoned: found \"%.40s\", expected \"true\" or \"false\"", cordoned);
    if (!drain_read(drain, &out->drain))
        return error_new(ERROR_INVALID, "annotation wharf.dev/drain: found \"%.40s\", expected finish or move", drain);
    out->cordoned = text_equal(cordoned, "true");
    return NULL;
}

static struct error *read_secret(const struct json *secret, const struct config_workers_from *from,
                                 struct worker_spec *out) {
    (void)from;
    TRY(worker_object_name(secret, out));
    TRY(read_uid(secret, out));
    TRY(read_data(secret, "kubeconfig", &out->kubeconfig_text));
    if (!out->kubeconfig_text)
        return error_new(ERROR_INVALID, "key kubeconfig: found nothing, expected a kubeconfig");
    TRY(read_data(secret, "context", &out->context));
    TRY(read_rates(secret, &out->settings));
    TRY(read_policy(secret, out));
    return read_namespaces(secret, out);
}

static bool is_on(const struct config_workers_from *from) {
    return from->secrets;
}

const struct worker_source_kind worker_secret_kind = {.name = "Secret",
                                                      .title = "Secrets of workers",
                                                      .group = "",
                                                      .versions = (const char *const[]){"v1", NULL},
                                                      .plural = "secrets",
                                                      .label = WORKER_SECRET_LABEL,
                                                      .part = "key kubeconfig",
                                                      .renews = true,
                                                      .is_on = is_on,
                                                      .read = read_secret};

struct error *worker_secret_account(const struct json *secret, char namespace_[64], const char **name) {
    const char *text = object_annotation(secret, WORKER_TOKEN_ANNOTATION), *slash = text ? strchr(text, '/') : NULL;
    size_t len = slash ? (size_t)(slash - text) : 0;
    if (!text)
        return error_new(ERROR_NOT_FOUND, "annotation " WORKER_TOKEN_ANNOTATION ": found nothing");
    text_copy(namespace_, len < 64 ? len + 1 : 1, text);
    if (!text_is_dns_label(namespace_) || !text_is_dns_subdomain(slash + 1))
        return error_new(ERROR_INVALID,
                         "annotation " WORKER_TOKEN_ANNOTATION
                         ": found \"%.80s\", expected NAMESPACE/NAME of a service "
                         "account in the worker",
                         text);
    *name = slash + 1;
    return NULL;
}
