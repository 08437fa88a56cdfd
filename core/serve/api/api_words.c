// SPDX-License-Identifier: Apache-2.0
// /api/v1/last-words/KIND/NAMESPACE/NAME: what is kept of the failed attempts of one workload, read from the management
// cluster.
#include "core/serve/api/api_internal.h"

#include "core/host/words/words_text.h"

struct error *api_split(const struct api_call *call, const char *path, const struct kind **kind, char *namespace_,
                        char *name) {
    AUTO_TEXT copy = strdup(call->rest);
    char *rest = copy, *first = strsep(&rest, "/"), *second = strsep(&rest, "/");
    if (!copy)
        return error_no_memory();
    if (!rest || strchr(rest, '/') || *rest == '\0')
        return error_new(ERROR_INVALID, "found /api/v1/%s/%.200s, expected /api/v1/%s/KIND/NAMESPACE/NAME", path,
                         call->rest, path);
    if (strlen(second) >= 254 || strlen(rest) >= 254)
        return error_new(ERROR_INVALID, "the namespace or the name is too long");
    text_copy(namespace_, 254, second);
    text_copy(name, 254, rest);
    return api_find_kind(call->source, first, kind);
}

struct words_question {
    const struct kind *kind;
    const char *namespace_, *name;
    char uid[64];
};

static void find_uid(void *arg, struct engine *engine, struct moment now) {
    struct words_question *question = arg;
    (void)now;
    text_copy(question->uid, sizeof question->uid,
              inspect_uid(engine, question->kind, question->namespace_, question->name));
}

static struct error *read_map(const struct api_source *source, const char *namespace_, const char *uid,
                              struct json **out) {
    __attribute__((cleanup(response_clear))) struct response answer = {.message = NULL};
    AUTO_BUFFER(path, 1024);
    buffer_text(&path, "/api/v1/namespaces/");
    text_percent_encode(&path, namespace_);
    buffer_text(&path, "/configmaps/" WORDS_MAP);
    TRY(path.failed ? error_no_memory() : source->read(source->ctx, path.data, &answer));
    if (answer.reason != REASON_OK && answer.code != 404)
        return error_new(ERROR_IO, "ConfigMap " WORDS_MAP " of namespace %s cannot be read: %s", namespace_,
                         answer.message ? answer.message : reason_text(answer.reason));
    return words_find(answer.reason == REASON_OK ? answer.value : NULL, uid, out);
}

struct error *api_last_words(const struct api_source *source, const struct kind *kind, const char *namespace_,
                             const char *name, const char *uid, struct json **out) {
    struct words_question question = {.kind = kind, .namespace_ = namespace_, .name = name};
    text_copy(question.uid, sizeof question.uid, uid);
    if (!*question.uid)
        TRY(source->query(source->ctx, find_uid, &question));
    if (!*question.uid)
        return error_new(ERROR_NOT_FOUND, "%s %s/%s is not delegated to this host", kind->abi.kind, namespace_, name);
    return read_map(source, namespace_, question.uid, out);
}

struct error *api_words(struct api_call *call) {
    char namespace_[254], name[254];
    const struct kind *kind = NULL;
    AUTO_JSON items = NULL;
    TRY(api_split(call, "last-words", &kind, namespace_, name));
    TRY(api_last_words(call->source, kind, namespace_, name, "", &items));
    AUTO_BUFFER(text, WORDS_MAP_BYTES * 2);
    for (const struct json *item = json_first(items); item; item = json_next(item)) {
        if (text.len > 0)
            buffer_char(&text, ',');
        json_print(item, &text);
    }
    if (text.failed)
        return error_no_memory();
    api_put_items(&call->out, "items", &text);
    return NULL;
}
