#!/bin/sh
# collect.sh ROOT [NODE]: copies Node and the libraries that it loads to ROOT, the file system of the image. There is no shell in it.
set -eu
root=$1
node=${2:-/usr/local/bin/node}

umask 022
mkdir -p "$root/usr/local/bin" "$root/etc" "$root/var/lib/dpkg/status.d"
cp -L "$node" "$root/usr/local/bin/node"
ldd "$node" | grep -o '/[^ ]*' | while read -r library; do
  mkdir -p "$root$(dirname "$library")"
  cp -L "$library" "$root$library"
  # Scanners find the versions of the libraries here.
  package=$(dpkg-query --search "*${library#/usr}" | cut -d: -f1 | head -n 1)
  dpkg-query --status "$package" > "$root/var/lib/dpkg/status.d/$package"
done
cp -L /etc/os-release "$root/etc/os-release"
echo 'hosts: files dns' > "$root/etc/nsswitch.conf"
echo 'gatehouse:x:65532:65532::/data:/nonexistent' > "$root/etc/passwd"
echo 'gatehouse:x:65532:' > "$root/etc/group"
mkdir -m 1777 "$root/tmp"
mkdir -m 700 "$root/data"
chown 65532:65532 "$root/data"
