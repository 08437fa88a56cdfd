// SPDX-License-Identifier: Apache-2.0
#include "core/serve/http/net.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

struct reader {
    struct stream *stream;
    int sockets[2]; // the server's side of the connection, and the client's
    int wakes;
};

static void wake(void *ctx) {
    ((struct reader *)ctx)->wakes++;
}

static void begin(struct reader *reader) {
    *reader = (struct reader){.wakes = 0};
    assert_null(stream_new(&reader->stream));
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, reader->sockets), 0);
}

static void end(struct reader *reader) {
    for (size_t i = 0; i < 2; i++)
        close(reader->sockets[i]);
    stream_free(reader->stream);
}

static ptrdiff_t read_some(const struct reader *reader, void *out, size_t max) {
    return stream_read(reader->stream, reader->sockets[0], out, max);
}

static void what_is_written_is_read_and_the_end_comes_last(void **state) {
    (void)state;
    struct reader reader;
    char out[8];
    begin(&reader);
    assert_true(stream_write(reader.stream, "abcdefghij", 10));
    stream_end(reader.stream);
    assert_int_equal(read_some(&reader, out, sizeof out), 8);
    assert_memory_equal(out, "abcdefgh", 8);
    assert_int_equal(read_some(&reader, out, sizeof out), 2);
    assert_int_equal(read_some(&reader, out, sizeof out), -1);
    end(&reader);
}

static void *end_later(void *stream) {
    usleep(50000);
    stream_end(stream);
    return NULL;
}

static void an_end_wakes_a_reader_that_waits(void **state) {
    (void)state;
    struct reader reader;
    pthread_t thread;
    char out[8];
    begin(&reader);
    assert_int_equal(pthread_create(&thread, NULL, end_later, reader.stream), 0);
    stream_wait(reader.stream);
    assert_int_equal(read_some(&reader, out, sizeof out), -1);
    pthread_join(thread, NULL);
    end(&reader);
}

static void a_reader_that_goes_away_is_told_to_the_producer(void **state) {
    (void)state;
    struct reader reader;
    char out[8];
    begin(&reader);
    stream_on_gone(reader.stream, wake, &reader);
    assert_true(stream_is_read(reader.stream));
    stream_abandon(reader.stream);
    assert_int_equal(reader.wakes, 1);
    assert_false(stream_is_read(reader.stream));
    assert_false(stream_write(reader.stream, "a", 1));
    stream_on_gone(reader.stream, wake, &reader);
    assert_int_equal(reader.wakes, 2);
    assert_int_equal(read_some(&reader, out, sizeof out), -2);
    end(&reader);
}

static void a_client_that_closes_its_connection_is_noticed(void **state) {
    (void)state;
    struct reader reader;
    char out[8];
    begin(&reader);
    stream_on_gone(reader.stream, wake, &reader);
    shutdown(reader.sockets[1], SHUT_WR);
    assert_int_equal(read_some(&reader, out, sizeof out), -2);
    assert_int_equal(reader.wakes, 1);
    assert_false(stream_is_read(reader.stream));
    end(&reader);
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

static void a_fast_producer_waits_for_its_reader(void **state) {
    (void)state;
    struct reader reader;
    pthread_t thread;
    unsigned char out[1009];
    size_t done = 0;
    begin(&reader);
    assert_int_equal(pthread_create(&thread, NULL, produce, reader.stream), 0);
    for (ptrdiff_t len; (len = read_some(&reader, out, sizeof out)) > 0; done += (size_t)len)
        for (ptrdiff_t i = 0; i < len; i++)
            assert_int_equal(out[i], (done + (size_t)i) % 251);
    assert_int_equal(done, SENT);
    void *whole = NULL;
    pthread_join(thread, &whole);
    assert_non_null(whole);
    end(&reader);
}

static void a_producer_that_waits_ends_when_the_reader_goes(void **state) {
    (void)state;
    struct reader reader;
    pthread_t thread;
    char out[100];
    begin(&reader);
    assert_int_equal(pthread_create(&thread, NULL, produce, reader.stream), 0);
    assert_true(read_some(&reader, out, sizeof out) > 0);
    stream_abandon(reader.stream);
    void *whole = NULL;
    pthread_join(thread, &whole);
    assert_null(whole);
    end(&reader);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_and_the_end_comes_last),
        cmocka_unit_test(an_end_wakes_a_reader_that_waits),
        cmocka_unit_test(a_reader_that_goes_away_is_told_to_the_producer),
        cmocka_unit_test(a_client_that_closes_its_connection_is_noticed),
        cmocka_unit_test(a_fast_producer_waits_for_its_reader),
        cmocka_unit_test(a_producer_that_waits_ends_when_the_reader_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
