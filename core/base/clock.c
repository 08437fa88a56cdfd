// SPDX-License-Identifier: Apache-2.0
#include "core/base/clock.h"

#include "core/base/memory.h"
#include "core/base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <time.h>

#define RANGE_S (INT64_MAX / 2 / CLOCK_SECOND - 1)

static int64_t read_clock(clockid_t id) {
    struct timespec now = {0};
    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * CLOCK_SECOND + now.tv_nsec;
}

struct moment clock_now(void) {
    return (struct moment){read_clock(CLOCK_BOOTTIME), read_clock(CLOCK_REALTIME)};
}

int64_t clock_ticks(void) {
    return read_clock(CLOCK_MONOTONIC);
}

int64_t clock_processor(void) {
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

void clock_condition_init(pthread_cond_t *out) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(out, &attributes);
    pthread_condattr_destroy(&attributes);
}

bool clock_condition_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, int64_t for_ns) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    int64_t ns = until.tv_nsec + for_ns % CLOCK_SECOND;
    until.tv_sec += for_ns / CLOCK_SECOND + ns / CLOCK_SECOND;
    until.tv_nsec = ns % CLOCK_SECOND;
    return pthread_cond_timedwait(condition, mutex, &until) != ETIMEDOUT;
}

// With `micro`, the fraction has six digits. int64_t nanoseconds cover the years 1677 to 2262: 19
// characters before the fraction.
static void write_time(int64_t wall_ns, char out[CLOCK_RFC3339_MAX], bool micro) {
    int64_t rest_ns = wall_ns % CLOCK_SECOND; // below zero before 1970: the second is rounded down
    time_t seconds = (time_t)(wall_ns / CLOCK_SECOND - (rest_ns < 0));
    rest_ns += rest_ns < 0 ? CLOCK_SECOND : 0;
    struct tm utc;
    gmtime_r(&seconds, &utc);
    size_t len = strftime(out, CLOCK_RFC3339_MAX, "%Y-%m-%dT%H:%M:%SZ", &utc);
    if (micro)
        snprintf(out + len - 1, CLOCK_RFC3339_MAX - len + 1, ".%06dZ", (int)(rest_ns / 1000));
}

void clock_rfc3339(int64_t wall_ns, char out[CLOCK_RFC3339_MAX]) {
    write_time(wall_ns, out, false);
}

void clock_rfc3339_micro(int64_t wall_ns, char out[CLOCK_RFC3339_MAX]) {
    write_time(wall_ns, out, true);
}

// Reads text of the form "00-00T00:00", where "T" may be "t": each run of digits is the next number.
static bool take_numbers(const char **text, const char *form, int *numbers) {
    for (; *form != '\0'; form++) {
        char c = *(*text)++;
        if (*form == '0' && c >= '0' && c <= '9')
            *numbers = *numbers * 10 + (c - '0');
        else if (c == *form || (c == 't' && *form == 'T'))
            numbers++;
        else
            return false;
    }
    return true;
}

// Digits after the ninth are dropped.
static bool take_fraction(const char **text, int64_t *rest_ns) {
    *rest_ns = 0;
    if (**text != '.')
        return true;
    int64_t unit = CLOCK_SECOND;
    const char *first = ++*text;
    for (; **text >= '0' && **text <= '9'; (*text)++) {
        unit /= 10;
        *rest_ns += unit * (**text - '0');
    }
    return *text > first;
}

// "Z", "+01:30".
static bool take_offset(const char **text, int64_t *seconds) {
    int numbers[2] = {0}, sign = **text == '-' ? -1 : 1;
    *seconds = 0;
    if (**text == 'Z' || **text == 'z') {
        ++*text;
        return true;
    }
    if (**text != '+' && **text != '-')
        return false;
    ++*text;
    if (!take_numbers(text, "00:00", numbers))
        return false;
    *seconds = (int64_t)sign * (numbers[0] * 3600 + numbers[1] * 60);
    return numbers[0] <= 23 && numbers[1] <= 59;
}

bool clock_parse_rfc3339(const char *text, int64_t *wall_ns) {
    int n[6] = {0}; // year to second
    int64_t rest_ns, offset;
    if (!text || !take_numbers(&text, "0000-00-00T00:00:00", n) || !take_fraction(&text, &rest_ns) ||
        !take_offset(&text, &offset) || *text)
        return false;
    struct tm utc = {.tm_year = n[0] - 1900, .tm_mon = n[1] - 1, .tm_mday = n[2], .tm_hour = n[3], .tm_min = n[4]};
    int64_t seconds = (int64_t)timegm(&utc) + n[5] - offset;
    // A date that does not exist has become another one.
    if (utc.tm_mon != n[1] - 1 || utc.tm_mday != n[2] || utc.tm_hour != n[3] || utc.tm_min != n[4] || n[5] > 60)
        return false;
    if (n[5] == 60 && seconds % 86400 != 0) // RFC 3339 section 5.7: only the last second of a UTC day
        return false;
    if (seconds < -RANGE_S || seconds > RANGE_S)
        return false;
    *wall_ns = seconds * CLOCK_SECOND + rest_ns;
    return true;
}

// -- durations in Go's format --

// The first four are those of durations below a minute; each is a thousandth of the one before.
static const struct {
    const char *name;
    int64_t ns;
} units[] = {
    {"s", CLOCK_SECOND}, {"ms", CLOCK_MS},         {"us", 1000},        {"ns", 1},
    {"m", CLOCK_MINUTE}, {"h", 60 * CLOCK_MINUTE}, {"\xC2\xB5s", 1000}, // U+00B5, micro sign
    {"\xCE\xBCs", 1000},                                                // U+03BC, Greek mu
};

// A unit ends where the next number begins.
static int64_t take_unit(const char **text) {
    size_t len = strcspn(*text, "0123456789."), i = 0;
    while (i < sizeof units / sizeof units[0] &&
           (len != strlen(units[i].name) || strncmp(*text, units[i].name, len) != 0))
        i++;
    *text += len;
    return i < sizeof units / sizeof units[0] ? units[i].ns : 0;
}

// One "1.5h", added to *sum.
static bool take_part(const char **text, int64_t *sum) {
    int64_t whole = 0;
    const char *first = *text;
    for (; **text >= '0' && **text <= '9'; (*text)++)
        if (__builtin_mul_overflow(whole, 10, &whole) || __builtin_add_overflow(whole, **text - '0', &whole))
            return false;
    size_t digits = (size_t)(*text - first);
    const char *fraction = NULL;
    size_t fraction_digits = 0;
    if (**text == '.') {
        fraction = ++*text;
        fraction_digits = strspn(fraction, "0123456789");
        *text += fraction_digits;
    }
    if (digits + fraction_digits == 0)
        return false;
    int64_t unit = take_unit(text);
    if (unit == 0 || __builtin_mul_overflow(whole, unit, &whole) || __builtin_add_overflow(*sum, whole, sum))
        return false;
    // The twelfth decimal of an hour is less than a nanosecond.
    __extension__ __int128 rest = 0, scale = 1;
    for (size_t i = 0; i < fraction_digits && i < 12; i++, scale *= 10)
        rest = rest * 10 + (fraction[i] - '0');
    return !__builtin_add_overflow(*sum, (int64_t)(unit * rest / scale), sum);
}

bool clock_parse_duration(const char *text, int64_t *duration_ns) {
    if (!text)
        return false;
    if (*text == '+')
        text++;
    int64_t sum = 0;
    if (!text_equal(text, "0")) {
        if (!*text)
            return false;
        while (*text)
            if (!take_part(&text, &sum))
                return false;
    }
    *duration_ns = sum;
    return true;
}

// "1.5s", "250ms": below a minute: one unit, with as many decimals as needed.
static void write_seconds(uint64_t ns, char *out, size_t size) {
    int unit = 0;
    while (unit < 3 && ns < (uint64_t)units[unit].ns)
        unit++;
    uint64_t whole = ns / (uint64_t)units[unit].ns, rest = ns % (uint64_t)units[unit].ns;
    size_t len = (size_t)snprintf(out, size, "%" PRIu64, whole);
    int digits = 9 - 3 * unit;
    for (; rest > 0 && rest % 10 == 0; rest /= 10)
        digits--;
    if (rest > 0)
        len += (size_t)snprintf(out + len, size - len, ".%0*" PRIu64, digits, rest);
    text_copy(out + len, size - len, units[unit].name);
}

void clock_duration_text(int64_t duration_ns, char out[CLOCK_RFC3339_MAX]) {
    uint64_t ns = duration_ns < 0 ? 0 - (uint64_t)duration_ns : (uint64_t)duration_ns, minute = CLOCK_MINUTE;
    uint64_t hours = ns / (60 * minute), minutes = ns / minute % 60;
    size_t size = CLOCK_RFC3339_MAX, len = (size_t)snprintf(out, size, "%s", duration_ns < 0 ? "-" : "");
    if (hours > 0)
        len += (size_t)snprintf(out + len, size - len, "%" PRIu64 "h", hours);
    if (minutes > 0)
        len += (size_t)snprintf(out + len, size - len, "%" PRIu64 "m", minutes);
    if (ns == 0)
        text_copy(out, size, "0s");
    else if (ns % minute > 0)
        write_seconds(ns % minute, out + len, size - len);
}

// -- timers --

void heap_init(struct heap *heap) {
    *heap = (struct heap){0};
}

void heap_free(struct heap *heap) {
    for (size_t i = 0; i < heap->count; i++)
        heap->items[i]->place = HEAP_NOT_IN;
    free(heap->items);
    heap_init(heap);
}

void timer_init(struct timer *timer) {
    *timer = (struct timer){.place = HEAP_NOT_IN};
}

static void put_at(struct heap *heap, size_t place, struct timer *timer) {
    heap->items[place] = timer;
    timer->place = place;
}

static void move_up(struct heap *heap, struct timer *timer) {
    size_t place = timer->place;
    while (place > 0) {
        size_t parent = (place - 1) / 2;
        if (heap->items[parent]->at_ns <= timer->at_ns)
            break;
        put_at(heap, place, heap->items[parent]);
        place = parent;
    }
    put_at(heap, place, timer);
}

static void move_down(struct heap *heap, struct timer *timer) {
    size_t place = timer->place;
    for (;;) {
        size_t child = 2 * place + 1;
        if (child >= heap->count)
            break;
        if (child + 1 < heap->count && heap->items[child + 1]->at_ns < heap->items[child]->at_ns)
            child++;
        if (heap->items[child]->at_ns >= timer->at_ns)
            break;
        put_at(heap, place, heap->items[child]);
        place = child;
    }
    put_at(heap, place, timer);
}

bool heap_set(struct heap *heap, struct timer *timer, int64_t at_ns) {
    if (timer->place == HEAP_NOT_IN) {
        if (!array_reserve(&heap->items, &heap->capacity, heap->count + 1, sizeof *heap->items))
            return false;
        put_at(heap, heap->count++, timer);
    }
    timer->at_ns = at_ns;
    move_up(heap, timer);
    move_down(heap, timer);
    return true;
}

void heap_remove(struct heap *heap, struct timer *timer) {
    if (timer->place == HEAP_NOT_IN)
        return;
    size_t place = timer->place;
    struct timer *last = heap->items[--heap->count];
    timer->place = HEAP_NOT_IN;
    if (last == timer)
        return;
    put_at(heap, place, last);
    move_up(heap, last);
    move_down(heap, last);
}

struct timer *heap_first(const struct heap *heap) {
    return heap->count ? heap->items[0] : NULL;
}
