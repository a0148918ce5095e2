"""Runs the OpenAI SDKs against Understudy before a real LiteLLM, llama.cpp server and model; then checks the account.

Prints "ok NAME", "FAIL NAME: why" or "skip NAME: why" for each check, and at the end "N passed, N failed" (and the
skipped ones if there are any). All servers listen on free loopback ports and are stopped at the end. The same lines go to
transcript.txt in the cache folder, and what the servers said goes to its folder run.

The clients (client.py, client.mjs, goclient) get their settings from the environment:
  REALSTACK_BASE_URL   the endpoint, with /v1
  REALSTACK_API_KEY    a key that LiteLLM accepts
  REALSTACK_MODEL      the model that chat requests name
  REALSTACK_ROUTED     1: the endpoint is Understudy, so its headers and virtual models must be there
"""

import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.request
from contextlib import ExitStack, closing
from pathlib import Path

import install
import prefix

RUN = install.CACHE / "run"
KEY = "sk-realstack"
STAGES = ["stage-small", "stage-mid", "stage-large"]
STEPS = ["python", "node", "go", "account", "prefix"]


class Report:
    """Prints the result of each check, counts them, and keeps a transcript."""

    def __init__(self, transcript: Path):
        self.passed = self.failed = self.skipped = 0
        self.file = transcript.open("w")

    def say(self, line: str) -> None:
        print(line, flush=True)
        print(line, file=self.file, flush=True)

    def ok(self, name: str) -> None:
        self.passed += 1
        self.say(f"ok {name}")

    def fail(self, name: str, why: str) -> None:
        self.failed += 1
        self.say(f"FAIL {name}: {why}")

    def skip(self, name: str, why: str) -> None:
        self.skipped += 1
        self.say(f"skip {name}: {why}")

    def check(self, name: str, condition: bool, why: str) -> None:
        if condition:
            self.ok(name)
        else:
            self.fail(name, why)

    def finish(self) -> int:
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        self.say(f"{self.passed} passed, {self.failed} failed{skipped}")
        return 1 if self.failed else 0


# Servers


def environment(**more: str) -> dict:
    """This environment without settings that would lead a program to another key, server or configuration."""
    foreign = ("OPENAI_", "UNDERSTUDY_", "LITELLM_")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(foreign)}
    return kept | {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"} | more


def free_port() -> int:
    with closing(socket.socket()) as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def start(name: str, argv: list, ready: str, **env: str) -> subprocess.Popen:
    """Starts a server and waits until the URL ready answers 200."""
    log = RUN / f"{name}.log"
    with log.open("w") as out:
        process = subprocess.Popen(
            argv, cwd=RUN, env=environment(**env), stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT
        )
    deadline = time.monotonic() + 120
    while process.poll() is None and time.monotonic() < deadline:
        try:
            if request(ready).status == 200:
                return process
        except OSError:
            pass  # not listening yet, or not ready
        time.sleep(0.2)
    stop(process)
    tail = "\n".join(log.read_text().splitlines()[-30:])
    raise RuntimeError(f"{name} did not become ready:\n{tail}")


def stop(process: subprocess.Popen) -> int:
    """Stops a server that was started here, waits for it, and returns its exit code."""
    process.terminate()
    try:
        return process.wait(timeout=40)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def start_llama(folder: Path) -> tuple[subprocess.Popen, str]:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    # One thread a decode: with more, each waits for all at every layer, which crawls when something else needs a core.
    argv = [folder / "llama-server", "-m", folder / install.MODEL, "--host", "127.0.0.1", "--port", str(port),
            "--ctx-size", "8192", "--parallel", "2", "--threads", "1", "--embeddings", "--pooling", "mean", "--metrics"]  # fmt: skip
    return start("llama", argv, f"{url}/health"), url


def start_litellm(python: Path, llama: str) -> tuple[subprocess.Popen, str]:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    model = {"model": "openai/smollm2", "api_base": f"{llama}/v1", "api_key": "none"}
    config = {
        "model_list": [{"model_name": name, "litellm_params": model} for name in STAGES],
        "general_settings": {"custom_auth": "stage_auth.check"},
        "litellm_settings": {"telemetry": False, "num_retries": 0},
    }
    (RUN / "litellm.yaml").write_text(json.dumps(config, indent=2))  # JSON is YAML
    shutil.copy(install.HERE / "stage_auth.py", RUN)  # LiteLLM looks beside its configuration
    argv = [python.parent / "litellm", "--config", "litellm.yaml", "--host", "127.0.0.1", "--port", str(port)]
    process = start("litellm", argv, f"{url}/health/liveliness",
                    LITELLM_MASTER_KEY=KEY, LITELLM_LOCAL_MODEL_COST_MAP="True", HF_HUB_OFFLINE="1")  # fmt: skip
    return process, url


def start_understudy(binary: Path, litellm: str) -> tuple[subprocess.Popen, str]:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    prices = {"stage-small": (0.1, 0.4), "stage-mid": (1, 4), "stage-large": (5, 20)}
    tiers = {"stage-small": "small", "stage-mid": "mid", "stage-large": "frontier"}
    small, mid, large = STAGES
    config = {
        "listen": f"127.0.0.1:{port}",
        "data_dir": "data",
        "upstreams": {"default": {"base_url": f"{litellm}/v1", "api_key_env": ""}},  # the client's own key goes through
        "models": [
            {"name": name, "id": name, "upstream": "default", "tier": tiers[name], "context": 4096, "max_output": 4096,
             "supports": ["tools"], "price": dict(zip(("input", "output"), prices[name]))}
            for name in STAGES
        ],
        "routing": {
            "profile": "balanced",
            "profiles": {
                "eco": {"light": small, "standard": small, "heavy": mid},
                "balanced": {"light": small, "standard": mid, "heavy": large},
                "premium": {"light": mid, "standard": large, "heavy": large},
            },
            "process_types": {"channel": mid, "branch": mid, "worker": small, "compactor": small, "cortex": small},
        },
    }  # fmt: skip
    (RUN / "understudy.yaml").write_text(json.dumps(config, indent=2))
    return start("understudy", [binary, "serve", "-config", "understudy.yaml"], f"{url}/readyz"), url


# Clients


def run_client(report: Report, name: str, argv: list, env: dict, parse=str.splitlines) -> int:
    """Reports what a client's checks printed; returns the number of requests that it made."""
    with (RUN / f"client-{name}.log").open("w") as log:
        done = subprocess.run(
            argv, cwd=install.ROOT, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True, timeout=600
        )
    requests, results = None, 0
    for line in parse(done.stdout):
        if found := re.fullmatch(r"ok (\S+)", line):
            report.ok(f"{name}/{found[1]}")
        elif found := re.fullmatch(r"FAIL (\S+): (.*)", line):
            report.fail(f"{name}/{found[1]}", found[2])
        elif found := re.fullmatch(r"requests (\d+)", line):
            requests = int(found[1])
            continue
        else:
            continue
        results += 1
    if results == 0 or requests is None:
        report.fail(f"{name}/run", f"it broke off with exit code {done.returncode}; see client-{name}.log")
    return requests or 0


def go_test_lines(output: str):
    """Yields the lines of run_client's format from the events of go test -json."""
    said = {}
    for event in map(json.loads, output.splitlines()):
        test, text = event.get("Test", ""), event.get("Output", "")
        check = test.partition("/")[2]
        if event["Action"] == "output":
            said[test] = said.get(test, "") + text.strip() + " "
            if found := re.search(r"requests \d+", text):
                yield found[0]
        elif check and event["Action"] == "pass":
            yield f"ok {check}"
        elif check and event["Action"] == "fail":
            yield f"FAIL {check}: {said.get(test, '')}"


def check_released(report: Report, name: str, llama: str) -> None:
    """The client's last check broke off a stream of thousands of tokens: the model server must soon be idle."""
    deadline = time.monotonic() + 10
    while busy := metric(llama, "llamacpp:requests_processing"):
        if time.monotonic() > deadline:
            break
        time.sleep(0.1)
    report.check(f"{name}/cancel_reaches_model", not busy, f"the model server still works on {busy:.0f} requests")


# The account


def request(url: str, body: dict | None = None, **headers: str):
    """Sends a request (GET without a body) and returns the response, read whole into .text."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {KEY}"} | headers
    with urllib.request.urlopen(urllib.request.Request(url, data, headers), timeout=120) as response:
        response.text = response.read().decode()
        return response


def metric(url: str, name: str, label: str = "") -> float:
    """The sum of a metric over all its labels, or over those series that have the label."""
    lines = request(f"{url}/metrics").text.splitlines()
    return sum(float(line.split()[-1]) for line in lines if re.match(re.escape(name) + r"[{ ]", line) and label in line)


def ask(url: str, text: str, session: str):
    headers = {"X-Agent-Id": "realstack", "X-User-Id": "ada", "X-Session-Id": session}
    body = {"model": "auto", "messages": [{"role": "user", "content": text}], "max_tokens": 32}
    return request(f"{url}/v1/chat/completions", body, **headers)


def check_routing(report: Report, url: str) -> int:
    """A greeting and a hard question go to different models, and LiteLLM says the same as we do."""
    hard = (
        "Design and analyse a fault-tolerant distributed rate limiter: first derive the algorithm step by step, then prove why "
        "it never exceeds its limit, then evaluate the trade-offs between consistency and latency. It must use at most 3 "
        "replicas, must not need synchronised clocks, and the database migration has to run without downtime."
    )
    for name, text, want in [("light", "hi there!", "stage-small"), ("heavy", hard, "stage-large")]:
        headers = ask(url, text, f"routing-{name}").headers
        got = headers["X-Routed-Model"], headers["x-litellm-model-group"]
        report.check(f"account/routes_{name}", got == (want, want), f"we say {got[0]}, LiteLLM {got[1]}, want {want}")
    return 2


def check_memory(report: Report, url: str) -> int:
    """What the user decides in one conversation is recalled in another one."""
    ask(url, "We decided to use PostgreSQL 16 for the billing service.", "memory-first")
    for tries in range(1, 11):  # learning happens after the answer
        response = ask(url, "Which database did we decide to use for the billing service?", f"memory-later-{tries}")
        used = int(response.headers.get("X-Memory-Used") or 0)
        if used:
            break
        time.sleep(0.5)
    report.check("account/memory_recalled", used > 0, "X-Memory-Used stays 0")
    return 1 + tries


def check_ledger(report: Report, chats: float, cancelled: int) -> None:
    """Every chat request has a row; the answered ones have tokens, a price and a balance."""
    with closing(sqlite3.connect(f"file:{RUN / 'data/ledger.db'}?mode=ro", uri=True)) as db:
        outcomes = dict(db.execute("SELECT outcome, count(*) FROM requests GROUP BY outcome"))
        tokens, priced, balanced = db.execute(
            "SELECT sum(usage_known AND input > 0 AND output > 0), sum(cost > 0),"
            " sum(baseline - cost = saved_routing + saved_memory + saved_scaffold + saved_cache + saved_retries + saved_background)"
            " FROM requests WHERE outcome = 'ok'"
        ).fetchone()
    rows, answered, gone = sum(outcomes.values()), outcomes.get("ok", 0), outcomes.get("client_cancelled", 0)
    report.say(f"# ledger: {outcomes}")
    report.check("account/ledger_has_all", rows == chats > 0, f"{rows} rows, {chats:.0f} chat requests counted")
    report.check("account/ledger_cancelled", gone == cancelled, f"{gone} rows say client_cancelled, {cancelled} streams were")
    report.check("account/ledger_has_tokens", tokens == answered, f"{tokens} of {answered} answered requests have tokens")
    report.check("account/ledger_is_priced", priced == answered, f"{priced} of {answered} answered requests have a cost")
    report.check("account/ledger_adds_up", balanced == answered, f"{balanced} of {answered} answered requests add up")


def check_prefix(report: Report, binary: Path, llama: str) -> None:
    """What Understudy adds to a conversation leaves the model's prompt cache its worth."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    (RUN / "prefix.yaml").write_text(prefix.config(port, llama))
    understudy = start("prefix", [binary, "serve", "-config", "prefix.yaml"], f"{url}/readyz")
    try:
        prefix.check(report, request, llama, url)
    finally:
        stop(understudy)


# The whole run


def say_versions(report: Report, llama: Path, node: Path | None) -> None:
    def output(*argv, env=None) -> str:
        done = subprocess.run(argv, capture_output=True, text=True, env=env, cwd=install.ROOT)
        return (done.stdout + done.stderr).strip()

    def package(python: Path, name: str) -> str:
        return output(python, "-c", f"from importlib.metadata import version; print(version('{name}'))")

    llama_version = output(llama / "llama-server", "--version")
    report.say(f"# model      {install.MODEL}")
    report.say(f"# llama.cpp  {re.search(r'version: (.*)', llama_version)[1]}")
    report.say(f"# LiteLLM    {package(install.stage_python(), 'litellm')}")
    report.say(f"# Python SDK {package(install.client_python(), 'openai')}, Python {sys.version.split()[0]}")
    if node:
        sdk = json.loads((node / "node_modules/openai/package.json").read_text())["version"]
        report.say(f"# Node SDK   {sdk}, Node {output('node', '--version')}")
    sdk = output("go", "list", "-m", "-f", "{{.Version}}", "github.com/openai/openai-go/v3")
    report.say(f"# Go SDK     {sdk}, {output('go', 'env', 'GOVERSION')}")


def run_clients(report: Report, url: str, model: str, routed: bool, llama: str, node: Path | None) -> int:
    """Runs all clients, one after the other; returns the number of their requests."""
    env = environment(REALSTACK_BASE_URL=f"{url}/v1", REALSTACK_API_KEY=KEY, REALSTACK_MODEL=model,
                      REALSTACK_ROUTED="1" if routed else "0")  # fmt: skip
    clients = [("python", [install.client_python(), install.HERE / "client.py"], str.splitlines)]
    if node:
        clients.append(("node", ["node", node / "client.mjs"], str.splitlines))
    go = ["go", "test", "-tags=realstack", "-count=1", "-json", "./test/realstack/goclient"]
    clients.append(("go", go, go_test_lines))
    requests = 0
    for name, argv, parse in clients:
        requests += run_client(report, name, argv, env, parse)
        check_released(report, name, llama)
    return requests


def run(report: Report, direct: bool) -> None:
    llama_folder, python = install.llama_cpp(), install.stage_python()
    install.client_python()
    try:
        node = install.node_client()
    except install.Unreachable:
        node = None
        report.say("NPM REGISTRY UNREACHABLE: THE NODE CLIENT IS SKIPPED")
        report.skip("node", "its registry can't be reached")
    say_versions(report, llama_folder, node)
    binary = install.CACHE / "understudy"
    if not direct:
        install.command("go", "build", "-o", binary, ".")

    with ExitStack() as stack:
        llama, llama_url = start_llama(llama_folder)
        stack.callback(stop, llama)
        litellm, litellm_url = start_litellm(python, llama_url)
        stack.callback(stop, litellm)
        if direct:
            run_clients(report, litellm_url, STAGES[0], False, llama_url, node)
            report.skip("account", "Understudy takes no part")
            return
        understudy, url = start_understudy(binary, litellm_url)
        stack.callback(stop, understudy)

        requests = run_clients(report, url, "auto", True, llama_url, node)
        requests += check_routing(report, url) + check_memory(report, url)
        counted = metric(url, "understudy_requests_total")
        report.check("account/metrics_count", counted == requests, f"{counted:.0f} requests counted, {requests} made")
        for name in ("understudy_tokens_total", "understudy_cost_usd_total"):
            report.check(f"account/{name}", metric(url, name) > 0, "is 0")
        for name in ("understudy_failopen_total", "understudy_fallbacks_total"):  # the models were well all the time
            times = metric(url, name)
            report.check(f"account/{name}", times == 0, f"is {times:.0f}, want 0")
        chats = metric(url, "understudy_requests_total", 'endpoint="chat"')
        code = stop(understudy)
        report.check("account/stops_cleanly", code == 0, f"exit code {code}")
        check_ledger(report, chats, cancelled=3 if node else 2)  # one a client
        check_prefix(report, binary, llama_url)


def main() -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the servers are stopped
    shutil.rmtree(RUN, ignore_errors=True)
    RUN.mkdir(parents=True)
    report = Report(install.CACHE / "transcript.txt")
    begin = time.monotonic()
    try:
        run(report, direct="--direct" in sys.argv[1:])
    except install.Unreachable as e:
        report.say(f"{e} UNREACHABLE: THE REAL STACK IS SKIPPED".upper())
        for step in STEPS:
            report.skip(step, "the registry can't be reached")
    except Exception as e:  # reported, so that the last line always tells
        report.fail("run", f"{type(e).__name__}: {e}")
    report.say(f"# {time.monotonic() - begin:.0f} s")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
