// Turns a tool's input or output schema into JSON Schema.
//
// Zod 4 is read with the package's own `zod`. For the rest its own `ai` knows every kind it accepts,
// so it is asked first; without it, AI SDK `jsonSchema()`, Standard JSON Schema, Zod 3 and plain
// JSON Schema are read here.

import { zod3ToJsonSchema } from "./zod3.mjs";

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

function optionalRequire(require, name) {
  try {
    return require(name);
  } catch {
    return undefined;
  }
}

// Zod 4 keeps descriptions in a registry of its module. `require` gets another copy of that module
// than the package imported, so each schema is asked itself for what its own registry says.
function ownWords({ zodSchema, jsonSchema }) {
  const told = zodSchema.meta?.() ?? {};
  for (const word of ["title", "description", "examples", "deprecated"]) {
    if (told[word] !== undefined) jsonSchema[word] ??= told[word];
  }
}

const ZOD_4 = { io: "input", override: ownWords };

const READERS = [
  // `io: "input"` leaves fields with a default optional, as they are for the caller.
  (schema, { zod }) => (schema._zod ? zod()?.toJSONSchema?.(schema, ZOD_4) : undefined),
  // `ai` accepts these kinds itself; a bare JSON Schema is none of them.
  (schema, { ai }) => (ai?.asSchema ? ai.asSchema(schema).jsonSchema : undefined),
  (schema) => schema.jsonSchema,
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
