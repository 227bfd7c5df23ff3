// An MCP server in plain JavaScript. Its first argument says what it does, its second where.
import { createInterface } from "node:readline";
import process from "node:process";

const [how, url] = process.argv.slice(2);
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
const said = (text, isError = false) => ({ content: [{ type: "text", text }], isError });
const read = async () => (await fetch(url)).text();

// In its first milliseconds, before anybody has asked for anything.
const early = how === "early" ? read().then(said, (error) => said(String(error), true)) : null;
if (how === "exits") await read();
if (how === "aside") await read().catch(() => {});
if (how === "needs-key" && !process.env.DEMO_API_KEY) process.exit(1);
const seenAtStart = process.env.SOME_TOKEN ?? "nothing";

const ways = {
  early: () => early,
  fetches: () => read().then(said, (error) => said(String(error), true)),
  softly: () => read().then(said, () => said(JSON.stringify({ success: false }))),
  answersAnError: () => read().then(said, () => Promise.reject(new Error("no"))),
  fails: async () => said("It is broken.", true),
  looks: async () => (process.env.DEMO_API_KEY ? said("has it") : said("Set the key first.", true)),
  "needs-key": async () => said("started"),
  environment: async () => said(`${seenAtStart} ${process.env.PATH} ${process.argv.length}`),
  aside: async () => said("done"),
  hangs: () => new Promise(() => setInterval(() => {}, 1_000)),
};

createInterface({ input: process.stdin }).on("line", async (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === "initialize") {
    send({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "network", version: "1" } } });
  } else if (method === "tools/list") {
    send({ id, result: { tools: [{ name: "act", description: "Do it.", inputSchema: { type: "object" } }] } });
  } else if (method === "tools/call") {
    try {
      send({ id, result: await ways[how]() });
    } catch (error) {
      send({ id, error: { code: -32603, message: error.message } });
    }
  }
});
