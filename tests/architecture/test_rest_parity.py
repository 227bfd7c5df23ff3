"""Each thing that a form of the browser does can be done by REST, or is named with a reason."""

import inspect
import re
from collections.abc import Iterator
from typing import Any

from django.urls import URLPattern, get_resolver

PAGE_ONLY = "it only helps to fill in the page"

BY_REST: dict[str, str] = {
    "api_tool_create": "POST tools/",
    "api_tool_edit": "PUT tools/{id}/",
    "api_tool_delete": "DELETE tools/{id}/",
    "tool_try": "POST tools/{id}/run/",
    "tool_stop": "POST tools/{id}/stop/",
    "tool_resume": "DELETE tools/{id}/stop/",
    "tool_governance": "PATCH tools/{id}/governance/",
    "tool_deprecation": "POST tools/{id}/deprecation/",
    "version_restore": "POST tools/{id}/versions/{id}/restore/",
    "event_subscription_create": "POST event-subscriptions/",
    "event_subscription_edit": "PATCH event-subscriptions/{id}/",
    "event_subscription_switch": "PATCH event-subscriptions/{id}/",
    "event_subscription_rotate": "POST event-subscriptions/{id}/secret/",
    "event_subscription_test": "POST event-subscriptions/{id}/test/",
    "event_subscription_delete": "DELETE event-subscriptions/{id}/",
    "event_redeliver": "POST event-subscriptions/{id}/deliveries/{id}/redeliver/",
    "weights_save": "PUT search/weights/",
    "weights_restore": "POST search/weights/restore/",
    "workbench": "GET tools/search/",
    "package_import": "POST packages/",
    "mcp_import": "POST packages/",
    "openapi_document": "POST packages/",
    "openapi_operations": "POST packages/",
    "package_upload": "POST packages/upload/",
    "sync_ask": "POST sync/feeds/{id}/look/",
    "manifest_validate": "POST packages/validate/",
    "package_stop": "POST packages/{id}/stop/",
    "package_resume": "DELETE packages/{id}/stop/",
    "package_hosts": "PATCH packages/{id}/",
    "package_env": "PATCH packages/{id}/",
    "package_settings": "POST packages/",
    "package_refresh": "POST packages/{id}/refresh/",
    "package_repair": "POST packages/{id}/repair/",
    "package_check": "POST packages/{id}/check/",
    "proposal_approve": "POST proposals/{id}/approve/",
    "proposal_reject": "POST proposals/{id}/reject/",
    "proposal_quarantine": "POST proposals/{id}/quarantine/",
    "job_again": "POST jobs/{id}/again/",
    "agent_create": "POST agents/",
    "agent_import": "POST agents/import/",
    "agent_edit": "PATCH agents/{id}/",
    "agent_delete": "DELETE agents/{id}/",
    "agent_offer": "POST agents/{id}/offer/",
    "agent_grant": "PATCH agents/{id}/",
    "agent_clone": "POST agents/{id}/clone/",
    "agent_tools": "POST agents/{id}/tools/",
    "agent_tool_pin": "POST agents/{id}/tools/",
    "agent_tool_unlink": "DELETE agents/{id}/tools/",
    "connect_token": "POST tokens/",
    "connect_tools": "PATCH agents/{id}/",
    "agent_approvals": "PATCH agents/{id}/",
    "link_approvals": "POST agents/{id}/tools/",
    "rule_create": "POST agents/{id}/approval-rules/",
    "rule_delete": "DELETE agents/{id}/approval-rules/",
    "program_list": "POST oauth/clients/",
    "program_rotate": "POST oauth/clients/{id}/rotate/",
    "program_delete": "DELETE oauth/clients/{id}/",
    "grant_revoke": "DELETE oauth/grants/{id}/",
    "credential_list": "POST credentials/",
    "credential_delete": "DELETE credentials/{id}/",
    "token_list": "POST tokens/",
    "token_revoke": "DELETE tokens/{id}/",
    "experiment_create": "POST agents/{id}/experiments/",
    "experiment_start": "POST agents/{id}/experiments/{id}/start/",
    "experiment_end": "POST agents/{id}/experiments/{id}/end/",
    "experiment_delete": "DELETE agents/{id}/experiments/{id}/",
    "search_case_create": "POST agents/{id}/search-cases/",
    "search_case_edit": "PUT agents/{id}/search-cases/{id}/",
    "search_case_delete": "DELETE agents/{id}/search-cases/{id}/",
    "search_measure": "POST agents/{id}/search-evaluations/",
    "bench": "POST agents/{id}/bench/cases/",
    "bench:import": "POST agents/{id}/bench/cases/import/",
    "bench:case": "PUT agents/{id}/bench/cases/{id}/",
    "case_delete": "DELETE agents/{id}/bench/cases/{id}/",
    "start": "POST agents/{id}/bench/runs/",
    "run_stop": "POST agents/{id}/bench/runs/{id}/stop/",
    "template_start": "POST sequences/import/",
    "sequence_import": "POST sequences/import/",
    "sequence_create": "POST drafts/",
    "sequence_edit": "POST sequences/{id}/draft/",
    "sequence_describe": "POST sequences/describe/",
    "draft_edit": "PUT drafts/{id}/",
    "draft_discard": "DELETE drafts/{id}/",
    "draft_checks": "GET drafts/{id}/problems/",
    "sequence_checks": "GET drafts/{id}/problems/",
    "draft_test": "POST drafts/{id}/tests/",
    "sequence_test": "POST drafts/{id}/tests/",
    "version_named": "PUT sequences/{id}/versions/{id}/name/",
    "version_drafted": "POST sequences/{id}/draft/",
    "sequence_delete": "DELETE tools/{id}/",
    "run_start": "POST tools/{id}/run/",
    "schedule_create": "POST sequences/{id}/schedules/",
    "schedule_edit": "PATCH schedules/{id}/",
    "schedule_switch": "PATCH schedules/{id}/",
    "schedule_delete": "DELETE schedules/{id}/",
    "webhook_create": "POST sequences/{id}/webhooks/",
    "webhook_edit": "PATCH webhooks/{id}/",
    "webhook_switch": "PATCH webhooks/{id}/",
    "webhook_rotate": "POST webhooks/{id}/secret/",
    "webhook_test": "POST webhooks/{id}/test/",
    "webhook_delete": "DELETE webhooks/{id}/",
    "run_cancel": "POST runs/{id}/cancel/",
    "run_retry": "POST runs/{id}/retry/",
    "run_choose": "GET runs/{id}/compare/{id}/",
    "step_resolve": "POST runs/{id}/steps/{id}/resolve/",
    "sequences:request_answer": "POST runs/{id}/requests/{id}/",
    "conversation_create": "POST conversations/",
    "conversation_rename": "PATCH conversations/{id}/",
    "conversation_delete": "DELETE conversations/{id}/",
    "variable_set": "POST conversations/{id}/variables/",
    "variable_forget": "DELETE conversations/{id}/variables/{id}/",
    "chat:request_answer": "POST conversations/{id}/requests/{id}/",
    "turn_values": "POST conversations/{id}/requests/{id}/",
    "turn_label": "POST agents/{id}/search-cases/",
    "turn_regenerate": "POST conversations/{id}/turns/{id}/regenerate/",
    "message_edit": "POST conversations/{id}/turns/{id}/edit/",
    "turn_show": "POST conversations/{id}/turns/{id}/show/",
    "turn_continue": "POST conversations/{id}/turns/{id}/continue/",
    "turn_promote": "POST conversations/{id}/turns/{id}/promote/",
    "queue_send": "POST conversations/{id}/queue/send/",
    "queued_edit": "DELETE conversations/{id}/queue/{id}/",
    "queued_remove": "DELETE conversations/{id}/queue/{id}/",
    "message_send": "POST conversations/{id}/messages/",
    "turn_stop": "POST conversations/{id}/turns/{id}/stop/",
}
"""Name of a browser address that takes a POST → the REST operation that does the same."""

NOT_BY_REST: dict[str, str] = {
    "connect_test": "a program tests its connection by making it",
    **dict.fromkeys(
        ("draft_picker", "draft_check", "sequence_picker", "sequence_check"),
        PAGE_ONLY,
    ),
    "schedule_times": PAGE_ONLY,
}
"""Name of a browser address that takes a POST → why no REST operation does the same."""

NOT_OURS = ("admin", "oauth2_provider")
PROTOCOL = {"login", "logout", "hook"}


def patterns(resolver: Any, prefix: str = "", space: str = "") -> Iterator[tuple[str, str, Any]]:
    for each in resolver.url_patterns:
        if isinstance(each, URLPattern):
            yield prefix + str(each.pattern), f"{space}:{each.name or ''}", each.callback
        elif each.namespace not in NOT_OURS:
            yield from patterns(each, prefix + str(each.pattern), each.namespace or space)


def takes_a_post(view: Any) -> bool:
    """Say whether a browser's view is let through with a POST, by what guards it."""
    while view is not None:
        for cell in getattr(view, "__closure__", None) or ():
            methods = cell.cell_contents
            if isinstance(methods, list | tuple) and methods and set(methods) <= METHODS:
                return "POST" in methods
        view = getattr(view, "__wrapped__", None)
    return False


METHODS = {"GET", "HEAD", "POST"}


def browser_posts() -> set[str]:
    found = {
        name
        for path, name, view in patterns(get_resolver())
        if not path.startswith("api/") and takes_a_post(inspect.unwrap(view, stop=_is_guard))
    }
    return {name for name in found if name.rpartition(":")[2] not in PROTOCOL}


def _is_guard(view: Any) -> bool:
    return takes_a_post(view)


def operations() -> set[str]:
    found = set()
    for path, _, view in patterns(get_resolver()):
        cls = getattr(view, "view_class", None) or getattr(view, "cls", None)
        if path.startswith("api/v1/") and cls is not None:
            place = re.sub(r"<[^>]+>", "{id}", path.removeprefix("api/v1/"))
            found |= {
                f"{method.upper()} {place}"
                for method in ("get", "post", "put", "patch", "delete")
                if hasattr(cls, method)
            }
    return found


def named(name: str, table: dict[str, str]) -> bool:
    return name in table or name.rpartition(":")[2] in table


def test_what_a_form_of_the_browser_does_is_done_by_rest_or_has_a_reason() -> None:
    posts = browser_posts()
    assert len(posts) > 100, "the guards of views are not recognised any more"
    assert [name for name in sorted(posts) if not named(name, {**BY_REST, **NOT_BY_REST})] == []


def test_each_operation_that_is_named_for_it_is_there() -> None:
    assert sorted(set(BY_REST.values()) - operations()) == []


def test_nothing_is_named_that_is_not_there_any_more() -> None:
    names = {name for _, name, _ in patterns(get_resolver())}
    known = names | {name.rpartition(":")[2] for name in names}
    assert sorted({*BY_REST, *NOT_BY_REST} - known) == []
