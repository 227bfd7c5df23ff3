// Which keys a package looks for: noted as it runs, and found in the text of its own files.
//
// Only names are ever told, never values, and only names that look like keys.

const KEY_LIKE =
  /^(?:[A-Z][A-Z0-9]*_)*(?:API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?|PAT)(?:_[A-Z0-9]+)?$/;
const LONGEST_NAME = 100;
const MOST_NAMES = 20;

const READS =
  /(?:process\.env|import\.meta\.env|env)(?:\??\.([A-Z][A-Z0-9_]*)|\[\s*["'`]([A-Z][A-Z0-9_]*)["'`]\s*\])|env\.get\(\s*["'`]([A-Z][A-Z0-9_]*)["'`]\s*\)/g;
const SOURCE = /\.(?:[cm]?js|[cm]?ts|jsx|tsx)$/;
const DECLARATIONS = /\.d\.[cm]?ts$/;
const MOST_FILES = 2_000;
const MOST_BYTES = 16 << 20;

const isKeyLike = (name) => name.length <= LONGEST_NAME && KEY_LIKE.test(name);

let noted = new Set();
let tell = () => {};

function note(name, value) {
  if (value !== undefined || typeof name !== "string" || !isKeyLike(name)) return value;
  if (!noted.has(name)) {
    noted.add(name);
    tell(name);
  }
  return value;
}

// Note from now on every look at a variable that is not set; `told` gets the name of each.
export function watchEnvironment(told = () => {}) {
  tell = told;
  const get = Deno.env.get.bind(Deno.env);
  Deno.env.get = (name) => note(name, get(name));
  process.env = new Proxy(process.env, {
    get: (env, name, receiver) => note(name, Reflect.get(env, name, receiver)),
  });
}

// Return the names looked for in vain since the last time, and start anew.
export function missedVariables() {
  const names = [...noted].slice(0, MOST_NAMES);
  noted = new Set();
  return names;
}

// List the plain files of a folder that are source text, not those of other packages within it.
function* sources(folder) {
  for (const entry of Deno.readDirSync(folder)) {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory && entry.name !== "node_modules") yield* sources(path);
    else if (entry.isFile && SOURCE.test(path) && !DECLARATIONS.test(path)) yield path;
  }
}

// Return the names of keys that the files in a folder read from the environment.
export function variablesRead(folder) {
  const names = new Set();
  let files = 0;
  let bytes = 0;
  for (const path of sources(folder)) {
    files += 1;
    bytes += Deno.statSync(path).size;
    if (files > MOST_FILES || bytes > MOST_BYTES) break;
    for (const found of Deno.readTextFileSync(path).matchAll(READS)) {
      const name = found[1] ?? found[2] ?? found[3];
      if (isKeyLike(name)) names.add(name);
    }
  }
  return [...names].sort().slice(0, MOST_NAMES);
}
