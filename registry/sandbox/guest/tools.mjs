// Finds the tools among a package's exports and describes them.
//
// A tool is an AI SDK tool: something with an `execute` function and an input schema. Its name is
// the path to it: `search`, `default`, `tools.search` (a member of a map) or `search()` (what the
// factory returns when it is called with no arguments).

import { createRequire } from "node:module";
import { variablesRead } from "./environment.mjs";
import { schemaReader } from "./schemas.mjs";

const FACTORY_MILLISECONDS = 2_000;

const isTool = (value) =>
  value !== null &&
  (typeof value === "object" || typeof value === "function") &&
  typeof value.execute === "function";

const hasSchema = (tool) => (tool.inputSchema ?? tool.parameters) !== undefined;

const isMap = (value) =>
  value !== null && typeof value === "object" && !Array.isArray(value) && !isTool(value);

const isClass = (value) => /^class\b/.test(Function.prototype.toString.call(value));

// A function of its own name that needs no arguments may make a tool; only calling it will tell.
const isFactory = (path, value) =>
  typeof value === "function" && value.length === 0 && !path.includes(".") && !isClass(value);

function member(owner, name) {
  return Object.hasOwn(owner, name) ? owner[name] : undefined;
}

// Follow a path such as `tools.search` or `search()` to its tool; undefined when there is none.
export async function findTool(exports, path) {
  const factory = path.endsWith("()");
  const names = (factory ? path.slice(0, -2) : path).split(".");
  let value = exports;
  for (const name of names) {
    if (value === null || !["object", "function"].includes(typeof value)) return undefined;
    value = member(value, name);
  }
  if (factory) value = typeof value === "function" ? await value() : undefined;
  return isTool(value) ? value : undefined;
}

// List `[path, value]` of the exports and of the members of exported maps, named exports first:
// where two names lead to one tool, the first is its name and the others are aliases.
function candidates(exports, problems) {
  const names = Object.keys(exports).sort((a, b) => (a === "default") - (b === "default"));
  const found = [];
  for (const name of names) {
    try {
      const value = exports[name];
      found.push([name, value]);
      if (!isMap(value)) continue;
      for (const key of Object.keys(value)) found.push([`${name}.${key}`, value[key]]);
    } catch (error) {
      problems.push({ export: name, message: String(error?.message ?? error) });
    }
  }
  return found.sort(([a], [b]) => a.includes(".") - b.includes("."));
}

function withinTime(promise, milliseconds) {
  const { promise: late, reject } = Promise.withResolvers();
  const timer = setTimeout(() => reject(new Error("It did not finish in time.")), milliseconds);
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

// Return the describing functions for the package called `packageName`.
export async function toolkit(packageName) {
  const home = Deno.realPathSync(`/pkg/node_modules/${packageName}/package.json`);
  const jsonSchema = schemaReader(createRequire(home));

  async function describeTool(path, tool, aliases) {
    const description = { export: path, aliases, description: String(tool.description ?? "") };
    description.inputSchema = await jsonSchema(tool.inputSchema ?? tool.parameters);
    if (tool.outputSchema) {
      description.outputSchema = await jsonSchema(tool.outputSchema).catch(() => undefined);
    }
    return description;
  }

  async function describeAll(pathsByTool, problems) {
    const tools = [];
    for (const [tool, [path, ...aliases]] of pathsByTool) {
      try {
        tools.push(await describeTool(path, tool, aliases));
      } catch (error) {
        problems.push({ export: path, message: String(error?.message ?? error) });
      }
    }
    return { tools, problems };
  }

  async function describe(exports) {
    const problems = [];
    const pathsByTool = new Map();
    const factories = [];
    for (const [path, value] of candidates(exports, problems)) {
      if (isTool(value) && hasSchema(value)) {
        pathsByTool.set(value, [...(pathsByTool.get(value) ?? []), path]);
      } else if (isTool(value)) {
        problems.push({ export: path, message: "It has `execute` but no input schema." });
      } else if (isFactory(path, value)) {
        factories.push(path);
      }
    }
    const env = variablesRead(home.slice(0, home.lastIndexOf("/")));
    return { ...(await describeAll(pathsByTool, problems)), factories, env };
  }

  async function describeFactories(exports, paths) {
    const problems = [];
    const pathsByTool = new Map();
    for (const path of paths) {
      try {
        const tool = await withinTime(findTool(exports, `${path}()`), FACTORY_MILLISECONDS);
        if (tool && hasSchema(tool)) pathsByTool.set(tool, [`${path}()`]);
      } catch (error) {
        problems.push({ export: `${path}()`, message: String(error?.message ?? error) });
      }
    }
    return describeAll(pathsByTool, problems);
  }

  return { describe, describeFactories };
}
