"""How an impact is told in the REST API."""

from typing import Any

from rest_framework import serializers

from config.lib.types import JsonObject
from registry.impact.asked import About, Asked
from registry.impact.parts import Dependent, Trouble, Use


class ImpactQuerySerializer(serializers.Serializer[Any]):
    """What is asked about; without either what waits for review, else the end of the tool."""

    version = serializers.IntegerField(
        required=False, min_value=1, help_text="As if this version were live."
    )
    deleted = serializers.ChoiceField(
        choices=["0", "1", "true", "false"], required=False, help_text="As if it were deleted."
    )


class PackageImpactQuerySerializer(serializers.Serializer[Any]):
    """What is asked about; without it what waits for review, else the end of the package."""

    deleted = serializers.ChoiceField(
        choices=["0", "1", "true", "false"], required=False, help_text="As if it were deleted."
    )


class ImpactUseSerializer(serializers.Serializer[Use]):
    """One tie to a tool. `kept`: its pin keeps it as it is."""

    tool = serializers.CharField()
    toolId = serializers.UUIDField(source="tool_id")
    how = serializers.CharField()
    step = serializers.IntegerField(allow_null=True)
    pinned = serializers.IntegerField(allow_null=True)
    kept = serializers.BooleanField()


class ImpactTroubleSerializer(serializers.Serializer[Trouble]):
    """One thing that would break or, where `breaks` is false, read worse."""

    where = serializers.CharField()
    message = serializers.CharField()
    step = serializers.IntegerField(allow_null=True)
    field = serializers.CharField(allow_null=True)
    breaks = serializers.BooleanField()


class ImpactDependentSerializer(serializers.Serializer[Dependent]):
    """An agent, or a sequence at one version. `path`: the sequences between it and the tool."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    owner = serializers.CharField()
    url = serializers.CharField(help_text="Its page; empty where you may not open it.")
    version = serializers.IntegerField(allow_null=True)
    state = serializers.CharField(help_text="live, staged (it waits for review) or pinned.")
    how = serializers.CharField()
    kept = serializers.BooleanField()
    breaks = serializers.BooleanField()
    path = serializers.ListField(child=serializers.CharField())
    uses = ImpactUseSerializer(many=True)
    problems = ImpactTroubleSerializer(many=True, source="troubles")


class ImpactPinSerializer(serializers.Serializer[Any]):
    """One pin: who pins which version of which tool, and whether that keeps it."""

    kind = serializers.CharField(help_text="agent or sequence")
    id = serializers.UUIDField()
    name = serializers.CharField()
    tool = serializers.CharField()
    version = serializers.IntegerField()
    step = serializers.IntegerField(allow_null=True)
    kept = serializers.BooleanField()


class ImpactProblemSerializer(ImpactTroubleSerializer):
    """One thing that would break, with whose it is."""

    kind = serializers.CharField(help_text="agent or sequence")
    id = serializers.UUIDField()
    name = serializers.CharField()


class ImpactOthersSerializer(serializers.Serializer[Any]):
    """Agents and sequences of other people, counted only."""

    agents = serializers.IntegerField()
    sequences = serializers.IntegerField()
    broken = serializers.IntegerField()


class ImpactSerializer(serializers.Serializer[Any]):
    """What a change, or the end, of tools would do to whatever uses them."""

    about = serializers.ChoiceField(choices=[about.value for about in About])
    version = serializers.IntegerField(allow_null=True)
    proposal = serializers.UUIDField(allow_null=True)
    breaks = serializers.BooleanField()
    summary = serializers.CharField()
    agents = ImpactDependentSerializer(many=True)
    sequences = ImpactDependentSerializer(many=True)
    pins = ImpactPinSerializer(many=True)
    others = ImpactOthersSerializer()
    runsWaiting = serializers.IntegerField()
    callsLast30Days = serializers.IntegerField()
    callsAreMore = serializers.BooleanField(help_text="There were more calls than are counted.")
    more = serializers.BooleanField(help_text="There are more dependents than are listed.")
    problems = ImpactProblemSerializer(many=True)


def told(asked: Asked[Any]) -> JsonObject:
    """Return the answer as `ImpactSerializer` has it."""
    impact = asked.impact
    answer = {
        "about": asked.about.value,
        "version": asked.version,
        "proposal": asked.proposal.pk if asked.proposal else None,
        "breaks": impact.breaks,
        "summary": impact.summary,
        "agents": impact.agents,
        "sequences": impact.sequences,
        "pins": [
            {**_who(item), "tool": use.tool, "version": use.pinned, "step": use.step}
            | {"kept": use.kept}
            for item, use in impact.pins
        ],
        "others": impact.hidden,
        "runsWaiting": impact.runs_waiting,
        "callsLast30Days": impact.calls,
        "callsAreMore": impact.calls_capped,
        "more": impact.more,
        "problems": [{**_who(item), **vars(trouble)} for item, trouble in impact.troubles],
    }
    told: JsonObject = ImpactSerializer(answer).data
    return told


def _who(item: Dependent) -> JsonObject:
    return {"kind": item.kind.value, "id": item.id, "name": item.name}
