"""The fields of the manifest, of every generation that is out there.

The description of a field says what to write there; it is what a person reads who wrote something
else. A shape keeps what it does not know, so that it can be reported.

- current: `{category, frameworks, env, hosts, tools: [{name, …}]}`;
- earlier: the same, with `exportName` for `name`;
- legacy: the one tool's fields stand beside `category`, as `Legacy` has them.
"""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictStr


class Shape(BaseModel):
    """What all of them share: nothing is converted, and unknown keys are kept."""

    model_config = ConfigDict(extra="allow", strict=True, populate_by_name=False)


class Variable(Shape):
    """One entry of `env`."""

    name: StrictStr = Field("", description='a name such as "SCRAPER_API_KEY"')
    description: StrictStr = Field("", description="what the variable is for, in a sentence")
    required: StrictBool = Field(True, description="true or false")
    default: str | int | float | bool | None = Field(
        None, description="the text that is used when the variable is not set"
    )


class Parameter(Shape):
    """One entry of a tool's `parameters`."""

    name: StrictStr = Field("", description='the parameter\'s name, such as "url"')
    type: str | list[str] = Field("string", description='a type such as "string" or "string[]"')
    description: StrictStr = Field("", description="what the parameter means, in a sentence")
    required: StrictBool | None = Field(None, description="true or false")
    optional: StrictBool | None = Field(None, description='"required": true or false instead')
    default: Any = Field(None, description="a value of the parameter's type")
    enum: list[Any] = Field([], description='a list of the values it may have: ["a", "b"]')
    properties: list[Any] | dict[str, Any] | None = Field(
        None, description='the fields of the object: [{"name": …, "type": …}]'
    )
    items: str | dict[str, Any] | None = Field(
        None, description='the type of the list\'s items: "string", or {"type": …}'
    )
    examples: list[Any] = Field([], description='a list of values: ["https://example.org"]')
    format: StrictStr = Field("", description='a format of JSON Schema, such as "uri"')
    pattern: StrictStr = Field("", description="a regular expression")
    minimum: float | int | None = Field(None, description="a number")
    maximum: float | int | None = Field(None, description="a number")
    minLength: int | None = Field(None, description="a whole number")  # noqa: N815
    maxLength: int | None = Field(None, description="a whole number")  # noqa: N815
    minItems: int | None = Field(None, description="a whole number")  # noqa: N815
    maxItems: int | None = Field(None, description="a whole number")  # noqa: N815


KEPT_OF_JSON_SCHEMA = (
    *("format", "pattern", "minimum", "maximum", "minLength", "maxLength"),
    *("minItems", "maxItems", "examples"),
)
"""Fields of a parameter that mean the same in JSON Schema."""


class Returns(Shape):
    """What a tool gives back."""

    type: StrictStr = Field("", description='a type such as "object"')
    description: StrictStr = Field("", description="what comes back, in a sentence")


class Guidance(Shape):
    """`aiAgent`: when a model should use the tool, and when not."""

    useCase: StrictStr = Field("", description="when to use the tool, in a sentence")  # noqa: N815
    limitations: str | list[str] = Field("", description="what the tool cannot do, as a text")
    examples: str | list[Any] = Field([], description='a list of texts: ["Read example.org"]')


class Cleanup(Shape):
    """One call that takes back what a health check made."""

    tool: StrictStr = Field("", description="the name of another tool of this package")
    params: dict[str, Any] = Field({}, description='its arguments: {"id": "…"}')
    mapping: dict[str, str] = Field(
        {}, description='arguments from the answer: {"id": "resource.id"}'
    )


class HealthCheck(Shape):
    """`healthCheck`: arguments that show whether the tool still works."""

    testParams: dict[str, Any] | None = Field(  # noqa: N815  the manifest's own spelling
        None, description='arguments for a harmless call: {"url": "https://example.org"}'
    )
    skipExecution: StrictBool = Field(False, description="true or false")  # noqa: N815
    cleanup: list[Any] = Field([], description='a list of calls: [{"tool": …, "params": …}]')


class _OneTool(Shape):
    description: StrictStr = Field("", description="what the tool does, in a sentence")
    category: StrictStr = Field("", description='a category such as "web-scraping"')
    parameters: list[Any] | dict[str, Any] | None = Field(
        None, description='a list: [{"name": "url", "type": "string", "required": true}]'
    )
    returns: dict[str, Any] | None = Field(
        None, description='an object: {"type": "object", "description": "…"}'
    )
    ai_agent: dict[str, Any] | None = Field(
        None,
        alias="aiAgent",
        description='an object: {"useCase": "…", "limitations": "…", "examples": ["…"]}',
    )
    health_check: dict[str, Any] | bool | None = Field(
        None, alias="healthCheck", description='an object: {"testParams": {…}}'
    )
    export_name: StrictStr = Field(
        "", alias="exportName", description='the name of the export, such as "scrapeTool"'
    )


class ToolShape(_OneTool):
    """One entry of `tools`; `exportName` is the earlier spelling of `name`."""

    name: StrictStr = Field("", description='the name of the export, such as "scrapeTool"')


class FieldShape(Shape):
    """The `tpmjs` field itself."""

    category: StrictStr = Field("", description='a category such as "web-scraping"')
    frameworks: list[Any] = Field([], description='a list of names: ["vercel-ai"]')
    env: list[Any] | dict[str, Any] = Field(
        [], description='a list: [{"name": "API_KEY", "description": "…", "required": true}]'
    )
    hosts: list[Any] = Field([], description='a list of hosts: ["api.example.com"]')
    tools: list[Any] | None = Field(
        None, description='a list: [{"name": "scrapeTool", "description": "…"}]'
    )


class Legacy(FieldShape, _OneTool):
    """The first generations: a single tool, with fields that later ones took away."""

    example: StrictStr = Field("", description="a request that the tool answers, as a text")
    authentication: dict[str, Any] | None = Field(
        None, description='an object: {"required": true, "type": "api-key", "envVar": "API_KEY"}'
    )
    links: dict[str, Any] | None = Field(
        None, description='an object of addresses: {"documentation": "https://…"}'
    )
    tags: list[str] = Field([], description='a list of texts: ["markdown"]')
    status: StrictStr = Field("", description="experimental, beta, stable or deprecated")


class Authentication(Shape):
    """How the first generation named the one key that a tool needs."""

    required: StrictBool = Field(True, description="true or false")
    type: StrictStr = Field("", description="api-key, oauth, basic-auth or custom")
    envVar: StrictStr = Field("", description='a variable such as "SCRAPER_API_KEY"')  # noqa: N815
    docsUrl: StrictStr = Field("", description="an address")  # noqa: N815
