// SPDX-License-Identifier: Apache-2.0
// The directory of an adapter.
#include "core/cmd/adapter_new/write.h"

#include "core/base/text.h"
#include "core/cmd/main.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <strings.h>
#include <sys/stat.h>

#define TEXT_MAX ((size_t)256 << 20)

PART(c_make, "core/cmd/adapter_new/parts/c.make");
PART(cpp_make, "core/cmd/adapter_new/parts/cpp.make");
PART(rust_make, "core/cmd/adapter_new/parts/rust.make");
PART(readme, "core/cmd/adapter_new/parts/README.md");
PART(wharf_rs, "examples/adapter-rust/wharf.rs");

const char *write_source_name(struct description *d, enum language language) {
    static const char *const ends[] = {"c", "cc", "rs"};
    return description_text(d, "%s.%s", d->name, ends[language]);
}

// A directory that does not exist, or is empty.
static struct error *make_directory(const char *path) {
    if (mkdir(path, 0777) == 0)
        return NULL;
    if (errno != EEXIST)
        return error_new(ERROR_IO, "%s: %s", path, strerror(errno));
    DIR *dir = opendir(path);
    if (!dir)
        return error_new(ERROR_IO, "%s: %s", path, strerror(errno));
    const struct dirent *entry = readdir(dir);
    while (entry && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0))
        entry = readdir(dir);
    bool empty = !entry;
    closedir(dir);
    return empty ? NULL
                 : error_new(ERROR_REFUSED,
                             "%s is not empty, and nothing is overwritten: --output names another "
                             "directory",
                             path);
}

static struct error *write_file(const char *directory, const char *name, const struct buffer *text) {
    AUTO_TEXT path = text_format("%s/%s", directory, name);
    if (!path || text->failed)
        return error_no_memory();
    return text_write_file(path, O_EXCL, 0666, text);
}

static struct error *write_part(const struct description *d, const char *source, const char *directory,
                                const char *name, const char *part) {
    AUTO_BUFFER(text, TEXT_MAX);
    write_template(d, source, part, &text);
    return write_file(directory, name, &text);
}

static struct error *write_yaml(const char *directory, const char *name, const char *comment,
                                const struct json *document) {
    AUTO_BUFFER(text, TEXT_MAX);
    if (!document)
        return error_no_memory();
    write_comment(&text, 0, "#", comment);
    text.failed |= !yaml_print(document, &text);
    return write_file(directory, name, &text);
}

// "complete.yaml" of a rule; other characters become "-", and a name that is taken gets a number.
static const char *life_name(struct description *d, size_t index) {
    const struct guess_rows *rules = &d->members[PHASES];
    const struct guess_row *rule = &rules->list[index];
    size_t number = 1;
    for (size_t i = 0; i < index; i++)
        number += rule->value && strcasecmp(rules->list[i].value, rule->value) == 0;
    AUTO_BUFFER(name, 4096);
    for (const char *c = rule->value ? rule->value : strrchr(rule->text, '/') + 1; *c; c++)
        buffer_char(&name, isalnum((unsigned char)*c) ? (char)tolower((unsigned char)*c) : '-');
    if (rule->status)
        buffer_printf(&name, "-%s", strcmp(rule->status, "False") == 0 ? "false" : "true");
    else if (number > 1)
        buffer_printf(&name, "-%zu", number);
    return description_text(d, "%s.yaml", name.data ? name.data : "");
}

static struct error *no_sample(const struct description *d) {
    return error_new(ERROR_INVALID,
                     "%s: cannot make an object: the types of the schema are contradictory, or memory is short",
                     d->kind);
}

// `directory` NULL: only makes the life.
static struct error *write_life(struct description *d, const char *directory, const char *file,
                                const struct guess_row *rule) {
    AUTO_JSON steps = sample_life(d, rule);
    AUTO_BUFFER(text, TEXT_MAX);
    if (!steps || !directory)
        return steps ? NULL : no_sample(d);
    write_comment(&text, 0, "#",
                  "A life of sample.yaml: a status that the kind's controller writes, or a user's change.");
    for (const struct json *step = json_first(steps); step; step = json_next(step)) {
        buffer_text(&text, step == json_first(steps) ? "" : "---\n");
        text.failed |= !yaml_print(step, &text);
    }
    return write_file(directory, file, &text);
}

static struct error *write_lives(struct description *d, const char *folder) {
    static const struct guess_row any = {.number = WHARF_ACTIVE}, suspended = {.number = WHARF_SUSPENDED};
    bool has_suspension = !description_row(d, SUSPEND);
    for (size_t i = 0; i < d->members[PHASES].count; i++) {
        has_suspension |= d->members[PHASES].list[i].number == WHARF_SUSPENDED;
        TRY(write_life(d, folder, life_name(d, i), &d->members[PHASES].list[i]));
    }
    if (!has_suspension)
        TRY(write_life(d, folder, "suspend.yaml", &suspended));
    return d->members[PHASES].count > 0 ? NULL : write_life(d, folder, "active.yaml", &any);
}

static struct error *write_objects(struct description *d, const char *directory, const struct json *sample) {
    AUTO_TEXT folder = text_format("%s/objects", directory);
    if (!folder)
        return error_no_memory();
    TRY(make_directory(folder));
    TRY(write_yaml(folder, "sample.yaml",
                   "An object that the schema accepts, with each field of the adapter: replace it by real ones.",
                   sample));
    return write_lives(d, folder);
}

struct error *write_directory(struct description *d, enum language language, const char *directory) {
    static const char *const makefiles[] = {adapter_part_c_make, adapter_part_cpp_make, adapter_part_rust_make};
    const char *source = write_source_name(d, language);
    AUTO_BUFFER(code, TEXT_MAX);
    AUTO_JSON sample = sample_object(d);
    if (!sample)
        return no_sample(d);
    TRY(write_lives(d, NULL)); // so that a directory is written whole, or not at all
    if (!write_code(d, language, &code))
        return error_no_memory();
    TRY(make_directory(directory));
    TRY(write_file(directory, source, &code));
    if (language == LANGUAGE_RUST)
        TRY(write_part(d, source, directory, "wharf.rs", adapter_part_wharf_rs));
    TRY(write_part(d, source, directory, "Makefile", makefiles[language]));
    TRY(write_part(d, source, directory, "README.md", adapter_part_readme));
    TRY(write_yaml(directory, "crd.yaml", "The CRD of the kind.", d->document));
    return write_objects(d, directory, sample);
}
