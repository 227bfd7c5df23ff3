// Every way in which packages export tools, without the AI SDK being there.

const schema = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };
const tool = (description, inputSchema = schema) => ({
  description,
  inputSchema,
  execute: ({ text }) => `${description}: ${text}`,
});

export const plain = tool("plain");
export const wrapped = tool("wrapped", {
  jsonSchema: { $schema: "http://json-schema.org/draft-07/schema#", ...schema },
});
export const lateSchema = tool("late", { jsonSchema: Promise.resolve(schema) });
export const alias = plain;
export const older = { description: "older", parameters: schema, execute: () => "older" };

export const tools = { inMap: tool("in a map"), plain };
export const callable = Object.assign(() => callable, tool("callable"));
export const factory = (options = {}) => tool(`made for ${options.who ?? "nobody"}`);
export const needsKey = () => {
  if (!process.env.SHAPES_KEY) throw new Error("SHAPES_KEY is not set");
  return tool("keyed");
};
export const helper = (text) => text.length;
export class Client {
  execute() {}
}
export const bare = { execute: () => "no schema" };
export const unreadable = tool("unreadable", { strange: true });
export const VERSION = "1.0.0";

// Zod 3, as far as its schemas can be told from the outside.
const zod = (typeName, rest = {}, optional = false) => ({
  _def: { typeName, ...rest },
  isOptional: () => optional,
});
export const zod3 = tool(
  "zod 3",
  zod("ZodObject", {
    shape: () => ({
      name: { ...zod("ZodString", { checks: [{ kind: "min", value: 2 }] }), description: "Who" },
      age: zod("ZodOptional", { innerType: zod("ZodNumber", { checks: [{ kind: "int" }] }) }, true),
      mode: zod("ZodDefault", {
        innerType: zod("ZodEnum", { values: ["a", "b"] }),
        defaultValue: () => "a",
      }, true),
    }),
  }),
);
export default plain;
