// Checks of an OpenAI-compatible endpoint with the official Node SDK.
//
// Prints "ok NAME" or "FAIL NAME: why" for each check, then "requests N", the number of HTTP requests that it made.
// run.py starts it; see there for the REALSTACK_* variables.

import OpenAI from 'openai';

const model = process.env.REALSTACK_MODEL;
const models = ['stage-small', 'stage-mid', 'stage-large'];
const routed = process.env.REALSTACK_ROUTED === '1'; // Understudy stands before LiteLLM
const ask = [{ role: 'user', content: 'Name three colours.' }];

let requestsMade = 0;

function client(over = {}) {
  return new OpenAI({
    baseURL: process.env.REALSTACK_BASE_URL,
    apiKey: process.env.REALSTACK_API_KEY,
    maxRetries: 0,
    timeout: 120_000,
    fetch: (...args) => {
      requestsMade++;
      return fetch(...args);
    },
    ...over,
  });
}

function want(condition, why) {
  if (!condition) throw new Error(why);
}

function checkAnswer(answer) {
  want(answer.object === 'chat.completion', `object is ${answer.object}`);
  const { message, finish_reason } = answer.choices[0];
  want(message.role === 'assistant', `role is ${message.role}`);
  want(message.content || message.tool_calls, 'the answer is empty');
  want(finish_reason, 'no finish_reason');
  want(answer.usage.prompt_tokens > 0 && answer.usage.completion_tokens > 0, `usage is ${JSON.stringify(answer.usage)}`);
}

function checkHeaders(headers) {
  if (!routed) return;
  for (const name of ['x-request-id', 'x-routed-model', 'x-prompt-tier']) want(headers.get(name), `no ${name} header`);
  want(models.includes(headers.get('x-routed-model')), `routed to ${headers.get('x-routed-model')}`);
}

// checkStream checks a whole stream, which must hold that many usage chunks, at its end.
async function checkStream(stream, usages) {
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  want(chunks.map((c) => c.choices[0]?.delta.content ?? '').join(''), 'no text arrived');
  want(new Set(chunks.map((c) => c.id)).size === 1, 'the chunks have several ids');
  const finishes = chunks.filter((c) => c.choices[0]?.finish_reason);
  want(finishes.length === 1, `${finishes.length} finish reasons`);
  const withUsage = chunks.filter((c) => c.usage);
  want(withUsage.length === usages, `${withUsage.length} chunks with usage, want ${usages}`);
  if (usages) want(chunks.at(-1).usage?.completion_tokens > 0, 'usage is not in the last chunk');
  else want(chunks.every((c) => c.choices.length > 0), 'a chunk without choices arrived');
}

// rejection returns what the promise throws.
async function rejection(promise) {
  try {
    await promise;
  } catch (e) {
    return e;
  }
  throw new Error('no error');
}

const checks = {
  async chat() {
    const { data, response } = await client()
      .chat.completions.create({ model, messages: ask, max_tokens: 32 })
      .withResponse();
    checkHeaders(response.headers);
    checkAnswer(data);
  },

  async stream_without_usage() {
    const { data, response } = await client()
      .chat.completions.create({ model, messages: ask, max_tokens: 32, stream: true })
      .withResponse();
    checkHeaders(response.headers);
    await checkStream(data, 0);
  },

  async stream_with_usage() {
    const stream_options = { include_usage: true };
    const request = { model, messages: ask, max_tokens: 32, stream: true, stream_options };
    await checkStream(await client().chat.completions.create(request), 1);
  },

  async parallel_chats() {
    const c = client();
    const request = { model, messages: ask, max_tokens: 16 };
    const answers = await Promise.all([c.chat.completions.create(request), c.chat.completions.create(request)]);
    answers.forEach(checkAnswer);
  },

  async tools() {
    const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
    checkAnswer(
      await client().chat.completions.create({
        model,
        messages: [{ role: 'user', content: 'What is the weather in Paris?' }],
        tools: [{ type: 'function', function: { name: 'get_weather', parameters } }],
        max_tokens: 64,
      }),
    );
  },

  async models_list() {
    const got = [];
    for await (const m of client().models.list()) got.push(m.id);
    const missing = [...models, ...(routed ? ['auto'] : [])].filter((id) => !got.includes(id));
    want(missing.length === 0, `missing ${missing} in ${got}`);
  },

  async embeddings() {
    const got = await client().embeddings.create({ model: 'stage-small', input: ['a lighthouse', 'a keeper'] });
    want(got.data.length === 2, `${got.data.length} vectors`);
    want(got.data[0].embedding.length > 100, `${got.data[0].embedding.length} dimensions`);
  },

  async unknown_model() {
    const e = await rejection(client().chat.completions.create({ model: 'no-such-model', messages: ask }));
    want(e instanceof OpenAI.NotFoundError || e instanceof OpenAI.BadRequestError, `threw ${e}`);
    want(e.message.includes('no-such-model'), `the message does not name the model: ${e.message}`);
  },

  async bad_key() {
    const e = await rejection(client({ apiKey: 'sk-wrong' }).chat.completions.create({ model, messages: ask }));
    want(e instanceof OpenAI.AuthenticationError, `threw ${e}`);
  },

  async cancelled_stream() {
    const c = client();
    const messages = [{ role: 'user', content: 'Write a very long story about a lighthouse keeper.' }];
    const stream = await c.chat.completions.create({ model, messages, max_tokens: 3000, stream: true, ignore_eos: true });
    for await (const _ of stream) break; // the SDK aborts the request
    checkAnswer(await c.chat.completions.create({ model, messages: ask, max_tokens: 16 }));
  },
};

for (const [name, check] of Object.entries(checks)) {
  try {
    await check();
    console.log(`ok ${name}`);
  } catch (e) {
    process.exitCode = 1;
    console.log(`FAIL ${name}: ${String(e).replaceAll('\n', ' ')}`);
  }
}
console.log(`requests ${requestsMade}`);
