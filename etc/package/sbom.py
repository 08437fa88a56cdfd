# SPDX-License-Identifier: Apache-2.0
"""What an installed wharf consists of, as SPDX 2.3 in JSON: its files with their hashes, and the Debian packages of the libraries
that they link with.

    sbom.py FOLDER VERSION EPOCH     prints the document; FOLDER has bin, lib and libexec
    sbom.py --packages FOLDER        prints the names of the packages
"""
import hashlib
import json
import os
import re
import subprocess
import sys
import time
import uuid

PROGRAMS = ("bin/wharf", "libexec/wharf/wharf-adapter")
HERE = os.path.dirname(os.path.abspath(__file__))
FORMAT = "${Package}\t${Version}\t${Architecture}\t${source:Package}\t${source:Version}\t${Homepage}\n"


def run(*argv):
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


def packages_of(*programs):
    """The names, sorted, as dpkg-query knows them ("libc6:amd64")."""
    libraries = run("sh", os.path.join(HERE, "closure.sh"), *programs).split()
    paths = {library: names_of(library) for library in libraries}
    asked = sorted({path for each in paths.values() for path in each})
    lines = subprocess.run(["dpkg-query", "--search", *asked], capture_output=True, text=True).stdout.splitlines()
    owners = {path: names.split(",")[0] for names, path in (line.split(": ", 1) for line in lines)}
    for library in libraries:
        if not any(path in owners for path in paths[library]):
            sys.exit(f"sbom.py: {library} belongs to no package")
    return sorted({owners[next(path for path in paths[library] if path in owners)] for library in libraries})


def names_of(library):
    """What a package may call it, where /lib is a link to /usr/lib."""
    real = os.path.realpath(library)
    return [library, real, re.sub(r"^/usr/", "/", real), re.sub(r"^/usr/", "/", library)]


def describe(names):
    """The packages as SPDX."""
    with open("/etc/os-release", encoding="utf-8") as file:
        distribution = dict(re.findall(r'^(\w+)="?([^"\n]*)"?$', file.read(), re.MULTILINE))
    lines = run("dpkg-query", "--show", "--showformat", FORMAT, *names).splitlines()
    return [describe_one(*line.split("\t"), distribution.get("ID", "debian"), distribution.get("VERSION_ID", "")) for line in sorted(lines)]


def describe_one(package, version, arch, source, source_version, homepage, system, release):
    purl = f"pkg:deb/{system}/{package}@{version.replace('+', '%2B').replace(':', '%3A')}?arch={arch}&distro={system}-{release}"
    return {"SPDXID": "SPDXRef-Package-" + re.sub(r"[^A-Za-z0-9.-]", "-", package), "name": package, "versionInfo": version,
            "supplier": "Organization: Debian", "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
            "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION", "copyrightText": "NOASSERTION",
            "homepage": homepage or "NOASSERTION", "sourceInfo": f"built from the Debian source package {source} {source_version}",
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}]}


def file_of(path, name):
    with open(path, "rb") as file:
        data = file.read()
    return {"SPDXID": "SPDXRef-File-" + re.sub(r"[^A-Za-z0-9.-]", "-", name), "fileName": "./" + name, "fileTypes": ["BINARY"],
            "checksums": [{"algorithm": algorithm.upper(), "checksumValue": hashlib.new(algorithm, data).hexdigest()}
                          for algorithm in ("sha1", "sha256")],
            "licenseConcluded": "Apache-2.0", "licenseInfoInFiles": ["NOASSERTION"], "copyrightText": "NOASSERTION"}


def programs_of(folder):
    return [os.path.join(folder, name) for name in PROGRAMS]


def document(folder, version, epoch):
    names = [*PROGRAMS, *sorted(f"lib/wharf/adapters/{name}" for name in os.listdir(os.path.join(folder, "lib/wharf/adapters")))]
    files = [file_of(os.path.join(folder, name), name) for name in names]
    hashes = sorted(each["checksums"][0]["checksumValue"] for each in files)
    main = {"SPDXID": "SPDXRef-Package-wharf", "name": "wharf", "versionInfo": version, "supplier": "Organization: wharf",
            "downloadLocation": "NOASSERTION", "filesAnalyzed": True, "licenseConcluded": "Apache-2.0", "licenseDeclared": "Apache-2.0",
            "licenseInfoFromFiles": ["NOASSERTION"], "copyrightText": "NOASSERTION", "primaryPackagePurpose": "APPLICATION",
            "packageVerificationCode": {"packageVerificationCodeValue": hashlib.sha1("".join(hashes).encode()).hexdigest()}}
    libraries = describe(packages_of(*programs_of(folder)))
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", main["SPDXID"])]
    relations += [(main["SPDXID"], "CONTAINS", each["SPDXID"]) for each in files]
    for file, program in zip(files, programs_of(folder)):
        linked = {name.split(":")[0] for name in packages_of(program)}
        relations += [(file["SPDXID"], "DYNAMIC_LINK", each["SPDXID"]) for each in libraries if each["name"] in linked]
    content = {"packages": [main, *libraries], "files": files, "relationships": [
        {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other} for one, kind, other in relations]}
    name = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(content, sort_keys=True))
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"wharf-{version}",
            "documentNamespace": f"https://wharf.dev/spdx/wharf-{version}-{name}",
            "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(epoch))), "creators": ["Tool: wharf-sbom"]},
            **content}


def main(arguments):
    if arguments[0] == "--packages":
        print("\n".join(packages_of(*programs_of(arguments[1]))))
    else:
        print(json.dumps(document(*arguments), indent=1))


if __name__ == "__main__":
    main(sys.argv[1:])
