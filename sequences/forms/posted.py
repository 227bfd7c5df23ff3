"""Read a draft from the builder's form.

The templates agree with this on the names of the fields: `steps-0-tool`, `steps-0-in-2-value`,
`steps-0-each-source`, `final-1-source` and so on.
"""

import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from config.lib.jsontext import clean_text
from sequences.forms.drafts import Draft, Row, StepDraft, with_keys

_ROW = re.compile(r"^(?:steps-(\d{1,3})-in|final)-(\d{1,3})-name$")
_STEP = re.compile(r"^steps-(\d{1,3})-tool$")

ROW_PARTS = ("name", "source", "value", "path", "known")
STEP_PARTS = tuple(part.name for part in fields(StepDraft) if part.type is str)
FLAGS = {"continue_on_failure": "continue"} | {
    name: name for name in ("repeatable", "disabled", "collapsed")
}
"""Field of a step → the form's checkbox or hidden field, which is not empty where it is on."""
DRAFT_PARTS = tuple(part.name for part in fields(Draft) if part.type is str)


def draft_from_post(data: Mapping[str, str]) -> Draft:
    """Return what the form holds, its steps and rows in the order of their numbers."""

    def text(name: str) -> str:
        return clean_text(data.get(name, "")).replace("\r\n", "\n")

    def row(prefix: str) -> Row:
        return Row(**{part: text(f"{prefix}-{part}") for part in ROW_PARTS})

    def rows(prefix: str) -> list[Row]:
        numbers = sorted(
            int(match[2])
            for key in data
            if key.startswith(f"{prefix}-") and (match := _ROW.match(key))
        )
        return [row(f"{prefix}-{number}") for number in numbers]

    def step(prefix: str) -> StepDraft:
        parts: dict[str, Any] = {
            part: text(f"{prefix}-{part}") for part in STEP_PARTS if f"{prefix}-{part}" in data
        }
        parts |= {flag: bool(text(f"{prefix}-{name}")) for flag, name in FLAGS.items()}
        return StepDraft(
            **parts,
            each=row(f"{prefix}-each"),
            rows=rows(f"{prefix}-in"),
        )

    numbers = sorted(int(match[1]) for key in data if (match := _STEP.match(key)))
    return Draft(
        **{part: text(part) for part in DRAFT_PARTS},
        steps=with_keys(step(f"steps-{number}") for number in numbers),
        final=rows("final"),
    )
