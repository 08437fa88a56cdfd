// SPDX-License-Identifier: Apache-2.0
#include "core/base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
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

// Splits into whole seconds, rounded down, and a non-negative remainder.
static int64_t split_second(int64_t wall_ns, int64_t *rest_ns) {
    int64_t seconds = wall_ns / CLOCK_SECOND;
    *rest_ns = wall_ns % CLOCK_SECOND;
    if (*rest_ns < 0) {
        *rest_ns += CLOCK_SECOND;
        seconds--;
    }
    return seconds;
}

// Date and time without fraction. int64_t nanoseconds cover the years 1677 to 2262: 19 characters.
static size_t write_seconds(int64_t wall_ns, char out[CLOCK_RFC3339_MAX], int64_t *rest_ns) {
    time_t seconds = (time_t)split_second(wall_ns, rest_ns);
    struct tm utc;
    gmtime_r(&seconds, &utc);
    return strftime(out, CLOCK_RFC3339_MAX, "%Y-%m-%dT%H:%M:%S", &utc);
}

void clock_rfc3339(int64_t wall_ns, char out[CLOCK_RFC3339_MAX]) {
    int64_t rest_ns;
    size_t len = write_seconds(wall_ns, out, &rest_ns);
    snprintf(out + len, CLOCK_RFC3339_MAX - len, "Z");
}

void clock_rfc3339_micro(int64_t wall_ns, char out[CLOCK_RFC3339_MAX]) {
    int64_t rest_ns;
    size_t len = write_seconds(wall_ns, out, &rest_ns);
    snprintf(out + len, CLOCK_RFC3339_MAX - len, ".%06dZ", (int)(rest_ns / 1000));
}

// Exactly `digits` decimal digits; -1 otherwise.
static int take_number(const char **text, int digits) {
    int value = 0;
    for (int i = 0; i < digits; i++, (*text)++) {
        if (**text < '0' || **text > '9')
            return -1;
        value = value * 10 + (**text - '0');
    }
    return value;
}

static bool take_char(const char **text, const char *any_of) {
    if (**text == '\0' || !strchr(any_of, **text))
        return false;
    (*text)++;
    return true;
}

static int days_in_month(int year, int month) {
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return month == 2 && leap ? 29 : days[month - 1];
}

static bool take_date(const char **text, struct tm *utc) {
    int year = take_number(text, 4);
    if (year < 0 || !take_char(text, "-"))
        return false;
    int month = take_number(text, 2);
    if (month < 1 || month > 12 || !take_char(text, "-"))
        return false;
    int day = take_number(text, 2);
    if (day < 1 || day > days_in_month(year, month))
        return false;
    utc->tm_year = year - 1900;
    utc->tm_mon = month - 1;
    utc->tm_mday = day;
    return true;
}

static bool take_time(const char **text, struct tm *utc) {
    utc->tm_hour = take_number(text, 2);
    if (utc->tm_hour < 0 || utc->tm_hour > 23 || !take_char(text, ":"))
        return false;
    utc->tm_min = take_number(text, 2);
    if (utc->tm_min < 0 || utc->tm_min > 59 || !take_char(text, ":"))
        return false;
    utc->tm_sec = take_number(text, 2);
    return utc->tm_sec >= 0 && utc->tm_sec <= 60;
}

// Digits after the ninth are dropped.
static bool take_fraction(const char **text, int64_t *rest_ns) {
    *rest_ns = 0;
    if (!take_char(text, "."))
        return true;
    int64_t unit = CLOCK_SECOND;
    const char *first = *text;
    for (; **text >= '0' && **text <= '9'; (*text)++) {
        unit /= 10;
        *rest_ns += unit * (**text - '0');
    }
    return *text > first;
}

static bool take_offset(const char **text, int *seconds) {
    *seconds = 0;
    if (take_char(text, "Zz"))
        return true;
    int sign = **text == '-' ? -1 : 1;
    if (!take_char(text, "+-"))
        return false;
    int hours = take_number(text, 2);
    if (hours < 0 || hours > 23 || !take_char(text, ":"))
        return false;
    int minutes = take_number(text, 2);
    *seconds = sign * (hours * 3600 + minutes * 60);
    return minutes >= 0 && minutes <= 59;
}

bool clock_parse_rfc3339(const char *text, int64_t *wall_ns) {
    struct tm utc = {0};
    int64_t rest_ns;
    int offset;
    if (!text || !take_date(&text, &utc) || !take_char(&text, "Tt") || !take_time(&text, &utc) ||
        !take_fraction(&text, &rest_ns) || !take_offset(&text, &offset) || *text)
        return false;
    bool leap_second = utc.tm_sec == 60;
    int64_t seconds = (int64_t)timegm(&utc) - offset;
    if (leap_second && seconds % 86400 != 0) // RFC 3339 section 5.7: only the last second of a UTC day
        return false;
    if (seconds < -RANGE_S || seconds > RANGE_S)
        return false;
    *wall_ns = seconds * CLOCK_SECOND + rest_ns;
    return true;
}
