# SPDX-License-Identifier: Apache-2.0
"""What a Job refers to comes into its worker before its mirror: rules D1 to D12 of docs/lifecycle.md."""
import needs
from compare import differences, tell
from crowd import in_crowd
from jobs import brief, counts, job
from skip import may_be_refused
from wait import until

_PULL = "the-pull"   # of an account: pods start without it
_PLACES = [("configmaps", "the-env"), ("configmaps", "the-file"), ("secrets", "the"), ("secrets", _PULL),
           ("serviceaccounts", "the"), ("persistentvolumeclaims", "the")]
_OWN = ("metadata", "kind", "apiVersion", "status")


def _content(found):
    return {key: value for key, value in found.items() if key not in _OWN}


def _check_copy(env, worker, plural, name, namespace=None):
    """It is there, with the source's content, and marked as a copy that names no workload."""
    namespace = namespace or env.namespace
    source, copy = (client.find(plural, namespace, name) for client in (env.management, worker.admin))
    assert copy, f"{worker.name} has no {plural} {name}"
    wrong = differences(_content(copy), _content(source))
    assert not wrong, f"{worker.name}: {plural} {name}: {tell(wrong)}"
    labels, notes = copy["metadata"]["labels"], copy["metadata"]["annotations"]
    assert (labels["wharf.dev/origin"], labels[needs.COPY_OF]) == ("e2e", source["metadata"]["uid"]), labels
    assert notes["wharf.dev/source"] == f"{source['metadata']['uid']}/{source['metadata']['resourceVersion']}", notes
    assert notes["wharf.dev/seal"] and not {"wharf.dev/kind", "wharf.dev/uid"} & {*labels, *notes}, (labels, notes)


def _run_everywhere(env, namespace):
    """A Job that needs everything in each worker; all of it is there, and is what the source has."""
    needs.create(env.management, namespace, needs.sources("the"))
    for worker in env.workers:
        env.management.create("jobs", namespace, needs.needing(f"in-{worker.name}", "the", only=worker.name, hold="all"))
    for worker in env.workers:
        def running(name=f"in-{worker.name}"):
            found = env.management.get("jobs", namespace, name)
            assert counts(found)[1] == 1, brief(found)
            return True
        until(running, f"the Job in {worker.name} to run")
        for plural, name in _PLACES:
            _check_copy(env, worker, plural, name, namespace)
    made = env.copies(namespace)
    assert len(made) == len(env.workers) * len(_PLACES), made


def _with_classes(env):
    """What nobody copies, as it concerns the whole cluster."""
    for worker in env.workers:
        if not worker.admin.find("priorityclasses", None, needs.PRIORITY):
            worker.admin.create("priorityclasses", None, needs.priority_class())


@in_crowd
def all_that_a_job_names_comes_into_empty_namespaces_of_nine_workers(env):
    _with_classes(env)
    env.use()
    _run_everywhere(env, env.namespace)
    before = [_versions(env, worker) for worker in env.workers]
    env.release()
    for worker in env.workers:
        env.until_finished(f"in-{worker.name}")
    assert [_versions(env, worker) for worker in env.workers] == before, "copies were written again"


def _versions(env, worker):
    return {(plural, name): worker.admin.get(plural, env.namespace, name)["metadata"]["resourceVersion"] for plural, name in _PLACES
            if plural != "persistentvolumeclaims"}


@in_crowd
def a_namespace_that_no_worker_has_is_made_with_all_that_a_job_names(env):
    _with_classes(env)
    env.use(createNamespaces="true")
    fresh = env.namespace + "-fresh"
    env.management.create("namespaces", None, {"metadata": {"name": fresh}})
    env.released.add(fresh)
    needs.create(env.management, fresh, needs.sources("the"))
    for worker in env.workers:
        env.management.create("jobs", fresh, needs.needing(f"in-{worker.name}", "the", only=worker.name))

    def all_complete():
        unfinished = [found for found in env.management.list("jobs", fresh) if counts(found)[2] != 1]
        assert not unfinished, brief(unfinished[0])
        return True
    until(all_complete, "the Jobs to be complete")
    for worker in env.workers:
        for plural, name in _PLACES:
            _check_copy(env, worker, plural, name, fresh)
    env.management.delete_all("jobs", fresh)


@in_crowd
def a_job_waits_for_what_is_missing_and_is_placed_within_a_second_of_its_appearing(env):
    env.use(2)
    needs.create(env.management, env.namespace, {"configmaps": [needs.configmap("there", a="1")]})
    env.submit(needs.reading("early", ["there", "late"], ["later"]))
    env.until_event("early", r"MissingDependency: .*configmaps.*late.*secrets.*later|MissingDependency: .*ConfigMap.*late.*Secret.*later")
    assert not env.mirrors("early")
    assert not env.copies(env.namespace), env.copies(env.namespace)   # nothing is copied for nothing
    env.management.create("configmaps", env.namespace, needs.configmap("late"))
    env.submit(job("other"))
    env.until_finished("other")
    assert not env.mirrors("early")
    env.management.create("secrets", env.namespace, needs.secret("later"))
    until(lambda: env.mirrors("early"), "the Job to be placed", timeout=_slowly(1))
    env.until_finished("early")
    told = [text for text in env.events("early") if "MissingDependency" in text]
    assert len(told) == 1, told


def _slowly(seconds):
    """A promise of so many seconds, on a machine that does a lot besides."""
    return 3 * seconds


@in_crowd
def an_object_that_is_only_checked_keeps_workers_without_it_from_the_job(env):
    env.use(3, dependencies='{copy: [secrets], check: [configmaps, priorityclasses.scheduling.k8s.io], secrets: all}')
    first, second, third = env.workers[:3]
    second.admin.create("configmaps", env.namespace, needs.configmap("local", other="content"))
    needs.create(env.management, env.namespace, {"configmaps": [needs.configmap("local")], "secrets": [needs.secret("s")]})
    for number in range(6):
        env.submit(needs.reading(f"checked-{number}", ["local"], ["s"]))
    for number in range(6):
        env.until_finished(f"checked-{number}")
        assert env.pods_created(f"checked-{number}") == {second.name: 1}, env.pods_created(f"checked-{number}")
    env.submit(needs.reading("nowhere", ["local"], only=first.name))
    env.until_event("nowhere", f"{first.name} lacks an object")
    told = env.host.explain("job/nowhere", env.namespace)
    assert f"configmaps {env.namespace}/local" in told, told
    assert not env.mirrors("nowhere")
    first.admin.create("configmaps", env.namespace, needs.configmap("local"))
    env.until_finished("nowhere")
    for worker in (first, second):   # checked ones are nobody's copies
        assert not worker.admin.list("configmaps", env.namespace, selector=needs.COPY_OF)
    assert not third.admin.list("configmaps", env.namespace, selector=needs.COPY_OF)


@in_crowd
def strangers_objects_are_used_where_they_are_equal_and_never_touched(env):
    """Each copy's place is taken by somebody else: in one worker with the same content, in others by one of other content."""
    env.use(1 + len(_PLACES))
    first, *others = env.workers[:1 + len(_PLACES)]
    _with_classes(env)
    needs.create(env.management, env.namespace, needs.sources("the"))
    for plural, name in _PLACES:
        first.admin.create(plural, env.namespace, _stranger(plural, name))
    before = _versions(env, first)
    env.submit(needs.needing("uses-them", "the", only=first.name))
    env.until_finished("uses-them")
    for worker, (plural, name) in zip(others, _PLACES):
        _conflict(env, worker, first, plural, name, needed=name != _PULL)
    assert _versions(env, first) == before, "an object of somebody else was changed"
    assert not [place for place in env.copies(env.namespace) if place[0] == first.name], env.copies(env.namespace)


def _stranger(plural, name, different=False):
    body = next(each for each in needs.sources("the")[plural] if each["metadata"]["name"] == name)
    body = {**body, "metadata": {"name": name, "labels": {"by": "somebody"}}}
    if not different:
        return body
    if plural in ("configmaps", "secrets"):
        member = next(iter(body["data"]))
        value = needs.encoded('{"auths": {}}' if member == ".dockerconfigjson" else "other") if plural == "secrets" else "other"
        return {**body, "data": {member: value}}
    if plural == "serviceaccounts":
        return {**body, "imagePullSecrets": [{"name": "another"}]}
    return {**body, "spec": {**body["spec"], "resources": {"requests": {"storage": "2Gi"}}}}


def _conflict(env, there, elsewhere, plural, name, needed):
    """A Job that may run in both runs where nobody is in the way of what it needs."""
    made = there.admin.create(plural, env.namespace, _stranger(plural, name, different=True))
    pair = f"conflict-{plural}-{name}"
    env.submit(needs.needing(pair, "the", only=f"{there.name},{elsewhere.name}"))
    if needed:
        env.until_event(pair, rf"NameConflict: .*{name}")
    env.until_finished(pair)
    assert env.pods_created(pair) == {(elsewhere if needed else there).name: 1}, env.pods_created(pair)
    found = there.admin.get(plural, env.namespace, name)
    assert _content(found) == _content(made) and found["metadata"]["labels"] == made["metadata"]["labels"], found


@in_crowd
def marks_of_a_copy_on_an_object_of_somebody_else_prove_nothing(env):
    """Neither with other content nor without a user is it changed or deleted; the minute after the last user is waited for at the
    end of this module."""
    env.use(2)
    first = env.workers[0]
    source = env.management.create("configmaps", env.namespace, needs.configmap("forged", a="1"))
    uid = source["metadata"]["uid"]
    forged = {"metadata": {"name": "forged", "labels": {"wharf.dev/origin": "e2e", needs.COPY_OF: uid}, "annotations": {
        "wharf.dev/source": f"{uid}/{source['metadata']['resourceVersion']}", "wharf.dev/seal": "v1:AAAA"}}, "data": {"a": "2"}}
    made = first.admin.create("configmaps", env.namespace, forged)
    env.submit(needs.reading("not-fooled", ["forged"], only=f"{first.name},{env.workers[1].name}"))
    env.until_finished("not-fooled")
    assert env.pods_created("not-fooled") == {env.workers[1].name: 1}, env.pods_created("not-fooled")
    assert first.admin.get("configmaps", env.namespace, "forged") == made
    FORGED.append((first.name, env.namespace, made))


FORGED = []   # looked at again by the last test


@in_crowd
@may_be_refused(("w1", "*", 403), ("management", "*", 403))
def rights_that_are_taken_away_stop_only_what_needs_them(env):
    env.use(2)
    first, second = env.workers[:2]
    needs.create(env.management, env.namespace, {"configmaps": [needs.configmap("c")], "secrets": [needs.secret("s")]})
    env.submit(needs.reading("before", ["c"], ["s"], only=first.name, hold="all"))
    env.until_counts("before", ready=1)
    _revoke(env, first, "configmaps", "create")
    needs.create(env.management, env.namespace, {"configmaps": [needs.configmap("c2")]})
    env.submit(needs.reading("elsewhere", ["c2"], only=f"{first.name},{second.name}"))
    env.until_finished("elsewhere")
    assert env.pods_created("elsewhere") == {second.name: 1}, env.pods_created("elsewhere")
    env.submit(needs.reading("same", ["c"], ["s"], only=first.name))   # its copies are there
    env.until_finished("same")
    env.submit(needs.reading("waits", ["c2"], only=first.name))
    env.until_event("waits", "c2")
    env._apply_rbac()
    env.until_finished("waits")
    _revoke(env, env.clusters.management, "secrets")
    needs.create(env.management, env.namespace, {"secrets": [needs.secret("s2")]})
    env.submit(needs.reading("blind", [], ["s2"]))
    env.submit(needs.reading("sees", ["c"]))
    env.until_finished("sees")
    assert not env.mirrors("blind")
    env._apply_rbac()
    env.until_finished("blind")
    env.release()
    env.until_finished("before")


def _revoke(env, cluster, resource, verb=None):
    """The host loses this verb (None: all) of the resource there."""
    for role in cluster.admin.list("clusterroles"):
        if not role["metadata"]["name"].startswith("wharf"):
            continue
        rules = [{**rule, "verbs": [each for each in rule["verbs"] if verb and each != verb]} if resource in rule.get("resources", ())
                 else rule for rule in role["rules"]]
        if rules != role["rules"]:
            cluster.admin.patch("clusterroles", None, role["metadata"]["name"], {"rules": [rule for rule in rules if rule["verbs"]]})
    until(lambda: not env.may(cluster, verb or "get", resource, "wharf"), f"the right to {verb or 'get'} {resource} to be gone")
