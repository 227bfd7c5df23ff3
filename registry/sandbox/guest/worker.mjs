// Runs one npm package inside the sandbox. Speaks JSON-RPC 2.0 with the sandbox service:
// one JSON object per line, requests on stdin, answers and `log` notifications on stdout.
//
//   load {name, env}                  -> {}            set the environment, then import the package
//   describe {}                       -> {tools, problems, factories}
//   describe_factories {exports}      -> {tools, problems}
//   call {export, arguments}          -> {output, denied_hosts?}
//
// `denied_hosts` lists as `host:port` what the package asked for and may not reach; an error has it
// in its `data`.
//
// An error's `data.missing_env` names the keys that were looked for in vain during the request.
//
// A process serves one caller and is then killed, so what a package does to this file's globals
// harms nobody but itself. The functions below are taken before the package can replace them.

import { deniedHosts, watchNetwork } from "./network.mjs";
import { missedVariables, watchEnvironment } from "./environment.mjs";
import { findTool, toolkit } from "./tools.mjs";

const CHUNK_BYTES = 65_536;
const MAX_LOG_CHARACTERS = 8_192;
const MAX_MESSAGE_CHARACTERS = 4_000;
const CODE = { toolFailed: -32000, importFailed: -32001, unknownExport: -32002, badOutput: -32003 };

const { parse, stringify } = JSON;
const encoder = new TextEncoder();
const readInput = Deno.stdin.read.bind(Deno.stdin);
const writeSync = Deno.stdout.writeSync.bind(Deno.stdout);
const exit = Deno.exit.bind(Deno);

class Refusal extends Error {
  constructor(code, message, cause) {
    super(message, { cause });
    this.code = code;
  }
}

function write(line) {
  let bytes = encoder.encode(line);
  while (bytes.length > 0) bytes = bytes.subarray(writeSync(bytes));
}

function send(message) {
  write(`${stringify({ jsonrpc: "2.0", ...message })}\n`);
}

function shortText(value, limit) {
  let text;
  try {
    text = typeof value === "string" ? value : Deno.inspect(value);
  } catch {
    text = "[a value that cannot be shown]";
  }
  return text.slice(0, limit);
}

function log(level, parts) {
  const text = parts.map((part) => shortText(part, MAX_LOG_CHARACTERS)).join(" ");
  send({ method: "log", params: { level, text: text.slice(0, MAX_LOG_CHARACTERS) } });
}

// Standard output is the protocol: what a package prints becomes a log line instead.
function divertOutput() {
  for (const level of ["debug", "info", "log", "warn", "error", "trace", "dir", "table"]) {
    console[level] = (...parts) => log(level, parts);
  }
  const decoder = new TextDecoder();
  const writeToLog = (bytes) => {
    log("log", [typeof bytes === "string" ? bytes : decoder.decode(bytes)]);
    return bytes.length;
  };
  Deno.stdout.writeSync = writeToLog;
  Deno.stdout.write = (bytes) => Promise.resolve(writeToLog(bytes));
  process.stdout.write = (bytes, ...rest) => {
    writeToLog(bytes);
    rest.findLast((item) => typeof item === "function")?.();
    return true;
  };
  globalThis.addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    log("error", ["Unhandled rejection:", event.reason]);
  });
}

function errorText(error) {
  let text;
  try {
    text = error instanceof Error ? error.message || error.name : shortText(error, 4_000);
  } catch {
    text = "The error cannot be shown.";
  }
  return String(text).slice(0, MAX_MESSAGE_CHARACTERS);
}

// Turn a tool's answer into JSON text once, so that what cannot be carried is named here.
function outputText(output) {
  let text;
  try {
    text = stringify(output);
  } catch (error) {
    throw new Refusal(CODE.badOutput, `The tool's answer is not JSON: ${errorText(error)}`);
  }
  if (text === undefined && output !== undefined) {
    throw new Refusal(CODE.badOutput, `The tool answered with a ${typeof output}, not with JSON.`);
  }
  return text ?? "null";
}

let packageName = "";
let exports_ = {};

async function load({ name, env }) {
  for (const [key, value] of Object.entries(env)) Deno.env.set(key, value);
  packageName = name;
  await rehearse();
  try {
    const entry = await import("file:///pkg/entry.mjs");
    exports_ = await entry.load();
  } catch (error) {
    throw new Refusal(CODE.importFailed, errorText(error), error);
  }
  return "{}";
}

// Do once what every call does, so that the engine has compiled it before the first. No code of the
// package is there yet.
async function rehearse() {
  await findTool({ tool: { execute() {} } }, "tool");
  callOptions();
  deniedHosts();
  outputText({ output: null });
}

function callOptions() {
  return {
    toolCallId: crypto.randomUUID(),
    messages: [],
    abortSignal: new AbortController().signal,
  };
}

async function describe() {
  return stringify(await (await toolkit(packageName)).describe(exports_));
}

async function describeFactories({ exports }) {
  return stringify(await (await toolkit(packageName)).describeFactories(exports_, exports));
}

async function call({ export: name, arguments: input }) {
  const tool = await findTool(exports_, name);
  if (!tool) {
    const names = Object.keys(exports_).slice(0, 20).join(", ") || "nothing";
    throw new Refusal(
      CODE.unknownExport,
      `The package has no tool "${name}". It exports ${names}.`,
    );
  }
  let output = await tool.execute(input, callOptions());
  // A streaming tool yields preliminary results; the last one is the answer (AI SDK).
  if (typeof output?.[Symbol.asyncIterator] === "function") {
    let last;
    for await (const value of output) last = value;
    output = last;
  }
  const text = outputText(output);
  const denied = deniedHosts();
  if (denied.length === 0) return `{"output":${text}}`;
  return `{"output":${text},"denied_hosts":${stringify(denied)}}`;
}

const METHODS = { load, describe, describe_factories: describeFactories, call };

let asked = null;

function failure(id, error) {
  const code = error instanceof Refusal ? error.code : CODE.toolFailed;
  const data = { denied_hosts: deniedHosts(error), missing_env: missedVariables() };
  return `${stringify({ jsonrpc: "2.0", id, error: { code, message: errorText(error), data } })}\n`;
}

async function answer({ id, method, params }) {
  asked = id;
  let line;
  missedVariables(); // those of an earlier request are not this one's
  try {
    line = `{"jsonrpc":"2.0","id":${id},"result":${await METHODS[method](params)}}\n`;
  } catch (error) {
    line = failure(id, error);
  }
  if (asked === id) write(line);
  asked = null;
}

// An error that nobody caught ends the process. Where a denied host is behind it, that is said.
globalThis.addEventListener("error", ({ error }) => {
  if (asked === null || deniedHosts(error).length === 0) return;
  write(failure(asked, error));
  asked = null;
});

// Yield what the service sends; a stream of Deno's would hand each piece through several promises.
async function* input() {
  const decoder = new TextDecoder();
  const buffer = new Uint8Array(CHUNK_BYTES);
  let size;
  while ((size = await readInput(buffer)) !== null) {
    yield decoder.decode(buffer.subarray(0, size), { stream: true });
  }
}

divertOutput();
watchNetwork();
watchEnvironment();
let pending = "";
for await (const text of input()) {
  const lines = (pending + text).split("\n");
  pending = lines.pop();
  for (const line of lines) answer(parse(line));
}
exit(0);
