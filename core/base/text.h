// SPDX-License-Identifier: Apache-2.0
// Helpers for text and files, digests, and seeded random numbers.
#pragma once

#include "core/base/buffer.h"
#include "core/base/error.h"

#include <stdarg.h>
#include <stdio.h>

// For __attribute__((cleanup)): frees a char *.
void text_cleanup(char **text);
#define AUTO_TEXT __attribute__((cleanup(text_cleanup))) char *
// The next word of a list like "a, b": start and length, which may be 0 for "a,,b". False at the end. *rest NULL: an
// empty list.
bool text_next_word(const char **rest, char separator, const char **word, size_t *len);
// Whether a list "a, b" or "a,b" has exactly this word, which is not empty. `list` NULL: an empty list.
bool text_list_has(const char *list, const char *word);
void text_list_free(char **list); // with its texts, up to the NULL at the end; NULL is fine
// The words of such a list, each with a NUL, and NULL at the end: one block, free(). `list` NULL: an empty list. NULL:
// out of memory.
char **text_words(const char *list, char separator);
void text_words_cleanup(char ***words);
#define AUTO_WORDS __attribute__((cleanup(text_words_cleanup))) char **

// NULL when out of memory.
char *text_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *text_vformat(const char *format, va_list args) __attribute__((format(printf, 1, 0)));

bool text_has_prefix(const char *text, const char *prefix);
bool text_has_suffix(const char *text, const char *suffix);
bool text_is_within(const char *text, size_t max); // at most max bytes long

// Equality where both may be NULL.
bool text_equal(const char *a, const char *b);

// Replaces the text at *slot, which is freed, with a copy of `text`; NULL stays NULL. False: out of memory; *slot is
// unchanged.
bool text_set(char **slot, const char *text);
// The same, but an empty text becomes NULL.
bool text_set_filled(char **slot, const char *text);

// Copies at most size - 1 bytes and always terminates; cuts at a UTF-8 boundary.
void text_copy(char *out, size_t size, const char *text);

// The same, but a text that does not fit ends between words, with an ellipsis (three bytes).
void text_shorten(char *out, size_t size, const char *text);

// Whole decimal number that fits; false otherwise (empty, sign, spaces, trailing text).
bool text_to_int64(const char *text, int64_t *value);

// Appends `text` percent-encoded for a URL path segment or query value (RFC 3986 unreserved characters stay).
bool text_percent_encode(struct buffer *out, const char *text);

// Writes 2 * len lower-case hexadecimal digits and a NUL.
void text_hex(const unsigned char *bytes, size_t len, char *out);

// RFC 4648 section 4, white space allowed, padding required. Appends to `out`; ERROR_INVALID names the offset.
struct error *text_base64_decode(const char *text, struct buffer *out);

// RFC 4648 section 4, with padding.
bool text_base64_encode(const void *bytes, size_t len, struct buffer *out);

// UTF-8 as in RFC 3629 (no surrogates, no overlong forms). Returns the offset of the first invalid byte, or len.
size_t text_utf8_valid(const char *text, size_t len);

// Length in bytes (1 to 4) of the character at the start of `text`, by the same rules; 0 if invalid.
size_t text_utf8_sequence(const char *text, size_t len);

// Length of the prefix that needs no escaping in a JSON string: UTF-8 without controls, '"' and '\\'.
size_t text_json_clean(const char *text, size_t len);

// The code point of a character of `len` bytes if it is invisible or affects a terminal or the surrounding text: C0 and
// C1 controls, DEL, line separators, byte order marks, bidirectional controls (UAX #9). Otherwise 0. For U+0000 returns
// 1.
uint32_t text_invisible(const char *character, size_t len);

// Length of the prefix that is UTF-8 without such characters.
size_t text_visible(const char *text, size_t len);

// Writes untrusted text as one line that is safe for a terminal: white space becomes spaces, characters as above are
// escaped like \u202e, and invalid UTF-8 becomes U+FFFD.
bool text_show(struct buffer *out, const char *text);
void text_print_line(FILE *out, const char *text); // with a line feed

// Appends a word of a shell's command line, quoted where that is needed.
bool text_shell_word(struct buffer *out, const char *word);

// Kubernetes names: RFC 1123 label (63), RFC 1123 subdomain (253), and a "domain-prefixed path" like
// example.com/controller (apimachinery validation.IsDomainPrefixedPath).
bool text_is_dns_label(const char *text);
bool text_is_dns_subdomain(const char *text);
bool text_is_domain_prefixed_path(const char *text);
// Whether `len` bytes of text match a pattern, in which '*' stands for any characters.
bool text_matches(const char *pattern, size_t pattern_len, const char *text, size_t len);
// apimachinery validation.IsQualifiedName and IsValidLabelValue.
bool text_is_label_key(const char *text);
bool text_is_label_value(const char *text);

// A whole file; ERROR_NOT_FOUND, ERROR_IO, ERROR_LIMIT (larger than max bytes). The content is NUL-terminated.
struct error *text_read_file(const char *path, size_t max, struct buffer *out);
// The same, without ever waiting: ERROR_REFUSED for a FIFO, a device or a directory.
struct error *text_read_regular_file(const char *path, size_t max, struct buffer *out);
// The same from a descriptor, to its end; `path` is for the message.
struct error *text_read_fd(const char *path, int fd, size_t max, struct buffer *out);

// Writes all; false on an error, with errno.
bool text_write_fd(int fd, const void *bytes, size_t len);

#define CODE_CLOSED 141 // the reader of the output has gone: as shells report SIGPIPE
// At the end of a program: writes the rest to standard output, and returns the exit code. Reports a failure on standard
// error, except for a pipe without a reader.
int text_end_output(int code);
// A whole file; `flags` (O_EXCL, O_TRUNC) and `mode` are those of open(2).
struct error *text_write_file(const char *path, int flags, unsigned mode, const struct buffer *content);

// `path` if absolute, else `directory`/`path`. NULL when out of memory.
char *text_resolve_path(const char *directory, const char *path);

// The folder part of a path ("." if it has none). NULL when out of memory.
char *text_directory(const char *path);

// The folder of this program, symlinks resolved. NULL: unknown, see errno.
char *text_own_folder(void);

// FNV-1a, for detecting changes and for tables with trusted keys: `hash` is TEXT_HASH, or the hash of preceding text.
#define TEXT_HASH UINT64_C(14695981039346656037)
uint64_t text_hash(uint64_t hash, const char *text);
// The same in fewer steps, eight bytes each, but not the same on every machine: for use within the process.
uint64_t text_hash_local(uint64_t hash, const char *text);

// A pseudo-random generator (splitmix64), deterministic for a seed.
struct random {
    uint64_t state;
};
uint64_t random_next(struct random *random);
uint64_t random_below(struct random *random, uint64_t bound); // 0 <= result < bound; bound > 0

// From the operating system; for seeds and ids, never inside the engine.
uint64_t random_system(void);

#define DIGEST_SHA256_LEN 32
#define DIGEST_SHA1_LEN 20

// False when libcrypto fails (out of memory).
bool digest_sha256(const void *bytes, size_t len, unsigned char out[DIGEST_SHA256_LEN]);
bool digest_sha1(const void *bytes, size_t len, unsigned char out[DIGEST_SHA1_LEN]); // where a protocol demands it

// "Did you mean" suggestions: the known word nearest to `word` (fewest insertions, deletions, substitutions and
// transpositions, ignoring case), or NULL if none is near.
const char *suggest(const char *word, const char *const *known, size_t count);

// IP addresses as text, with and without a port.
struct address {
    int family;              // AF_INET, AF_INET6, or 0
    unsigned char bytes[16]; // network byte order; IPv4 uses the first four
    uint16_t port;           // 0 unless one was read
};

// "127.0.0.1" or "::1". False if invalid; family is then 0.
bool address_parse(const char *text, struct address *out);

// "127.0.0.1:9440" or "[::1]:9440": an IPv6 address with a port is in brackets (RFC 3986 section 3.2.2).
bool address_parse_port(const char *text, struct address *out);

// Whether a host name is "localhost" or a loopback address, IPv6 without brackets.
bool address_is_local(const char *host);
