"""Holds what Understudy promises of prompt caches against a real one: llama-server's.

The same conversation, of ten turns with answers that are given, goes to llama-server alone and through Understudy, whose
memory grows meanwhile. llama-server says how many tokens of each prompt it had in its cache.
"""

import json

TURNS = 10
SYSTEM = "You are a helpful engineer at a small company. " * 10
SERVICES = ["ledger", "billing", "payroll", "checkout", "search", "catalogue", "inbox", "calendar", "reporting", "identity"]
TOOLS = ["PostgreSQL", "Kafka", "NATS", "Redis", "SQLite", "ClickHouse", "RabbitMQ", "Elasticsearch", "Nomad", "Vault"]


def config(port: int, llama: str) -> str:
    """Understudy right before llama-server, with one model and nothing to route."""
    return json.dumps({
        "listen": f"127.0.0.1:{port}",
        "data_dir": "prefix-data",
        "upstreams": {"default": {"base_url": f"{llama}/v1", "api_key_env": ""}},
        "models": [{"name": "smollm2", "id": "smollm2", "upstream": "default", "tier": "mid", "context": 4096, "max_output": 64,
                    "supports": [], "price": {"input": 1, "output": 4}}],
        "routing": {"enabled": False},
    })  # fmt: skip


def play(request, url: str, **headers: str) -> tuple[int, int]:
    """Plays the conversation; the prompt tokens from the second turn on, and how many of them were cached."""
    history = [{"role": "system", "content": SYSTEM}]
    prompt = cached = 0
    for turn, (service, tool) in enumerate(zip(SERVICES, TOOLS)):
        if headers:  # something new to know, said elsewhere
            said = {"role": "user", "content": f"We decided to use {tool} for the {service} service."}
            elsewhere = headers | {"X-Session-Id": "elsewhere", "X-Context-Mode": "none"}
            request(f"{url}/v1/chat/completions", {"model": "smollm2", "messages": [said], "max_tokens": 5}, **elsewhere)
        history.append({"role": "user", "content": f"Which tool do we use for the {service} service, and why did we choose it?"})
        body = {"model": "smollm2", "messages": history, "max_tokens": 5, "temperature": 0}
        usage = json.loads(request(f"{url}/v1/chat/completions", body, **headers).text)["usage"]
        if turn > 0:
            prompt += usage["prompt_tokens"]
            cached += usage["prompt_tokens_details"]["cached_tokens"]
        history.append({"role": "assistant", "content": f"For the {service} service it is {tool}, because the team knows it well."})
    return prompt, cached


def check(report, request, llama: str, understudy: str) -> None:
    """The share of cached tokens with Understudy in front is within 5 % of that without."""
    alone_prompt, alone = play(request, llama)
    ours_prompt, ours = play(request, understudy, **{"X-User-Id": "ada", "X-Session-Id": "prefix"})
    report.say(f"# cached: {alone} of {alone_prompt} tokens alone, {ours} of {ours_prompt} with Understudy in front")
    report.check("prefix/something_was_added", ours_prompt > alone_prompt, "the prompts are no longer than without us")
    share_alone, share = alone / alone_prompt, ours / ours_prompt
    report.check("prefix/cache_is_kept", share >= 0.95 * share_alone > 0, f"{share:.1%} cached, {share_alone:.1%} without us")
