#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bundle.sh TREE: copies the libraries of the programs into an installed tree, except glibc: dlopen(3) loads the adapters, and glibc's
# loader and name service must be the system's. The programs are not static, since Debian has no static cJSON and Kerberos (for
# libcurl). Writes SHA256SUMS of all files.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
tree=$1
mkdir -p "$tree/lib/wharf/lib"
for library in $(sh "$here/closure.sh" "$tree/bin/wharf" "$tree/bin/wharf-sandbox" "$tree"/libexec/wharf/*); do
    case $(basename "$library") in
    ld-linux* | libc.so.* | libm.so.* | libdl.so.* | libpthread.so.* | librt.so.* | libresolv.so.*) continue ;;
    esac
    cp -L "$library" "$tree/lib/wharf/lib/"
done
cd "$tree"
sums=$(find . -type f | LC_ALL=C sort | xargs -d '\n' sha256sum)
echo "$sums" >SHA256SUMS
