#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bundle.sh TREE: puts beside the programs of an installed tree the libraries that they need, but not glibc: the adapters are loaded
# with dlopen(3), and glibc's own loader and name service must be those of the system. They are not linked statically, since Debian
# has no static cJSON and Kerberos (of libcurl). Writes SHA256SUMS of all files.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
tree=$1
mkdir -p "$tree/lib/wharf/lib"
for library in $(sh "$here/closure.sh" "$tree/bin/wharf" "$tree/bin/wharf-sandbox" "$tree/libexec/wharf/wharf-conformance"); do
    case $(basename "$library") in
    ld-linux* | libc.so.* | libm.so.* | libdl.so.* | libpthread.so.* | librt.so.* | libresolv.so.*) continue ;;
    esac
    cp -L "$library" "$tree/lib/wharf/lib/"
done
cd "$tree"
sums=$(find . -type f | LC_ALL=C sort | xargs -d '\n' sha256sum)
echo "$sums" >SHA256SUMS
