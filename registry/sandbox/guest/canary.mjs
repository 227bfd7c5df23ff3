// Tries, with every permission Deno has, what the walls of the sandbox must stop. The service runs
// it at start-up and for `manage.py doctor`; whatever succeeds here makes the self-test fail.
//
//   examine {secret}  -> {escapes: [names]}
//   reach {proxy, host}  -> {answer, escapes: [names]}   in a sandbox with a way out: what the proxy
//       says to a host that is not allowed, and whether a listener of the host's can be reached

const AF_INET = 2;
const AF_INET6 = 10;
const AF_VSOCK = 40;
const SOCK_STREAM = 1;
const CLONE_NEWUSER = 0x10000000;

const libc = Deno.dlopen("libc.so.6", {
  unshare: { parameters: ["i32"], result: "i32" },
  socket: { parameters: ["i32", "i32", "i32"], result: "i32" },
  fork: { parameters: [], result: "i32" },
  _exit: { parameters: ["i32"], result: "void" },
}).symbols;

function succeeds(attempt) {
  try {
    return attempt() !== false;
  } catch {
    return false;
  }
}

function fork() {
  const child = libc.fork();
  if (child === 0) libc._exit(0);
  return child > 0;
}

function examine({ secret }) {
  const attempts = {
    "read a file of the host": () => Deno.readTextFileSync(secret),
    "write to the root folder": () => Deno.writeTextFileSync("/canary", "x"),
    "write to the guest's folder": () => Deno.writeTextFileSync("/rt/canary", "x"),
    "write a kernel setting": () =>
      Deno.writeTextFileSync("/proc/sys/kernel/core_pattern", "core"),
    "make a user namespace": () => libc.unshare(CLONE_NEWUSER) === 0,
    "make an IPv4 socket": () => libc.socket(AF_INET, SOCK_STREAM, 0) >= 0,
    "make an IPv6 socket": () => libc.socket(AF_INET6, SOCK_STREAM, 0) >= 0,
    "make a VM socket": () => libc.socket(AF_VSOCK, SOCK_STREAM, 0) >= 0,
    "start a program": () => new Deno.Command("/usr/bin/deno", { args: ["-V"] }).outputSync(),
    "fork": fork,
  };
  return { escapes: Object.keys(attempts).filter((name) => succeeds(attempts[name])) };
}

async function connects(port) {
  try {
    (await Deno.connect({ hostname: "127.0.0.1", port })).close();
    return true;
  } catch {
    return false;
  }
}

async function reach({ proxy, host }) {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port: proxy });
  const request = "CONNECT denied.invalid:443 HTTP/1.1\r\nHost: denied.invalid:443\r\n\r\n";
  await connection.write(new TextEncoder().encode(request));
  const bytes = new Uint8Array(100);
  const size = await connection.read(bytes);
  const answer = new TextDecoder().decode(bytes.subarray(0, size ?? 0)).split("\r\n")[0];
  return { answer, escapes: (await connects(host)) ? ["reach a port of the host"] : [] };
}

const METHODS = { examine, reach };

for await (const text of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
  const { id, method, params } = JSON.parse(text);
  const result = await METHODS[method](params);
  console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));
}
