#!/bin/sh
# Plants each bug of this folder into a copy of the index and expects the fuzz target to find it within a minute,
# from an empty corpus. Prints the seconds of each; exits 0 when all were found.
# Usage: run.sh [PATCH...], by default all patches of this folder.
set -u
plants=$(cd "$(dirname "$0")" && pwd)
router=$(cd "$plants/../../.." && pwd)
module=$(cd "$router/.." && pwd)
[ $# -gt 0 ] || set -- "$plants"/*.patch
copy=$(mktemp -d) || exit 1
trap 'rm -rf "$copy"' EXIT
missed=0
for patch in "$@"; do
	name=$(basename "$patch" .patch)
	rm -rf "$copy/module" && mkdir -p "$copy/module/router"
	cp -R "$router/rule" "$router/index" "$copy/module/router"
	# Another module path keeps out what earlier runs left in the fuzz cache.
	grep '^go ' "$module/go.mod" | sed '1i module planted.example/sluice' >"$copy/module/go.mod"
	grep -rl github.com/sluiceproxy/sluice "$copy/module" |
		xargs sed -i 's#github.com/sluiceproxy/sluice#planted.example/sluice#'
	rm -rf "$copy/module/router/index/testdata/fuzz"
	if ! git -C "$copy/module/router/index" apply "$patch"; then
		echo "$name: the patch does not apply"
		missed=1
		continue
	fi
	# Building is not part of the minute.
	(cd "$copy/module" && go vet ./router/index && go test -run '^$' -fuzz '^FuzzIndexEqualsLinear$' -fuzztime 1x ./router/index) >/dev/null 2>&1
	rm -rf "$copy/module/router/index/testdata/fuzz" "$(go env GOCACHE)/fuzz/planted.example"
	start=$(date +%s)
	if (cd "$copy/module" && go test -run '^$' -fuzz '^FuzzIndexEqualsLinear$' -fuzztime 60s -fuzzminimizetime 1x ./router/index) >"$copy/log" 2>&1; then
		echo "$name: not found within 60 s"
		missed=1
	elif grep -q 'Failing input written to' "$copy/log"; then
		echo "$name: found after $(($(date +%s) - start)) s"
	else
		cat "$copy/log"
		missed=1
	fi
done
rm -rf "$(go env GOCACHE)/fuzz/planted.example"
exit $missed
