// Turns a tool's input or output schema into JSON Schema.
//
// The package's own `ai` knows every kind it accepts, so it is asked first. Without it: AI SDK
// `jsonSchema()`, Zod 4, Standard JSON Schema, Zod 3 and plain JSON Schema are read here.

import { zod3ToJsonSchema } from "./zod3.mjs";

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

function optionalRequire(require, name) {
  try {
    return require(name);
  } catch {
    return undefined;
  }
}

const READERS = [
  // `ai` accepts these kinds itself; a bare JSON Schema is none of them.
  (schema, { ai }) => (ai?.asSchema ? ai.asSchema(schema).jsonSchema : undefined),
  (schema) => schema.jsonSchema,
  // `io: "input"` leaves fields with a default optional, as they are for the caller.
  (schema, { zod }) => (schema._zod ? zod()?.toJSONSchema?.(schema, { io: "input" }) : undefined),
  (schema) => schema.toJSONSchema?.({ io: "input" }),
  (schema) => schema["~standard"]?.jsonSchema?.input?.({ target: "draft-2020-12" }),
  (schema) => (schema._def?.typeName ? zod3ToJsonSchema(schema) : undefined),
];

const isPlainJsonSchema = (schema) =>
  typeof schema.type === "string" || isObject(schema.properties) || Array.isArray(schema.anyOf);

// Return `async (schema) => JSON Schema`; `require` resolves as the package itself would.
export function schemaReader(require) {
  const libraries = { ai: optionalRequire(require, "ai"), zod: () => zod(require) };

  return async function jsonSchema(schema) {
    const errors = [];
    if (isObject(schema) && isPlainJsonSchema(schema) && !schema._def && !schema["~standard"]) {
      return withoutDialect(schema);
    }
    for (const read of READERS) {
      try {
        const found = await read(schema, libraries);
        if (isObject(found)) return withoutDialect(found);
      } catch (error) {
        errors.push(error);
      }
    }
    throw new Error(`Its schema cannot be read: ${errors[0]?.message ?? "the kind is unknown"}.`);
  };
}

function zod(require) {
  return optionalRequire(require, "zod/v4") ?? optionalRequire(require, "zod");
}

function withoutDialect({ $schema: _dialect, ...schema }) {
  return schema;
}
