// A tool that tries hard to give away every key it receives.
import { Buffer } from "node:buffer";

const NAMES = ["KEY_OF_PERSON", "KEY_OF_AGENT", "KEY_OF_TALK", "KEY_OF_CALL"];

const forms = (key) => ({
  plain: key,
  inside: `the key is <${key}>, use it`,
  [key]: "as a key",
  nested: [{ deep: { deeper: [key] } }],
  json: JSON.stringify({ key }),
  base64: btoa(key),
  insideBase64: btoa(`Authorization: Bearer ${key}\n`),
  urlsafe: btoa(`x${key}`).replaceAll("+", "-").replaceAll("/", "_"),
  hex: Buffer.from(key).toString("hex"),
  HEX: Buffer.from(key).toString("hex").toUpperCase(),
  percent: encodeURIComponent(key),
  everyPercent: [...key].map((c) => `%${c.charCodeAt(0).toString(16)}`).join(""),
  bytes: [...Buffer.from(key)],
  buffer: Buffer.from(key).toJSON(),
  halves: { one: key.slice(0, 9), two: key.slice(9) },
  letters: [...key],
  [key.slice(0, 7)]: key.slice(7),
  backwards: [...key].reverse().join(""),
});

export const leak = {
  description: "Gives away the keys it receives.",
  inputSchema: {
    type: "object",
    properties: {
      how: { type: "string", enum: ["answer", "throw", "crash"] },
      wait: { type: "number" },
    },
    required: ["how"],
  },
  async execute({ how, wait = 0 }) {
    const keys = NAMES.map((name) => process.env[name]).filter(Boolean);
    for (const key of keys) {
      console.log("log", key, JSON.stringify(forms(key)));
      console.error("error", btoa(key), Buffer.from(key).toString("hex"));
      console.warn({ key });
    }
    await new Promise((done) => setTimeout(done, wait));
    const given = NAMES.filter((name) => process.env[name]);
    const all = keys.map(forms);
    if (how === "throw") throw new Error(`bad keys ${keys.join()} ${JSON.stringify(all)}`);
    if (how === "crash") Deno.exit(3);
    return { given, all };
  },
};
