#!/usr/bin/env bash
# Looks for known vulnerabilities in what the program calls, with the toolchain that go.mod names. The database is the module
# golang.org/x/vulndb, so a module proxy is all that has to be reached.
#
#   tools/vulncheck.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

read -r version reports < <(cd "$tmp" && go mod download -json golang.org/x/vulndb@latest |
  sed -n 's/^\t"Version": "\(.*\)",$/\1/p; s/^\t"Dir": "\(.*\)",$/\1/p' | paste -sd' ')
echo "database $version" >&2
(cd "$tmp" && go run "golang.org/x/vulndb/cmd/indexdb@$version" -vulns "$reports/data/osv" -out "$tmp/db")
GOTOOLCHAIN=$(sed -n 's/^toolchain //p' go.mod) go run golang.org/x/vuln/cmd/govulncheck@v1.9.0 -db "file://$tmp/db" ./...
