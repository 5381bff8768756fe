// A client of the official SDK against 'llmcalc mcp': every tool, errors, resources, cancellation, and the end.
//   node sdk.mjs PROGRAM      with @modelcontextprotocol/sdk in node_modules next to this file

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const program = process.argv[2];
const transport = () => new StdioClientTransport({ command: program, args: ["mcp"], stderr: "pipe" });

async function connected() {
  const client = new Client({ name: "test", version: "1" });
  const pipe = transport();
  let errors = "";
  pipe.stderr?.on("data", (chunk) => (errors += chunk));
  await client.connect(pipe);
  return { client, pipe, errors: () => errors };
}

// Arguments with which every tool answers, and the same command as typed.
const calls = {
  params: [{ model: "gpt2" }, "params gpt2"],
  memory: [{ model: "gpt2", hardware: "h100" }, "memory gpt2 --hardware h100"],
  flops: [{ model: "gpt2" }, "flops gpt2"],
  train: [{ model: "gpt2", hardware: "h100", inputs: { dp: 8 } }, "train gpt2 --hardware h100 --dp 8"],
  infer: [{ model: "gpt2", hardware: "h100" }, "infer gpt2 --hardware h100"],
  report: [{ model: "gpt2", hardware: "h100" }, "report gpt2 --hardware h100"],
  plan_train: [{ model: "gpt2", hardware: "h100", inputs: { gpus: 2 } }, "plan train gpt2 --hardware h100 --gpus 2"],
  plan_serve: [
    { model: "gpt2", hardware: "h100", inputs: { rate: 1, num_requests: 50, slo_tpot: "1s" } },
    "plan serve gpt2 --hardware h100 --rate 1 --num-requests 50 --slo-tpot 1s",
  ],
  serve: [
    { model: "gpt2", hardware: "h100", inputs: { rate: 1, num_requests: 50 } },
    "serve gpt2 --hardware h100 --rate 1 --num-requests 50",
  ],
  fit: [{ model: "gpt2", hardware: "rtx-4090" }, "fit gpt2 --hardware rtx-4090"],
  explain: [{ inputs: { quantity: "mfu" } }, "explain mfu"],
  diagnose: [{ inputs: { log: "not a log" } }, null],
  scaling: [{ inputs: { compute: 1e24 } }, "scaling --compute 1e24"],
  collective: [
    { hardware: "h100", inputs: { operation: "all-reduce", bytes: "1GB", ranks: 8 } },
    "collective all-reduce --bytes 1GB --ranks 8 --hardware h100",
  ],
  list: [{ inputs: { kind: "dtypes" } }, "list dtypes"],
  show: [{ inputs: { name: "h100" } }, "show h100"],
  import: [{ model: { model_type: "gpt2", vocab_size: 50257, n_positions: 1024, n_embd: 768, n_layer: 12, n_head: 12 } }, null],
  compare: [{ sides: [{ command: "params", model: "gpt2" }, { command: "params", model: "llama-3.1-8b" }] }, null],
};

async function tools({ client }) {
  const { tools } = await client.listTools();
  assert.deepEqual(tools.map((t) => t.name).sort(), Object.keys(calls).sort());
  for (const tool of tools) {
    const [args, typed] = calls[tool.name];
    const result = await client.callTool({ name: tool.name, arguments: args }); // validates the structured content
    assert.equal(result.isError, tool.name === "diagnose", tool.name);
    assert.ok(result.content[0].text.length > 0);
    if (typed === null) continue;
    const printed = spawnSync(program, [...typed.split(" "), "--json"], { encoding: "utf8" }).stdout;
    assert.deepEqual(result.structuredContent, JSON.parse(printed), typed);
  }
}

async function errors({ client }) {
  const refused = await client.callTool({ name: "train", arguments: { model: "gpt2", hardware: "h100", inputs: { tp: 0 } } });
  assert.equal(refused.isError, true);
  assert.equal(refused.structuredContent.error.key, "tp");
  const file = await client.callTool({ name: "params", arguments: { model: "/etc/passwd" } });
  assert.equal(file.isError, true);
  await assert.rejects(client.callTool({ name: "shell", arguments: {} }), /unknown tool/);
}

async function resources({ client }) {
  let cursor, count = 0;
  do {
    const page = await client.listResources({ cursor });
    count += page.resources.length;
    cursor = page.nextCursor;
  } while (cursor);
  assert.ok(count > 350, `${count} resources`);
  const { resourceTemplates } = await client.listResourceTemplates();
  assert.equal(resourceTemplates.length, 4);
  const { contents } = await client.readResource({ uri: "llmcalc://models/gpt-2-124m" });
  assert.equal(JSON.parse(contents[0].text).layers, 12);
  const { completion } = await client.complete({
    ref: { type: "ref/resource", uri: "llmcalc://models/{name}" },
    argument: { name: "name", value: "gpt-2" },
  });
  assert.ok(completion.values.includes("gpt-2-124m"));
  await assert.rejects(client.readResource({ uri: "llmcalc://models/absent" }), /not a resource/);
}

const search = { name: "plan_train", arguments: { model: "gpt-3-175b", hardware: "a100", inputs: { gpus: 4096, global_batch: 4096 } } };

async function cancellation({ client }) {
  const stop = new AbortController();
  let progress = 0;
  const running = client.callTool(search, undefined, {
    signal: stop.signal,
    onprogress: () => {
      progress += 1;
      stop.abort("enough");
    },
  });
  await assert.rejects(running);
  assert.ok(progress > 0);
  await client.ping(); // the server still answers
}

// The client closes during a search: the program must end by itself, before the SDK terminates it after two seconds.
async function closing() {
  const { client, pipe, errors } = await connected();
  const program = pipe._process;
  const ended = new Promise((resolve) => program.once("exit", (code, signal) => resolve({ code, signal })));
  client.callTool(search).catch(() => {});
  await client.ping();
  await client.close();
  assert.deepEqual(await ended, { code: 0, signal: null });
  assert.equal(errors(), "");
}

const session = await connected();
assert.equal(session.client.getServerVersion().name, "llmcalc");
for (const part of [tools, errors, resources, cancellation]) await part(session);
await session.client.close();
assert.equal(session.errors(), "");
await closing();
console.log("the SDK's client: every part passed");
