"""Runs `understudy eval` with the real small model behind LiteLLM and llama.cpp: what is recalled memory worth to it?

usage: evaluate.py DIR [flags of understudy eval ...]     (results go to DIR; default flags: see FLAGS)

Needs what run.sh needs, and is not part of the checks: on two cores it takes a quarter of an hour. The model judges nothing
by default, since it can't; -judge stage-small shows that the judge's path works.
"""

import json
import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import install
import run

FLAGS = ["-conditions", "memory", "-model", run.STAGES[0], "-suite", "own", "-max-tokens", "120", "-seeds", "3", "-concurrency", "2"]


def main() -> int:
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    out = Path(sys.argv[1]).resolve()
    llama_folder, python = install.llama_cpp(), install.stage_python()
    binary = install.CACHE / "understudy"
    install.command("go", "build", "-o", binary, ".")
    shutil.rmtree(run.RUN, ignore_errors=True)
    run.RUN.mkdir(parents=True)
    with ExitStack() as stack:
        llama, llama_url = run.start_llama(llama_folder)
        stack.callback(run.stop, llama)
        litellm, litellm_url = run.start_litellm(python, llama_url)
        stack.callback(run.stop, litellm)
        config = {"upstreams": {"default": {"base_url": f"{litellm_url}/v1", "api_key_env": "REALSTACK_KEY"}}}
        (run.RUN / "eval.yaml").write_text(json.dumps(config))
        argv = [binary, "eval", "-config", "eval.yaml", "-out", out, *(sys.argv[2:] or FLAGS)]
        return subprocess.run(argv, cwd=run.RUN, env=run.environment(REALSTACK_KEY=run.KEY)).returncode


if __name__ == "__main__":
    sys.exit(main())
