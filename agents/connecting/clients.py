"""Settings of well-known MCP clients, in the form that each takes today."""

import shlex

from agents.connecting.place import Place
from agents.connecting.snippets import (
    PLACEHOLDER,
    VARIABLE,
    Client,
    Snippet,
    exported,
    is_local,
    json_snippet,
    shell_snippet,
    toml_text,
)
from config.lib.types import JsonObject

MODERN = "2026-07-28"


def clients_for(place: Place, token: str = "") -> list[Client]:
    """Return every client with its settings for an address, with this token in them."""
    token = token or PLACEHOLDER
    return [
        _claude_code(place, token),
        _claude_desktop(place, token),
        _cursor(place, token),
        _vs_code(place, token),
        _codex(place, token),
        _gemini(place, token),
        _windsurf(place, token),
        _any(place, token),
        _bridge(place, token),
    ]


def _bearer(token: str) -> JsonObject:
    return {"Authorization": f"Bearer {token}"}


def _servers(place: Place, server: JsonObject, under: str = "mcpServers") -> JsonObject:
    return {under: {place.name: server}}


def _claude_code(place: Place, token: str) -> Client:
    http: JsonObject = {"type": "http", "url": place.url}
    add = f"claude mcp add --transport http {place.name} {shlex.quote(place.url)}"
    header = shlex.quote(f"Authorization: Bearer {token}")
    return Client(
        key="claude-code",
        name="Claude Code",
        how="Run the command, or keep the file in your project. “/mcp” shows whether it is there.",
        snippets=(
            shell_snippet(f"{add} --header {header}"),
            json_snippet(".mcp.json", _servers(place, {**http, "headers": _bearer(token)})),
        ),
        signed_in=(shell_snippet(add),),
    )


def _claude_desktop(place: Place, token: str) -> Client:
    return Client(
        key="claude-desktop",
        name="Claude Desktop",
        how="Settings › Developer › Edit Config. Its file takes programs alone, so that one which "
        "needs Node.js stands between. An address with https can also be added under Settings › "
        "Connectors, where you sign in.",
        snippets=(json_snippet("claude_desktop_config.json", _bridged(place, token)),),
        signed_in=(Snippet(where="Add custom connector", language="shell", text=place.url),),
    )


def _cursor(place: Place, token: str) -> Client:
    http: JsonObject = {"url": place.url}
    return Client(
        key="cursor",
        name="Cursor",
        how="For all projects in your home folder, or for one in its own .cursor.",
        snippets=(
            json_snippet(
                "~/.cursor/mcp.json", _servers(place, {**http, "headers": _bearer(token)})
            ),
        ),
        signed_in=(json_snippet("~/.cursor/mcp.json", _servers(place, http)),),
    )


def _vs_code(place: Place, token: str) -> Client:
    http: JsonObject = {"type": "http", "url": place.url}
    settings = _servers(place, {**http, "headers": _bearer(token)}, "servers")
    return Client(
        key="vs-code",
        name="VS Code",
        how="In a project, or for all by “MCP: Open User Configuration”; then press Start.",
        snippets=(json_snippet(".vscode/mcp.json", settings),),
        signed_in=(json_snippet(".vscode/mcp.json", _servers(place, http, "servers")),),
    )


def _codex(place: Place, token: str) -> Client:
    table = f"[mcp_servers.{place.name}]\nurl = {toml_text(place.url)}"
    named = f"{table}\nbearer_token_env_var = {toml_text(VARIABLE)}"
    where = "~/.codex/config.toml"
    return Client(
        key="codex",
        name="Codex",
        how="It reads the token from the environment that it is started in.",
        snippets=(
            Snippet(where=where, language="toml", text=named),
            shell_snippet(exported(token), where="Before it starts"),
        ),
        signed_in=(
            Snippet(where=where, language="toml", text=table),
            shell_snippet(f"codex mcp login {place.name}"),
        ),
    )


def _gemini(place: Place, token: str) -> Client:
    http: JsonObject = {"httpUrl": place.url}
    where = "~/.gemini/settings.json"
    return Client(
        key="gemini",
        name="Gemini CLI",
        how="For all projects in your home folder, or for one in its own .gemini.",
        snippets=(json_snippet(where, _servers(place, {**http, "headers": _bearer(token)})),),
        signed_in=(json_snippet(where, _servers(place, http)),),
    )


def _windsurf(place: Place, token: str) -> Client:
    server: JsonObject = {"serverUrl": place.url, "headers": _bearer(token)}
    return Client(
        key="windsurf",
        name="Windsurf",
        how="Press refresh in its list of servers afterwards.",
        snippets=(json_snippet("~/.codeium/windsurf/mcp_config.json", _servers(place, server)),),
    )


def _any(place: Place, token: str) -> Client:
    http: JsonObject = {"type": "streamable-http", "url": place.url}
    return Client(
        key="http",
        name="Any other, with HTTP",
        how=f"The transport is Streamable HTTP; revisions {MODERN} and back to 2025-03-26.",
        snippets=(json_snippet("mcp.json", _servers(place, {**http, "headers": _bearer(token)})),),
        signed_in=(json_snippet("mcp.json", _servers(place, http)),),
    )


def _bridge(place: Place, token: str) -> Client:
    return Client(
        key="stdio",
        name="Any other, with programs only",
        how="A client that speaks stdio alone starts a bridge, which needs Node.js.",
        snippets=(json_snippet("mcp.json", _bridged(place, token)),),
    )


def _bridged(place: Place, token: str) -> JsonObject:
    """Return a program that speaks stdio and passes all on; a blank in an argument would be cut
    by some clients on Windows, so that the header comes from a variable."""
    plain = place.url.startswith("http://") and not is_local(place.url)
    return _servers(
        place,
        {
            "command": "npx",
            "args": [
                *("-y", "mcp-remote", place.url),
                *("--header", "Authorization:${AUTH_HEADER}"),
                *(["--allow-http"] if plain else []),
            ],
            "env": {"AUTH_HEADER": f"Bearer {token}"},
        },
    )
