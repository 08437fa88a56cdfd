# SPDX-License-Identifier: Apache-2.0
"""All workload kinds at once: their definitions in all clusters, and many stories at the same time."""
import os
from concurrent.futures import ThreadPoolExecutor

import crds
import fixtures
import kube
from audit import code, describe
from story import Play

ADAPTERS = ("job", "jobset", "trainjob", "kubeflow", "mpijob", "rayjob", "appwrapper", "pipelinerun", "generic")
# Of kinds that the generic adapter brings; the first one has no status subresource.
PLAIN, GENERIC = "workflows", ("workflows", "sparkapplications")
_AT_ONCE = 6


class Kinds:
    """Shared by the tests of kinds, one for each Env: see `of`."""

    def __init__(self, env):
        self.env = env
        reader = fixtures.Reader(os.path.dirname(env.host.wharf))
        self.fixtures = {plural: reader.fixture(plural) for plural in fixtures.plurals()}
        self.adapters = {name: {"settings": settings} if settings else {}
                         for name in ADAPTERS for settings in [reader.settings(name)]}
        self.pool, self.marks = ThreadPoolExecutor(_AT_ONCE), {}
        self.installing, self.playing, self.plays, self.status_defaults = {}, {}, {}, {}

    # Definitions.

    def install_later(self, plurals, clusters=None):
        """Begins to install these kinds; wait with `installed`."""
        clusters = clusters or self.env.clusters.all
        files = {}
        for plural in plurals:
            fixture = self.fixtures[plural]
            path = crds.path_of(fixture.group, plural)
            assert path, f"there is no definition of {plural}.{fixture.group}"
            files[path] = fixture.version
            kube.know(plural, fixture.api_version)
        done = self.pool.submit(crds.install, [cluster.admin for cluster in clusters], files)
        self.installing.update({(plural, cluster.name): done for plural in plurals for cluster in clusters})

    def installed(self, plurals=None, clusters=None):
        """Returns once these kinds (default: all) are served in these clusters (default: all)."""
        plurals = plurals or list(self.fixtures)
        for cluster in clusters or self.env.clusters.all:
            missing = [plural for plural in plurals if (plural, cluster.name) not in self.installing]
            if missing:
                self.install_later(missing, [cluster])
        for done in list(self.installing.values()):
            done.result()
        if all((plural, cluster.name) in self.installing for plural in plurals for cluster in self.env.clusters.all):
            self.env.plurals += [plural for plural in plurals if plural not in self.env.plurals]

    def feed_is(self, state, plural, cluster):
        return self.env.host.feed(cluster, f"{plural}.{self.fixtures[plural].group}", state)

    # Plays.

    def use(self, **settings):
        """The host runs with all adapters, and all kinds are there."""
        self.installed()
        self.env.host.use(enabled=self.adapters, **settings)

    def stage(self, namespace):
        """A namespace with an owner for its workloads."""
        for cluster in self.env.clusters.all:
            if not cluster.admin.find("namespaces", None, namespace):
                cluster.admin.create("namespaces", None, {"metadata": {"name": namespace}})
        if not self.env.management.find("configmaps", namespace, "owner"):
            self.env.management.create("configmaps", namespace, {"metadata": {"name": "owner"}})

    def play(self, plural, namespace, name=None):
        """By default under the fixture's own name, which statuses contain."""
        if plural not in self.status_defaults:
            self.status_defaults[plural] = self._status_defaults(self.fixtures[plural])
        name = name or self.fixtures[plural].workload["metadata"]["name"]
        return Play(self.env, self.fixtures[plural], namespace, name, plural != PLAIN, self.status_defaults[plural])

    def _status_defaults(self, fixture):
        """{pointer: value} of what the API server adds to a status."""
        found = self.env.management.get("customresourcedefinitions", None, f"{fixture.plural}.{fixture.group}")
        schemas = {each["name"]: each["schema"]["openAPIV3Schema"] for each in found["spec"]["versions"]}
        members = schemas[fixture.version]["properties"]["status"].get("properties", {})
        return {"/" + name: member["default"] for name, member in members.items() if "default" in member}

    def play_all(self, plurals):
        """Plays all stories of these kinds except for their end, each in its own namespace."""
        # Some stories continue after the workload has finished.
        self.use(mirrorRetention="2h")
        self.env.mark()
        self.marks = dict(self.env.marks)
        # The longest ones first.
        stories = sorted((-len(steps), plural, story) for plural in plurals
                         for story, steps in self.fixtures[plural].stories.items())
        for _, plural, story in stories:
            play = self.play(plural, f"{plural}-{story}")
            self.plays.setdefault(plural, {})[story] = play
            self.playing[plural, story] = self.pool.submit(self._tell, play, self.fixtures[plural].stories[story])
        for done in self.playing.values():
            done.exception()
        self.use()

    def _tell(self, play, steps):
        self.stage(play.namespace)
        play.play(steps)
        play.check_events()

    def failures(self, plural):
        """Takes the workloads of this kind to their end: {story: what went wrong then or before}."""
        ending = {story: self.pool.submit(play.end) for story, play in self.plays[plural].items()
                  if self.playing[plural, story].exception() is None}
        outcomes = {story: ending.get(story, self.playing[plural, story]).exception() for story in self.plays[plural]}
        return {story: f"{type(error).__name__}: {error}" for story, error in sorted(outcomes.items()) if error}

    def clear(self, plural):
        """Removes all that is left of its stories."""
        for play in self.plays[plural].values():
            self.env.namespace = play.namespace
            self.env.delete_all()
        for play in self.plays[plural].values():
            self.env.namespace = play.namespace
            self.env.nothing_is_left_over()

    def check_cost(self, plural):
        """No loop, and nothing written twice: counted by the API servers."""
        for story, play in self.plays[plural].items():
            def writes(cluster, verb, play=play):
                return self.env.audits[cluster].host(play.namespace, verb=verb, resource=plural, name=play.name)
            created = [entry for worker in self.env.workers for entry in writes(worker.name, "create")
                       if code(entry) == 201]
            assert len(created) == play.attempt, f"{story}: {len(created)} mirrors in {play.attempt} attempts"
            patches = writes("management", "patch")
            most = play.attempt + play.most_statuses + len([entry for entry in patches if code(entry) == 409])
            assert len(patches) <= most, f"{story}: {len(patches)} patches of the workload, expected {most} at most; " \
                                         f"the last one: {describe(patches[-1])}"

    def together(self, work, items):
        """Calls work(item) for all items at the same time."""
        outcomes = {item: done.exception() for item, done in [(item, self.pool.submit(work, item)) for item in items]}
        wrong = [f"\n  {item}: {type(error).__name__}: {error}" for item, error in outcomes.items() if error]
        assert not wrong, "".join(wrong)


def of(env):
    if not hasattr(env, "kinds"):
        env.kinds = Kinds(env)
    return env.kinds
