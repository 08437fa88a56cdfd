# SPDX-License-Identifier: Apache-2.0
"""The requests and responses of an API server, from its audit log, which is complete."""
import json
import threading

_READS = ("get", "list", "watch")
# The users that hosts are known as: by client certificate, by service-account token, and that of test_tenancy.
HOST_USERS = ("wharf", "system:serviceaccount:wharf-system:wharf", "system:serviceaccount:wharf-system:tenancy")


class Audit:
    """Every write that one cluster's API server answered, in order. entries() reads what is new first. May be used from any thread."""

    def __init__(self, cluster):
        self.name, self.path = cluster.name, cluster.audit_log
        self.seen, self.offset, self.partial, self.lock = [], 0, b"", threading.Lock()

    def entries(self, namespace=None, since=0):
        with self.lock:
            self._read()
        return [entry for entry in self.seen[since:]
                if namespace is None or entry.get("objectRef", {}).get("namespace") == namespace]

    def mark(self):
        """A place in the log, for `since`."""
        with self.lock:
            self._read()
            return len(self.seen)

    def _read(self):
        try:
            with open(self.path, "rb") as log:
                log.seek(self.offset)
                fresh = log.read()
        except FileNotFoundError:
            return
        self.offset += len(fresh)
        *lines, self.partial = (self.partial + fresh).split(b"\n")
        for line in lines:
            # A server that is killed while writing leaves an incomplete line, to which the next one is appended.
            try:
                self.seen.append(json.loads(line))
            except ValueError:
                continue

    def host(self, namespace=None, since=0, verb=None, resource="jobs", subresource=None, name=None, dry_run=False):
        """The host's writes: those with this verb, resource and subresource ("": the object itself, None: any); or those that
        it only tried."""
        found = []
        for entry in self.entries(namespace, since):
            what = entry.get("objectRef", {})
            if not _by_host(entry) or entry["verb"] in _READS or what.get("resource") != resource:
                continue
            if verb and entry["verb"] != verb or name and what.get("name") != name:
                continue
            if ("dryRun=" in entry["requestURI"]) != dry_run:
                continue
            if subresource is not None and what.get("subresource", "") != subresource:
                continue
            found.append(entry)
        return found

    def writes(self, namespace, since=0):
        """All of the host's writes in this namespace."""
        return [entry for entry in self.entries(namespace, since) if _by_host(entry) and entry["verb"] not in _READS]

    def by_host(self):
        """All of the host's requests, reads too."""
        return [entry for entry in self.entries() if _by_host(entry)]

    def reads(self, namespace, resource, since=0):
        """The host's reads of single objects of this resource."""
        return [entry for entry in self.entries(namespace, since) if _by_host(entry) and entry["verb"] == "get"
                and entry["objectRef"].get("resource") == resource]

    def mirror_made(self, namespace, uid, attempt):
        """Whether the host has created the mirror of the Job with this uid in this attempt; it may be gone since."""
        for entry in self.host(namespace, verb="create"):
            meta = entry.get("requestObject", {}).get("metadata", {})
            if code(entry) == 201 and meta.get("labels", {}).get("wharf.dev/uid") == uid \
                    and meta["annotations"]["wharf.dev/attempt"] == attempt:
                return True
        return False

    def refused(self, codes, since=0):
        """The host's requests, reads too, that were answered with one of these codes."""
        return [entry for entry in self.entries(since=since) if _by_host(entry) and code(entry) in codes]

    def pods_created(self, namespace, job):
        """The uid of the owning Job of each pod that was created for a Job of this name, in order."""
        owners = []
        for entry in self.entries(namespace):
            if entry["verb"] == "create" and entry["objectRef"]["resource"] == "pods" and code(entry) == 201:
                owners += [owner["uid"] for owner in entry["requestObject"]["metadata"].get("ownerReferences", [])
                           if owner["name"] == job]
        return owners


def _by_host(entry):
    return entry["user"].get("username") in HOST_USERS


def code(entry):
    return entry.get("responseStatus", {}).get("code", 0)


def describe(entry):
    what = entry.get("objectRef", {})
    place = "/".join(part for part in (what.get("resource"), what.get("namespace"), what.get("name"),
                                       what.get("subresource")) if part)
    status = entry.get("responseStatus", {})
    told = f"{entry['verb']} {place}: {status.get('code')} {status.get('reason', '')} {status.get('message', '')}"
    if code(entry) >= 400 and "requestObject" in entry:
        told += f"\n  sent: {json.dumps(entry['requestObject'])}"
    return told
