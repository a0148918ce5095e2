#!/usr/bin/env bash
# Runs Understudy end to end against software that nobody here wrote. See run.py, and docs/REALSTACK.md for a transcript.
#
#   test/realstack/run.sh            clients -> Understudy -> LiteLLM -> llama.cpp
#   test/realstack/run.sh --direct   clients -> LiteLLM -> llama.cpp, to tell whose fault a failure is
#
# Needs python3 (3.11 or newer, with venv), node and npm, go, and a C++ compiler. Everything else is installed from the
# package registries into .cache/realstack (REALSTACK_CACHE overrides the place) and kept there for the next run.
set -euo pipefail
exec python3 -u "$(dirname "${BASH_SOURCE[0]}")/run.py" "$@"
