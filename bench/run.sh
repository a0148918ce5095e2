#!/usr/bin/env bash
# Measures Understudy against the floors in this folder and nginx, with all
# features on and on bypass. Writes full.json, full.md, bypass.json, bypass.md
# and, with jq, summary.md into a folder.
#
#   bench/run.sh [DIR [FLAGS OF understudy bench...]]      default: bench/out
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
out=${1:-out}
[ $# -eq 0 ] || shift
mkdir -p "$out"
out=$(cd "$out" && pwd)
tmp=$(mktemp -d)
started=()
cleanup() {
  for pid in "${started[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait
  rm -rf "$tmp"
}
trap cleanup EXIT

# port prints a free one.
port() {
  python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# serving waits until somebody listens on a port.
serving() {
  for _ in $(seq 100); do
    if (: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null; then return; fi
    sleep 0.1
  done
  echo "NOTHING LISTENS ON PORT $1" >&2
  return 1
}

echo "building" >&2
(cd .. && CGO_ENABLED=0 go build -o "$tmp/understudy" .)
CGO_ENABLED=0 go build -o "$tmp/fiberproxy" ./fiberproxy
CGO_ENABLED=0 go build -o "$tmp/fastproxy" ./fastproxy

upstream=$(port)
"$tmp/understudy" bench upstream -listen "127.0.0.1:$upstream" >/dev/null &
started+=($!)
serving "$upstream"

peers=()
for name in fiberproxy fastproxy; do
  p=$(port)
  "$tmp/$name" "127.0.0.1:$p" "127.0.0.1:$upstream" &
  started+=($!)
  serving "$p"
  peers+=(-peer "$name=http://127.0.0.1:$p/v1,$!")
done

if ! command -v nginx >/dev/null; then
  { apt-get update -qq && apt-get install -y -qq nginx-light; } >&2 || true
fi
if command -v nginx >/dev/null; then
  p=$(port)
  sed "s|DIR|$tmp|; s|UPSTREAM|127.0.0.1:$upstream|; s|LISTEN|127.0.0.1:$p|" nginx.conf >"$tmp/nginx.conf"
  nginx -c "$tmp/nginx.conf" 2>/dev/null &
  started+=($!)
  serving "$p"
  peers+=(-peer "nginx=http://127.0.0.1:$p/v1,$!")
else
  echo "NGINX CAN'T BE INSTALLED: MEASURING WITHOUT IT" >&2
fi

for path in full bypass; do
  flags=()
  [ "$path" = full ] || flags=(-bypass)
  "$tmp/understudy" bench -json -upstream "http://127.0.0.1:$upstream/v1" "${peers[@]}" "${flags[@]}" "$@" >"$out/$path.json"
  "$tmp/understudy" bench -table "$out/$path.json" | tee "$out/$path.md"
  echo
done

# The summary: one line a cell, processor time in µs and as a multiple.
if ! command -v jq >/dev/null; then
  echo "NO jq: NO SUMMARY" >&2
  exit 0
fi
{
  echo "| cell | added p50 µs | added p99 | first byte p50 | CPU µs | × nginx | bypass: added p50 | CPU | × fiberproxy | × fastproxy | RSS MB |"
  echo "|---|---|---|---|---|---|---|---|---|---|---|"
  jq -rn --slurpfile full "$out/full.json" --slurpfile bypass "$out/bypass.json" '
    def row($report; $cell; $target): [$report[0].rows[] | select(.cell == $cell and .target == $target)][0];
    def times: if . == null or . == 0 then "" else . * 100 | round / 100 | tostring end;
    $full[0].rows | map(.cell) | reduce .[] as $c ([]; if index($c) then . else . + [$c] end) | .[] as $cell
    | row($full; $cell; "understudy") as $f | row($bypass; $cell; "understudy") as $b
    | [$cell, ($f.added_p50_us, $f.added_p99_us, $f.added_first_byte_p50_us, $f.cpu_us | round), (row($full; $cell; "nginx").cpu_ratio | times),
       ($b.added_p50_us, $b.cpu_us | round), (row($bypass; $cell; "fiberproxy", "fastproxy").cpu_ratio | times), ($f.rss_mb | round)]
    | "| " + (map(tostring) | join(" | ")) + " |"'
} | tee "$out/summary.md"
