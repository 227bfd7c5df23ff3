// Wants the network already when it is imported.
const response = await fetch("https://elsewhere.example/settings.json");
export const settings = {
  description: "Tells its settings.",
  inputSchema: { type: "object" },
  execute: () => response.status,
};
