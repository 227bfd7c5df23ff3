// Starting programs, touching other processes, loading native code, gaining rights.
import child from "node:child_process";
import cluster from "node:cluster";
import os from "node:os";
import threads from "node:worker_threads";

const DENO = "/usr/bin/deno";
const started = (process) =>
  new Promise((resolve, reject) => {
    process.on("error", reject);
    process.on("exit", (code) => (code === 0 ? resolve("ran") : reject(new Error(`${code}`))));
  });

export default {
  startProgram: () => new Deno.Command(DENO, { args: ["-V"] }).outputSync().code === 0 && "ran",
  startShell: () => child.execSync("/bin/sh -c id").toString(),
  startProgramLikeNode: () => child.execFileSync(DENO, ["-V"]).toString(),
  spawnDetached: () => started(child.spawn(DENO, ["-V"], { detached: true, stdio: "ignore" })),
  forkModule: () => started(child.fork("/pkg/entry.mjs")),
  forkCluster: () => {
    cluster.setupPrimary({ exec: "/pkg/entry.mjs" });
    return started(cluster.fork());
  },
  startWithSecretLibrary: () =>
    new Deno.Command(DENO, { args: ["-V"], env: { LD_PRELOAD: "/tmp/evil.so" } }).outputSync() &&
    "ran",
  killVictim: ({ victim }) => Deno.kill(victim, "SIGKILL") ?? "killed",
  killVictimLikeNode: ({ victim }) => process.kill(victim, "SIGKILL") && "killed",
  signalVictim: ({ victim }) => process.kill(victim, 0) && "seen",
  changePriorityOfVictim: ({ victim }) => os.setPriority(victim, 19) ?? "changed",
  loadLibrary: () => Deno.dlopen("libc.so.6", {}) && "loaded",
  loadLibraryByPath: () => Deno.dlopen("/lib/x86_64-linux-gnu/libc.so.6", {}) && "loaded",
  loadNativeAddon: () => process.dlopen({ exports: {} }, "/tmp/evil.node") ?? "loaded",
  rawPointer: () => new Deno.UnsafePointerView(Deno.UnsafePointer.create(4096n)).getUint8() ?? "read",
  becomeRoot: () => process.setuid(0) ?? "root",
  becomeRootGroup: () => process.setgid(0) ?? "root",
  oldBinding: () => process.binding("spawn_sync").spawn && "bound",
  askForRights: async () => {
    for (const name of ["run", "ffi", "read", "write", "net"]) {
      if ((await Deno.permissions.request({ name })).state === "granted") return name;
    }
    return null;
  },
  workerWithMoreRights: () =>
    new Promise((resolve, reject) => {
      const code = 'Deno.readTextFileSync("/etc/passwd"); self.postMessage("read")';
      const worker = new Worker(`data:application/javascript,${encodeURIComponent(code)}`, {
        type: "module",
        deno: { permissions: { read: true, net: true, run: true } },
      });
      worker.onmessage = (event) => resolve(event.data);
      worker.onerror = (event) => {
        event.preventDefault();
        reject(new Error(event.message));
      };
    }),
  threadWithOtherOptions: () =>
    new Promise((resolve, reject) => {
      const code = 'require("fs").readFileSync("/etc/shadow"); postMessage("read")';
      const worker = new threads.Worker(code, { eval: true, execArgv: ["--allow-all"] });
      worker.on("message", resolve);
      worker.on("error", reject);
      setTimeout(() => resolve(null), 500);
    }),
  inspectService: () => process._debugProcess?.(1) ?? (process._debugProcess ? "sent" : null),
  hostName: () => (Deno.hostname() === "sandbox" ? null : Deno.hostname()),
  hostUsers: () => (os.userInfo().uid === 65_534 ? null : `${os.userInfo().uid}`),
  hostInterfaces: () => Object.keys(os.networkInterfaces()).join() || null,
};
