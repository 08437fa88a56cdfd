# SPDX-License-Identifier: Apache-2.0
"""run.py FOLDER: `wharf adapter test` on every adapter of FOLDER/adapters, which must keep every rule over its fixtures
and the recordings of its kinds, and on those of tests/conformance/bad, in each of which exactly that must be found which its source says."""
import concurrent.futures
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
FIXTURES = os.path.join(HERE, "..", "fixtures")
RECORDINGS = os.path.join(HERE, "..", "recordings")
FINDING = re.compile(r"^\d+\. ([a-z-]+)(?:: kind [^,]+)?, (?:kind [^,]+, )?function (\w+)$", re.MULTILINE)
SUMMARY = re.compile(r"^(\d+) calls, (\d+) objects, (\d+) findings(?:, \d+ warnings)?$", re.MULTILINE)
PLANT = re.compile(r"^// finds: (.*)\n(?:// says: (.*)\n)?PLANT\((\w+)\)", re.MULTILINE)
LIMIT_S = 600


def run(build, *arguments):
    return subprocess.run([os.path.join(build, "wharf"), "adapter", "test", *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=LIMIT_S, check=False, encoding="utf-8", errors="replace")


def findings(output):
    return {f"{rule} {function}" for rule, function in FINDING.findall(output)}


def is_sanitized(build):
    with open(os.path.join(build, "wharf"), "rb") as file:
        return b"__ubsan_handle" in file.read()


def expect(condition, what):
    if not condition:
        raise AssertionError(what)


def check_shipped(build, path):
    """An adapter of ours keeps every rule, and each of its kinds has fixtures."""
    result = run(build, path, "--objects", FIXTURES, *settings_of(path))
    expect(result.returncode == 0, f"exit code {result.returncode}\n{result.stdout}")
    expect(": 0 given" not in result.stdout, f"a kind has no fixture\n{result.stdout}")
    calls, objects, found = map(int, SUMMARY.search(result.stdout).groups())
    expect(calls > 0 and objects > 1000 and found == 0, result.stdout)


def settings_of(path):
    settings = os.path.join(FIXTURES, os.path.basename(path)[:-3] + ".yaml")
    return ["--settings", settings] if os.path.exists(settings) else []


def lives_in(output):
    """The files whose lives the report tells."""
    return set(re.findall(r"^(\S+\.yaml)$", output, re.MULTILINE))


def check_recordings(build, path):
    """An adapter of ours keeps every rule over the lives recorded from the controllers of its kinds, each told once."""
    result = run(build, path, "--objects", RECORDINGS, *settings_of(path))
    expect(result.returncode == 0, f"exit code {result.returncode}\n{result.stdout}")
    kinds = re.findall(r"^(\w+)\.\S+: (\d+) given", result.stdout, re.MULTILINE)
    wanted = {file for kind, _ in kinds for file in glob.glob(os.path.join(RECORDINGS, kind, "*.yaml"))}
    expect(kinds and lives_in(result.stdout) == wanted, f"expected {sorted(wanted)}\n{result.stdout}")
    for kind, given in kinds:
        expect(int(given) == len(glob.glob(os.path.join(RECORDINGS, kind, "*.yaml"))), f"{kind}: {result.stdout}")


def check_wrong_recording(build):
    """A recorded life with another end than the adapter sees is a finding."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(RECORDINGS, "jobsets", "failure.yaml"), encoding="utf-8") as file:
            text = file.read()
        expect("phase: Failed\n" in text, text)
        with open(os.path.join(folder, "failure.yaml"), "w", encoding="utf-8") as file:
            file.write(text.replace("phase: Failed\n", "phase: Succeeded\n"))
        result = run(build, os.path.join(build, "adapters", "jobset.so"), "--objects", folder)
        expect(findings(result.stdout) == {"story phase"}, result.stdout)


def check_bad(build, source):
    """What the source says is found, in its words, and nothing else."""
    name = os.path.basename(source)[:-2]
    with open(source, encoding="utf-8") as file:
        text = file.read()
    line = re.search(r"^// finds: (.*)$", text, re.MULTILINE).group(1)
    wanted = set() if line == "nothing" else set(line.split(", "))
    result = run(build, os.path.join(build, "conformance", name + ".so"), "--objects", os.path.join(HERE, "objects"))
    found = findings(result.stdout)
    if is_sanitized(build):  # where a bad access ends the process with a message instead of a signal
        found = {what.replace("exit ", "crash ") for what in found}
        wanted = {what.replace("exit ", "crash ") for what in wanted if not what.startswith("forbidden ")}  # no filter there
    expect(found == wanted, f"expected {sorted(wanted)}, exit code {result.returncode}\n{result.stdout}")
    expect(result.returncode == (1 if wanted else 0), f"exit code {result.returncode}\n{result.stdout}")
    expect(SUMMARY.search(result.stdout), result.stdout)
    for said in re.findall(r"^// says: (.*)$", text, re.MULTILINE):
        expect(is_sanitized(build) or said in result.stdout, f"expected \"{said}\"\n{result.stdout}")


def planted():
    """What is in the table of planted.c: name, findings, and what is said of it."""
    with open(os.path.join(HERE, "planted", "planted.c"), encoding="utf-8") as file:
        text = file.read()
    plants = [(name, finds, says) for finds, says, name in PLANT.findall(text)]
    expect(len(plants) > 30 and re.findall(r"^    ROW\((\w+)\),$", text, re.MULTILINE) == [p[0] for p in plants],
           "planted.c: the table does not have what is described above it")
    return plants


def check_planted(build, name, finds, says):
    """A contradiction or a typo that is planted in an adapter is found, and named."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as settings:
        settings.write(f"plant: {name}\n")
        settings.flush()
        result = run(build, os.path.join(build, "conformance", "planted.so"), "--objects",
                     os.path.join(HERE, "planted", "objects"), "--settings", settings.name)
    wanted = set() if finds == "nothing" else set(finds.split(", "))
    expect(findings(result.stdout) == wanted, f"expected {sorted(wanted)}\n{result.stdout}")
    expect(says in result.stdout, f'expected "{says}"\n{result.stdout}')
    expect(wanted or ("warnings:" in result.stdout) == bool(says), result.stdout)
    expect(result.returncode == (1 if wanted else 0), f"exit code {result.returncode}\n{result.stdout}")


def check_save(build):
    """The object that shows a finding is saved, and shows it."""
    with tempfile.TemporaryDirectory() as folder:
        adapter = os.path.join(build, "conformance", "message.so")
        run(build, adapter, "--objects", os.path.join(HERE, "objects"), "--save", folder)
        saved = glob.glob(os.path.join(folder, "*-message.yaml"))
        expect(len(saved) == 1, f"saved: {os.listdir(folder)}")
        again = run(build, adapter, "--objects", saved[0])
        expect("message mirror" in findings(again.stdout), again.stdout)
        expect(saved[0] + ":1" in again.stdout, f"it is not the saved object that shows it\n{again.stdout}")


def check_loose_file(build):
    """A file that the host would refuse for its permissions is only a warning to its author."""
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "good.so")
        shutil.copy(os.path.join(build, "conformance", "good.so"), copy)
        os.chmod(copy, 0o777)
        result = run(build, copy)
        expect(result.returncode == 0 and "warning: " in result.stdout, result.stdout)


def check_no_adapter(build):
    """What is no adapter at all is a finding about the file."""
    result = run(build, os.path.join(HERE, "run.py"))
    expect(result.returncode == 1 and "file start" in findings(result.stdout), result.stdout)


def check_exit(build):
    """An adapter that ends the process while it is loaded is a problem for every command, not the end without a word."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("mgmt", "w1"):
            open(os.path.join(folder, name), "w", encoding="utf-8").close()
        config = os.path.join(folder, "wharf.yaml")
        for isolation in ("none", "all"):
            with open(config, "w", encoding="utf-8") as file:
                file.write("apiVersion: wharf.dev/v1alpha1\nkind: HostConfiguration\nmanagement: {kubeconfig: mgmt}\n"
                           f"workers: [{{name: w1, kubeconfig: w1}}]\nadapters: {{isolation: {isolation}, enabled: "
                           f"[{{name: thing, file: {build}/conformance/load_exits.so}}]}}\n")
            for command in ("check", "adapters"):
                result = subprocess.run([os.path.join(build, "wharf"), command, "--config", config], stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, timeout=LIMIT_S, check=False, text=True)
                expect(result.returncode == 1 and "thing" in result.stdout and "exit" in result.stdout,
                       f"{isolation}, {command}: exit code {result.returncode}\n{result.stdout}")


def check_timeout(build):
    """The time of a run is limited, and what was not tried is no success."""
    result = run(build, os.path.join(build, "adapters", "job.so"), "--timeout", "100ms", "--objects", FIXTURES)
    expect(result.returncode == 1 and "stopped: the time is over (--timeout); tried" in result.stdout, result.stdout)


def check_strict(build):
    """With --strict a warning is enough to fail."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as settings:
        settings.write("plant: typo_in_pods\n")
        settings.flush()
        arguments = [os.path.join(build, "conformance", "planted.so"), "--objects", os.path.join(HERE, "planted", "objects"),
                     "--settings", settings.name]
        for flags, code in ([], 0), (["--strict"], 1):
            result = run(build, *arguments, *flags)
            expect(result.returncode == code and "0 findings, 1 warnings" in result.stdout, f"{flags}: {result.stdout}")


CRD_CASES = (  # a part of planted/crd.yaml, what stands there instead, and what is then said
    ("", "", ""),
    ("plural: things", "plural: thingies", 'plural: found "things", and the definition has "thingies"'),
    ("group: example.com", "group: example.org", 'group: found "example.com", and the definition has "example.org"'),
    ("scope: Namespaced", "scope: Cluster", "the objects have no namespace"),
    ("name: v1\n", "name: v2\n", "versions: v1 is not in the definition"),
    ("served: true", "served: false", "versions: v1 is not served"),
    ("    subresources: {status: {}}\n", "", "flags: v1 has no status subresource"),
    ("managedBy: ", "manager: ", "managed_by: /spec/managedBy is not in the schema of v1"),
    ("{replicas: ", "{count: ", "carried: /spec/size/replicas is not in the schema of v1"),
    ("[Running, Suspended]", "[Running, Paused]", 'suspend_value: "Suspended" is no value of /spec/state'),
    ("plan: {", "plane: {", "references: /spec/plan is not in the schema of v1"),
    ("pod: {", "pods: {", "references: /spec/pod is not in the schema of Plan v1"),
    ("kind: Plan}", "kind: Plane}", "references: Plan is no kind of plans.example.com"),
    ("{name: v1, schema", "{name: v2, schema", "references: plans.example.com has no version v1"),
    ('scope: "Namespaced"', 'scope: "Cluster"', "plans.example.com have no namespace, and WHARF_REFERENCE_CLUSTER_SCOPED is not set"),
    ("finishedAt: ", "endedAt: ", "finished_at: /status/finishedAt is not in the schema of v1"),
)


def check_crd(build):
    """The data of a kind is compared with its definition, and the status with names of what only a worker has."""
    with open(os.path.join(HERE, "planted", "crd.yaml"), encoding="utf-8") as file:
        text = file.read()
    with tempfile.TemporaryDirectory() as folder:
        crd, settings = os.path.join(folder, "crd.yaml"), os.path.join(folder, "settings.yaml")

        def test(plant, part, instead):
            expect(part in text, part)
            with open(settings, "w", encoding="utf-8") as file:
                file.write(f"plant: {plant}\n")
            with open(crd, "w", encoding="utf-8") as file:
                file.write(text.replace(part, instead) if part else text)
            return run(build, os.path.join(build, "conformance", "planted.so"), "--settings", settings, "--crd", crd, "--quiet")

        for part, instead, says in CRD_CASES:
            result = test("nothing", part, instead)
            expect(says in result.stdout and "warnings" not in result.stdout, f"{says}\n{result.stdout}")
            expect(findings(result.stdout) == ({"crd start"} if says else set()), result.stdout)
        result = test("nothing", "finishedAt: ", "addresses: {type: array, items: {type: string}}\n              finishedAt: ")
        expect("/status/addresses is copied" in result.stdout and result.returncode == 0, result.stdout)
        result = test("typo_in_status_removed", "finishedAt: ", "finishedAt: ")
        expect("/status/podNames is copied" in result.stdout, result.stdout)
        result = test("finished_runs_again", "", "")
        expect("a function asks for" not in result.stdout, result.stdout)
        result = test("update_asks_for_a_field", "", "")
        expect("a function asks for /spec/sise/replicas, which is in the schema of no version" in result.stdout, result.stdout)


def check_no_objects(build):
    """Objects of which none is of a kind of the adapter are an error: nothing of them would be tried."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "other.yaml"), "w", encoding="utf-8") as file:
            file.write("apiVersion: example.com/v1\nkind: Thong\nmetadata: {name: a}\n")
        result = run(build, os.path.join(build, "conformance", "good.so"), "--objects", folder)
        expect(result.returncode == 1 and "Thong of example.com/v1" in result.stdout and "Thing" in result.stdout, result.stdout)


def check_usage(build):
    """How it is called wrongly, and what it then says."""
    for arguments, part in (([], "a file is required"), (["a", "b"], "unexpected argument: b"), (["--x"], "unknown flag: --x"),
                            (["--object-s=x"], 'unknown flag: --object-s=x, did you mean "--objects"?'),
                            (["a", "--save=x", "--save", "y"], "flag given twice: --save"),
                            (["a.so", "--objects"], "flag needs an argument: --objects"),
                            (["a.so", "--timeout=x"], "--timeout: expected a duration like 10m, found x")):
        result = run(build, *arguments)
        expect(result.returncode == 2 and part in result.stdout, f"{arguments}: {result.stdout}")
    missing = run(build, "/nowhere.so")
    expect(missing.returncode == 1 and "/nowhere.so" in missing.stdout, missing.stdout)


def check_program(build):
    """The kit is a program of its own: the daemon has nothing of it, finds it beside itself or where it is installed, and
    says so where it is missing."""
    symbols = subprocess.run(["nm", os.path.join(build, "wharf")], capture_output=True, text=True, check=True).stdout
    expect(" main" in symbols and " kit_run" not in symbols, "the daemon carries the kit")
    with tempfile.TemporaryDirectory() as root:
        for folder in ("bin", "libexec/wharf"):
            os.makedirs(os.path.join(root, folder))
        shutil.copy(os.path.join(build, "wharf"), os.path.join(root, "bin"))
        good = os.path.join(build, "conformance", "good.so")
        missing = run(os.path.join(root, "bin"), good)
        expect(missing.returncode == 1 and "the conformance kit is missing" in missing.stdout, missing.stdout)
        shutil.copy(os.path.join(build, "wharf-conformance"), os.path.join(root, "libexec/wharf"))
        found = run(os.path.join(root, "bin"), good)
        expect(found.returncode == 0 and SUMMARY.search(found.stdout), found.stdout)


def main():
    build = os.path.abspath(sys.argv[1])
    adapters = sorted(glob.glob(os.path.join(build, "adapters", "*.so")), key=os.path.getsize, reverse=True)
    checks = [(check, path) for check in (check_shipped, check_recordings) for path in adapters]
    checks += [(check_bad, path) for path in sorted(glob.glob(os.path.join(HERE, "bad", "*.c")))]
    checks += [(check_planted, *plant) for plant in planted()]
    checks += [(check_wrong_recording,), (check_save,), (check_loose_file,), (check_no_adapter,), (check_exit,), (check_timeout,), (check_strict,), (check_no_objects,), (check_crd,), (check_usage,), (check_program,)]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        futures = [(check, pool.submit(check[0], build, *check[1:])) for check in checks]
        for check, future in futures:
            try:
                future.result()
            except Exception as problem:  # whatever it is, the others go on
                failed += 1
                print(f"FAILED  {check[0].__doc__} {' '.join(os.path.basename(c) for c in check[1:])}\n    "
                      + str(problem).replace("\n", "\n    "), flush=True)
    print(f"{len(checks) - failed} passed, {failed} failed")
    return failed != 0


sys.exit(main())
