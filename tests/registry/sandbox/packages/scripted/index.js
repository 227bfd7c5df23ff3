import { readdirSync } from "node:fs";

// Answers with its own files: had a lifecycle script run, `ran` would be among them.
export const files = {
  description: "List the package's files.",
  inputSchema: { type: "object" },
  execute: () => readdirSync("/pkg/node_modules/@outfitter-test/scripted").sort(),
};
