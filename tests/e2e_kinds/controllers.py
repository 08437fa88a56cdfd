# SPDX-License-Identifier: Apache-2.0
"""The kinds' own controllers. WHARF_CONTROLLERS (default /usr/local/wharf-controllers) has a folder PROJECT-VERSION for each:
its programs, and `install.yaml` with what its release installs."""
import base64
import os
import re
import shutil
import urllib.request

import discovery
import kube
import netns
from proc import Process, free_port
from wait import until

_FIELDS = {"fieldManager": "e2e-install", "force": "true", "fieldValidation": "Ignore"}
_FIRST = ("Namespace", "CustomResourceDefinition", "ServiceAccount")
_WEBHOOKS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")


def folder():
    return os.environ.get("WHARF_CONTROLLERS") or "/usr/local/wharf-controllers"


def order(version):
    return [int(part) for part in re.findall(r"\d+", version)]


class Found:
    """One version of a project's programs."""

    def __init__(self, name, version, path):
        self.name, self.version, self.path = name, version, path

    def program(self, name):
        return os.path.join(self.path, name)

    def missing(self, programs, manifests=True):
        """The first of its files that is not there, or None."""
        for name in programs:
            path = self.program(name)
            if not os.path.isfile(path) or not os.access(path, os.X_OK):
                return name
        return "install.yaml" if manifests and not os.path.isfile(self.program("install.yaml")) else None


def find(name, programs, manifests=True):
    """([Found], newest first, [why a folder of that project cannot be used])."""
    usable, unusable = [], []
    for entry in sorted(os.listdir(folder())) if os.path.isdir(folder()) else []:
        version = re.fullmatch(re.escape(name) + r"-v?(\d[\w.]*)", entry)
        if version:
            found = Found(name, version.group(1), os.path.join(folder(), entry))
            missing = found.missing(programs, manifests)
            if missing:
                unusable.append(f"{found.path} has no {missing}")
            else:
                usable.append(found)
    return sorted(usable, key=lambda each: order(each.version), reverse=True), unusable


class Project:
    """A project and how its controller is started; see jobset.py for an example.

    name        the beginning of its folder's name
    programs    its programs in that folder
    namespace   where its release runs
    account     its ServiceAccount there
    start       start(controller) -> [(program, [argument], {environment variable: value})]
    services    True: webhooks stay with their Services, which then lead to controller.webhook_port (for a controller that
                writes its webhooks itself); False: webhooks are called by URL
    healthy     healthy(controller): true once it works, beyond its webhooks' port
    fixed_port  a port at which its programs listen always (of its webhooks, if it has some): then they run in network namespaces
                of their own, see netns.py
    needs       Projects whose controllers its kinds need too
    kubernetes  Kubernetes' own controllers that it needs besides those of tests/e2e/servers.py
    deaf        deaf(version): whether that version ignores managedBy, so that no management cluster can have it
    adapted     adapted(controller, document) -> the document that its cluster gets instead, or None
    """

    def __init__(self, name, programs, namespace, account, start, *, services=False, healthy=None, fixed_port=None, needs=(),
                 kubernetes=(), deaf=None, adapted=None):
        self.name, self.programs, self.namespace, self.account = name, programs, namespace, account
        self.start, self.services, self.fixed_port, self.needs, self.kubernetes = start, services, fixed_port, needs, kubernetes
        self.healthy, self.deaf, self.adapted = healthy, deaf, adapted


class Controller:
    """The controller of one project in one cluster: installed from its release, run with the rights of its ServiceAccount."""

    def __init__(self, cluster, project, found, documents):
        self.cluster, self.project, self.found, self.documents = cluster, project, found, documents
        self.folder = cluster.path(f"{project.name}-{found.version}")
        os.makedirs(self.folder, exist_ok=True)
        self.webhook_port, self.processes = free_port(), []
        self.companions = []   # what Project.start has started in this process: each has check(), release(namespace) and stop()
        self.probed = f"127.0.0.1:{free_port()}"   # the address for the controller's health probe
        self.certificate, self.key = cluster.authority.issue("hook-" + project.name, "/CN=" + project.name, (
            "extendedKeyUsage=serverAuth", "subjectAltName=IP:127.0.0.1,DNS:localhost"))

    # For Project.start.

    def port(self):
        return free_port()

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def certificates(self, name="certs"):
        """A folder with tls.crt and tls.key, as controllers mount the Secret of their webhooks."""
        os.makedirs(self.path(name), exist_ok=True)
        for source, target in ((self.certificate, "tls.crt"), (self.key, "tls.key"), (self.cluster.authority.certificate, "ca.crt")):
            shutil.copy(source, os.path.join(self.path(name), target))
        return self.path(name)

    def container(self, deployment):
        """([argument], {environment variable: value}) of the container of a Deployment of the release."""
        spec = next(each["spec"]["template"]["spec"] for each in self.documents
                    if each["kind"] == "Deployment" and each["metadata"]["name"] == deployment)
        container = spec["containers"][0]
        return container.get("args", []), {each["name"]: each["value"] for each in container.get("env", ()) if "value" in each}

    def answers(self, path):
        """Whether its health probe answers this path with 200."""
        try:
            with urllib.request.urlopen(f"http://{self.probed}{path}", timeout=5) as answer:
                return answer.status == 200
        except OSError:
            return False

    def accepts(self, plural, api_version, body):
        """Whether its webhooks accept such an object, in a dry run. Until they answer, AssertionError."""
        path = f"/apis/{api_version}/namespaces/{self.project.namespace}/{plural}"
        example = {**body, "apiVersion": api_version, "metadata": {"name": "example"}}
        try:
            self.cluster.admin.call("POST", path, example, query={"dryRun": "All"})
            return True
        except kube.ApiError as error:
            assert error.code != 500, error
            raise

    def kubeconfig(self, account=None):
        """As its ServiceAccount, so that its release's RBAC is in force."""
        account = account or self.project.account
        token = self.write(account + ".token", self.cluster.admin.token_of(self.project.namespace, account) + "\n")
        return self.cluster.kubeconfig(f"{self.project.name}-{account}", token_file=token)

    # Installation.

    def deaf(self):
        """Whether this is the management cluster and the controller would run what is delegated."""
        return self.cluster.name == "management" and bool(self.project.deaf and self.project.deaf(self.found.version))

    def install(self):
        """Everything of the release that this cluster has kinds for, CRDs first, webhooks last; its Deployments stay without pods.
        Only the CRDs where it must not run."""
        documents = self.documents
        if self.project.adapted:
            documents = [found for found in (self.project.adapted(self, each) for each in documents) if found]
        if self.deaf():
            documents = [each for each in documents if each["kind"] == "CustomResourceDefinition"]
        definitions = [each for each in documents if each["kind"] in _FIRST]
        webhooks = [each for each in documents if each["kind"] in _WEBHOOKS]
        for document in definitions:
            self._apply(self._adapted(document))
        for document in definitions:
            if document["kind"] == "CustomResourceDefinition":
                self._until_served(document)
        # Nobody answers the webhooks yet.
        for document in [each for each in documents if each not in definitions and each not in webhooks] + webhooks:
            self._apply(self._adapted(document))

    def _until_served(self, document):
        spec = document["spec"]
        for version in (each["name"] for each in spec["versions"] if each["served"]):
            def probe(version=version):
                start = f"/apis/{spec['group']}"
                try:
                    # A controller that does not find its kinds ends, so they have to be discovered too.
                    groups = [each["version"] for each in self.cluster.admin.call("GET", start)["versions"]]
                    resources = [each["name"] for each in self.cluster.admin.call("GET", f"{start}/{version}")["resources"]]
                    self.cluster.admin.call("GET", f"{start}/{version}/{spec['names']['plural']}", query={"limit": 1})
                    return version in groups and spec["names"]["plural"] in resources
                except kube.ApiError as error:
                    # A conversion webhook answers once its controller runs.
                    return error.code == 500 and "conver" in str(error)
            until(probe, f"{spec['names']['plural']}.{spec['group']}/{version} to be served")

    def _apply(self, document):
        path = discovery.path_of(self.cluster.admin, document, self.project.namespace)
        if path:
            self.cluster.admin.call("PATCH", path, document, query=_FIELDS, timeout=120, content_type="application/apply-patch+yaml")

    def _adapted(self, document):
        """Webhooks lead to this machine."""
        if document["kind"] in _WEBHOOKS:
            return {**document, "webhooks": [{**each, "clientConfig": self._led(each["clientConfig"])}
                                             for each in document.get("webhooks", [])]}
        if document["kind"] == "CustomResourceDefinition":
            webhook = document["spec"].get("conversion", {}).get("webhook")
            if webhook:
                webhook = {**webhook, "clientConfig": self._led(webhook["clientConfig"])}
                return {**document, "spec": {**document["spec"], "conversion": {**document["spec"]["conversion"], "webhook": webhook}}}
        if document["kind"] == "Service" and self.project.services:
            return {**document, "spec": {"type": "ExternalName", "externalName": "localhost", "ports": document["spec"]["ports"]}}
        return document

    def _led(self, config):
        """The client configuration of a webhook. An API server asks the host of an ExternalName Service at the webhook's own
        port, with the name of the Service."""
        if "service" not in config:
            return config
        if self.project.services:
            return {**config, "service": {**config["service"], "port": self.webhook_port}}
        with open(self.cluster.authority.certificate, "rb") as file:
            bundle = file.read()
        return {"url": f"https://127.0.0.1:{self.webhook_port}{config['service'].get('path', '/')}",
                "caBundle": base64.b64encode(bundle).decode()}

    # Its processes.

    def start(self):
        """Only starts; wait with `ready`."""
        if not self.processes:
            for program, arguments, environment in self.project.start(self):
                command = [self.found.program(program), *arguments]
                if self.project.fixed_port:
                    command = netns.command(command, self.webhook_port, self.project.fixed_port, [self.cluster.port])
                process = Process(f"{self.cluster.name}/{self.project.name}/{program}", command, self.path(program + ".log"),
                                  cwd=self.folder)
                process.more_env = {"KUBECONFIG": self.kubeconfig(), **environment}
                self.processes.append(process)
        for process in self.processes:
            process.start()

    def ready(self):
        for each in (*self.processes, *self.companions):
            each.check()
        return not self.project.healthy or self.project.healthy(self)

    def stop(self):
        for process in self.processes:
            process.kill()
        for companion in self.companions:
            companion.stop()
