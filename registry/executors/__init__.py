"""How each kind of tool is run: one module per kind, found through `TOOL_EXECUTORS`."""
