# SPDX-License-Identifier: Apache-2.0
"""image.py ROOT NAME:TAG EPOCH OUTPUT: an image of one layer with the files of ROOT, as an archive that `podman load`, `docker load`,
`ctr images import` and `kind load image-archive` read. It needs no container tool and no root, and the same files give the same
bytes."""
import gzip
import hashlib
import io
import json
import os
import platform
import sys
import tarfile
import time

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
USER = "65532:65532"


def layer_of(root, epoch):
    """The files as a tar."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for folder, folders, names in os.walk(root):
            folders.sort()
            links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
            for path in [folder] + [os.path.join(folder, name) for name in sorted(names + links)]:
                if path != root:
                    add(tar, path, os.path.relpath(path, root), epoch)
    return out.getvalue()


def add(tar, path, name, epoch):
    info = tar.gettarinfo(path, name)
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    info.mtime = epoch
    if info.islnk():   # two names of one file: both are files
        info.type, info.linkname, info.size = tarfile.REGTYPE, "", os.path.getsize(path)
    if info.isreg():
        with open(path, "rb") as file:
            tar.addfile(info, file)
    else:
        tar.addfile(info)


def pressed(data):
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=9, mtime=0, filename="") as file:
        file.write(data)
    return out.getvalue()


class Archive:
    def __init__(self, path, epoch):
        self.tar, self.epoch = tarfile.open(path, "w", format=tarfile.GNU_FORMAT), epoch
        for folder in ("blobs", "blobs/sha256"):
            info = tarfile.TarInfo(folder)
            info.type, info.mode, info.mtime = tarfile.DIRTYPE, 0o755, epoch
            self.tar.addfile(info)

    def file(self, name, data):
        info = tarfile.TarInfo(name)
        info.size, info.mode, info.mtime = len(data), 0o644, self.epoch
        self.tar.addfile(info, io.BytesIO(data))

    def blob(self, kind, data):
        digest = hashlib.sha256(data).hexdigest()
        self.file("blobs/sha256/" + digest, data)
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": "sha256:" + digest, "size": len(data)}


def main(root, reference, epoch, output):
    epoch, tag = int(epoch), reference.rpartition(":")[2]
    layer = layer_of(root, epoch)
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch))
    config = {
        "architecture": ARCHITECTURES.get(platform.machine(), platform.machine()), "os": "linux", "created": created,
        "config": {"User": USER, "Entrypoint": ["/usr/bin/wharf"], "Cmd": ["run"], "WorkingDir": "/", "ExposedPorts": {"9440/tcp": {}},
                   "Env": ["PATH=/usr/bin", "HOME=/tmp"], "Labels": {
                       "org.opencontainers.image.title": "wharf", "org.opencontainers.image.version": tag,
                       "org.opencontainers.image.licenses": "Apache-2.0"}},
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]},
        "history": [{"created": created, "created_by": "make image"}]}
    archive = Archive(output, epoch)
    about_layer = archive.blob("layer.v1.tar+gzip", pressed(layer))
    about_config = archive.blob("config.v1+json", json.dumps(config, sort_keys=True).encode())
    manifest = archive.blob("manifest.v1+json", json.dumps({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": about_config,
        "layers": [about_layer]}, sort_keys=True).encode())
    manifest["annotations"] = {"io.containerd.image.name": "localhost/" + reference, "org.opencontainers.image.ref.name": tag}
    archive.file("index.json", json.dumps({"schemaVersion": 2, "manifests": [manifest]}, sort_keys=True).encode())
    archive.file("oci-layout", b'{"imageLayoutVersion":"1.0.0"}')
    place = "blobs/sha256/{}".format
    archive.file("manifest.json", json.dumps([{   # for docker load
        "Config": place(about_config["digest"][7:]), "Layers": [place(about_layer["digest"][7:])], "RepoTags": [reference]}]).encode())
    archive.tar.close()
    print(f"{output}: {len(layer) / 2**20:.1f} MiB, {about_layer['size'] / 2**20:.1f} MiB compressed, {manifest['digest']}")


if __name__ == "__main__":
    main(*sys.argv[1:])
