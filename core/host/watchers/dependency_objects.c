// SPDX-License-Identifier: Apache-2.0
#include "core/host/watchers/dependencies.h"

#include "core/base/memory.h"

#define OBJECTS_PER_READ 16 // in a list that costs as much as a read

// Watches ----------------------------------------------------------------------------------------------------------

void dependency_close_single(struct wished *wished) {
    if (wished->single)
        object_watch_clear(wished->single);
    free(TAKE(wished->single));
}

static void handle_state(struct wished *wished, const struct cluster_notice *notice) {
    bool refused = (notice->type == NOTICE_REFUSED && notice->denied) || notice->state == REFLECTOR_ABSENT;
    if (notice->type == NOTICE_STATE && notice->state == REFLECTOR_CONNECTED) {
        wished->refused = false;
        dependency_post(wished->of, DEPENDENCIES_LISTED, wished, NULL);
    } else if (refused && !wished->refused) {
        wished->refused = true;
        dependency_post(wished->of, DEPENDENCIES_REFUSED, wished, notice->problem);
    } else if (notice->type == NOTICE_STATE && notice->state == REFLECTOR_LOST && !wished->refused) {
        dependency_post(wished->of, DEPENDENCIES_LOST, wished, notice->problem);
    }
}

static void handle_notice(void *ctx, const struct cluster_notice *notice) {
    struct wished *wished = ctx;
    if (notice->type == NOTICE_LISTING) {
        wished->listed = false;
        dependency_post(wished->of, DEPENDENCIES_LISTING, wished, NULL);
    } else if (notice->type == NOTICE_SEEN || notice->type == NOTICE_GONE) {
        wished->listed = true;
        dependency_tell(wished, notice->object, notice->type == NOTICE_GONE);
    } else if (notice->type == NOTICE_LISTED && !wished->listed) {
        dependency_tell(wished, NULL, true);
    } else if (notice->type == NOTICE_STATE || notice->type == NOTICE_REFUSED) {
        handle_state(wished, notice);
    }
}

static bool make_single(struct wished *wished) {
    struct reflector_options options = dependency_options_of(wished->of);
    options.namespace_ = wished->namespace_;
    options.field_selector = wished->selector;
    options.served = true;
    wished->single = malloc(sizeof *wished->single);
    if (!wished->single)
        return false;
    object_watch_init(wished->single, &options, wished->of->all->base.scope->transport, handle_notice, wished);
    wished->single->eager = wished->single->gives = true;
    return true;
}

int64_t dependency_tick_watch(const struct wishes *all, struct object_watch *watch, bool wanted, struct moment now) {
    if (wanted && !watch->reflector && all->base.scope->rejected)
        return CLOCK_NEVER;
    return object_watch_tick(watch, wanted, now);
}

int64_t dependency_tick_single(struct wished *wished, struct moment now) {
    if (!wished->single && !make_single(wished))
        return now.mono_ns + DEPENDENCY_AGAIN_NS;
    return dependency_tick_watch(wished->of->all, wished->single, true, now);
}

// Reads ------------------------------------------------------------------------------------------------------------

// The watch has shown nothing of the object since the wish, so the answer is the newest state.
static void use_answer(struct wished *wished, const struct response *response) {
    struct json *items = json_get(response->value, "items"), *item = json_first(items);
    const char *version = json_string_or(json_path(response->value, "metadata", "resourceVersion", NULL), "");
    struct object *object = NULL;
    if (response->reason != REASON_OK || !object_is_list(response->value))
        return;
    if (item)
        json_detach_child(items, item);
    struct error *error = item ? object_new(item, NULL, NULL, &object) : NULL;
    if (!error) {
        snprintf(wished->read, sizeof wished->read, "%s", strlen(version) < sizeof wished->read ? version : "");
        dependency_tell(wished, object, false);
    }
    error_free(error);
}

static void on_answer(void *ctx, struct response *response) {
    struct single_read *read = ctx;
    struct wished *wished = TAKE(read->wished);
    read->request = 0;
    if (!wished)
        return;
    wished->asked = false;
    if (!wished->known)
        use_answer(wished, response);
    if (!wished->known)
        read->all->read_ns = read->all->now_ns + DEPENDENCY_AGAIN_NS;
}

static struct single_read *free_read(struct wishes *all) {
    for (size_t i = 0; i < DEPENDENCY_READS; i++)
        if (all->reads[i].request == 0)
            return &all->reads[i];
    return NULL;
}

static struct error *send_read(struct single_read *read, struct wished *wished) {
    const struct followed *followed = wished->of;
    const struct resource resource = {followed->group, followed->version, followed->plural, followed->cluster_scoped};
    AUTO_BUFFER(path, 8192);
    TRY(resource_path(&resource, wished->namespace_, NULL, NULL, &path));
    buffer_text(&path, "?fieldSelector=");
    text_percent_encode(&path, wished->selector);
    if (path.failed)
        return error_no_memory();
    const struct request request = {
        .verb = VERB_RAW_GET, .namespace_ = "", .name = path.data, .metadata = true, .sensitive = followed->sensitive};
    TRY(client_submit(followed->all->base.scope->client, &request, on_answer, read, &read->request));
    read->wished = wished;
    wished->asked = true;
    return NULL;
}

static size_t count_unknown(const struct followed *followed) {
    size_t cursor = 0, unknown = 0;
    for (const struct wished *wished; (wished = map_next(&followed->wishes, &cursor));)
        unknown += !wished->known;
    return unknown;
}

int64_t dependency_read(struct followed *followed, struct moment now) {
    struct wishes *all = followed->all;
    struct single_read *read;
    size_t cursor = 0, unknown = count_unknown(followed);
    followed->unread = unknown > 0;
    if (unknown > DEPENDENCY_READS && unknown > followed->listed / OBJECTS_PER_READ) {
        followed->complete = false;
        object_watch_relist(&followed->watch);
        return now.mono_ns;
    }
    if (now.mono_ns < all->read_ns)
        return all->read_ns;
    for (struct wished *wished; (wished = map_next(&followed->wishes, &cursor)) && (read = free_read(all));) {
        struct error *error = wished->known || wished->asked ? NULL : send_read(read, wished);
        if (!error)
            continue;
        error_free(error);
        return all->read_ns = now.mono_ns + DEPENDENCY_AGAIN_NS;
    }
    return CLOCK_NEVER;
}
