#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# build.sh STAGE VERSION OUTPUT: makes a Debian package of the files below STAGE, which is changed. Needs dpkg-dev. The result
# depends on STAGE's content and SOURCE_DATE_EPOCH only.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
stage=$1 version=$2 output=$3
doc=$stage/usr/share/doc/wharf

cp "$here/copyright" "$doc/copyright"
rm -f "$doc/LICENSE"
gzip -9nc "$here/changelog" >"$doc/changelog.Debian.gz"
gzip -9nc "$doc/CHANGELOG.md" >"$doc/changelog.gz"
ln -s changelog.gz "$doc/CHANGELOG.md.gz"
rm "$doc/CHANGELOG.md"
mkdir -p "$stage/etc/wharf/workers.d" "$stage/lib/systemd" "$stage/usr/share/lintian/overrides"
install -m 644 "$here/../wharf.yaml" "$stage/etc/wharf/wharf.yaml"
install -m 644 "$here/overrides" "$stage/usr/share/lintian/overrides/wharf"
for name in kubectl-wharf kubectl_complete-wharf; do
    ln -s wharf.1.gz "$stage/usr/share/man/man1/$name.1.gz"
done
mv "$stage/usr/lib/pkgconfig" "$stage/usr/share/pkgconfig"
mv "$stage/usr/lib/systemd/system" "$stage/lib/systemd/system"
rmdir "$stage/usr/lib/systemd"

# What it links with. dpkg-shlibdeps wants to be beside debian/control, and the files below debian/.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/debian"
printf 'Source: wharf\n\nPackage: wharf\nArchitecture: any\n' >"$work/debian/control"
depends=$(cd "$work" && dpkg-shlibdeps -O --ignore-missing-info "$stage/usr/bin/wharf" "$stage/usr/bin/wharf-sandbox" \
    "$stage"/usr/libexec/wharf/* 2>"$work/log") || { cat "$work/log" >&2; exit 1; }

mkdir -p "$stage/DEBIAN"
(cd "$stage" && find usr lib etc -type f | LC_ALL=C sort | xargs -d '\n' md5sum) >"$stage/DEBIAN/md5sums"
echo /etc/wharf/wharf.yaml >"$stage/DEBIAN/conffiles"
for script in postinst prerm postrm; do
    install -m 755 "$here/$script" "$stage/DEBIAN/$script"
done
size=$(du -sk --apparent-size --exclude=DEBIAN "$stage" | cut -f1)
sed "/^#/d; s/@VERSION@/$version/; s/@ARCH@/$(dpkg --print-architecture)/; s/@SIZE@/$size/; s/@DEPENDS@/${depends#shlibs:Depends=}/" \
    "$here/control.in" >"$stage/DEBIAN/control"
find "$stage" -type d -exec chmod 755 {} +
find "$stage" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
dpkg-deb --root-owner-group -Zxz --build "$stage" "$output" >/dev/null
