#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# root.sh STAGE ROOT SBOM: creates the root of the image: the program and adapters of STAGE, their libraries from this system's Debian
# packages, certificates and names of users; no shell, no package manager. Scanners find the packages in /var/lib/dpkg/status.d.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
stage=$1 root=$2 sbom=$3
rm -rf "$root"
umask 022
mkdir -p "$root/usr/bin" "$root/usr/lib/wharf" "$root/usr/libexec/wharf" "$root/usr/lib64" "$root/etc/ssl/certs" "$root/etc/wharf" "$root/tmp" \
    "$root/var/lib/dpkg/status.d" "$root/usr/share/zoneinfo" "$root/usr/share/sbom"
ln -s usr/bin "$root/bin"
ln -s usr/lib "$root/lib"
ln -s usr/lib64 "$root/lib64"
chmod 1777 "$root/tmp"

cp "$stage/usr/bin/wharf" "$root/usr/bin/wharf"
cp "$stage/usr/libexec/wharf/wharf-adapter" "$root/usr/libexec/wharf/wharf-adapter"
cp -R "$stage/usr/lib/wharf/adapters" "$root/usr/lib/wharf/adapters"
cp "$sbom" "$root/usr/share/sbom/wharf.spdx.json"
libraries=$(sh "$here/closure.sh" "$root/usr/bin/wharf" "$root/usr/libexec/wharf/wharf-adapter" "$root"/usr/lib/wharf/adapters/*.so)
for library in $libraries; do
    place=$root$(realpath "$(dirname "$library")")
    case $(basename "$library") in
    ld-linux*) place=$root$(dirname "$library") ;; # the name that is in the program
    esac
    mkdir -p "$place"
    cp -L "$library" "$place/"
done

# The certificates of the package, without this system's additional ones.
find /usr/share/ca-certificates/mozilla -name '*.crt' | LC_ALL=C sort | xargs -d '\n' cat >"$root/etc/ssl/certs/ca-certificates.crt"
mkdir -p "$root/usr/lib/ssl"
ln -s /etc/ssl/certs "$root/usr/lib/ssl/certs"
ln -s /etc/ssl/certs/ca-certificates.crt "$root/usr/lib/ssl/cert.pem"
cp -L /usr/share/zoneinfo/UTC "$root/usr/share/zoneinfo/UTC" # times are in UTC; the other zones are not needed
printf 'root:x:0:0:root:/:/nonexistent\nwharf:x:65532:65532:wharf:/tmp:/nonexistent\n' >"$root/etc/passwd"
printf 'root:x:0:\nwharf:x:65532:\n' >"$root/etc/group"
printf 'hosts: files dns\n' >"$root/etc/nsswitch.conf"
sed -n '/^ID=\|^NAME=\|^VERSION_ID=\|^VERSION_CODENAME=/p' /etc/os-release >"$root/etc/os-release"

for package in $(python3 -B "$here/sbom.py" --packages "$root/usr") ca-certificates tzdata; do
    dpkg-query --status "$package" | sed '/^Conffiles:/,/^[A-Z]/{/^[A-Z]/!d;/^Conffiles:/d}' >"$root/var/lib/dpkg/status.d/${package%%:*}"
    mkdir -p "$root/usr/share/doc/${package%%:*}"
    cp -L "/usr/share/doc/${package%%:*}/copyright" "$root/usr/share/doc/${package%%:*}/copyright"
done
find "$root" -type d ! -path "$root/tmp" -exec chmod 755 {} +
