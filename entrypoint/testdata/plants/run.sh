#!/bin/sh
# Plants each bug of this folder into the package (go build -overlay) and expects one of its fuzz targets to find it
# within half a minute, from an empty corpus. Prints the seconds of each; exits 0 when all were found.
# Usage: run.sh [PATCH...], by default all patches of this folder.
set -u
plants=$(cd "$(dirname "$0")" && pwd)
package=$(cd "$plants/../.." && pwd)
[ $# -gt 0 ] || set -- "$plants"/*.patch
copy=$(mktemp -d) || exit 1
trap 'rm -rf "$copy"' EXIT
missed=0
for patch in "$@"; do
	patch=$(realpath "$patch")
	name=$(basename "$patch" .patch)
	rm -rf "$copy/planted" "$copy/run" && mkdir -p "$copy/planted" "$copy/run"
	cp "$package"/*.go "$copy/planted"
	if ! (cd "$copy/planted" && git apply "$patch"); then
		echo "$name: the patch does not apply"
		missed=1
		continue
	fi
	file=$(sed -n 's#^+++ b/##p' "$patch")
	echo "{\"Replace\": {\"$package/$file\": \"$copy/planted/$file\"}}" >"$copy/overlay.json"
	if ! (cd "$package" && go test -c -fuzz . -overlay "$copy/overlay.json" -o "$copy/test" .); then
		missed=1
		continue
	fi
	start=$(date +%s)
	found=
	for target in FuzzFirstBytes FuzzClientHello; do
		[ -z "$found" ] || continue
		(cd "$copy/run" && "$copy/test" -test.run '^$' -test.fuzz "^$target\$" -test.fuzztime 30s -test.fuzzminimizetime 1x \
			-test.fuzzcachedir "$copy/run/cache") >"$copy/log" 2>&1 || found=$target
	done
	if [ -n "$found" ]; then
		echo "$name: found by $found after $(($(date +%s) - start)) s"
	else
		echo "$name: not found within 30 s"
		missed=1
	fi
done
exit $missed
