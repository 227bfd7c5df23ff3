// A tool that does little and imports what most tools import.
import { tool } from "ai";
import { z } from "zod";

const inputSchema = z.object({ a: z.number(), b: z.number().default(1) });

export const add = tool({
  description: "Add two numbers.",
  inputSchema,
  execute: (input) => {
    const { a, b } = inputSchema.parse(input);
    return a + b;
  },
});
