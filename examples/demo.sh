#!/usr/bin/env bash
# Shows Flowgate from the outside: starts dev mode on free ports and a temporary folder, asks for an approval, answers it
# through its link, and tries what a nervous or hostile client would try. It needs Go, curl and a PostgreSQL on the machine.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d "${TMPDIR:-/tmp}/flowgate-demo.XXXXXX")
chmod 755 "$work" # for root, PostgreSQL runs under another account
server=

cleanup() {
  status=$?
  trap - EXIT
  if [ -n "$server" ] && kill -TERM "$server" 2>/dev/null; then
    wait "$server" || status=$?
  fi
  if [ "$status" -ne 0 ] && [ -s "$work/log" ]; then
    printf '\nThe log ends with:\n' >&2
    tail -n 20 "$work/log" >&2
  fi
  rm -rf "$work"
  exit "$status"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# say prints a headline; show prints a command as one would type it, and then the answer.
say() { printf '\n# %s\n' "$1"; }
quote() {
  case $1 in
    *[!A-Za-z0-9_./:-]*) printf " '%s'" "$1" ;;
    *) printf ' %s' "$1" ;;
  esac
}
show() {
  printf '$ curl -sS -i'
  for word in "$@"; do quote "$word"; done
  printf '\n'
  curl -sS -i "$@" | tr -d '\r' | grep -v -i -e '^date:' -e '^content-' -e '^x-' -e '^cache-' -e '^server:' -e '^$'
  printf '\n'
}
# field takes a text member out of a JSON object.
field() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"; }
# until_true asks until the answer is yes, for a minute at most.
until_true() {
  for _ in $(seq 600); do
    if "$@"; then return 0; fi
    kill -0 "$server" 2>/dev/null || { echo 'Flowgate ended early' >&2; return 1; }
    sleep 0.1
  done
  echo 'Flowgate did not get ready in a minute' >&2
  return 1
}

say 'Flowgate starts, with a PostgreSQL of its own'
go build -o "$work/flowgate" ./cmd/flowgate
"$work/flowgate" dev --data-dir "$work/data" --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 >"$work/out" 2>"$work/log" &
server=$!
addresses() { grep -q 'readiness at' "$work/out"; }
until_true addresses
url=$(sed -n 's/.*callbacks and API at \([^,]*\),.*/\1/p' "$work/out")
admin=$(sed -n 's/.*readiness at \(.*\)\/readyz.*/\1/p' "$work/out")
ready() { curl -fsS -o "$work/ready" "$admin/readyz"; }
until_true ready
cat "$work/ready"

json='Content-Type: application/json'
run="$url/v1/runs/trip-1"

say 'A run starts. It opens a hook and waits for a person'
show "$url/v1/runs" -H "$json" -d '{"workflow":"approval.hook","run_id":"trip-1","input":{"subject":"A trip to Lisbon"}}'
opened() { curl -fsS -o "$work/hook" "$run/hooks/approval" 2>/dev/null; }
until_true opened

say 'The link of the hook: the only answer that ever shows it'
show -X POST "$run/hooks/approval/token"
link=$(curl -fsS -X POST "$run/hooks/approval/token" | field url)

say 'An answer of the wrong form is refused, and the hook stays open'
show "$link" -H "$json" -d '{"approved":"perhaps"}'

say 'The answer'
show "$link" -H "$json" -d '{"approved":true,"reviewer":"ada"}'

say 'The same answer again, as a provider repeats it: the first receipt'
show "$link" -H "$json" -d '{"reviewer":"ada","approved":true}'

say 'Another answer is a conflict, whoever sends it'
show "$link" -H "$json" -d '{"approved":false,"reviewer":"ada"}'

say 'A link that is off by one character does not exist'
show "${link}x" -H "$json" -d '{"approved":true}'

say 'How the run ended'
show "$run?wait=10s"

say 'And what happened in it'
show "$run/history"

curl -fsS "$run" | grep -q '"output":{"status":"approved","reviewer":"ada"}' || { echo 'the run did not end as approved' >&2; exit 1; }

say 'Flowgate stops'
kill -TERM "$server"
wait "$server"
server=
echo 'done'
