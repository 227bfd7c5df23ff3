// Reading what is the host's, and writing what is not the call's own.
import fs from "node:fs";

const text = (path) => Deno.readTextFileSync(path).slice(0, 200) || "(empty)";
const wrote = (path, write) => {
  write(path);
  return `wrote ${path}`;
};
const list = (path) => [...Deno.readDirSync(path)].map((entry) => entry.name);

export default {
  readShadow: () => text("/etc/shadow"),
  readCanary: ({ canary }) => text(canary),
  readCanaryLikeNode: ({ canary }) => fs.readFileSync(canary, "utf8"),
  readCanaryThroughRoot: ({ canary }) => text(`/proc/self/root${canary}`),
  readCanaryThroughInit: ({ canary }) => text(`/proc/1/root${canary}`),
  readCanaryThroughWorkingFolder: ({ canary }) => text(`/proc/self/cwd/..${canary}`),
  readCanaryByDots: ({ canary }) => text(`/tmp/../..${canary}`),
  readCanaryByFileAddress: async ({ canary }) => (await fetch(`file://${canary}`)).text(),
  importCanary: ({ canary }) => import(`file://${canary}`, { with: { type: "json" } }),
  readCanaryThroughSymlink: ({ canary }) => {
    Deno.symlinkSync(canary, "/tmp/link");
    return text("/tmp/link");
  },
  readCanaryThroughNodeSymlink: ({ canary }) => {
    fs.symlinkSync(canary, "/tmp/node-link");
    return fs.readFileSync("/tmp/node-link", "utf8");
  },
  readCanaryThroughHardLink: ({ canary }) => {
    Deno.linkSync(canary, "/tmp/hard");
    return text("/tmp/hard");
  },
  copyCanary: ({ canary }) => {
    Deno.copyFileSync(canary, "/tmp/copy");
    return text("/tmp/copy");
  },
  readOwnEnvironmentFile: () => text("/proc/self/environ"),
  readInitEnvironment: () => text("/proc/1/environ"),
  readVictimEnvironment: ({ victim }) => text(`/proc/${victim}/environ`),
  readVictimCommand: ({ victim }) => text(`/proc/${victim}/cmdline`),
  readVictimMemory: ({ victim }) => text(`/proc/${victim}/mem`),
  readVictimFiles: ({ victim }) => list(`/proc/${victim}/fd`).join(),
  listProcesses: () => list("/proc").find((name) => name !== "self"),
  listHostFolders: () => list("/").find((name) => ["home", "root", "var", "work"].includes(name)),
  readKernelKeys: () => text("/proc/keys"),
  readKernelSettings: () => text("/proc/sys/kernel/hostname"),
  readKernelFiles: () => list("/sys").join(),
  readInheritedDescriptors: () => {
    for (let number = 3; number < 64; number++) {
      try {
        const stat = fs.fstatSync(number);
        if (stat.isFile() && stat.size > 0) {
          const content = fs.readFileSync(number, "utf8");
          if (content.includes("canary")) return content;
        }
      } catch {
        // not open
      }
    }
    return null;
  },
  readStore: ({ store }) => list(store).join(),
  readServiceSocketFolder: ({ folder }) => list(folder).join(),
  readMemoryDevice: () => text("/dev/mem"),
  readDisk: () => text("/dev/sda"),
  readKernelLog: () => text("/dev/kmsg"),
  openTerminal: () => Deno.openSync("/dev/tty") && "opened",
  writeCanary: ({ canary }) => wrote(canary, (path) => Deno.writeTextFileSync(path, "mine")),
  writePackage: () => wrote("/pkg/entry.mjs", (path) => Deno.writeTextFileSync(path, "evil")),
  writePackageLikeNode: () => wrote("/pkg/entry.mjs", (path) => fs.appendFileSync(path, "evil")),
  writeDependency: () =>
    wrote("/pkg/node_modules/@outfitter-test/attacks/index.js", (path) =>
      fs.writeFileSync(path, "evil"),
    ),
  replaceThroughSymlink: () => {
    fs.symlinkSync("/pkg/entry.mjs", "/tmp/entry");
    return wrote("/tmp/entry", (path) => fs.writeFileSync(path, "evil"));
  },
  changeModeOfPackage: () => wrote("/pkg/entry.mjs", (path) => Deno.chmodSync(path, 0o777)),
  removePackage: () => wrote("/pkg", (path) => Deno.removeSync(path, { recursive: true })),
  writeGuest: () => wrote("/rt/worker.mjs", (path) => Deno.writeTextFileSync(path, "evil")),
  renameGuest: () => wrote("/rt/worker.mjs", (path) => Deno.renameSync(path, "/tmp/worker.mjs")),
  writeRuntime: () => wrote("/usr/bin/deno", (path) => Deno.truncateSync(path, 0)),
  writeCodeCache: () => wrote("/cache/evil", (path) => fs.writeFileSync(path, "evil")),
  writeHosts: () => wrote("/etc/hosts", (path) => fs.appendFileSync(path, "127.0.0.1 evil")),
  writeKernelSetting: () =>
    wrote("/proc/sys/kernel/core_pattern", (path) => fs.writeFileSync(path, "|/tmp/evil")),
  writeSharedMemory: () => wrote("/dev/shm/evil", (path) => fs.writeFileSync(path, "evil")),
  writeRoot: () => wrote("/evil", (path) => fs.writeFileSync(path, "evil")),
};
