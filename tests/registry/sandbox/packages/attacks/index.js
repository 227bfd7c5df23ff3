// One tool that tries an attack by its name, and one that is honest.
//
// An attack gets what a witness on the host tells it (addresses, paths, process ids). It succeeds
// when it returns something: that is what must never happen. Throwing means that it was refused.
import files from "./files.js";
import neighbours, { hold as keepSecret } from "./neighbours.js";
import network from "./network.js";
import poison from "./poison.js";
import processes from "./processes.js";
import protocol from "./protocol.js";
import resources from "./resources.js";

const attacks = {
  ...files,
  ...network,
  ...processes,
  ...resources,
  ...protocol,
  ...poison,
  ...neighbours,
};
const tool = (execute) => ({ description: "", inputSchema: { type: "object" }, execute });

export const attempt = tool(async ({ name, witness }) => {
  try {
    return { escaped: (await attacks[name](witness)) ?? null };
  } catch (error) {
    return { escaped: null, refused: String(error?.message ?? error).slice(0, 300) };
  }
});

export const names = tool(() => Object.keys(attacks));

// The other call, which keeps a secret while the attacks run.
export const hold = tool(keepSecret);

// What an honest call may see: its arguments, its environment, an untouched runtime, an empty /tmp.
export const honest = tool(({ value }) => ({
  value,
  secret: Deno.env.get("SECRET") ?? null,
  left: [...Deno.readDirSync("/tmp")].map((entry) => entry.name).sort(),
  patched: Object.prototype.patched ?? Array.prototype.patched ?? null,
  shared: globalThis.shared ?? null,
  json: JSON.stringify(JSON.parse('{"a":1}')),
}));
