# SPDX-License-Identifier: Apache-2.0
"""The Debian package, the RPM, the image, the tarballs and the list of what they consist of."""
import glob
import hashlib
import json
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
import unittest

import build
import jail
from build import make, one
from chart import ROOT

IMAGE_MAX = 25 << 20
DEB, IMAGE, RELEASE, SBOM = "wharf_*.deb", "wharf-*-image.tar", "wharf-*-linux-*.tar.gz", "wharf-*.spdx.json"
PACKAGES = unittest.skipUnless(build.has("dpkg-deb", "dpkg-shlibdeps"), "dpkg-dev is not there")
JAIL = unittest.skipUnless(jail.works(), "this system lets nobody run a program with another root")


def output(*argv, **more):
    return subprocess.run(argv, check=True, capture_output=True, text=True, **more).stdout


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def commands():
    return re.findall(r"^  (\w+) ", output(os.path.join(unpack_deb(), "usr/bin/wharf"), "help").partition("Commands:")[2], re.MULTILINE)


def unpack_deb():
    path = os.path.join(build.folder(), "deb")
    if not os.path.exists(path):
        output("dpkg-deb", "-x", one(DEB, "deb"), path)
    return path


class ReproducibleTest(unittest.TestCase):
    def same(self, pattern, target):
        self.assertEqual(digest(one(pattern, target)), digest(one(pattern, target, "another-folder")))

    @PACKAGES
    def test_the_package_built_elsewhere_is_the_same(self):
        self.same(DEB, "deb")

    @PACKAGES
    def test_the_image_built_elsewhere_is_the_same(self):
        self.same(IMAGE, "image")
        self.same(SBOM, "image")

    @unittest.skipUnless(build.has("rpmbuild"), "rpmbuild is not there")
    def test_the_rpm_built_elsewhere_is_the_same(self):
        self.same("wharf-*.rpm", "rpm")

    def test_the_tarball_of_the_sources_has_their_commit(self):
        commit = output("git", "rev-parse", "HEAD", cwd=build.copy("one")).strip()
        tarball = one("wharf-*.[0-9].tar.gz", "dist")
        self.assertEqual(output("tar", "-xzOf", tarball, "--wildcards", "*/etc/commit"), commit + "\n")
        sources = os.path.join(build.folder(), "sources")
        os.makedirs(sources)
        output("tar", "-xzf", tarball, "-C", sources, "--strip-components=1")
        self.assertEqual(output("make", "-s", "build/commit", cwd=sources), "")
        with open(os.path.join(sources, "build", "commit"), encoding="utf-8") as file:
            self.assertEqual(file.read(), commit[:12] + "\n")

    def test_the_tarballs_built_elsewhere_are_the_same(self):
        self.same("wharf-*.[0-9].tar.gz", "dist")
        self.same(RELEASE, "release")


@PACKAGES
class DebTest(unittest.TestCase):
    @unittest.skipUnless(build.has("lintian"), "lintian is not there")
    def test_lintian_has_nothing_to_say(self):
        run = subprocess.run(["lintian", "--allow-root", "--fail-on", "error,warning", one(DEB, "deb")], capture_output=True, text=True)
        self.assertEqual((run.returncode, run.stdout), (0, ""))

    def test_it_has_everything_and_says_what_it_needs(self):
        root = unpack_deb()
        wanted = ["etc/wharf/wharf.yaml", "lib/systemd/system/wharf.service", "usr/bin/wharf", "usr/lib/wharf/adapters/job.so",
                  "usr/include/wharf/adapter.h", "usr/share/doc/wharf/copyright", "usr/share/bash-completion/completions/wharf",
                  "usr/share/doc/wharf/helm/wharf/Chart.yaml", "usr/share/doc/wharf/overlays/development/kustomization.yaml",
                  *(f"usr/share/man/man1/wharf-{command}.1.gz" for command in commands())]
        self.assertEqual([path for path in wanted if not os.path.isfile(os.path.join(root, path))], [])
        self.assertEqual(os.readlink(os.path.join(root, "usr/bin/kubectl-wharf")), "wharf")
        links = [path for path in glob.glob(root + "/usr/share/doc/wharf/**", recursive=True) if os.path.islink(path) and not os.path.exists(path)]
        self.assertEqual(links, [])
        control = output("dpkg-deb", "-f", one(DEB, "deb"))
        for needed in ("libcurl4 (>=", "libyaml-0-2", "libssl3", "libcjson1", "libmicrohttpd12", "libseccomp2 (>="):
            self.assertIn(needed, control)
        self.assertEqual(output("dpkg-deb", "-I", one(DEB, "deb"), "conffiles"), "/etc/wharf/wharf.yaml\n")

    def test_its_configuration_is_complete_but_for_the_kubeconfig(self):
        root = unpack_deb()
        run = subprocess.run([os.path.join(root, "usr/bin/wharf"), "check", "--config", os.path.join(root, "etc/wharf/wharf.yaml"),
                              "--adapters", os.path.join(root, "usr/lib/wharf/adapters")], capture_output=True, text=True)
        self.assertEqual(run.returncode, 1)
        problems = [line for line in run.stderr.splitlines() if not line.endswith(" problem")]
        self.assertEqual(len(problems), 2, problems)
        self.assertIn("mgmt.kubeconfig", problems[0])
        self.assertIn(": warning: 0 workers: ", problems[1])

    @unittest.skipUnless(os.getuid() == 0, "installs a package in a copy of this system: as root only")
    def test_it_is_installed_removed_and_purged(self):
        """In a copy of this system that is thrown away: nothing outside of a temporary folder is written."""
        script = """
            set -e
            mount -t tmpfs tmpfs "$1"
            mkdir "$1/upper" "$1/work" "$1/root"
            cp "$2" "$1/upper/wharf.deb"
            mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root" || { echo no overlay; exit 0; }
            cd "$1/root"
            mount -t proc proc proc
            in_it() { chroot . "$@"; }
            in_it dpkg --force-depends -i /wharf.deb >/dev/null 2>&1 || in_it dpkg --force-depends -i /wharf.deb
            in_it getent passwd wharf | cut -d: -f1,6,7
            ls etc/systemd/system/multi-user.target.wants/wharf.service
            in_it wharf version
            in_it wharf adapters | wc -l
            echo '# mine' >> etc/wharf/wharf.yaml
            in_it dpkg -r wharf >/dev/null 2>&1
            test ! -e usr/bin/wharf && tail -n 1 etc/wharf/wharf.yaml
            in_it dpkg -P wharf >/dev/null 2>&1
            test ! -e etc/wharf/wharf.yaml && test ! -e etc/systemd/system/multi-user.target.wants/wharf.service && echo purged
        """
        with tempfile.TemporaryDirectory(prefix="wharf-dpkg-") as place:
            run = subprocess.run(["unshare", "--mount", "--pid", "--fork", "sh", "-c", script, "sh", place, one(DEB, "deb")],
                                 capture_output=True, text=True, cwd="/", env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive"})
        if run.stdout.startswith("no overlay") or "mount" in run.stderr:
            self.skipTest("no overlay can be mounted here")
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        user, unit, version, adapters, mine, purged = run.stdout.splitlines()
        self.assertEqual(user, "wharf:/nonexistent:/usr/sbin/nologin")
        self.assertTrue(unit.endswith("wharf.service") and version.startswith("wharf "), run.stdout)
        self.assertEqual((adapters, mine, purged), ("2", "# mine", "purged"))


@unittest.skipUnless(build.has("rpmbuild"), "rpmbuild is not there")
class RpmTest(unittest.TestCase):
    def test_it_is_built_of_the_source_tarball(self):
        files = output("rpm", "-qlp", one("wharf-*.rpm", "rpm")).splitlines()
        for wanted in ("/usr/bin/wharf", "/usr/lib/wharf/adapters/job.so", "/etc/wharf/wharf.yaml", "/usr/lib/systemd/system/wharf.service",
                       "/usr/share/man/man1/wharf-run.1.gz"):
            self.assertIn(wanted, files)
        self.assertEqual(output("rpm", "-qcp", one("wharf-*.rpm", "rpm")), "/etc/wharf/wharf.yaml\n")

    @unittest.skipUnless(build.has("rpmlint"), "rpmlint is not there")
    def test_rpmlint_has_nothing_to_say(self):
        run = subprocess.run(["rpmlint", "-c", "etc/package/rpmlint.toml", one("wharf-*.rpm", "rpm"), "etc/package/wharf.spec"],
                             capture_output=True, text=True, cwd=ROOT)
        self.assertIn(" 0 errors, 0 warnings", run.stdout)


@PACKAGES
class ImageTest(unittest.TestCase):
    def blob(self, described):
        with tarfile.open(one(IMAGE, "image")) as tar:
            return tar.extractfile("blobs/sha256/" + described["digest"][7:]).read()

    def opened(self):
        with tarfile.open(one(IMAGE, "image")) as tar:
            manifest = json.loads(self.blob(json.load(tar.extractfile("index.json"))["manifests"][0]))
        return json.loads(self.blob(manifest["config"])), manifest["layers"][0]

    def root(self):
        """The files of the layer."""
        path = os.path.join(build.folder(), "image")
        if not os.path.exists(path):
            os.makedirs(path)
            subprocess.run(["tar", "-C", path, "-xz"], input=self.blob(self.opened()[1]), check=True)
        return path

    def test_it_is_small_and_unprivileged(self):
        config, _ = self.opened()
        files = [os.path.join(folder, name) for folder, folders, names in os.walk(self.root()) for name in folders + names]
        size = sum(os.lstat(path).st_size for path in files)
        print(f"        the image's files have {size / 2**20:.1f} MiB")
        self.assertLess(size, IMAGE_MAX)
        self.assertEqual((config["config"]["User"], config["config"]["Entrypoint"]), ("65532:65532", ["/usr/bin/wharf"]))
        programs = os.listdir(os.path.join(self.root(), "usr/bin"))
        self.assertEqual(programs, ["wharf"])
        self.assertEqual(os.listdir(os.path.join(self.root(), "usr/libexec/wharf")), ["wharf-adapter"])
        writable = [path for path in files if not os.path.islink(path) and os.stat(path).st_mode & 0o6022 and not path.endswith("/tmp")]
        self.assertEqual(writable, [])

    def test_its_certificates_are_those_of_the_package(self):
        with open(os.path.join(self.root(), "etc/ssl/certs/ca-certificates.crt"), encoding="ascii") as file:
            self.assertGreater(file.read().count("BEGIN CERTIFICATE"), 100)
        self.assertTrue(os.path.islink(os.path.join(self.root(), "usr/lib/ssl/cert.pem")))

    @JAIL
    def test_the_program_and_the_adapters_run_with_nothing_else(self):
        root = self.root()
        self.assertTrue(jail.run(root, "/usr/bin/wharf", "version").stdout.startswith("wharf "))
        shutil.copy(os.path.join(ROOT, "etc/all-adapters.yaml"), os.path.join(root, "etc/wharf/wharf.yaml"))
        shown = jail.run(root, "/usr/bin/wharf", "adapters")
        self.assertEqual((shown.returncode, shown.stderr), (0, ""))
        self.assertEqual({line.split()[0] for line in shown.stdout.splitlines()[1:]},
                         {name[:-3] for name in os.listdir(os.path.join(root, "usr/lib/wharf/adapters"))})
        with open(os.path.join(root, "etc/wharf/wharf.yaml"), "r+", encoding="utf-8") as file: # each in a process of its own
            text = file.read().replace("\nadapters:\n", "\nadapters:\n  isolation: all\n")
            file.seek(0)
            file.write(text)
        isolated = jail.run(root, "/usr/bin/wharf", "adapters")
        self.assertEqual((isolated.returncode, isolated.stdout, isolated.stderr), (0, shown.stdout, ""))
        shutil.copy(os.path.join(ROOT, "etc/package/wharf.yaml"), os.path.join(root, "etc/wharf/wharf.yaml"))
        os.makedirs(os.path.join(root, "etc/wharf/workers.d"), exist_ok=True)
        checked = jail.run(root, "/usr/bin/wharf", "check")
        self.assertEqual(checked.returncode, 1)
        self.assertIn("/etc/wharf/mgmt.kubeconfig: No such file", checked.stderr)
        self.assertIn(": warning: 0 workers: ", checked.stderr)
        self.assertEqual(len(checked.stderr.splitlines()), 3, checked.stderr)
        self.assertNotEqual(jail.run(root, "/bin/sh", "-c", "true").returncode, 0)

    @unittest.skipUnless(build.has("buildah"), "buildah is not there")
    def test_buildah_reads_both_forms_of_it(self):
        with tempfile.TemporaryDirectory(prefix="wharf-buildah-") as store:
            buildah = ["buildah", "--storage-driver", "vfs", "--root", store + "/root", "--runroot", store + "/run"]
            for form in ("oci-archive", "docker-archive"):
                run = subprocess.run([*buildah, "pull", "-q", f"{form}:{one(IMAGE, 'image')}"], capture_output=True, text=True)
                if "permitted" in run.stderr:
                    self.skipTest("buildah may not work here")
                self.assertEqual(run.returncode, 0, run.stderr)
            self.assertIn("wharf", output(*buildah, "images"))


@JAIL
class ReleaseTest(unittest.TestCase):
    """The tarball runs where there is glibc and nothing else."""

    def test_it_brings_what_it_needs_and_its_sums_are_right(self):
        tarball = one(RELEASE, "release")
        subprocess.run(["sha256sum", "-c", "--quiet", "SHA256SUMS"], check=True, cwd=os.path.dirname(tarball))
        with tempfile.TemporaryDirectory(prefix="wharf-release-") as root:
            os.chmod(root, 0o755)
            for library in output("sh", os.path.join(ROOT, "etc/package/closure.sh"), "/bin/true").split() + self.libm():
                place = root + os.path.dirname(library)
                os.makedirs(place, exist_ok=True)
                shutil.copy(library, place)
            os.makedirs(root + "/usr/local")
            subprocess.run(["tar", "-C", root + "/usr/local", "--strip-components=1", "-xzf", tarball], check=True)
            subprocess.run(["sha256sum", "-c", "--quiet", "SHA256SUMS"], check=True, cwd=root + "/usr/local")
            self.assertTrue(jail.run(root, "/usr/local/bin/wharf", "version").stdout.startswith("wharf "))
            os.makedirs(root + "/etc/wharf")
            shutil.copy(os.path.join(ROOT, "etc/all-adapters.yaml"), root + "/etc/wharf/wharf.yaml")
            shown = jail.run(root, "/usr/local/bin/wharf", "adapters")
            self.assertEqual((shown.returncode, shown.stderr), (0, ""))
            self.assertGreater(shown.stdout.count("/usr/local/lib/wharf/adapters/"), 14)
            tested = jail.run(root, "/usr/local/bin/wharf", "adapter", "test", "/usr/local/lib/wharf/adapters/job.so")
            self.assertEqual(tested.returncode, 0, tested.stdout + tested.stderr)

    def libm(self):
        needed = output("sh", os.path.join(ROOT, "etc/package/closure.sh"), os.path.join(unpack_deb(), "usr/bin/wharf"))
        return [path for path in needed.split() if re.search(r"/(libm|libdl|libpthread|librt|libresolv)\.so", path)]


@PACKAGES
class SbomTest(unittest.TestCase):
    def test_it_names_every_library_and_every_file(self):
        with open(one(SBOM, "image"), encoding="utf-8") as file:
            sbom = json.load(file)
        self.assertEqual((sbom["spdxVersion"], sbom["dataLicense"], sbom["SPDXID"]), ("SPDX-2.3", "CC0-1.0", "SPDXRef-DOCUMENT"))
        self.assertRegex(sbom["creationInfo"]["created"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        ids = [each["SPDXID"] for each in sbom["packages"] + sbom["files"]]
        self.assertEqual(len(ids), len(set(ids)))
        for relation in sbom["relationships"]:
            self.assertIn(relation["relatedSpdxElement"], ids)
        names = {each["name"] for each in sbom["packages"]}
        self.assertLessEqual({"wharf", "libc6", "libcurl4", "libssl3", "libcjson1", "libyaml-0-2", "libnghttp2-14", "libseccomp2"}, names)
        root = os.path.join(build.copy("one"), "build/package/image.root/usr")
        for each in sbom["files"]:
            sums = {entry["algorithm"]: entry["checksumValue"] for entry in each["checksums"]}
            self.assertEqual(sums["SHA256"], digest(os.path.join(root, each["fileName"])))
        code = sorted(entry["checksumValue"] for each in sbom["files"] for entry in each["checksums"] if entry["algorithm"] == "SHA1")
        self.assertEqual(sbom["packages"][0]["packageVerificationCode"]["packageVerificationCodeValue"],
                         hashlib.sha1("".join(code).encode()).hexdigest())

    def test_it_has_the_packages_that_the_image_says_it_has(self):
        with open(one(SBOM, "image"), encoding="utf-8") as file:
            sbom = json.load(file)
        status = os.listdir(os.path.join(build.copy("one"), "build/package/image.root/var/lib/dpkg/status.d"))
        self.assertEqual({each["name"] for each in sbom["packages"]} - {"wharf"}, set(status) - {"ca-certificates", "tzdata"})


class VersionTest(unittest.TestCase):
    def test_there_is_one_version(self):
        with open(os.path.join(ROOT, "Makefile"), encoding="utf-8") as file:
            version = re.search(r"^VERSION := (\S+)$", file.read(), re.MULTILINE)[1]
        for path, pattern in (("etc/helm/wharf/Chart.yaml", r"^version: (\S+)$"), ("etc/helm/wharf/Chart.yaml", r"^appVersion: (\S+)$"),
                              ("etc/kubernetes/deployment.yaml", r"image: wharf:(\S+)$"), ("etc/package/deb/changelog", r"^wharf \((\S+)-1\)"),
                              ("etc/package/wharf.spec", r"wharf_version (\d\S+)}$")):
            with open(os.path.join(ROOT, path), encoding="utf-8") as file:
                self.assertEqual(re.search(pattern, file.read(), re.MULTILINE)[1], version, path)

    def test_the_container_is_built_with_packages_that_bootstrap_knows(self):
        with open(os.path.join(ROOT, "Containerfile"), encoding="utf-8") as file:
            packages = re.search(r"--no-install-recommends install ([^&]*?)\n[A-Z]", file.read(), re.DOTALL)[1].replace("\\", " ").split()
        with open(os.path.join(ROOT, "bootstrap"), encoding="utf-8") as file:
            known = re.findall(r"^([a-z0-9.+-]+) {2,}\S", file.read(), re.MULTILINE)
        self.assertEqual([name for name in packages if name not in known], [])
