"""What of the suite does not apply to this server, each with the reason.

The list is exact: what is not in it has to pass, and what is in it must not; but for `HURRIED`.
"""

_PROMPTS = "There are no prompts: an agent's own are not for other models."
_RESOURCES = "There are no resources: files come inside of the results that made them."
_COMPLETION = "There is nothing to complete: it is for prompts and templates of resources."
_LOGGING = "Lines of a tool's log stay in the record of its call; MCP has deprecated them."
_SAMPLING = "No tool asks the client's model for anything, nor for its roots."
_TASKS = "The extension for tasks is not offered: runs have their page, REST and webhooks."
_SKILLS = "The extension for skills is not offered."

SCENARIOS: dict[str, str] = {
    "prompts-list": _PROMPTS,
    "prompts-get-simple": _PROMPTS,
    "prompts-get-with-args": _PROMPTS,
    "prompts-get-embedded-resource": _PROMPTS,
    "prompts-get-with-image": _PROMPTS,
    "input-required-result-non-tool-request": _PROMPTS,
    "resources-list": _RESOURCES,
    "resources-read-text": _RESOURCES,
    "resources-read-binary": _RESOURCES,
    "resources-templates-read": _RESOURCES,
    "resources-subscribe": _RESOURCES,
    "resources-unsubscribe": _RESOURCES,
    "completion-complete": _COMPLETION,
    "logging-set-level": _LOGGING,
    "tools-call-with-logging": _LOGGING,
    "tools-call-sampling": _SAMPLING,
    "input-required-result-basic-sampling": _SAMPLING,
    "input-required-result-basic-list-roots": _SAMPLING,
    "input-required-result-multiple-input-requests": _SAMPLING,
    "input-required-result-capability-check": _SAMPLING,
    "input-required-result-ignore-extra-params": (
        "It answers a question that it was not asked: an answer comes with the state of its "
        "question, and without one the call begins anew."
    ),
    "elicitation-sep1330-enums": "Forms of sequences have no choice of several.",
    **dict.fromkeys(
        (
            "tasks-lifecycle",
            "tasks-capability-negotiation",
            "tasks-wire-fields",
            "tasks-request-state-removal",
            "tasks-mrtr-input",
            "tasks-request-headers",
            "tasks-dispatch-and-envelope",
            "tasks-status-notifications",
            "tasks-required-task-error",
            "tasks-mrtr-composition",
        ),
        _TASKS,
    ),
    **dict.fromkeys(
        ("sep-2640-skills-directory", "sep-2640-skills-enumeration", "sep-2640-skills-manifest"),
        _SKILLS,
    ),
}
"""Whole scenarios."""

CHECKS: dict[tuple[str, str], str] = {
    ("server-stateless", "sep-2575-server-rejects-undeclared-capability"): _SAMPLING,
    ("server-stateless", "sep-2575-missing-capability-http-400"): _SAMPLING,
    ("caching", "sep-2549-prompts-list-caching-hints"): _PROMPTS,
    ("caching", "sep-2549-resources-list-caching-hints"): _RESOURCES,
    ("caching", "sep-2549-resources-templates-list-caching-hints"): _RESOURCES,
    ("sep-2164-resource-not-found", "sep-2164-error-code"): _RESOURCES,
    ("sep-2164-resource-not-found", "sep-2164-data-uri"): _RESOURCES,
    **dict.fromkeys(
        (
            ("server-sse-polling", "server-sse-priming-event"),
            ("server-sse-polling", "server-sse-retry-field"),
        ),
        "A stream that broke off is not taken up again: what its call did is in its record.",
    ),
}
"""Single checks of scenarios that are run, by scenario and the check's id."""

HURRIED: dict[tuple[str, str], str] = {
    ("server-stateless", "sep-2575-server-sends-tools-list-changed-on-subscription"): (
        "It gives a call to another server, the change that this makes and the word of it 1.5 s "
        "together, which a busy machine may not keep; tests/agents/mcp/test_changes.py waits."
    )
}
"""Checks that may pass or not, for it is a matter of time alone."""
