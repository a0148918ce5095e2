"""Checks of an OpenAI-compatible endpoint with the official Python SDK.

Prints "ok NAME" or "FAIL NAME: why" for each check, then "requests N", the number of HTTP requests that it made.
run.py starts it; see there for the REALSTACK_* variables.
"""

import asyncio
import os
import sys

import openai

MODEL = os.environ["REALSTACK_MODEL"]
MODELS = {"stage-small", "stage-mid", "stage-large"}
ENDLESS = {"ignore_eos": True}  # llama.cpp goes on up to max_tokens
ROUTED = os.environ.get("REALSTACK_ROUTED") == "1"  # Understudy stands before LiteLLM
ASK = [{"role": "user", "content": "Name three colours."}]
LONG = [{"role": "user", "content": "Write a very long story about a lighthouse keeper."}]
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Current weather of a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}

requests_made = 0


def count(_request):
    global requests_made
    requests_made += 1


async def count_async(request):
    count(request)


def settings(**over):
    return {
        "base_url": os.environ["REALSTACK_BASE_URL"],
        "api_key": os.environ["REALSTACK_API_KEY"],
        "max_retries": 0,
        "timeout": 120,
        **over,
    }


def client(**over):
    http = openai.DefaultHttpxClient(event_hooks={"request": [count]})
    return openai.OpenAI(http_client=http, **settings(**over))


def async_client():
    http = openai.DefaultAsyncHttpxClient(event_hooks={"request": [count_async]})
    return openai.AsyncOpenAI(http_client=http, **settings())


def want(condition, why):
    if not condition:
        raise AssertionError(why)


def check_answer(answer):
    want(answer.object == "chat.completion", f"object is {answer.object!r}")
    choice = answer.choices[0]
    want(choice.message.role == "assistant", f"role is {choice.message.role!r}")
    want(choice.message.content or choice.message.tool_calls, "the answer is empty")
    want(choice.finish_reason, "no finish_reason")
    want(answer.usage.prompt_tokens > 0 and answer.usage.completion_tokens > 0, f"usage is {answer.usage}")


def check_headers(headers):
    if ROUTED:
        for name in ("X-Request-Id", "X-Routed-Model", "X-Prompt-Tier"):
            want(headers.get(name), f"no {name} header")
        want(headers["X-Routed-Model"] in MODELS, f"routed to {headers['X-Routed-Model']!r}")


def check_stream(chunks, usages):
    """Checks a whole stream, which must hold that many usage chunks, at its end."""
    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    want(text, "no text arrived")
    want(len({c.id for c in chunks}) == 1, "the chunks have several ids")
    finishes = [c.choices[0].finish_reason for c in chunks if c.choices and c.choices[0].finish_reason]
    want(len(finishes) == 1, f"finish reasons are {finishes}")
    with_usage = [i for i, c in enumerate(chunks) if c.usage]
    want(len(with_usage) == usages, f"{len(with_usage)} chunks with usage, want {usages}")
    if usages:
        want(with_usage[-1] == len(chunks) - 1, "usage is not in the last chunk")
        want(chunks[-1].usage.completion_tokens > 0, "no completion tokens in usage")
    else:
        want(all(c.choices for c in chunks), "a chunk without choices arrived")


def chat():
    raw = client().chat.completions.with_raw_response.create(model=MODEL, messages=ASK, max_tokens=32)
    check_headers(raw.headers)
    check_answer(raw.parse())


def stream_without_usage():
    raw = client().chat.completions.with_raw_response.create(model=MODEL, messages=ASK, max_tokens=32, stream=True)
    check_headers(raw.headers)
    check_stream(list(raw.parse()), usages=0)


def stream_with_usage():
    stream = client().chat.completions.create(
        model=MODEL, messages=ASK, max_tokens=32, stream=True, stream_options={"include_usage": True}
    )
    check_stream(list(stream), usages=1)


def async_chat():
    async def two_at_once():
        async with async_client() as c:
            ask = lambda: c.chat.completions.create(model=MODEL, messages=ASK, max_tokens=32)
            return await asyncio.gather(ask(), ask())

    for answer in asyncio.run(two_at_once()):
        check_answer(answer)


def async_stream():
    async def collect():
        async with async_client() as c:
            stream = await c.chat.completions.create(model=MODEL, messages=ASK, max_tokens=32, stream=True)
            return [chunk async for chunk in stream]

    check_stream(asyncio.run(collect()), usages=0)


def tools():
    ask = [{"role": "user", "content": "What is the weather in Paris?"}]
    check_answer(client().chat.completions.create(model=MODEL, messages=ask, tools=[WEATHER], max_tokens=64))


def tool_result():
    """A conversation that already holds a tool call and its result."""
    call = {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city":"Paris"}'}}
    messages = [
        {"role": "user", "content": "What is the weather in Paris?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "18 degrees, sunny"},
    ]
    check_answer(client().chat.completions.create(model=MODEL, messages=messages, tools=[WEATHER], max_tokens=32))


def models_list():
    got = {m.id for m in client().models.list()}
    missing = (MODELS | ({"auto"} if ROUTED else set())) - got
    want(not missing, f"missing {sorted(missing)} in {sorted(got)}")


def embeddings():
    got = client().embeddings.create(model="stage-small", input=["a lighthouse", "a keeper"])
    want(len(got.data) == 2, f"{len(got.data)} vectors")
    want(len(got.data[0].embedding) > 100, f"{len(got.data[0].embedding)} dimensions")


def completions():
    got = client().completions.create(model="stage-small", prompt="The sea is", max_tokens=8)
    want(got.choices[0].text, "the completion is empty")


def unknown_model():
    try:
        client().chat.completions.create(model="no-such-model", messages=ASK)
    except (openai.NotFoundError, openai.BadRequestError) as e:
        want("no-such-model" in e.message, f"the message does not name the model: {e.message}")
    else:
        raise AssertionError("no error")


def bad_key():
    try:
        client(api_key="sk-wrong").chat.completions.create(model=MODEL, messages=ASK)
    except openai.AuthenticationError as e:
        want(e.status_code == 401, f"status {e.status_code}")
    else:
        raise AssertionError("no error")


def cancelled_stream():
    c = client()
    with c.chat.completions.create(model=MODEL, messages=LONG, max_tokens=3000, stream=True, extra_body=ENDLESS) as stream:
        want(next(iter(stream)), "no chunk")
    check_answer(c.chat.completions.create(model=MODEL, messages=ASK, max_tokens=16))


CHECKS = [
    chat, stream_without_usage, stream_with_usage, async_chat, async_stream, tools, tool_result,
    models_list, embeddings, completions, unknown_model, bad_key, cancelled_stream,
]  # fmt: skip


def main():
    failed = False
    for check in CHECKS:
        try:
            check()
            print("ok", check.__name__, flush=True)
        except Exception as e:  # whatever goes wrong is the check's result
            failed = True
            why = f"{type(e).__name__}: {e}".replace("\n", " ")
            print(f"FAIL {check.__name__}: {why}", flush=True)
    print("requests", requests_made)
    sys.exit(failed)


if __name__ == "__main__":
    main()
