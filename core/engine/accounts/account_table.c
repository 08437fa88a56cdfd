// SPDX-License-Identifier: Apache-2.0
#include "core/engine/accounts/account_table.h"

#include "core/base/memory.h"

#include <stdlib.h>

#define KEY_MAX 1024
#define FULL_NS CLOCK_MINUTE // between two searches for idle accounts

static double seconds_of(int64_t ns) {
    return (double)ns / (double)CLOCK_SECOND;
}

static double value_of(const struct growth *tally, double t) {
    return tally->fixed + tally->rate * t;
}

// Accounts -----------------------------------------------------------------------------------------------------

static struct account *make_account(const char *kind, const char *namespace_, const char *cluster) {
    size_t kind_size = strlen(kind) + 1, space_size = strlen(namespace_) + 1, size = strlen(cluster) + 1;
    struct account *account = calloc(1, sizeof *account + 2 * (kind_size + space_size + size));
    if (!account)
        return NULL;
    size_t len = kind_size + space_size + size; // the key, then each name with its end
    snprintf(account->key, len, "%s\n%s\n%s", kind, namespace_, cluster);
    char *names = account->key + len;
    account->kind = memcpy(names, kind, kind_size);
    account->namespace_ = memcpy(names + kind_size, namespace_, space_size);
    account->cluster = memcpy(names + kind_size + space_size, cluster, size);
    return account;
}

static void free_account(struct account *account) {
    if (account)
        free(account->series);
    free(account);
}

static bool is_invented(const struct engine *engine, const char *cluster) {
    for (size_t c = 1; c < engine->n_clusters; c++)
        if (text_equal(engine->clusters[c].name, cluster))
            return false;
    return true;
}

static bool has_room(const struct accounts *accounts, bool invented) {
    return accounts->by_key.count < ACCOUNTS_MAX && (!invented || accounts->n_invented < ACCOUNTS_INVENTED);
}

// Makes room: drops the accounts that have had no workload for a while.
static void drop_idle(struct engine *engine) {
    struct accounts *accounts = engine->accounts;
    if (engine->now.mono_ns < accounts->full_ns)
        return;
    accounts->full_ns = engine->now.mono_ns + FULL_NS;
    size_t cursor = 0;
    for (struct account *account; (account = map_next(&accounts->by_key, &cursor));)
        if (account->refs == 0 && engine->now.mono_ns - account->idle_ns >= ACCOUNT_IDLE_NS) {
            map_remove(&accounts->by_key, account->key);
            accounts->n_invented -= account->invented;
            free_account(account);
        }
}

static struct account *account_of(struct engine *engine, const struct entry *entry, const char *cluster) {
    struct accounts *accounts = engine->accounts;
    const char *kind = engine->kinds[entry->kind]->plural_group;
    char space[254], key[KEY_MAX];
    entry_namespace(entry, space);
    int len = snprintf(key, sizeof key, "%s\n%s\n%s", kind, space, cluster);
    if (len < 0 || (size_t)len >= sizeof key)
        return accounts->others;
    struct account *account = map_get(&accounts->by_key, key);
    if (account)
        return account;
    bool invented = is_invented(engine, cluster);
    if (!has_room(accounts, invented))
        drop_idle(engine);
    account = has_room(accounts, invented) ? make_account(kind, space, cluster) : NULL;
    if (!account || !map_put(&accounts->by_key, account->key, account)) {
        free_account(account);
        return accounts->others;
    }
    account->invented = invented;
    accounts->n_invented += invented;
    return account;
}

struct account *account_ref(struct engine *engine, const struct entry *entry, const char *cluster) {
    struct account *account = account_of(engine, entry, cluster);
    account->refs++;
    return account;
}

void account_unref(struct engine *engine, struct account *account) {
    if (!account || --account->refs > 0)
        return;
    account->idle_ns = engine->now.mono_ns;
    for (size_t i = 0; i < account->n_series; i++) // rounding does not stay
        account->series[i].used = (struct growth){0};
}

// Sums ---------------------------------------------------------------------------------------------------------

static void keep_shown(struct account *account, double t) {
    for (size_t i = 0; i < account->n_series; i++) {
        struct series *series = &account->series[i];
        double now = value_of(&series->counted, t);
        series->shown = now > series->shown ? now : series->shown;
    }
}

static void add_to(struct growth *tally, double amount, double over, bool grows, double since) {
    tally->fixed += amount * over;
    if (!grows)
        return;
    tally->rate += amount;
    tally->fixed -= amount * since;
}

void account_add(struct engine *engine, struct account *account, const struct usage *usage, enum sum sum,
                 struct share share, int sign) {
    struct accounts *accounts = engine->accounts;
    size_t need = accounts->names.count + 1;
    double since = seconds_of(share.since_ns - accounts->begun.wall_ns), over = seconds_of(share.over_ns);
    accounts->changed = true;
    if (account->n_series < need && !array_reserve(&account->series, &account->n_series, need, sizeof *account->series))
        return;
    if (sum == SUM_COUNTED) {
        keep_shown(account, seconds_of(engine->now.mono_ns - accounts->begun.mono_ns));
        account->counts = true;
    }
    for (size_t i = 0; i <= (usage ? usage->amounts->count : 0); i++) {
        struct series *series = &account->series[i == 0 ? 0 : usage->amounts->items[i - 1].resource + 1];
        double amount = i == 0 ? 1 : (double)usage->amounts->items[i - 1].amount;
        add_to(sum == SUM_USED ? &series->used : &series->counted, sign * amount, over, share.since_ns, since);
    }
}

// The block for other threads ----------------------------------------------------------------------------------

struct fill {
    const struct accounts *accounts;
    struct account_sums *sums;
    struct account_value *values;
    char *texts;
};

static const char *put_text(struct fill *fill, const char *text) {
    size_t size = strlen(text) + 1;
    char *at = memcpy(fill->texts, text, size);
    fill->texts += size;
    return at;
}

static void put_values(struct fill *fill, const struct account *account, bool counted) {
    for (size_t i = 0; i <= fill->sums->n_resources; i++) {
        bool milli = i > 0 && strcmp(fill->sums->resources[i - 1], "cpu") == 0;
        double unit = milli ? 1000 : 1;
        const struct series *series = i < account->n_series ? &account->series[i] : NULL;
        const struct growth *tally = !series ? NULL : counted ? &series->counted : &series->used;
        *fill->values++ =
            series ? (struct account_value){tally->fixed / unit, tally->rate / unit, counted ? series->shown / unit : 0}
                   : (struct account_value){0};
    }
}

static void put_row(struct fill *fill, const struct account *account) {
    if (!account->counts && account->refs == 0)
        return;
    struct account_row *row = &fill->sums->rows[fill->sums->n_rows++];
    *row = (struct account_row){.namespace_ = put_text(fill, account->namespace_),
                                .kind = put_text(fill, account->kind),
                                .cluster = put_text(fill, account->cluster),
                                .workloads = account->workloads,
                                .running = account->running,
                                .counts = account->counts,
                                .used = fill->values};
    put_values(fill, account, false);
    row->counted = fill->values;
    put_values(fill, account, true);
}

static size_t texts_size(const struct accounts *accounts) {
    size_t size = 3, cursor = 0; // of `others`
    for (const struct account *a; (a = map_next(&accounts->by_key, &cursor));)
        size += strlen(a->namespace_) + strlen(a->kind) + strlen(a->cluster) + 3;
    for (size_t r = 0; r < accounts->names.count; r++)
        size += strlen(accounts->names.list[r]) + 1;
    return size;
}

struct account_sums *account_sums_new(const struct accounts *accounts) {
    size_t n_rows = accounts->by_key.count + 1, n_resources = accounts->names.count, cursor = 0;
    size_t n_values = n_rows * 2 * (n_resources + 1);
    size_t head = sizeof(struct account_sums) + n_rows * sizeof(struct account_row) +
                  n_values * sizeof(struct account_value) + n_resources * sizeof(char *);
    struct account_sums *sums = malloc(head + texts_size(accounts));
    if (!sums)
        return NULL;
    *sums = (struct account_sums){.begun_ns = accounts->begun.mono_ns, .n_resources = n_resources};
    atomic_init(&sums->refs, 1);
    struct fill fill = {.accounts = accounts, .sums = sums, .texts = (char *)sums + head};
    sums->rows = (struct account_row *)(sums + 1);
    fill.values = (struct account_value *)(sums->rows + n_rows);
    sums->resources = (const char **)(fill.values + n_values);
    for (size_t r = 0; r < n_resources; r++)
        sums->resources[r] = put_text(&fill, accounts->names.list[r]);
    for (const struct account *account; (account = map_next(&accounts->by_key, &cursor));)
        put_row(&fill, account);
    put_row(&fill, accounts->others);
    return sums;
}

struct accounts *accounts_new(struct moment now, uint64_t seed) {
    struct accounts *accounts = calloc(1, sizeof *accounts);
    if (!accounts || !(accounts->others = make_account("", "", ""))) {
        free(accounts);
        return NULL;
    }
    accounts->begun = now;
    map_init(&accounts->by_key, seed);
    map_init(&accounts->usages, seed);
    return accounts;
}

void accounts_free(struct accounts *accounts) {
    if (!accounts)
        return;
    size_t cursor = 0;
    for (struct account *account; (account = map_next(&accounts->by_key, &cursor));)
        free_account(account);
    free_account(accounts->others);
    map_free_values(&accounts->usages);
    map_free(&accounts->by_key);
    resource_names_free(&accounts->names);
    free(accounts);
}
