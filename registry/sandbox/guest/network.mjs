// Keeps the list of the hosts that this process asked for and may not reach, as `host:port`.
//
// Deno itself is asked whether a host is granted, at the moment somebody wants it: what is denied
// is a fact, whatever the package then makes of the error, and also if it keeps silent about it.

const MAX_HOSTS = 20;
const PROXY = "127.0.0.1:3128";
const PORTS = { "http:": 80, "https:": 443, "ws:": 80, "wss:": 443 };

const querySync = Deno.permissions.querySync.bind(Deno.permissions);
const { NotCapable } = Deno.errors;
const OwnURL = URL;
const OwnRequest = Request;
const { apply, construct } = Reflect;

// Deno's words for a refusal, where no call of ours saw the host (a redirect, an import).
const REFUSAL = /^Requires net access to "([^"]+)"/;

const denied = new Set();
let tell = () => {};

function remember(host) {
  if (denied.has(host)) return;
  denied.add(host);
  tell(host);
}

function note(hostname, port) {
  if (typeof hostname !== "string" || !hostname || denied.size >= MAX_HOSTS) return;
  const bare = hostname.includes(":") && !hostname.startsWith("[") ? `[${hostname}]` : hostname;
  const host = `${bare}:${Number(port) || 443}`;
  try {
    if (querySync({ name: "net", host }).state !== "granted") remember(host.toLowerCase());
  } catch {
    // Not the name of a host: the call itself will say so.
  }
}

function noteAddress(address) {
  try {
    const url = new OwnURL(address instanceof OwnRequest ? address.url : address);
    if (url.protocol in PORTS) note(url.hostname, url.port || PORTS[url.protocol]);
  } catch {
    // Not an address: the call itself will say so.
  }
}

// Calls `before` with the arguments of each call of a function, and whatever that throws is lost.
function watched(own, before) {
  return new Proxy(own, {
    apply(target, self, given) {
      before(...given);
      return apply(target, self, given);
    },
    construct(target, given, made) {
      before(...given);
      return construct(target, given, made);
    },
  });
}

function watch(holder, name, before) {
  if (typeof holder?.[name] === "function") holder[name] = watched(holder[name], before);
}

function noteNodeConnection(first, second) {
  const [given, host] = Array.isArray(first) ? first : [first, second];
  if (given && typeof given === "object") {
    if (!given.path) note(given.host || given.hostname || "localhost", given.port);
  } else if (given !== undefined && !Number.isNaN(Number(given))) {
    note(typeof host === "string" ? host : "localhost", given);
  }
}

// Watch everything through which a package can ask for a host; `told` gets each one it may not reach.
export function watchNetwork(told = () => {}) {
  tell = told;
  watch(globalThis, "fetch", noteAddress);
  watch(globalThis, "WebSocket", noteAddress);
  watch(globalThis, "EventSource", noteAddress);
  for (const name of ["connect", "connectTls"]) {
    watch(Deno, name, (options) => note(options?.hostname ?? "127.0.0.1", options?.port));
  }
  watch(process.getBuiltinModule("node:net").Socket.prototype, "connect", noteNodeConnection);
  // With network, names are the proxy's to resolve, and a port is not known here.
  if (querySync({ name: "net", host: PROXY }).state === "granted") return;
  watch(Deno, "resolveDns", (name) => note(name, 443));
  const dns = process.getBuiltinModule("node:dns");
  for (const holder of [dns, dns.promises]) {
    watch(holder, "lookup", (name) => note(name, 443));
    watch(holder, "resolve", (name) => note(name, 443));
  }
}

// Returns the hosts that were asked for in vain, those that an error tells of among them.
export function deniedHosts(error) {
  for (let depth = 0; error instanceof Error && depth < 5; depth++, error = error.cause) {
    const found = error instanceof NotCapable && REFUSAL.exec(error.message);
    if (found && denied.size < MAX_HOSTS) denied.add(found[1]);
  }
  return [...denied];
}
