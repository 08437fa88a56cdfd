// SPDX-License-Identifier: Apache-2.0
#include "core/serve/http/stream.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct reader {
    struct stream *stream;
    int suspended; // and resumed: only one of them at a time
    int resumes, wakes;
};

static void suspend(void *ctx) {
    struct reader *reader = ctx;
    assert_int_equal(reader->suspended++, 0);
}

static void resume(void *ctx) {
    struct reader *reader = ctx;
    assert_int_equal(--reader->suspended, 0);
    reader->resumes++;
}

static void wake(void *ctx) {
    ((struct reader *)ctx)->wakes++;
}

static void begin(struct reader *reader) {
    *reader = (struct reader){.stream = stream_new()};
    assert_non_null(reader->stream);
    stream_set_reader(reader->stream, &(struct stream_reader){suspend, resume, reader});
}

static void what_is_written_is_read_and_the_end_comes_last(void **state) {
    (void)state;
    struct reader reader;
    char out[8];
    begin(&reader);
    assert_int_equal(stream_read(reader.stream, out, sizeof out), 0);
    assert_int_equal(reader.suspended, 1);
    assert_true(stream_write(reader.stream, "abcdefghij", 10));
    assert_int_equal(reader.suspended, 0);
    assert_int_equal(stream_read(reader.stream, out, sizeof out), 8);
    assert_memory_equal(out, "abcdefgh", 8);
    stream_end(reader.stream);
    assert_int_equal(stream_read(reader.stream, out, sizeof out), 2);
    assert_int_equal(stream_read(reader.stream, out, sizeof out), -1);
    stream_detach(reader.stream);
}

static void an_end_wakes_a_reader_that_waits(void **state) {
    (void)state;
    struct reader reader;
    char out[8];
    begin(&reader);
    assert_int_equal(stream_read(reader.stream, out, sizeof out), 0);
    stream_end(reader.stream);
    assert_int_equal(reader.resumes, 1);
    assert_int_equal(stream_read(reader.stream, out, sizeof out), -1);
    stream_detach(reader.stream);
}

static void a_reader_that_goes_away_is_told_to_the_producer(void **state) {
    (void)state;
    struct reader reader;
    begin(&reader);
    stream_on_gone(reader.stream, wake, &reader);
    assert_true(stream_is_read(reader.stream));
    stream_abandon(reader.stream);
    stream_abandon(reader.stream);
    assert_int_equal(reader.wakes, 1);
    assert_false(stream_is_read(reader.stream));
    assert_false(stream_write(reader.stream, "a", 1));
    assert_false(stream_offer(reader.stream, "a", 1));
    stream_on_gone(reader.stream, wake, &reader);
    assert_int_equal(reader.wakes, 2);
    stream_on_gone(reader.stream, NULL, NULL);
    stream_detach(reader.stream);
    stream_end(reader.stream);
}

static void an_offer_is_taken_whole_or_not_at_all(void **state) {
    (void)state;
    struct reader reader;
    begin(&reader);
    char *text = calloc(1, STREAM_BUFFER + 1);
    assert_non_null(text);
    assert_false(stream_offer(reader.stream, text, STREAM_BUFFER + 1));
    assert_true(stream_offer(reader.stream, text, STREAM_BUFFER));
    assert_false(stream_offer(reader.stream, text, 1));
    assert_true(stream_offer(reader.stream, text, 0));
    free(text);
    stream_end(reader.stream);
    stream_detach(reader.stream);
}

static void a_batch_of_any_size_is_taken_once_all_before_it_is_read(void **state) {
    (void)state;
    struct reader reader;
    begin(&reader);
    size_t len = 3 * STREAM_BUFFER, done = 0;
    struct buffer batch = {.max = len};
    char *text = calloc(1, len), out[5000];
    assert_non_null(text);
    assert_true(stream_offer(reader.stream, "first", 5));
    assert_false(stream_is_drained(reader.stream));
    assert_true(buffer_append(&batch, text, len));
    assert_int_equal(stream_read(reader.stream, out, sizeof out), 5);
    assert_int_equal(stream_read(reader.stream, out, sizeof out), 0);
    assert_true(stream_is_drained(reader.stream));
    assert_true(stream_push(reader.stream, &batch));
    assert_int_equal(batch.len, 0);
    assert_int_equal(reader.suspended, 0);
    for (ptrdiff_t part; (part = stream_read(reader.stream, out, sizeof out)) > 0;)
        done += (size_t)part;
    assert_int_equal(done, len);
    assert_true(stream_is_drained(reader.stream));
    stream_end(reader.stream);
    stream_detach(reader.stream);
    free(text);
}

#define SENT ((size_t)3 * 1000 * 1000)

static void *produce(void *arg) {
    struct stream *stream = arg;
    unsigned char bytes[977];
    size_t done = 0;
    while (done < SENT) {
        size_t len = SENT - done < sizeof bytes ? SENT - done : sizeof bytes;
        for (size_t i = 0; i < len; i++)
            bytes[i] = (unsigned char)((done + i) % 251);
        if (!stream_write(stream, bytes, len))
            break;
        done += len;
    }
    stream_end(stream);
    return (void *)(uintptr_t)(done == SENT);
}

static void suspend_nothing(void *ctx) {
    atomic_fetch_add((atomic_int *)ctx, 1);
}

static void resume_nothing(void *ctx) {
    atomic_fetch_sub((atomic_int *)ctx, 1);
}

static void a_fast_producer_waits_for_its_reader(void **state) {
    (void)state;
    atomic_int suspended = 0;
    struct stream *stream = stream_new();
    assert_non_null(stream);
    stream_set_reader(stream, &(struct stream_reader){suspend_nothing, resume_nothing, &suspended});
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, produce, stream), 0);
    unsigned char out[1009];
    size_t done = 0;
    for (;;) {
        while (atomic_load(&suspended) > 0)
            ;
        ptrdiff_t len = stream_read(stream, (char *)out, sizeof out);
        if (len < 0)
            break;
        for (ptrdiff_t i = 0; i < len; i++)
            assert_int_equal(out[i], (done + (size_t)i) % 251);
        done += (size_t)len;
    }
    assert_int_equal(done, SENT);
    void *whole = NULL;
    pthread_join(thread, &whole);
    assert_non_null(whole);
    stream_detach(stream);
}

static void a_producer_that_waits_ends_when_the_reader_goes(void **state) {
    (void)state;
    struct stream *stream = stream_new();
    assert_non_null(stream);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, produce, stream), 0);
    char out[100];
    atomic_int suspended = 0;
    stream_set_reader(stream, &(struct stream_reader){suspend_nothing, resume_nothing, &suspended});
    while (stream_read(stream, out, sizeof out) == 0)
        while (atomic_load(&suspended) > 0)
            ;
    stream_detach(stream);
    void *whole = NULL;
    pthread_join(thread, &whole);
    assert_null(whole);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_and_the_end_comes_last),
        cmocka_unit_test(an_end_wakes_a_reader_that_waits),
        cmocka_unit_test(a_reader_that_goes_away_is_told_to_the_producer),
        cmocka_unit_test(an_offer_is_taken_whole_or_not_at_all),
        cmocka_unit_test(a_batch_of_any_size_is_taken_once_all_before_it_is_read),
        cmocka_unit_test(a_fast_producer_waits_for_its_reader),
        cmocka_unit_test(a_producer_that_waits_ends_when_the_reader_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
