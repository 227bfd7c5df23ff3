// Tools that would remember, were they given the chance: between calls, and from their import on.
const tool = (execute) => ({ description: "", inputSchema: { type: "object" }, execute });

const keyAtImport = process.env.KEY ?? null;
let calls = 0;
let ticks = 0;
setInterval(() => {
  ticks += 1;
}, 5);
console.log("imported");

export const counts = tool(() => ++calls);
export const importedWith = tool(() => keyAtImport);
export const ticked = tool(() => ticks);
export const hangs = tool(() => new Promise(() => {}));
export const sleeps = tool(({ ms }) => new Promise((resolve) => setTimeout(resolve, ms, "slept")));
export const throws = tool(() => {
  throw new Error("the tool is not in the mood");
});
export const patches = tool(() => {
  JSON.parse = () => ({ patched: true });
  JSON.stringify = () => '"patched"';
  Object.prototype.patched = true;
  return "patched";
});
