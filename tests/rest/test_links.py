"""What one operation answers is what another one takes: schemathesis follows the links."""

from typing import Any

from django.db import transaction
from hypothesis import HealthCheck, Phase, settings

from tests.rest.world import EXAMPLES, follows_a_stream, keeps_its_word


def test_operations_fit_together(product: Any, world: dict[str, Any]) -> None:
    """Make, read, change and delete in many orders; what is deleted is gone, what is made is there.

    Each order of steps begins with the same things and is taken back after it.
    """
    followed: list[str] = []

    class Steps(product.exclude(follows_a_stream).as_state_machine()):  # type: ignore[misc]  # made at run time
        def setup(self) -> None:
            self.atomic = transaction.atomic()
            self.atomic.__enter__()

        def teardown(self) -> None:
            transaction.set_rollback(True)
            self.atomic.__exit__(None, None, None)

        def get_call_kwargs(self, case: Any) -> dict[str, Any]:
            case.headers.pop("If-Match", None)
            return {"headers": {"Authorization": f"Bearer {world['token']}"}}

        def validate_response(self, response: Any, case: Any, **kwargs: Any) -> None:
            followed.append(case.operation.label)
            # the steps before it are known by the record: what is deleted must be gone
            case.validate_response(
                response,
                headers=kwargs["headers"],  # ours, so that they are known for no made-up ones
                transport_kwargs=kwargs,
                additional_checks=[keeps_its_word],
                recorder=getattr(self, "recorder", None),
            )

    Steps.run(
        settings=settings(
            max_examples=EXAMPLES * 5,
            stateful_step_count=6,
            deadline=None,
            database=None,
            derandomize=True,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
    )
    assert len(set(followed)) > EXAMPLES
