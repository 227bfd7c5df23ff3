// Tools whose schemas are made by the real Zod, the third and the fourth, without the AI SDK.

import { z as four } from "zod";
import { z as three } from "zod/v3";

const tool = (description, inputSchema) => ({
  description,
  inputSchema,
  execute: (input) => ({ description, parsed: inputSchema.parse(input) }),
});

const fields = (z) =>
  z.object({
    name: z.string().min(2).describe("Who"),
    age: z.number().int().optional(),
    mode: z.enum(["a", "b"]).default("a"),
    tags: z.array(z.string()).max(3),
  });

export const third = tool("third", fields(three));
export const fourth = tool("fourth", fields(four));
export const made = () => tool("made", four.object({ text: four.string() }));

// Keys that its code reads in every way there is, and variables that are no keys.
export const reads = tool("reads", four.object({}));
reads.execute = () => {
  const { env } = process;
  const found = [
    process.env.DOTTED_API_KEY,
    process.env["QUOTED_TOKEN"],
    Deno.env.get("DENO_SECRET"),
  ];
  const others = [env.HOME, process.env.NODE_ENV, process.env.PAGE_SIZE];
  throw new Error(`Found ${found.filter(Boolean).length} keys, not ${others.length}.`);
};
// A variable is not set by being tested for, nor noted by being there.
export const given = tool("given", four.object({}));
given.execute = () => {
  if (!process.env.GIVEN_API_KEY) throw new Error("not given");
  throw new Error("given, and yet it failed");
};
