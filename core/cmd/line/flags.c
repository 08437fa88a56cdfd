// SPDX-License-Identifier: Apache-2.0
// The parser of command lines.

#include "core/base/text.h"
#include "core/cmd/remote/remote.h"

#include <strings.h>

#define NAME_SIZE 64

static const struct flag flag_help = SWITCH("help", 'h', "print this help");

const struct flag *flags_at(const struct subcommand *command, size_t index) {
    size_t n_remote = command->asks_host ? REMOTE_N_FLAGS : 0;
    if (index < command->n_flags)
        return &command->flags[index];
    index -= command->n_flags;
    if (index < n_remote)
        return &remote_flags[index];
    return index == n_remote ? &flag_help : NULL;
}

// "--config", or "-f" for a flag without a name.
static void spell(const struct flag *flag, char out[NAME_SIZE]) {
    if (flag->name)
        snprintf(out, NAME_SIZE, "--%s", flag->name);
    else
        snprintf(out, NAME_SIZE, "-%c", flag->letter);
}

static bool is_object(const struct subcommand *command) {
    return command->operand && text_has_prefix(command->operand, OPERAND_OBJECT);
}

static bool has_command(const struct subcommand *command) {
    return command->operand && strstr(command->operand, " -- ");
}

char *flags_list(const char *const *words) {
    AUTO_BUFFER(text, 65536);
    for (size_t i = 0; words[i]; i++)
        buffer_printf(&text, "%s%s", i == 0 ? "" : words[i + 1] ? ", " : " or ", words[i]);
    return buffer_take(&text, NULL);
}

// The flag that was probably meant: the only one with this prefix, or the most similar one.
static const char *meant_by(const struct subcommand *command, const char *word) {
    const char *names[FLAGS_MAX];
    const char *begins = NULL;
    size_t count = 0, n_begins = 0;
    const struct flag *flag;
    for (size_t i = 0; (flag = flags_at(command, i)); i++) {
        if (!flag->name)
            continue;
        names[count++] = flag->name;
        if (*word != '\0' && text_has_prefix(flag->name, word)) {
            begins = flag->name;
            n_begins++;
        }
    }
    return n_begins == 1 ? begins : suggest(word, names, count);
}

static struct error *unknown_flag(const struct subcommand *command, const char *argument) {
    int len = (int)strcspn(argument, "=");
    AUTO_TEXT word = strndup(argument, (size_t)len);
    const char *meant = word ? meant_by(command, word + strspn(word, "-")) : NULL;
    return error_new(ERROR_USAGE, "unknown flag: %.*s%s%s%s", len, argument, meant ? ", did you mean --" : "",
                     meant ? meant : "", meant ? "?" : "");
}

// `name` NULL: by letter. NULL: there is none.
static const struct flag *find_flag(const struct subcommand *command, const char *name, size_t len, char letter,
                                    size_t *index) {
    const struct flag *flag;
    for (*index = 0; (flag = flags_at(command, *index)); ++*index)
        if (name ? flag->name && strlen(flag->name) == len && strncmp(flag->name, name, len) == 0
                 : flag->letter == letter)
            break;
    return flag;
}

// `value` NULL: none follows.
static struct error *set_value(struct call *call, const struct flag *flag, const char **place, const char *value) {
    char name[NAME_SIZE];
    spell(flag, name);
    if (flag->argument && !value)
        call->no_value = flag;
    if (flag->argument && (!value || *value == '\0'))
        return error_new(ERROR_USAGE, "flag needs an argument: %s", name);
    if (!flag->argument && value)
        return error_new(ERROR_USAGE, "flag takes no argument: %s", name);
    call->help |= flag == &flag_help;
    if (call->help)
        return NULL;
    if (flag->argument && *place)
        return error_new(ERROR_USAGE, "flag given twice: %s", name);
    *place = value ? value : "";
    return NULL;
}

// Reads "--name", "--name=value", "-n" or "-nvalue", with the next argument if the value is there.
static struct error *read_flag(struct call *call, const char *argument, char ***next) {
    bool is_long = argument[1] == '-', ends = false;
    size_t len = is_long ? strcspn(argument + 2, "=") : 1, index = 0;
    for (const char *at = argument + 1 + is_long; !ends && *at != '\0' && !call->help; at += len) {
        const struct flag *flag = find_flag(call->command, is_long ? at : NULL, len, *at, &index);
        if (!flag)
            return unknown_flag(call->command, argument);
        const char *value = at[len] == '\0' ? NULL : is_long ? at + len + 1 : flag->argument ? at + len : NULL;
        ends = value || is_long || flag->argument;
        if (!value && flag->argument && **next)
            value = *(*next)++;
        TRY(set_value(call, flag, &call->values[index], value));
    }
    return NULL;
}

// Names the flag that was probably meant, if one is required.
static struct error *unexpected(const struct call *call, const char *argument) {
    const struct subcommand *command = call->command;
    char name[NAME_SIZE];
    if (has_command(command))
        return error_new(ERROR_USAGE, "unexpected argument: %s: the command follows --, as in wharf %s job/train -- ls",
                         argument, command->name);
    for (size_t i = 0; !command->operand && i < command->n_flags; i++) {
        if (!command->flags[i].required || call->values[i])
            continue;
        spell(&command->flags[i], name);
        return error_new(ERROR_USAGE, "unexpected argument: %s, did you mean %s %s?", argument, name, argument);
    }
    return error_new(ERROR_USAGE, "unexpected argument: %s", argument);
}

static struct error *read_operand(struct call *call, const char *argument) {
    const char **operand = call->operand;
    const char *usage = call->command->operand;
    if (!usage)
        return unexpected(call, argument);
    bool is_topic = text_has_prefix(usage, "[" HELP_CONFIGURATION);
    if (*operand &&
        (is_topic ? strcmp(*operand, HELP_CONFIGURATION) == 0 : is_object(call->command) && !strchr(*operand, '/')))
        operand++;
    while (*operand && strcmp(usage, OPERAND_WORKERS) == 0 && operand < call->operand + OPERANDS_MAX - 1)
        operand++;
    if (*operand)
        return unexpected(call, argument);
    *operand = argument;
    return NULL;
}

struct error *flags_parse(struct call *call, char **arguments) {
    bool only_operands = false;
    if (call->command->own_flags)
        call->rest = arguments;
    while (!call->help && *arguments) {
        const char *argument = *arguments++;
        bool is_end = strcmp(argument, "--") == 0;
        if (call->command->own_flags)
            call->help = strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0;
        else if (is_end && has_command(call->command)) {
            call->rest = arguments;
            return NULL;
        } else if (is_end)
            only_operands = true;
        else if (argument[0] == '-' && argument[1] != '\0' && !only_operands)
            TRY(read_flag(call, argument, &arguments));
        else
            TRY(read_operand(call, argument));
    }
    return NULL;
}

// Replaces the value by the equal word, in any case of letters. `name`: of the flag; NULL: an operand.
static struct error *check_word(const char *name, const char **value, const char *const *words) {
    size_t count = 0;
    for (; words[count]; count++)
        if (strcasecmp(*value, words[count]) == 0) {
            *value = words[count];
            return NULL;
        }
    AUTO_TEXT list = flags_list(words);
    const char *meant = suggest(*value, words, count);
    return error_new(ERROR_USAGE, "%s%sfound \"%s\", expected %s%s%s%s", name ? name : "", name ? ": " : "", *value,
                     list ? list : "another word", meant ? "; did you mean \"" : "", meant ? meant : "",
                     meant ? "\"?" : "");
}

static struct error *check_flag(const struct flag *flag, const char **value) {
    char name[NAME_SIZE];
    spell(flag, name);
    if (flag->required && !*value)
        return error_new(ERROR_USAGE, "flag is required: %s", name);
    *value = *value ? *value : flag->fallback;
    if (*value && flag->words)
        return check_word(name, value, flag->words);
    if (*value && flag->check && !flag->check(*value))
        return error_new(ERROR_USAGE, "%s: found \"%s\", expected %s", name, *value, flag->expected);
    return NULL;
}

static struct error *check_object(struct call *call) {
    const char *const *operand = call->operand;
    call->object = operand[1] ? text_format("%s/%s", operand[0], operand[1]) : strdup(operand[0]);
    if (!call->object)
        return error_no_memory();
    const char *slash = strchr(call->object, '/');
    if (slash && slash != call->object && slash[1] && !strchr(slash + 1, '/'))
        return NULL;
    return error_new(ERROR_USAGE, "found \"%s\", expected " OPERAND_OBJECT ", as in job/train", call->object);
}

static struct error *check_operand(struct call *call) {
    const struct subcommand *command = call->command;
    AUTO_TEXT words = command->operand_words ? flags_list(command->operand_words) : NULL;
    if (call->operand[0] && command->operand_words)
        return check_word(NULL, &call->operand[0], command->operand_words);
    bool lacks_command = has_command(command) && (!call->rest || !*call->rest);
    if (!command->operand || *command->operand == '[' || (call->operand[0] && !lacks_command))
        return call->operand[0] && is_object(command) ? check_object(call) : NULL;
    return error_new(ERROR_USAGE, "found no %s, expected %s%s", call->operand[0] ? "command" : "operand",
                     words ? words : command->operand,
                     has_command(command)                                ? ", as in job/train -- ls"
                     : is_object(command)                                ? ", as in job/train"
                     : text_has_prefix(command->operand, OPERAND_WORKER) ? ", the name of a worker"
                                                                         : "");
}

struct error *flags_read(struct call *call, char **arguments) {
    struct error *error = flags_parse(call, arguments);
    if (call->help || call->command->own_flags)
        return error;
    const struct flag *flag;
    for (size_t i = 0; !error && (flag = flags_at(call->command, i)); i++)
        error = check_flag(flag, &call->values[i]);
    return error ? error : check_operand(call);
}

static const struct flag *flag_of(const struct call *call, const char *name, size_t *index) {
    size_t len = strlen(name);
    return find_flag(call->command, len > 1 ? name : NULL, len, *name, index);
}

const char *flags_value(const struct call *call, const char *name) {
    size_t index;
    return flag_of(call, name, &index) ? call->values[index] : NULL;
}

int flags_word(const struct call *call, const char *name) {
    size_t index;
    const struct flag *flag = flag_of(call, name, &index);
    for (int i = 0; flag && flag->words && call->values[index] && flag->words[i]; i++)
        if (call->values[index] == flag->words[i])
            return i;
    return -1;
}

bool flags_is_duration(const char *text) {
    int64_t ns = 0;
    return clock_parse_duration(text, &ns);
}

int64_t flags_duration(const char *text) {
    int64_t ns = 0;
    return text && clock_parse_duration(text, &ns) ? ns : 0;
}
