export const never = { inputSchema: { type: "object" }, execute: () => "installed" };
