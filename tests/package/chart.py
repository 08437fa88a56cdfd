# SPDX-License-Identifier: Apache-2.0
"""The Helm chart and the kustomizations of etc/, as objects."""
import copy
import json
import os
import re
import shutil
import subprocess
import tempfile

import helm
from helm import Refused, SchemaError
from template import Chart, TemplateError

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
FOLDER = os.path.join(ROOT, "etc", "helm", "wharf")
NAMESPACE = "wharf-system"


def kubectl():
    """A kubectl with `kustomize`, or None."""
    assets = os.environ.get("KUBEBUILDER_ASSETS") or "/usr/local/kubebuilder/bin"
    for path in (os.path.join(assets, "kubectl"), shutil.which("kubectl")):
        if path and os.access(path, os.X_OK):
            return path
    return None


def read_yaml(to_json, text):
    """The documents of a text. Empty ones are left out."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        run = subprocess.run([to_json, file.name], capture_output=True, text=True)
    if run.returncode != 0:
        raise ValueError(f"{run.stderr}in:\n{text}")
    return [document for document in json.loads(run.stdout) if document]


def read_files(folder):
    files = {}
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            with open(path, encoding="utf-8") as file:
                files[os.path.relpath(path, folder)] = file.read()
    return files


def merge(into, changes):
    """As Helm merges values: maps into maps; null removes."""
    for key, value in changes.items():
        if value is None:
            into.pop(key, None)
        elif isinstance(value, dict) and isinstance(into.get(key), dict):
            merge(into[key], value)
        else:
            into[key] = copy.deepcopy(value)
    return into


_CHECKS = {
    "type": lambda rule, value: {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int}[rule] is type(value),
    "enum": lambda rule, value: value in rule, "pattern": lambda rule, value: re.search(rule, value) is not None,
    "minimum": lambda rule, value: value >= rule,
    "minLength": lambda rule, value: len(value) >= rule, "minItems": lambda rule, value: len(value) >= rule,
    "required": lambda rule, value: all(name in value for name in rule),
}


def validate(schema, value, path="values"):
    """The part of JSON Schema that the chart's schema uses; another word is an error."""
    for word, rule in schema.items():
        if word in _CHECKS:
            if not _CHECKS[word](rule, value):
                raise SchemaError(f"{path}: {word} {rule!r}, found {value!r}")
        elif word == "properties":
            for name, inner in rule.items():
                if name in value:
                    validate(inner, value[name], f"{path}.{name}")
        elif word == "items":
            for item in value:
                validate(rule, item, f"{path}[]")
        elif word == "additionalProperties":
            for name in set(value) - set(schema.get("properties", {})):
                if rule is False:
                    raise SchemaError(f"{path}.{name}: unknown")
                validate(rule, value[name], f"{path}.{name}")
        elif word != "$schema":
            raise SchemaError(f"the schema says {word!r}, which this test does not know")


def read_config(to_json, thing):
    """The object; the YAML in a ConfigMap is read."""
    if thing["kind"] != "ConfigMap":
        return thing
    return {**thing, "data": {name: read_yaml(to_json, text) for name, text in thing["data"].items()}}


def _interpret(to_json, values):
    files = read_files(FOLDER)
    about = read_yaml(to_json, files["Chart.yaml"])[0]
    values = merge(read_yaml(to_json, files["values.yaml"])[0], values)
    validate(json.loads(files["values.schema.json"]), values)
    known = {name[0].upper() + name[1:]: value for name, value in about.items()}
    try:
        texts = Chart(files, values, known, NAMESPACE).render()
    except TemplateError as error:
        raise Refused(error) from error
    return [document for path, text in texts.items() if path.endswith(".yaml") for document in read_yaml(to_json, text)]


def _same(to_json, things, others):
    """Whether these are the same objects; in a ConfigMap, the YAML may be written in another way."""
    return [read_config(to_json, thing) for thing in things] == [read_config(to_json, thing) for thing in others]


def _outcome(renderer):
    """The objects, or why the values are refused."""
    try:
        return sorted(renderer(), key=key), None
    except Refused as refused:
        return [], refused


def render(to_json, values=None):
    """The objects that `helm template wharf etc/helm/wharf --namespace wharf-system` makes with these values. Each Helm of this
    machine and the interpreter of template.py, which stands in where there is no Helm, have to agree."""
    values = values or {}
    outcomes = {"the interpreter": _outcome(lambda: _interpret(to_json, values))}
    for program in helm.programs():
        outcomes[helm.name(program)] = _outcome(lambda: read_yaml(to_json, helm.template(program, FOLDER, NAMESPACE, values)))
    name, (things, refused) = outcomes.popitem()
    for other, (their_things, their_refusal) in outcomes.items():
        assert type(refused) is type(their_refusal), f"{values}: {name}: {refused}; {other}: {their_refusal}"
        assert _same(to_json, things, their_things), f"{values}: {name} and {other} make different objects"
    if refused:
        raise refused
    return things


def kustomize(to_json, folder):
    run = subprocess.run([kubectl(), "kustomize", os.path.join(ROOT, folder)], capture_output=True, text=True)
    if run.returncode != 0:
        raise ValueError(run.stderr)
    return read_yaml(to_json, run.stdout)


def key(thing):
    return thing["kind"], thing["metadata"].get("namespace", ""), thing["metadata"]["name"]
