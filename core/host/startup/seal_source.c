// SPDX-License-Identifier: Apache-2.0
#include "core/host/startup/seal_source.h"

#include "core/base/buffer.h"
#include "core/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX ((size_t)16 * 1024)
#define RANDOM_LEN 32
#define RANDOM_BASE64 (4 * ((RANDOM_LEN + 2) / 3) + 1)

enum seal_source seal_source_of(const struct config *config) {
    if (config->seal.file)
        return SEAL_FROM_FILE;
    if (config->seal.from_secret)
        return SEAL_FROM_SECRET;
    return config->management.kubeconfig_path ? SEAL_FROM_NOTHING : SEAL_FROM_DEFAULT_SECRET;
}

static const char *pod_namespace(const struct config *config, const char *own_namespace) {
    bool is_pod = !config->management.kubeconfig_path && own_namespace && *own_namespace;
    return is_pod ? own_namespace : SEAL_SECRET_NAMESPACE;
}

const char *seal_secret_namespace(const struct config *config, const char *own_namespace) {
    return config->seal.secret_namespace ? config->seal.secret_namespace : pod_namespace(config, own_namespace);
}

const char *host_own_namespace(const struct config *config, const struct cluster_connection *management) {
    return config->namespace_ ? config->namespace_ : pod_namespace(config, management->endpoint->namespace_);
}

const char *seal_secret_name(const struct config *config) {
    return config->seal.secret_name ? config->seal.secret_name : SEAL_SECRET_NAME;
}

struct key_list {
    unsigned char bytes[SEAL_KEYS_MAX][SEAL_KEY_MAX];
    const void *keys[SEAL_KEYS_MAX];
    size_t lens[SEAL_KEYS_MAX], n;
};

static void wipe_list(struct key_list *list) {
    OPENSSL_cleanse(list, sizeof *list);
}

static void wipe_buffer(struct buffer *buffer) {
    if (buffer->data)
        OPENSSL_cleanse(buffer->data, buffer->len);
    buffer_free(buffer);
}

static struct error *add_key(struct key_list *list, const char *base64) {
    if (list->n == SEAL_KEYS_MAX)
        return error_new(ERROR_LIMIT, "found more than %d keys, expected no more", SEAL_KEYS_MAX);
    __attribute__((cleanup(wipe_buffer))) struct buffer key = {.max = SEAL_KEY_MAX + 1};
    TRY(text_base64_decode(base64, &key));
    if (key.len < SEAL_KEY_MIN || key.len > SEAL_KEY_MAX)
        return error_new(ERROR_INVALID, "found a key of %zu bytes, expected %d to %d", key.len, SEAL_KEY_MIN,
                         SEAL_KEY_MAX);
    memcpy(list->bytes[list->n], key.data, key.len);
    list->keys[list->n] = list->bytes[list->n];
    list->lens[list->n++] = key.len;
    return NULL;
}

static bool make_key(char out[RANDOM_BASE64]) {
    unsigned char bytes[RANDOM_LEN];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return false;
    EVP_EncodeBlock((unsigned char *)out, bytes, RANDOM_LEN);
    OPENSSL_cleanse(bytes, sizeof bytes);
    return true;
}

static int64_t read_adopt_until(const char *text) {
    int64_t until_wall_ns;
    return text && clock_parse_rfc3339(text, &until_wall_ns) ? until_wall_ns : 0;
}

static struct error *parse_lines(const char *path, char *text, struct key_list *list, int64_t *adopt_until_wall_ns) {
    static const char until[] = "# " SEAL_ADOPT_UNTIL ": ";
    char *rest = NULL;
    size_t number = 1;
    for (char *line = text; line; line = rest, number++) {
        rest = strchr(line, '\n');
        if (rest)
            *rest++ = '\0';
        if (text_has_prefix(line, until))
            *adopt_until_wall_ns = read_adopt_until(line + sizeof until - 1);
        if (line[strspn(line, " \t\r")] == '\0' || *line == '#')
            continue;
        struct error *error = add_key(list, line);
        if (error)
            return error_wrap(error, "%s:%zu", path, number);
    }
    return list->n ? NULL : error_new(ERROR_INVALID, "%s: found no key, expected one a line, in base64", path);
}

// Checks the open descriptor, so that no process can replace the file between check and read.
static struct error *check_access(const char *path, int fd) {
    struct stat st;
    if (fstat(fd, &st) != 0)
        return error_new(ERROR_IO, "%s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return error_new(ERROR_REFUSED, "%s: found no regular file, expected a file with keys", path);
    if (st.st_uid != 0 && st.st_uid != geteuid())
        return error_new(ERROR_REFUSED, "%s: found owner %u, expected root or the user that wharf runs as (%u)", path,
                         (unsigned)st.st_uid, (unsigned)geteuid());
    if (st.st_mode & (S_IRWXO | S_IWGRP | S_IXGRP))
        return error_new(
            ERROR_REFUSED,
            "%s: found mode %04o, expected no access for others and no write access for the group (chmod 600)", path,
            (unsigned)(st.st_mode & 07777));
    return NULL;
}

static struct error *read_all(const char *path, int fd, struct buffer *out) {
    char chunk[4096];
    ssize_t len;
    while ((len = read(fd, chunk, sizeof chunk)) > 0)
        buffer_append(out, chunk, (size_t)len);
    OPENSSL_cleanse(chunk, sizeof chunk);
    if (len < 0)
        return error_new(ERROR_IO, "%s: %s", path, strerror(errno));
    return out->failed ? error_new(ERROR_LIMIT, "%s: found more than %zu bytes, expected keys", path, FILE_MAX) : NULL;
}

static struct error *make_file(const char *path) {
    char key[RANDOM_BASE64], until[CLOCK_RFC3339_MAX], text[256];
    if (!make_key(key))
        return error_new(ERROR_IO, "%s: no random numbers: %s", path, strerror(errno));
    clock_rfc3339(clock_now().wall_ns + SEAL_ADOPT_NS, until);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 && errno == EEXIST)
        return NULL; // another process created it first
    if (fd < 0)
        return error_new(ERROR_IO, "%s: the file does not exist and cannot be created: %s", path, strerror(errno));
    int len = snprintf(text, sizeof text, "# " SEAL_ADOPT_UNTIL ": %s\n%s\n", until, key);
    bool ok = write(fd, text, (size_t)len) == len && fsync(fd) == 0;
    int why = errno;
    OPENSSL_cleanse(key, sizeof key);
    OPENSSL_cleanse(text, sizeof text);
    close(fd);
    if (ok)
        return NULL;
    unlink(path);
    return error_new(ERROR_IO, "%s: cannot be written: %s", path, strerror(why));
}

static struct error *open_file(const char *path, bool make, int *fd) {
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (*fd < 0 && errno == ENOENT && make) {
        TRY(make_file(path));
        *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    }
    if (*fd >= 0)
        return NULL;
    return error_new(errno == ENOENT ? ERROR_NOT_FOUND : ERROR_IO, "%s: %s", path, strerror(errno));
}

struct error *seal_file_load(const char *path, bool make, struct sealing *out) {
    *out = (struct sealing){0};
    int fd;
    TRY(open_file(path, make, &fd));
    __attribute__((cleanup(wipe_buffer))) struct buffer text = {.max = FILE_MAX};
    __attribute__((cleanup(wipe_list))) struct key_list list = {.n = 0};
    struct error *error = check_access(path, fd);
    if (!error)
        error = read_all(path, fd, &text);
    close(fd);
    TRY(error);
    TRY(parse_lines(path, text.data ? text.data : (char[]){""}, &list, &out->adopt_until_wall_ns));
    return seal_keys_new(list.keys, list.lens, list.n, &out->keys);
}

static struct error *add_entry(struct key_list *list, const struct json *entry) {
    const char *text = json_string(entry);
    struct error *error = text ? add_key(list, text) : error_new(ERROR_INVALID, "found no text, expected a key");
    return error_wrap(error, "entry \"%.64s\"", json_key(entry));
}

struct error *seal_secret_load(const struct json *secret, const char *signing, struct sealing *out) {
    const struct json *annotations = json_path(secret, "metadata", "annotations", NULL);
    *out =
        (struct sealing){.adopt_until_wall_ns = read_adopt_until(json_string(json_get(annotations, SEAL_ADOPT_UNTIL)))};
    __attribute__((cleanup(wipe_list))) struct key_list list = {.n = 0};
    const struct json *data = json_get(secret, "data"), *first = json_get(data, signing);
    if (!first)
        return error_new(ERROR_INVALID, "found no entry \"%s\" in its data, expected the key that signs", signing);
    TRY(add_entry(&list, first));
    for (const struct json *m = json_first(data); m; m = json_next(m))
        if (m != first)
            TRY(add_entry(&list, m));
    return seal_keys_new(list.keys, list.lens, list.n, &out->keys);
}

char *seal_secret_make(const char *namespace_, const char *name, const char *signing) {
    char key[RANDOM_BASE64], until[CLOCK_RFC3339_MAX];
    if (!make_key(key))
        return NULL;
    clock_rfc3339(clock_now().wall_ns + SEAL_ADOPT_NS, until);
    char *text =
        text_format("{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"namespace\":\"%s\",\"name\":\"%s\","
                    "\"annotations\":{\"" SEAL_ADOPT_UNTIL "\":\"%s\"}},"
                    "\"type\":\"Opaque\",\"data\":{\"%s\":\"%s\"}}",
                    namespace_, name, until, signing, key);
    OPENSSL_cleanse(key, sizeof key);
    return text;
}
