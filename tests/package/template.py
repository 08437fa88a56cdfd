# SPDX-License-Identifier: Apache-2.0
"""Renders the templates of a Helm chart: the part of Go's text/template and of Helm's functions that the chart uses.
What it does not know is an error, never text."""
import json
import re

ACTION = re.compile(r"\{\{(- )?(.*?)( -)?\}\}", re.DOTALL)
TOKEN = re.compile(r'\s*("(?:[^"\\]|\\.)*"|\$?[A-Za-z_]\w*|\$|(?:\.[A-Za-z_]\w*)+|\.|-?\d+|:=|[(),|])')


class TemplateError(Exception):
    pass


def parse(text):
    """The text as a tree: strings, and (word, argument, body, other body)."""
    parts, at = [], 0
    for match in ACTION.finditer(text):
        plain = text[at:match.start()]
        parts += [plain.rstrip() if match[1] else plain, match]
        at = match.end()
        if match[3]:
            at += len(text[at:]) - len(text[at:].lstrip())
    parts.append(text[at:])
    body, rest = parse_body(parts, ())
    if rest:
        raise TemplateError("{{ end }} without a beginning")
    return body


def parse_body(parts, ends):
    body = []
    while parts:
        part = parts.pop(0)
        if isinstance(part, str):
            body.append(part)
            continue
        inner = part[2].strip()
        word = inner.partition(" ")[0]
        if inner.startswith("/*"):
            continue
        if word in ("end", "else"):
            if word not in ends:
                raise TemplateError(f"{part[0]} is not expected")
            return body, inner
        if word in ("if", "with", "range", "define"):
            first, stop = parse_body(parts, ("end", "else"))
            other = []
            if stop.startswith("else"):
                if stop != "else":
                    raise TemplateError(f"{stop}: not known here")
                other, stop = parse_body(parts, ("end",))
            body.append((word, inner[len(word):].strip(), first, other))
        else:
            body.append(("print", inner, None, None))
    if ends:
        raise TemplateError("a block does not end")
    return body, None


def to_yaml(value, indent=0):
    pad = "  " * indent
    if isinstance(value, dict) and value:
        lines = []
        for key in sorted(value):
            inner = value[key]
            block = isinstance(inner, (dict, list)) and inner
            lines.append(f"{pad}{json.dumps(key)}:" + ("\n" + to_yaml(inner, indent + 1) if block else " " + to_yaml(inner)))
        return "\n".join(lines)
    if isinstance(value, list) and value:
        return "\n".join(f"{pad}- " + to_yaml(item, indent + 1).lstrip() for item in value)
    return json.dumps(value)


def truth(value):
    return value not in (None, False, 0, "", {}, [])


def text_of(value):
    if value is None or isinstance(value, (dict, list)):
        raise TemplateError(f"{value!r} is printed")
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)


def printf(form, *values):
    if re.search(r"%[^s]", form) or form.count("%s") != len(values):
        raise TemplateError(f"printf {form!r}: not known here")
    return form % tuple(map(text_of, values))


class Chart:
    """`files` of the chart by path, `values`, and what Helm knows of the release."""

    def __init__(self, files, values, chart, namespace):
        self.files, self.blocks = files, {}
        self.top = {"Values": values, "Chart": chart, "Release": {"Namespace": namespace, "Name": "wharf", "Service": "Helm"},
                    "Files": {"Get": lambda path: files.get(path, "")}}
        self.functions = {
            "include": self.include, "toYaml": to_yaml, "printf": printf, "quote": lambda value: json.dumps(text_of(value)),
            "nindent": lambda count, text: "\n" + "\n".join(" " * count + line for line in text.split("\n")),
            "replace": lambda old, new, text: text.replace(old, new), "list": lambda *items: list(items),
            "default": lambda other, value: value if truth(value) else other, "has": lambda item, items: item in items,
            "dict": lambda *pairs: dict(zip(pairs[::2], pairs[1::2])), "not": lambda value: not truth(value),
            "and": lambda *values: next((value for value in values if not truth(value)), values[-1]),
            "concat": lambda *lists: [item for items in lists for item in items], "first": lambda items: items[0],
            "rest": lambda items: items[1:], "splitList": lambda by, text: text.split(by), "join": lambda by, items: by.join(items),
            "gt": lambda a, b: a > b, "int": int, "fail": fail}

    def render(self):
        """The text of each template by path."""
        paths = sorted(path for path in self.files if path.startswith("templates/"))
        trees = {path: parse(self.files[path]) for path in paths}
        for tree in trees.values():
            for part in tree:
                if not isinstance(part, str) and part[0] == "define":
                    self.blocks[json.loads(part[1])] = part[2]
        return {path: self.run(trees[path], self.top, {"$": self.top}) for path in paths if not path.endswith(".tpl")}

    def include(self, name, dot):
        if name not in self.blocks:
            raise TemplateError(f"include {name!r}: there is no such template")
        return self.run(self.blocks[name], dot, {"$": dot})

    def run(self, body, dot, variables):
        variables, out = dict(variables), []
        for part in body:
            if isinstance(part, str):
                out.append(part)
            elif part[0] == "print":
                out.append(self.print(part[1], dot, variables))
            elif part[0] != "define":
                out.append(getattr(self, "run_" + part[0])(part, dot, variables))
        return "".join(out)

    def print(self, inner, dot, variables):
        assigned = re.match(r"(\$\w+) := (.*)$", inner, re.DOTALL)
        if not assigned:
            return text_of(self.value(inner, dot, variables))
        variables[assigned[1]] = self.value(assigned[2], dot, variables)
        return ""

    def run_if(self, part, dot, variables):
        return self.run(part[2] if truth(self.value(part[1], dot, variables)) else part[3], dot, variables)

    def run_with(self, part, dot, variables):
        value = self.value(part[1], dot, variables)
        return self.run(part[2], value, variables) if truth(value) else self.run(part[3], dot, variables)

    def run_range(self, part, dot, variables):
        named = re.match(r"(\$\w+), (\$\w+) := (.*)$", part[1])
        over = self.value(named[3] if named else part[1], dot, variables)
        pairs = sorted(over.items()) if isinstance(over, dict) else list(enumerate(over))
        return "".join(self.run(part[2], value, {**variables, **({named[1]: key, named[2]: value} if named else {})})
                       for key, value in pairs)

    def value(self, text, dot, variables):
        tokens, at = [], 0
        while at < len(text.rstrip()):
            match = TOKEN.match(text, at)
            if not match:
                raise TemplateError(f"{text!r}: not known here from {text[at:]!r}")
            tokens.append((match[1], match.end(), at + len(match[0]) - len(match[1])))
            at = match.end()
        result = self.pipeline(tokens, dot, variables)
        if tokens:
            raise TemplateError(f"{text!r}: too much")
        return result

    def pipeline(self, tokens, dot, variables):
        last = ()
        while True:
            values = [*self.operands(tokens, dot, variables), *last]
            first = values.pop(0)
            if values and not callable(first):
                raise TemplateError(f"{first!r} is no function")
            last = (first(*values) if callable(first) else first,)
            if not tokens or tokens[0][0] == ")":
                return last[0]
            if tokens.pop(0)[0] != "|":
                raise TemplateError("expected |")

    def operands(self, tokens, dot, variables):
        values = []
        while tokens and tokens[0][0] not in "|)":
            values.append(self.operand(tokens, dot, variables))
        if not values:
            raise TemplateError("a value is expected")
        return values

    def operand(self, tokens, dot, variables):
        token, end, _ = tokens.pop(0)
        if token[0] == '"':
            return json.loads(token)
        if token[0].isdigit() or token[0] == "-":
            return int(token)
        if token in ("true", "false"):
            return token == "true"
        if token == "(":
            value = self.pipeline(tokens, dot, variables)
            end = tokens.pop(0)[1]
        elif token[0] == "$":
            value = variables[token]
        elif token[0] == ".":
            value = dot
            if token != ".":
                return fields(value, token)
            return value
        elif token in self.functions:
            return self.functions[token]
        else:
            raise TemplateError(f"{token}: not known here")
        if tokens and tokens[0][2] == end and tokens[0][0][0] == ".":
            return fields(value, tokens.pop(0)[0])
        return value


def fail(message):
    raise TemplateError(message)


def fields(value, path):
    for name in path.split(".")[1:]:
        if not isinstance(value, dict):
            raise TemplateError(f"{path}: {name} of {value!r}")
        value = value.get(name)
    return value
