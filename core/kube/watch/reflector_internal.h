// SPDX-License-Identifier: Apache-2.0
// Shared by the parts of the reflector. One exchange is in flight at a time; its handlers record how it ended (`ended`,
// `ending`), and the next tick, which has the time, decides what follows. docs/reflector.md has the tables.
#pragma once

#include "core/base/log.h"
#include "core/kube/watch/reflector.h"

enum phase {
    PHASE_DISCOVER,
    PHASE_LIST,
    PHASE_WATCH_LIST,
    PHASE_PROVE, // before a watch from a version that is not proven
    PHASE_WATCH
};

// 429 and 5xx with Retry-After, and a page of a list: maximum tries of the same request (client-go rest/with_retry.go).
#define REFLECTOR_MAX_TRIES 10

#define REFLECTOR_VERSION_SIZE 256

// Of the error body of a stream.
#define REFLECTOR_ERROR_BODY_MAX ((size_t)1 << 20)

struct discovery {
    size_t index;       // index into `versions`
    char *api_version;  // "batch/v1": found
    char *kind;         // "Job"
    bool served;        // result of the exchange that ended
    bool fresh;         // no list succeeded since
    bool was_there;     // a list completed since the kind was last absent
    bool again;         // discovery found only a later version than the first, and tries all once more
    int64_t missing_ns; // if was_there: missing since; CLOCK_NEVER: not missing
};

struct list {
    char *token;                // metadata.continue of the previous page; NULL: first page
    bool unpaged;               // the token expired
    bool begun;                 // `listing` was called and `listed` was not
    bool shrunk;                // the page was too large; the next request has a smaller limit
    size_t tries;               // of this page
    size_t pages, empty, items; // so far; pages without items in a row
};

// A list with more objects, pages, or consecutive empty pages is considered endless.
#define LIST_MAX_ITEMS ((size_t)1000000)
#define LIST_MAX_PAGES ((size_t)10000)
#define LIST_MAX_EMPTY ((size_t)100)
#define LIST_PAGE ((size_t)500)

struct watch {
    struct buffer tail; // the part of a frame that came in an earlier chunk
    struct frame_scanner scanner;
    bool open;              // status 200
    bool decided;           // `ending` is set though the exchange has not ended yet
    bool initial;           // of a streaming list: before its end
    bool unset_version;     // next streaming list without resourceVersion
    bool heard;             // bytes were received since the last tick
    bool expired;           // ended with 410, and no successful watch since
    bool after_list;        // the version is that of a list just completed
    bool clean;             // the stream ended cleanly
    int64_t ends_ns;        // when the requested timeoutSeconds ends, or slightly earlier
    size_t frames;          // events and bookmarks of this stream
    int64_t opened_ns;      // CLOCK_NEVER: not open yet
    int64_t heard_ns;       // last byte, with the precision of ticks
    unsigned early_ends;    // streaming lists in a row that ended before their end
    unsigned short_streams; // streams in a row that lived for less than a second
    unsigned restless;      // and for less than half a minute
};

struct reflector {
    struct reflector_options options; // with copies of its texts; none is NULL
    struct transport *transport;
    struct reflector_handler handler;
    struct object_limits limits; // of objects, with what discovery found
    struct random random;
    char *what;     // "jobs.batch"
    bool metadata;  // as the option, until a server rejects the form
    bool watched;   // a watch was opened before
    size_t charged; // to the budget, for the tail

    enum reflector_state state;
    char *problem; // last reported; NULL: none
    enum phase phase;
    uint64_t exchange;      // 0: none
    struct request_log log; // of the exchange
    int64_t now_ns, sent_ns;
    int64_t due_ns; // of the next exchange
    bool ended;
    struct response ending;
    bool refreshed; // credentials were reloaded, and no request has succeeded since
    size_t tries;   // consecutive waits for Retry-After

    int64_t backoff_ns, backed_off_ns; // next backoff; end of the last one

    char version[REFLECTOR_VERSION_SIZE]; // last resourceVersion; "": none
    bool proven;                          // the server is known to have reached the version
    bool skip_logged;
    size_t page_limit; // items of a page
    struct discovery discovery;
    struct list list;
    struct watch watch;
};

// Begins a phase at once.
void reflector_go(struct reflector *reflector, enum phase phase);

// Begins a phase after a backoff, and reports LOST with `action` ("list") and ending.message.
void reflector_wait(struct reflector *reflector, enum phase phase, const char *action);

// As reflector_wait, with a state and message of the caller.
void reflector_wait_as(struct reflector *reflector, enum phase phase, enum reflector_state state, const char *problem);

// Starts a new list; streaming if enabled. Followed by reflector_go or reflector_wait with the result.
enum phase reflector_new_list(struct reflector *reflector);

// Ends the exchange in flight, if there is one, without an answer.
void reflector_abandon(struct reflector *reflector);

void reflector_set_state(struct reflector *reflector, enum reflector_state state, const char *problem);

// `error` NULL: none.
void reflector_log(const struct reflector *reflector, enum log_level level, const char *message, const char *error);

// Sets `ending` to `reason` and the message. Returns false, for callers that end a list or a stream.
bool reflector_conclude(struct reflector *reflector, enum reason reason, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// With REASON_TOO_MANY, so that the same request is retried later.
bool reflector_conclude_no_memory(struct reflector *reflector);

// Records that the exchange has ended.
void reflector_note_end(struct reflector *reflector, const struct http_result *result);

// Interprets a response with a document: fills `ending`.
void reflector_read(struct reflector *reflector, const struct http_result *result);

// The version that discovery found, or tries.
const char *reflector_api_version(const struct reflector *reflector);

// Appends the path of the collection, with the selectors if `selected`; ends with "?" or "&".
struct error *reflector_path(const struct reflector *reflector, bool selected, struct buffer *out);

// Accept of a request for a list or, unless `list`, a watch.
const char *reflector_accept(const struct reflector *reflector, bool list);

// Passes the result of object_parse_bounded to the handler; takes both. With `advance` its resourceVersion becomes the
// last one. False: `ending` has the reason. Skips invalid objects, and logs the first.
bool reflector_deliver(struct reflector *reflector, struct error *problem, struct object *object, bool gone,
                       bool advance);

// Reports the begin of a list once; and the end of a complete one, before a watch from its version.
void reflector_begin_list(struct reflector *reflector);
void reflector_end_list(struct reflector *reflector);

// Frees the buffered part of a frame or proof.
void reflector_drop_tail(struct reflector *reflector);
// False: over its maximum or the cluster's budget, or out of memory; `ending` has the reason.
bool reflector_keep_tail(struct reflector *reflector, const char *bytes, size_t len);

// False: too long; `ending` has the reason.
bool reflector_set_version(struct reflector *reflector, const char *version);

// Starts a consistent list in pages, because the server does not know the last version.
void reflector_list_consistently(struct reflector *reflector);
// Checks a list just read: false if it is older than the last version, which is then reported.
bool reflector_check_version(struct reflector *reflector, const char *version);

// The objects' kind and API version, where they do not say themselves; kind "": that of the list. False: out of memory.
bool discovery_set(struct reflector *reflector, const char *kind);

// The exchange of each phase. `prepare` appends the path, and sets the fields of `request` that differ from a GET of a
// JSON document. `ended` decides what follows.
struct error *discovery_prepare(struct reflector *reflector, struct buffer *path, struct http_request *request);
void discovery_done(void *ctx, const struct http_result *result);
void discovery_ended(struct reflector *reflector);

struct error *list_prepare(struct reflector *reflector, struct buffer *path, struct http_request *request);
void list_done(void *ctx, const struct http_result *result);
void list_ended(struct reflector *reflector);
void list_reset(struct list *list);
void list_missing(struct reflector *reflector); // 404: discovery, at once or after a backoff

struct error *proof_prepare(struct reflector *reflector, struct buffer *path, struct http_request *request);
bool proof_data(void *ctx, const char *bytes, size_t len);
void proof_done(void *ctx, const struct http_result *result);
void proof_ended(struct reflector *reflector);

struct error *watch_prepare(struct reflector *reflector, struct buffer *path, struct http_request *request);
bool stream_opened(void *ctx);
bool stream_data(void *ctx, const char *bytes, size_t len);
void stream_done(void *ctx, const struct http_result *result);
void watch_ended(struct reflector *reflector);
void initial_list_ended(struct reflector *reflector);
// Checks the timeouts of an open stream. Returns the time of the next check.
int64_t watch_check(struct reflector *reflector);
