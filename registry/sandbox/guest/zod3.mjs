// Converts a Zod 3 schema to JSON Schema, for packages that ship Zod 3 without the AI SDK.
// It covers what tool inputs are made of; any other kind becomes `{}`, which accepts everything.

const CHECKS = {
  string: {
    min: ({ value }) => ({ minLength: value }),
    max: ({ value }) => ({ maxLength: value }),
    length: ({ value }) => ({ minLength: value, maxLength: value }),
    email: () => ({ format: "email" }),
    url: () => ({ format: "uri" }),
    uuid: () => ({ format: "uuid" }),
    datetime: () => ({ format: "date-time" }),
    regex: ({ regex }) => ({ pattern: regex.source }),
  },
  number: {
    int: () => ({ type: "integer" }),
    min: ({ value, inclusive }) => ({ [inclusive ? "minimum" : "exclusiveMinimum"]: value }),
    max: ({ value, inclusive }) => ({ [inclusive ? "maximum" : "exclusiveMaximum"]: value }),
    multipleOf: ({ value }) => ({ multipleOf: value }),
  },
};

function checked(type, definition) {
  const schema = { type };
  for (const check of definition.checks ?? []) {
    Object.assign(schema, CHECKS[type][check.kind]?.(check));
  }
  return schema;
}

function object(definition) {
  const properties = {};
  const required = [];
  for (const [name, field] of Object.entries(definition.shape())) {
    properties[name] = zod3ToJsonSchema(field);
    if (!field.isOptional()) required.push(name);
  }
  const closed = definition.unknownKeys === "passthrough" ? {} : { additionalProperties: false };
  return { type: "object", properties, ...(required.length && { required }), ...closed };
}

function array(definition) {
  const schema = { type: "array", items: zod3ToJsonSchema(definition.type) };
  if (definition.minLength) schema.minItems = definition.minLength.value;
  if (definition.maxLength) schema.maxItems = definition.maxLength.value;
  return schema;
}

const inner = (definition) => zod3ToJsonSchema(definition.innerType);
const options = (definition) => ({
  anyOf: [...definition.options.values()].map(zod3ToJsonSchema),
});

const KINDS = {
  ZodString: (definition) => checked("string", definition),
  ZodNumber: (definition) => checked("number", definition),
  ZodBoolean: () => ({ type: "boolean" }),
  ZodNull: () => ({ type: "null" }),
  ZodLiteral: ({ value }) => ({ const: value }),
  ZodEnum: ({ values }) => ({ type: "string", enum: values }),
  ZodNativeEnum: ({ values }) => ({ enum: Object.values(values) }),
  ZodObject: object,
  ZodArray: array,
  ZodTuple: ({ items }) => ({ type: "array", prefixItems: items.map(zod3ToJsonSchema) }),
  ZodRecord: ({ valueType }) => ({
    type: "object",
    additionalProperties: zod3ToJsonSchema(valueType),
  }),
  ZodUnion: options,
  ZodDiscriminatedUnion: options,
  ZodIntersection: ({ left, right }) => ({ allOf: [left, right].map(zod3ToJsonSchema) }),
  ZodOptional: inner,
  ZodReadonly: inner,
  ZodCatch: inner,
  ZodNullable: (definition) => ({ anyOf: [inner(definition), { type: "null" }] }),
  ZodDefault: (definition) => ({ ...inner(definition), default: definition.defaultValue() }),
  ZodBranded: ({ type }) => zod3ToJsonSchema(type),
  ZodEffects: ({ schema }) => zod3ToJsonSchema(schema),
  ZodPipeline: (definition) => zod3ToJsonSchema(definition.in),
};

export function zod3ToJsonSchema(schema) {
  const definition = schema._def;
  const converted = KINDS[definition.typeName]?.(definition) ?? {};
  return schema.description ? { ...converted, description: schema.description } : converted;
}
