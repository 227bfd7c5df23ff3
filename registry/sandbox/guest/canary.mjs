// Tries, with every permission Deno has, what the walls of the sandbox must stop. The service runs
// it at start-up and for `manage.py doctor`; whatever succeeds here makes the self-test fail.
//
//   examine {secret}  -> {escapes: [names]}

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

for await (const text of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
  const { id, params } = JSON.parse(text);
  console.log(JSON.stringify({ jsonrpc: "2.0", id, result: examine(params) }));
}
