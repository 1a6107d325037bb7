#!/usr/bin/env bash
# Starts three `sluice whoami` endpoints and Sluice in front of them, from the root of the repository, and stops all of them
# together: on Ctrl-C or SIGTERM, or when one of them ends. Its exit code is that of the process that ended by itself,
# or 130 and 143 after the signals.   usage: run.sh [SLUICE]
set -uo pipefail
set -m # Every process gets a group of its own, so that Ctrl-C reaches this script alone and the order of stopping is ours.
sluice=$(realpath "${1:-dist/sluice}") || exit 1
cd "$(dirname "$0")/../../.." || exit 1
example=deploy/examples/quickstart
ready=http://127.0.0.1:8080/ready

endpoints=()
router=
end() { # Sluice first, so that what it still serves finds its endpoint.
  trap '' INT TERM
  for pid in $router ${endpoints[@]+"${endpoints[@]}"}; do
    kill -TERM "$pid" 2>/dev/null && wait "$pid" 2>/dev/null
  done
  exit "$1"
}
trap 'end 130' INT
trap 'end 143' TERM HUP

if "$sluice" healthcheck --url "$ready" >/dev/null 2>&1; then
  echo "quickstart: something answers on $ready already; stop it first" >&2
  exit 1
fi

start=("blue 9001" "green 9002" "amber 9003")
for one in "${start[@]}"; do
  "$sluice" whoami --name "${one% *}" --address "127.0.0.1:${one#* }" </dev/null >/dev/null &
  endpoints+=($!)
done
"$sluice" --configFile="$example/sluice.yaml" </dev/null &
router=$!

alive() { # Whether every process still runs; the first that does not has said why, and its exit code is ours.
  local pid
  for pid in "$router" "${endpoints[@]}"; do
    kill -0 "$pid" 2>/dev/null || { wait "$pid"; end $?; }
  done
}

answers=("$ready") # Sluice may be ready before an endpoint listens.
for one in "${start[@]}"; do answers+=("http://127.0.0.1:${one#* }/health"); done
for url in "${answers[@]}"; do
  until "$sluice" healthcheck --url "$url" >/dev/null 2>&1; do
    alive
    sleep 0.1
  done
done
alive # Somebody else could have answered.
cat <<EOT

Sluice is ready. Try, from another terminal:

  curl http://whoami.localhost:8000/                   one host, one endpoint
  curl http://localhost:8000/api/users                 a path prefix, stripped on the way
  curl http://localhost:8000/split                     three of four to blue, one to amber
  curl -i http://localhost:8000/                       all three in turn, with a header added both ways
  curl -k https://whoami.localhost:8443/               the same host with TLS and HTTP/2
  curl $ready                     whether every provider is in

Then edit $example/dynamic/routes.yaml and ask again. Ctrl-C stops everything.

EOT
wait -n "$router" "${endpoints[@]}"
end $?
