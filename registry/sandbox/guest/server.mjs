// Runs before an MCP server's own script, in its process.
//
// The first line on stdin is `{env}` from the sandbox service: so no value of a variable stands in
// the process's first environment or on a command line, and the server cannot begin before the
// service is ready for it. It is read byte by byte, so that all that follows is the server's.
//
// What the server asks for in vain is told to the service between the server's own messages:
// `{method: "outfitter/wanted", params: {host} | {variable}}`. The service passes none of it on.

import { watchEnvironment } from "./environment.mjs";
import { watchNetwork } from "./network.mjs";

const LINE_FEED = 10;

const { stringify } = JSON;
const write = process.stdout.write.bind(process.stdout);

function firstLine() {
  const bytes = [];
  const one = new Uint8Array(1);
  while (Deno.stdin.readSync(one) && one[0] !== LINE_FEED) bytes.push(one[0]);
  return new TextDecoder().decode(new Uint8Array(bytes));
}

function tell(params) {
  write(`${stringify({ jsonrpc: "2.0", method: "outfitter/wanted", params })}\n`);
}

const { env } = JSON.parse(firstLine());
for (const [name, value] of Object.entries(env)) {
  if (Deno.env.get(name) === undefined) Deno.env.set(name, value);
}
watchNetwork((host) => tell({ host }));
watchEnvironment((variable) => tell({ variable }));
