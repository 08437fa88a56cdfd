// SPDX-License-Identifier: Apache-2.0
// Kinds and mirrors as callers name them.
#include "core/serve/api/api_internal.h"

#include "core/base/clock.h"
#include "core/base/text.h"
#include "core/engine/history/inspect.h"
#include "core/serve/api/short_names.h"

#include <string.h>
#include <strings.h>

// The kind, the plural, or the singular, which is the kind in lower case (the default of CRDs, and true of built-in
// kinds).
static bool is_named(const struct kind *kind, const char *name, size_t len) {
    const char *words[] = {kind->abi.kind, kind->abi.plural};
    for (size_t i = 0; i < 2; i++)
        if (strlen(words[i]) == len && strncasecmp(words[i], name, len) == 0)
            return true;
    return false;
}

static const struct kind *find_kind(const struct adapters *adapters, const char *name) {
    const char *dot = strchr(name, '.');
    size_t len = dot ? (size_t)(dot - name) : strlen(name);
    for (size_t k = 0; k < adapters->n_kinds; k++)
        if (is_named(adapters->kinds[k], name, len) &&
            (!dot || strcasecmp(dot + 1, adapters->kinds[k]->abi.group) == 0))
            return adapters->kinds[k];
    return NULL;
}

static struct error *not_found(const struct adapters *adapters, const char *name) {
    AUTO_BUFFER(known, 4096);
    for (size_t k = 0; k < adapters->n_kinds; k++)
        buffer_printf(&known, "%s%s", k > 0 ? ", " : "", adapters->kinds[k]->plural_group);
    return error_new(ERROR_NOT_FOUND, "no enabled adapter brings a kind \"%.80s\": this host has %s", name,
                     known.len > 0 ? known.data : "none");
}

struct error *api_find_kind(const struct api_source *source, const char *name, const struct kind **out) {
    const struct adapters *adapters = api_adapters_of(source);
    *out = find_kind(adapters, name);
    if (!*out && source->short_names && text_is_label_value(name) && *name && !strchr(name, '.'))
        *out = short_names_find(source->short_names, source, name, clock_now().mono_ns);
    return *out ? NULL : not_found(adapters, name);
}

struct mirror_question {
    const struct kind *kind;
    const char *namespace_, *name;
    struct api_mirror *out;
    enum inspect_mirror found;
};

static void find_mirror(void *arg, struct engine *engine, struct moment now) {
    (void)now;
    struct mirror_question *question = arg;
    struct mirror_view view;
    struct api_mirror *out = question->out;
    question->found = inspect_mirror(engine, question->kind, question->namespace_, question->name, &view);
    out->awaited = question->found == INSPECT_MIRROR_NONE && !view.finished;
    out->finished = view.finished;
    if (question->found != INSPECT_MIRROR_FOUND)
        return;
    text_copy(out->cluster, sizeof out->cluster, view.cluster_name);
    text_copy(out->uid, sizeof out->uid, view.uid);
    text_copy(out->version, sizeof out->version, view.version);
    out->number = view.cluster;
    out->attempt = view.attempt;
}

struct error *api_find_mirror(const struct api_source *source, const struct kind *kind, const char *namespace_,
                              const char *name, struct api_mirror *out) {
    *out = (struct api_mirror){.number = 0};
    struct mirror_question question = {.kind = kind, .namespace_ = namespace_, .name = name, .out = out};
    struct error *error = source->query(source->ctx, find_mirror, &question);
    if (error || question.found == INSPECT_MIRROR_FOUND)
        return error;
    const char *why = question.found != INSPECT_MIRROR_NONE ? "is not delegated to this host"
                      : out->finished
                          ? "has finished and has no mirror any more: it is deleted mirrorRetention after the "
                            "end, and with it its pods and their logs"
                          : "has no mirror now";
    return error_new(ERROR_NOT_FOUND, "%s %s/%s %s", kind->abi.kind, namespace_, name, why);
}
