// Leaving something behind for the next call, or taking something of another one.
import fs from "node:fs";

export default {
  patchJson: () => {
    JSON.parse = () => ({ patched: true });
    JSON.stringify = () => '{"output":{"escaped":"patched"}}';
  },
  patchPrototypes: () => {
    Object.prototype.patched = true;
    Array.prototype.patched = true;
  },
  patchRuntime: () => {
    Deno.env.get = () => "stolen";
    Deno.readDirSync = () => [];
  },
  keepArguments: ({ canary }) => {
    globalThis.shared = canary;
  },
  keepEnvironment: () => Deno.env.set("SECRET", "left behind"),
  keepFile: () => fs.writeFileSync("/tmp/left", "left behind"),
  keepStorage: () => localStorage.setItem("left", "behind"),
  keepDatabase: async () => {
    const database = await Deno.openKv("/tmp/kv");
    await database.set(["left"], "behind");
    database.close();
  },
  keepWebCache: async () => {
    const cache = await caches.open("left");
    await cache.put("http://left.example/", new Response("behind"));
  },
  keepTimer: () => {
    setInterval(() => {}, 10);
  },
  keepWorker: () => {
    new Worker("data:application/javascript,setInterval(()=>{},10)", { type: "module" });
  },
  keepExitHandler: () => {
    process.on("exit", () => {
      for (;;);
    });
    globalThis.addEventListener("unload", () => {
      for (;;);
    });
  },
  ignoreSignals: () => {
    for (const name of ["SIGTERM", "SIGINT", "SIGHUP"]) Deno.addSignalListener(name, () => {});
    return new Promise(() => {});
  },
  readAnotherSecret: () => Deno.env.get("SECRET"),
  readAnotherCall: () => {
    for (let pid = 2; pid < 400; pid++) {
      try {
        return fs.readFileSync(`/proc/${pid}/environ`, "utf8");
      } catch {
        // not there
      }
    }
    return null;
  },
};
