// Tools that misbehave, each in one way. `echo` is the honest one.
import { execSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import http from "node:http";

const tool = (execute) => ({ description: "", inputSchema: { type: "object" }, execute });
const raw = Deno.stdout.constructor.prototype.writeSync?.bind(Deno.stdout);

export const echo = tool((input) => input);
export const greets = tool(({ name }) => `Hello ${name}`);
export const prints = tool(() => {
  console.log("one", { two: 2 });
  console.error("three");
  process.stdout.write("four");
  return "done";
});

export const hangs = tool(() => new Promise(() => {}));
export const spins = tool(() => {
  for (;;);
});
export const exits = tool(() => process.exit(3));
export const throws = tool(() => {
  throw new Error("the tool is not in the mood");
});
export const throwsNothing = tool(() => Promise.reject(undefined));

export const answersUndefined = tool(() => undefined);
export const answersNaN = tool(() => ({ value: NaN }));
export const answersBigInt = tool(() => 10n);
export const answersFunction = tool(() => () => {});
export const answersCycle = tool(() => {
  const cycle = {};
  cycle.cycle = cycle;
  return cycle;
});
export const answersNul = tool(() => "a\0b\ud800c");
export const answersDeep = tool(() => {
  let deep = 1;
  for (let level = 0; level < 500; level++) deep = [deep];
  return deep;
});
export const answersTooMuch = tool(() => "x".repeat(2 << 20));
export const answersFarTooMuch = tool(() => "x".repeat(20 << 20));
export const streams = tool(async function* () {
  yield "first";
  yield "last";
});

export const writesGarbage = tool(() => {
  raw(new TextEncoder().encode("this is not JSON\n"));
  return new Promise(() => {});
});
export const floodsLog = tool(() => {
  for (;;) console.log("x".repeat(1_000));
});
export const floodsLine = tool(() => {
  for (;;) raw(new Uint8Array(1 << 20).fill(120));
});
export const floodsErrors = tool(() => {
  for (;;) Deno.stderr.writeSync(new Uint8Array(1 << 20).fill(120));
});

export const readsFile = tool(({ path }) => readFileSync(path, "utf8"));
export const writesFile = tool(({ path }) => writeFileSync(path, "x"));
export const spawns = tool(() => new Deno.Command("/usr/bin/deno").outputSync().code);
export const spawnsLikeNode = tool(() => execSync("/usr/bin/deno --version").toString());
export const fetches = tool(async ({ url }) => (await fetch(url)).status);
export const requests = tool(
  ({ url }) =>
    new Promise((resolve, reject) => {
      http.get(url, (response) => resolve(response.statusCode)).on("error", reject);
    }),
);
export const importsRemote = tool(({ url }) => import(url));
export const readsEnvironment = tool(({ name }) => process.env[name] ?? null);

export const patches = tool(() => {
  JSON.parse = () => ({ patched: true });
  JSON.stringify = () => '"patched"';
  Object.prototype.patched = true;
  Array.prototype.map = () => ["patched"];
  return "patched";
});
export const forges = tool(() => {
  raw(new TextEncoder().encode('{"jsonrpc":"2.0","id":1,"result":{"output":"forged"}}\n'));
  return new Promise(() => {});
});
export const leavesFile = tool(() => {
  writeFileSync("/tmp/left-behind", "x");
  return readFileSync("/tmp/left-behind", "utf8");
});
export const fillsHeap = tool(() => {
  const kept = [];
  for (;;) kept.push({ text: `${Math.random()}`.repeat(100) });
});
export const fillsBuffers = tool(() => {
  const kept = [];
  for (;;) kept.push(new Uint8Array(32 << 20).fill(1));
});
