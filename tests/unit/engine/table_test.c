// SPDX-License-Identifier: Apache-2.0
// The engine as a table: events and the resulting commands, between the management cluster and the workers w1, w2.
//
// Events, separated by blanks; before "|" is the content of the first lists:
//   W  W=w1.2        the workload is seen, without or with these annotations; -W: it was deleted
//   M1  M1=2         its mirror is seen in w1, of attempt 1 or 2; -M1: it was deleted
//   ok:W=w1.1 ok:M1 ok, or a reason (forbidden)    the oldest request is answered, with that object
//   L1 C1 A1         w1 is lost, is connected with an empty list, does not serve the kind; C1:M1: the list has M1
//   R0:W  R1         versions go back, then a list with that
//   I1=k0            the identity of w1
//   t60              60 s pass
//   drain  refuse    the host is about to stop; the adapter refuses from now on
// Objects have flags behind commas: those of FLAGS; large: beyond maxObjectSize; late: an older answer.
//
// Commands: place:w1.1 (annotations), create1, update1, release1 (its finalizer), status0, delete1, get1, read0
// (another path); !Reason is an Event.
#include "tests/unit/engine/event_play.h"

struct flag {
    const char *name, *patch; // JSON with ' for "
};

static const struct flag FLAGS[] = {
    {"suspended", "{'metadata':{'generation':2},'spec':{'suspend':true}}"},
    {"deleting", "{'metadata':{'deletionTimestamp':'2026-03-01T12:00:00Z','deletionGracePeriodSeconds':0}}"},
    {"scaled", "{'metadata':{'generation':2},'spec':{'parallelism':3}}"},
    {"labelled", "{'metadata':{'labels':{'team':'x'}}}"},
    {"running", "{'status':{'active':1,'ready':1,'startTime':'2026-03-01T12:00:01Z'}}"},
    {"complete", "{'status':{'active':0,'ready':0,'succeeded':1,'completionTime':'2026-03-01T12:00:02Z',"
                 "'startTime':'2026-03-01T12:00:01Z','conditions':[{'type':'SuccessCriteriaMet','status':'True',"
                 "'lastTransitionTime':'2026-03-01T12:00:02Z'},{'type':'Complete','status':'True',"
                 "'lastTransitionTime':'2026-03-01T12:00:02Z'}]}}"},
    {"other", "{'spec':{'managedBy':'example.com/other'}}"},
    {"bare", "{'metadata':{'labels':null,'annotations':null,'uid':'m-x'}}"},
    {"earlier", "{'metadata':{'labels':{'wharf.dev/uid':'u-earlier'},'uid':'m-earlier'}}"},
    {"again", "{'metadata':{'uid':'m-again'}}"},
    {"finalizer", "{'metadata':{'finalizers':['" MARK_FINALIZER "']}}"},
    {"queued", "{'metadata':{'labels':{'kueue.x-k8s.io/queue-name':'q'}}}"},
};

static bool refuses;

static wharf_result mirror_or_refuse(const wharf_call *call, const wharf_value *workload, wharf_value *mirror) {
    if (refuses)
        return WHARF_REFUSED;
    return job_kind->mirror ? job_kind->mirror(call, workload, mirror) : WHARF_OK;
}

struct table {
    struct play play;
    size_t shown, answered; // commands
    size_t note_at;
    struct buffer out;
};

static const struct flag *flag_of(const char *name, size_t len) {
    for (size_t i = 0; i < sizeof FLAGS / sizeof *FLAGS; i++)
        if (strlen(FLAGS[i].name) == len && strncmp(FLAGS[i].name, name, len) == 0)
            return &FLAGS[i];
    fail_msg("no flag %.*s", (int)len, name);
    return NULL;
}

static struct json *bare_object(const char *token) {
    const char *mark = strchr(token, '='), *comma = strchr(token, ',');
    bool marked = mark && (!comma || mark < comma);
    if (*token == 'M') {
        struct json *mirror = play_mirror("a");
        AUTO_TEXT attempt = text_format("%d", marked ? mark[1] - '0' : 1);
        assert_true(pointer_set(mirror, "/metadata/annotations/wharf.dev~1attempt", json_new_string(attempt)));
        return mirror;
    }
    AUTO_TEXT cluster = marked ? strndup(mark + 1, strcspn(mark + 1, ".")) : strdup("");
    struct json *workload = play_workload("a", "wharf.dev/host", cluster);
    AUTO_TEXT attempt = marked ? strndup(strchr(mark, '.') + 1, strcspn(strchr(mark, '.') + 1, ",")) : NULL;
    if (attempt)
        assert_true(pointer_set(workload, "/metadata/annotations/wharf.dev~1attempt", json_new_string(attempt)));
    return workload;
}

// The cluster of "W..." or "M1...", and the object.
static size_t object_of(const char *token, struct json **out) {
    *out = bare_object(token);
    for (const char *at = token; (at = strchr(at, ','));) {
        size_t len = strcspn(++at, ",");
        if (strncmp(at, "large", len) == 0 || strncmp(at, "late", len) == 0)
            continue;
        AUTO_JSON patch = harness_json(flag_of(at, len)->patch);
        assert_true(patch_apply(out, patch));
    }
    return *token == 'M' ? (size_t)(token[1] - '0') : 0;
}

static void see(struct table *table, const char *token) {
    struct json *value = NULL;
    size_t cluster = object_of(token, &value);
    struct object *object = play_object(&table->play, value);
    if (strstr(token, ",large"))
        object->too_large = strdup("it has 9000000 bytes, and maxObjectSize is 2097152");
    play_tell(&table->play, (struct engine_event){.type = EVENT_SEEN, .cluster = cluster, .object = object});
}

static void go(struct table *table, const char *token) {
    struct json *value = NULL;
    size_t cluster = object_of(token, &value);
    play_gone(&table->play, cluster, value);
}

// An object of its own in the management cluster or in the worker, in a list.
static void list(struct table *table, size_t cluster, const char *tokens) {
    play_listing(&table->play, cluster);
    AUTO_TEXT copy = strdup(tokens);
    for (char *at = copy, *token; (token = strsep(&at, " "));)
        if (*token && (*token == 'M' ? (size_t)(token[1] - '0') : 0) == cluster)
            see(table, token);
    play_listed(&table->play, cluster);
}

static void connect(struct table *table, size_t cluster, const char *tokens) {
    AUTO_TEXT uid = text_format("k%zu", cluster);
    play_identity(&table->play, cluster, uid);
    list(table, cluster, tokens);
}

static enum reason reason_of(const char *name, size_t len) {
    static const struct {
        const char *name;
        enum reason reason;
    } reasons[] = {{"ok", REASON_OK},
                   {"forbidden", REASON_FORBIDDEN},
                   {"quota", REASON_QUOTA},
                   {"absent", REASON_NOT_FOUND},
                   {"exists", REASON_ALREADY_EXISTS},
                   {"conflict", REASON_CONFLICT},
                   {"invalid", REASON_INVALID},
                   {"unknown", REASON_UNKNOWN_OUTCOME},
                   {"busy", REASON_TOO_MANY},
                   {"nostatus", REASON_KIND_NOT_FOUND},
                   {"nonamespace", REASON_NAMESPACE_NOT_FOUND}};
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (strlen(reasons[i].name) == len && strncmp(reasons[i].name, name, len) == 0)
            return reasons[i].reason;
    fail_msg("no token %.*s", (int)len, name);
    return REASON_OK;
}

static void answer(struct table *table, const char *token) {
    const char *colon = strchr(token, ':');
    struct json *value = NULL;
    if (colon)
        object_of(colon + 1, &value);
    assert_true(table->answered < table->play.n_commands);
    table->play.late = strstr(token, ",late");
    play_answer(&table->play, table->play.commands[table->answered++].id,
                reason_of(token, colon ? (size_t)(colon - token) : strlen(token)), value);
}

static void show_place(struct table *table, const struct json *body) {
    const struct json *annotations = json_path(body, "metadata", "annotations", NULL);
    buffer_printf(&table->out, " place:%s.%s", json_string_or(json_get(annotations, MARK_CLUSTER), "?"),
                  json_string_or(json_get(annotations, MARK_ATTEMPT), "?"));
}

static void show_command(struct table *table, const struct play_command *command) {
    AUTO_JSON body = NULL;
    if (command->body)
        assert_null(json_parse(command->body, strlen(command->body), &body));
    static const char *const verbs[] = {[VERB_GET] = "get",
                                        [VERB_CREATE] = "create",
                                        [VERB_MERGE_PATCH] = "update",
                                        [VERB_STATUS_PATCH] = "status",
                                        [VERB_DELETE] = "delete",
                                        [VERB_RAW_GET] = "read"};
    if (command->verb == VERB_MERGE_PATCH && command->cluster == 0)
        show_place(table, body);
    else if (command->verb == VERB_MERGE_PATCH && json_path(body, "metadata", "finalizers", NULL))
        buffer_printf(&table->out, " release%zu", command->cluster);
    else
        buffer_printf(&table->out, " %s%zu", verbs[command->verb], command->cluster);
}

static void show(struct table *table) {
    struct play *play = &table->play;
    for (; table->shown < play->n_commands; table->shown++)
        show_command(table, &play->commands[table->shown]);
    for (; table->note_at < play->notes.len; table->note_at += strcspn(play->notes.data + table->note_at, "\n") + 1) {
        const char *note = play->notes.data + table->note_at;
        buffer_printf(&table->out, " !%.*s", (int)strcspn(note, ":"), note);
    }
}

static void be_worker(struct table *table, size_t cluster, const char *name, const char *policy) {
    static const char *const policies[] = {"active", "cordoned", "finish", "move", "left"};
    size_t i = 0;
    while (i < sizeof policies / sizeof *policies && strcmp(policies[i], policy) != 0)
        i++;
    assert_true(i < sizeof policies / sizeof *policies);
    play_tell(&table->play, (struct engine_event){.type = EVENT_WORKER,
                                                  .cluster = cluster,
                                                  .worker = {.name = name, .policy = (enum worker_policy)i}});
}

static void happen(struct table *table, const char *token) {
    size_t cluster = token[0] ? (size_t)(token[1] - '0') : 0;
    if (*token == 'W' || *token == 'M')
        see(table, token);
    else if (*token == '-')
        go(table, token + 1);
    else if (*token == 'L')
        play_state(&table->play, cluster, REFLECTOR_LOST);
    else if (*token == 'A')
        play_state(&table->play, cluster, REFLECTOR_ABSENT);
    else if (*token == 'C')
        connect(table, cluster, token[2] == ':' ? token + 3 : "");
    else if (*token == 'I')
        play_identity(&table->play, cluster, token + 3);
    else if (*token == 'R') {
        play_tell(&table->play, (struct engine_event){.type = EVENT_RESTORED, .cluster = cluster, .problem = "older"});
        connect(table, cluster, token[2] == ':' ? token + 3 : "");
    } else if (*token == 'S')
        list(table, cluster, token[2] == ':' ? token + 3 : "");
    else if (*token == 'P')
        be_worker(table, cluster, "", token + 3);
    else if (*token == 'J')
        be_worker(table, cluster, token + 3, "active");
    else if (*token == 't')
        play_wait(&table->play, strtoll(token + 1, NULL, 10) * CLOCK_SECOND);
    else if (strcmp(token, "drain") == 0)
        engine_drain(table->play.engine);
    else if (strcmp(token, "refuse") == 0)
        refuses = true;
    else
        answer(table, token);
    play_wait(&table->play, 0);
    show(table);
}

struct row {
    const char *what, *happens, *asked;
};

static void play_row(const struct row *row) {
    struct table table = {0};
    const char *bar = strchr(row->happens, '|');
    AUTO_TEXT first = bar ? strndup(row->happens, (size_t)(bar - row->happens)) : strdup("");
    AUTO_TEXT then = strdup(bar ? bar + 1 : row->happens);
    buffer_init(&table.out, 4096);
    refuses = false;
    play_init(&table.play);
    play_start(&table.play);
    for (size_t c = 0; c < PLAY_CLUSTERS; c++)
        connect(&table, c, first);
    play_wait(&table.play, CLOCK_SECOND);
    show(&table);
    for (char *at = then, *token; (token = strsep(&at, " "));)
        if (*token)
            happen(&table, token);
    const char *found = table.out.data ? table.out.data + 1 : "";
    if (strcmp(found, row->asked) != 0)
        fail_msg("%s (%s):\n  found    %s\n  expected %s", row->what, row->happens, found, row->asked);
    buffer_free(&table.out);
    play_end(&table.play);
}

#define CHECK(rows)                                                                                                    \
    do {                                                                                                               \
        for (size_t i = 0; i < sizeof(rows) / sizeof *(rows); i++)                                                     \
            play_row(&(rows)[i]);                                                                                      \
    } while (0)

// A mirror as created, which runs: the beginning of most rows.
#define PLACED "W=w1.1 M1,running | "

static void a_workload_is_placed_and_its_mirror_created(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"new", "W", "place:w1.1"},
        {"the annotations are written", "W ok:W=w1.1", "place:w1.1 create1"},
        {"the mirror is created", "W ok:W=w1.1 ok:M1", "place:w1.1 create1 !Dispatched"},
        {"it is seen before its create is answered", "W ok:W=w1.1 M1 ok:M1", "place:w1.1 create1 !Dispatched"},
        {"it is changed before that", "W ok:W=w1.1 M1,scaled ok:M1,late", "place:w1.1 create1 update1 !Dispatched"},
        {"somebody else's", "W,other", ""},
        {"somebody takes it over before it is placed", "W W,other ok:W=w1.1", "place:w1.1 !NotDelegated"},
        {"suspended", "W,suspended", "status0"},
        {"suspended, then resumed", "W,suspended W", "status0"},
        {"being deleted", "W,deleting", ""},
        {"deleted before the answer", "W -W ok:W=w1.1", "place:w1.1"},
        {"placed by an earlier process", "W=w2.3 | t1", "create2"},
        {"by an earlier process, and the mirror is there", "W=w1.1 M1 | t1", ""},
        {"w1 is lost", "L1 W", "place:w2.1"},
        {"w1 does not serve the kind", "A1 W", "place:w2.1"},
        {"no worker", "L1 L2 W t61", "!Unschedulable"},
        {"no worker serves the kind", "A1 A2 W t61", "!Unschedulable"},
        {"it is too large", "W,large", "!TooLarge"},
        {"it was too large", "W,large W", "!TooLarge place:w1.1"},
        {"a worker comes", "L1 L2 W C2", "place:w2.1"},
        {"the management cluster is away", "L0 W", ""},
        {"the host stops", "drain W", ""},
        {"the host stops between both writes", "W drain ok:W=w1.1", "place:w1.1"},
        {"the adapter refuses its mirror", "refuse W ok:W=w1.1", "place:w1.1 !Refused"},
        {"queued by Kueue, suspended", "W,queued,suspended", "status0"},
        {"queued by Kueue, resumed", "W,queued", "read0"},
    };
    CHECK(rows);
}

static void a_write_that_is_not_accepted_is_made_anew(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"conflict of the annotations", "W conflict t1 ok:W", "place:w1.1 get0 place:w1.1"},
        {"the annotations cannot be written", "W forbidden t4", "place:w1.1 !Forbidden"},
        {"and are tried again slowly", "W forbidden t10", "place:w1.1 !Forbidden place:w1.1"},
        {"nobody knows whether they were written", "W unknown t1", "place:w1.1 place:w1.1"},
        {"they were, as the watch shows", "W unknown W=w1.1", "place:w1.1 create1"},
        {"the create is refused", "W ok:W=w1.1 forbidden", "place:w1.1 create1 place:w2.2 !Forbidden !Rescheduled"},
        {"a quota is exhausted, and nobody knows whether it was placed elsewhere", "W ok:W=w1.1 quota t10 unknown t1",
         "place:w1.1 create1 place:w2.2 !QuotaExceeded !Rescheduled place:w2.2 !Rescheduled"},
        {"it was, as the conflict and then the watch show", "W ok:W=w1.1 quota t10 unknown t1 conflict W=w2.2",
         "place:w1.1 create1 place:w2.2 !QuotaExceeded !Rescheduled place:w2.2 !Rescheduled create2"},
        {"it was, as the watch shows", "W ok:W=w1.1 quota t10 unknown W=w2.2",
         "place:w1.1 create1 place:w2.2 !QuotaExceeded !Rescheduled create2"},
        {"it was not", "W ok:W=w1.1 quota t10 unknown t1 ok:W=w2.2",
         "place:w1.1 create1 place:w2.2 !QuotaExceeded !Rescheduled place:w2.2 !Rescheduled create2"},
        {"a quota is exhausted, and then the other one's", "W ok:W=w1.1 quota ok:W=w2.2 quota t4",
         "place:w1.1 create1 place:w2.2 !QuotaExceeded !Rescheduled create2 !QuotaExceeded"},
        {"the name is taken", "W ok:W=w1.1 exists ok:M1,bare",
         "place:w1.1 create1 get1 place:w2.2 !NameConflict !Rescheduled"},
        {"it is there already", "W ok:W=w1.1 exists ok:M1", "place:w1.1 create1 get1"},
        {"nobody knows whether it was created", "W ok:W=w1.1 unknown t1", "place:w1.1 create1 create1"},
        {"the worker is too busy", "W ok:W=w1.1 busy t1", "place:w1.1 create1 create1"},
        {"it is lost before the answer", "W ok:W=w1.1 L1 unknown t60", "place:w1.1 create1 !WorkerLost"},
        {"a status is invalid", PLACED "invalid t1", "status0 !Invalid"},
        {"and a newer one is sent at once", PLACED "invalid M1,complete", "status0 !Invalid status0"},
        {"the kind has no status subresource", PLACED "nostatus t29", "status0 !KindNotFound"},
        {"which is tried again later", PLACED "nostatus t60", "status0 !KindNotFound status0"},
        {"its namespace is not there", "W ok:W=w1.1 nonamespace",
         "place:w1.1 create1 place:w2.2 !NamespaceNotFound !Rescheduled"},
        {"a conflict of the status", PLACED "conflict t1 ok:W=w1.1", "status0 get0 status0"},
        {"a deletion is forbidden", "W=w2.2 M1 M2=2 | forbidden t4", "delete1 !Forbidden"},
    };
    CHECK(rows);
}

static void a_mirror_follows_its_workload_and_tells_its_status(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"it runs", PLACED "", "status0"},
        {"its status is written", PLACED "ok:W=w1.1,running", "status0"},
        {"it completes while that is under way", PLACED "M1,complete", "status0"},
        {"and is written when the answer comes", PLACED "M1,complete ok:W=w1.1,running", "status0 status0"},
        {"the same status again", PLACED "ok:W=w1.1,running M1,running", "status0"},
        {"the workload is scaled", PLACED "ok:W=w1.1,running W=w1.1,running,scaled", "status0 update1"},
        {"twice, while a patch is under way",
         PLACED "ok:W=w1.1,running W=w1.1,running,scaled W=w1.1,running,scaled,labelled", "status0 update1"},
        {"its mirror grows too large", PLACED "ok:W=w1.1,running M1,complete,large", "status0 !TooLarge"},
        {"it is labelled", PLACED "ok:W=w1.1,running W=w1.1,running,labelled", "status0 update1"},
        {"it is suspended", PLACED "ok:W=w1.1,running W=w1.1,running,suspended", "status0 update1"},
        {"its worker is lost", PLACED "ok:W=w1.1,running L1 W=w1.1,running,scaled", "status0"},
        {"the mirror has lost its marks", PLACED "ok:W=w1.1,running M1,running,bare", "status0 get1"},
        {"the annotations were changed", PLACED "ok:W=w1.1,running W=w2.5,running",
         "status0 place:w1.1 !AnnotationsRestored"},
        {"annotations taken off", PLACED "ok:W=w1.1,running W,running", "status0 place:w1.1"},
    };
    CHECK(rows);
}

static void a_workload_ends(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"its mirror completes", "W=w1.1 M1,complete | ", "status0"},
        {"that is written", "W=w1.1 M1,complete | ok:W=w1.1,complete", "status0 !Finished"},
        {"the mirror is retained", "W=w1.1 M1,complete | ok:W=w1.1,complete t599", "status0 !Finished"},
        {"and deleted then", "W=w1.1 M1,complete | ok:W=w1.1,complete t601", "status0 !Finished delete1"},
        {"the worker deletes it first", "W=w1.1 M1,complete | ok:W=w1.1,complete -M1,complete,deleting t601",
         "status0 !Finished"},
        {"it completes and is deleted before that is written", PLACED "-M1,complete,deleting ok:W=w1.1,running",
         "status0 status0"},
        {"the user deletes it", PLACED "-W=w1.1", "status0 delete1"},
        {"the user deletes it, and it has a finalizer", PLACED "W=w1.1,deleting", "status0 delete1"},
        {"its mirror goes as well", PLACED "-W=w1.1 ok -M1,deleting t60", "status0 delete1"},
        {"it is no longer delegated", PLACED "W=w1.1,other t3", "status0 !NotDelegated delete1"},
        {"it is replaced by another of the name", "M1,earlier | W t2", "place:w2.1"},
        {"an orphan", "M1 | t1", ""},
        {"is held as long as no workload is there at all", "M1 | t3000", ""},
        {"and then deleted", "M1 | t3660", "delete1"},
        {"of an earlier workload is deleted after a look", "W M1,earlier | t4", "place:w2.1 delete1"},
        {"our finalizer of a mirror that finished", "W=w1.1 M1,complete,finalizer | ok:W=w1.1,complete",
         "status0 release1 !Finished"},
        {"our finalizer of an orphan", "W M1,earlier,finalizer | t4", "place:w2.1 release1"},
        {"somebody deletes a mirror with our finalizer",
         "W=w1.1 M1,running,finalizer | M1,running,finalizer,deleting ok:W=w1.1,running", "status0 release1"},
    };
    CHECK(rows);
}

static void a_mirror_that_is_lost_is_replaced(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"it is deleted by somebody", PLACED "ok:W=w1.1,running -M1,running,deleting",
         "status0 place:w2.2 !Rescheduled"},
        {"it is gone, and nobody deleted it", PLACED "ok:W=w1.1,running -M1,running", "status0 get1"},
        {"and is asked for", PLACED "ok:W=w1.1,running -M1,running absent", "status0 get1 place:w2.2 !Rescheduled"},
        {"and is there", PLACED "ok:W=w1.1,running -M1,running ok:M1,running", "status0 get1"},
        {"its worker is lost for a while", PLACED "ok:W=w1.1,running L1 t840", "status0 !WorkerLost"},
        {"its worker is lost for longer", PLACED "ok:W=w1.1,running L1 t960",
         "status0 place:w2.2 !WorkerLost !Rescheduled"},
        {"it is placed again", PLACED "ok:W=w1.1,running L1 t960 ok:W=w2.2,running",
         "status0 place:w2.2 !WorkerLost !Rescheduled create2"},
        {"the old one is back", PLACED "ok:W=w1.1,running L1 t960 ok:W=w2.2,running ok:M2=2 C1:M1,running",
         "status0 place:w2.2 !WorkerLost !Rescheduled create2 status0 !Dispatched delete1"},
        {"lost before the create", "W L1 ok:W=w1.1", "place:w1.1 place:w2.2 !Rescheduled"},
        {"it finished, and its worker is lost", "W=w1.1 M1,complete | ok:W=w1.1,complete L1 t960", "status0 !Finished"},
        {"an earlier attempt is there", "W=w2.2 M1 M2=2 | t1", "delete1"},
        {"a later attempt than the annotations say", "W=w1.1 M2=2 | t1", "create1 !MirrorHeld"},
        {"its worker's versions went back, and it is there", PLACED "ok:W=w1.1,running R1:M1,running", "status0"},
        {"its worker's versions went back, and it is not", PLACED "ok:W=w1.1,running R1 absent",
         "status0 get1 place:w2.2 !Rescheduled"},
        {"the management cluster went back to before it was placed", PLACED "ok:W=w1.1,running R0:W t3",
         "status0 place:w1.1"},
        {"the management cluster was emptied", PLACED "ok:W=w1.1,running R0 t60", "status0"},
        {"w1 is another cluster", PLACED "ok:W=w1.1,running I1=x W=w1.1,running,scaled", "status0"},
        {"w2 is w1", PLACED "ok:W=w1.1,running I2=k1 W=w1.1,running,scaled", "status0 update1"},
        {"w1 is the management cluster", PLACED "ok:W=w1.1,running I1=k0 W=w1.1,running,scaled", "status0"},
        {"the annotations name a worker that there is not", "W=w9.1 | t6", "!UnknownCluster"},
        {"whose source may only be late", "W=w9.1 | t3", ""},
        {"and is: it joins", "W=w9.1 | J3=w9 C3:M3,running I3=k9 t30", "status0"},
        {"for longer", "W=w9.1 | t6 t955", "!UnknownCluster place:w1.2 !Waiting !Rescheduled"},
    };
    CHECK(rows);
}

#define RUNS PLACED "ok:W=w1.1,running "

static void a_worker_gets_what_its_policy_permits(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"w1 is cordoned", "P1=cordoned W", "place:w2.1"},
        {"and is no longer", "P1=cordoned P1=active W", "place:w1.1"},
        {"w1 is drained, what runs there ends there", "P1=finish W", "place:w2.1"},
        {"w1 is drained, what runs there is moved", "P1=move W", "place:w2.1"},
        {"both are cordoned", "P1=cordoned P2=cordoned W t61", "!Unschedulable"},
        {"cordoned before the create", "W P1=cordoned ok:W=w1.1", "place:w1.1 place:w2.2 !Rescheduled"},
        {"no other worker then", "L2 W P1=cordoned ok:W=w1.1 t61", "place:w1.1 !Unschedulable"},
        {"until it is no longer cordoned", "L2 W P1=cordoned ok:W=w1.1 P1=active", "place:w1.1 create1"},
        {"cordoned after a create of unknown outcome", "W ok:W=w1.1 P1=cordoned unknown t1",
         "place:w1.1 create1 create1"},
        {"cordoned while it runs", RUNS "P1=cordoned W=w1.1,running,scaled", "status0 update1"},
        {"drained by finish while it runs", RUNS "P1=finish W=w1.1,running,scaled", "status0 update1"},
        {"and its mirror is deleted by somebody", RUNS "P1=finish -M1,running,deleting",
         "status0 place:w2.2 !Rescheduled"},
    };
    CHECK(rows);
}

static void what_runs_in_a_worker_that_is_drained_is_moved(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"its mirror is deleted", RUNS "P1=move", "status0 delete1 !Drained"},
        {"nothing is created before it is gone", RUNS "P1=move ok t50", "status0 delete1 !Drained"},
        {"it is placed again when it is gone", RUNS "P1=move ok -M1,running,deleting",
         "status0 delete1 !Drained place:w2.2 !Rescheduled"},
        {"and created", RUNS "P1=move ok -M1,running,deleting ok:W=w2.2,running",
         "status0 delete1 !Drained place:w2.2 !Rescheduled create2"},
        {"it was gone already", RUNS "P1=move absent", "status0 delete1 !Drained place:w2.2 !Rescheduled"},
        {"the deletion has an unknown outcome", RUNS "P1=move unknown t1", "status0 delete1 !Drained delete1"},
        {"our finalizer is removed first",
         "W=w1.1 M1,running,finalizer | ok:W=w1.1,running P1=move ok M1,running,finalizer,deleting",
         "status0 delete1 !Drained release1"},
        {"no other worker is eligible", RUNS "L2 P1=move t60", "status0 !Waiting"},
        {"and its status is still copied", RUNS "L2 P1=move M1,complete", "status0 status0"},
        {"until another one is", RUNS "L2 P1=move C2", "status0 delete1 !Drained"},
        {"the other one is cordoned", RUNS "P2=cordoned P1=move t60", "status0 !Waiting"},
        {"both are drained", RUNS "P2=move P1=move t60", "status0 !Waiting"},
        {"it is no longer drained", RUNS "L2 P1=move P1=active C2", "status0"},
        {"it has finished", "W=w1.1 M1,complete | ok:W=w1.1,complete P1=move t60", "status0 !Finished"},
        {"it has finished, which is not written yet", PLACED "P1=move M1,complete ok:W=w1.1,running t60",
         "status0 status0"},
        {"it finishes while it is deleted", RUNS "P1=move -M1,complete,deleting ok t60",
         "status0 delete1 !Drained status0"},
        {"it is suspended", "W=w1.1,suspended M1,suspended | ok:W=w1.1,suspended P1=move ok -M1,suspended,deleting t60",
         "status0 delete1 !Drained status0"},
        {"and resumed later",
         "W=w1.1,suspended M1,suspended | ok:W=w1.1,suspended P1=move ok -M1,suspended,deleting ok:W=w1.1,suspended "
         "W=w1.1",
         "status0 delete1 !Drained status0 place:w2.2 !Rescheduled"},
        {"the host is stopping", RUNS "drain P1=move t1", "status0"},
        {"the management cluster is away", RUNS "L0 P1=move t1", "status0"},
        {"the worker is lost while it is deleted", RUNS "P1=move L1 unknown t840",
         "status0 delete1 !Drained !WorkerLost"},
        {"for longer", RUNS "P1=move L1 unknown t960", "status0 delete1 !Drained place:w2.2 !WorkerLost !Rescheduled"},
    };
    CHECK(rows);
}

static void a_worker_that_left_counts_as_lost_until_it_is_back(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"it runs there", RUNS "P1=left t840", "status0 !UnknownCluster !Waiting"},
        {"for longer", RUNS "P1=left t960", "status0 !UnknownCluster place:w2.2 !Waiting !Rescheduled"},
        {"it is back", RUNS "P1=left J1=w1 C1:M1,running t960", "status0 !UnknownCluster"},
        {"under another number", RUNS "P1=left J3=w1 C3:M3,running I3=k1 t960", "status0 !UnknownCluster"},
        {"another worker has its number", RUNS "P1=left J1=w9 C1 t840", "status0 !UnknownCluster !Waiting"},
        {"for longer", RUNS "P2=left P1=left J1=w9 C1 t960",
         "status0 !UnknownCluster place:w9.2 !Waiting !Rescheduled"},
        {"it is back with another cluster", RUNS "P1=left J1=w1 I1=x S1 t61", "status0 !UnknownCluster !Waiting"},
        {"back later: the stale mirror is deleted",
         RUNS "P1=left t960 ok:W=w2.2,running ok:M2=2,running J1=w1 C1:M1,running",
         "status0 !UnknownCluster place:w2.2 !Waiting !Rescheduled create2 !Dispatched delete1"},
        {"back before the next create, which waits for it", RUNS "P1=left t960 J1=w1 ok:W=w2.2,running t1",
         "status0 !UnknownCluster place:w2.2 !Waiting !Rescheduled !Waiting !Waiting"},
        {"until it is known what is there", RUNS "P1=left t960 J1=w1 ok:W=w2.2,running t1 C1",
         "status0 !UnknownCluster place:w2.2 !Waiting !Rescheduled !Waiting !Waiting create2"},
        {"an earlier process placed it again, and one joins that may have the earlier mirror",
         "W=w1.2 | quota absent J3=w9 ok:W=w2.3 t1", "create1 get1 !QuotaExceeded place:w2.3 !Rescheduled"},
        {"it has not", "W=w1.2 | quota absent J3=w9 ok:W=w2.3 t1 C3",
         "create1 get1 !QuotaExceeded place:w2.3 !Rescheduled create2"},
        {"it has an unseen mirror", "W=w1.2 | quota ok:M1=2,running", "create1 get1 !QuotaExceeded status0"},
        {"before the create", "W P1=left ok:W=w1.1", "place:w1.1 place:w2.2 !Rescheduled"},
        {"its mirror was gone, and came back with a copy of etcd",
         "W=w1.1,suspended M1 | -M1,deleting M1,running W=w1.1,running ok:W=w1.1,running ok:M1,running P1=left t5",
         "status0 update1 update1 !UnknownCluster"},
        {"a create elsewhere, which somebody's annotations ended, was rejected late",
         "W ok:W=w1.1 W=w2.1 busy ok:M1 P2=left t5", "place:w1.1 create1 create2 !Dispatched !UnknownCluster"},
        {"the create is in flight", "W ok:W=w1.1 P1=left ok:M1 t840", "place:w1.1 create1 !UnknownCluster !Waiting"},
        {"what is seen of it later is ignored", RUNS "P1=left M1,complete L1 t60", "status0 !UnknownCluster !Waiting"},
        {"its mirror has finished", PLACED "M1,complete P1=left ok:W=w1.1,running t960",
         "status0 !UnknownCluster status0"},
        {"the workload has finished", "W=w1.1 M1,complete | ok:W=w1.1,complete P1=left t960", "status0 !Finished"},
        {"its mirror is known to be gone", RUNS "P2=cordoned P1=cordoned -M1,running,deleting P1=left P2=active",
         "status0 !UnknownCluster place:w2.2 !Rescheduled"},
        {"an earlier mirror may run there", "W=w2.2 M1 | P1=left t840", "delete1 !Waiting"},
        {"it is given up", "W=w2.2 M1 | P1=left t960", "delete1 create2 !Waiting"},
        {"somebody removes the annotations then", RUNS "P1=left W,running ok:W=w2.1,running t840",
         "status0 !UnknownCluster place:w2.1 !Waiting"},
        {"it is given up", RUNS "P1=left W,running ok:W=w2.1,running t960",
         "status0 !UnknownCluster place:w2.1 create2 !Waiting"},
        {"somebody names another worker then", RUNS "P1=left W=w2.1,running t840", "status0 !UnknownCluster !Waiting"},
        {"it is back, with a mirror that is not proven without a key",
         RUNS "P1=left W=w2.1,running J1=w1 C1:M1,running", "status0 !UnknownCluster !MirrorHeld"},
        {"no mirror can be there", "W P1=left ok:W=w1.1 W ok:W=w2.1", "place:w1.1 place:w2.2 !Rescheduled create2"},
        {"another worker left", RUNS "P2=left W=w1.1,running,scaled", "status0 update1"},
    };
    CHECK(rows);
}

static void the_event_of_many_attempts_names_a_worker_that_left(void **state) {
    (void)state;
    struct table table = {0};
    buffer_init(&table.out, 4096);
    play_init(&table.play);
    play_start(&table.play);
    for (size_t c = 0; c < PLAY_CLUSTERS; c++)
        connect(&table, c, "W=w1.1 M1,running");
    play_wait(&table.play, CLOCK_SECOND);
    happen(&table, "ok:W=w1.1,running");
    happen(&table, "P2=cordoned");
    for (int attempt = 1; attempt < 5; attempt++) { // as many times at once
        AUTO_TEXT gone = text_format("-M1=%d,running,deleting", attempt);
        AUTO_TEXT placed = text_format("ok:W=w1.%d,running", attempt + 1);
        AUTO_TEXT created = text_format("ok:M1=%d,running", attempt + 1);
        happen(&table, gone);
        happen(&table, placed);
        happen(&table, created);
    }
    happen(&table, "P1=cordoned");
    happen(&table, "-M1=5,running,deleting");
    happen(&table, "P1=left");
    happen(&table, "P2=active");
    assert_non_null(strstr(table.play.notes.data, "PlacedTooOften: rescheduled 5 times"));
    assert_non_null(strstr(table.play.notes.data, "(last in cluster w1)"));
    buffer_free(&table.out);
    play_end(&table.play);
}

static int load(void **state) {
    if (harness_load(state))
        return 1;
    static wharf_kind kind;
    kind = *job_kind;
    kind.mirror = mirror_or_refuse;
    struct error *error = kind_check(&kind, NULL, "wharf.dev/host", &play_kind);
    if (error)
        fail_msg("%s", error_text(error));
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_workload_is_placed_and_its_mirror_created),
        cmocka_unit_test(a_write_that_is_not_accepted_is_made_anew),
        cmocka_unit_test(a_mirror_follows_its_workload_and_tells_its_status),
        cmocka_unit_test(a_workload_ends),
        cmocka_unit_test(a_mirror_that_is_lost_is_replaced),
        cmocka_unit_test(a_worker_gets_what_its_policy_permits),
        cmocka_unit_test(what_runs_in_a_worker_that_is_drained_is_moved),
        cmocka_unit_test(a_worker_that_left_counts_as_lost_until_it_is_back),
        cmocka_unit_test(the_event_of_many_attempts_names_a_worker_that_left),
    };
    return cmocka_run_group_tests(tests, load, play_unload);
}
