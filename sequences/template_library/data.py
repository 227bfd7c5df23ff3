"""Templates that work on tables and JSON documents."""

from sequences.template_library.writing import (
    ask,
    beside,
    call,
    document,
    each,
    fields,
    fixed,
    given,
    item,
    long_text,
    out,
    template,
    text,
    worked_out,
)

COMPARE = document(
    "Compare two JSON documents and ask before going on",
    "Checks that two JSON documents can be read and whether they say the same, however they are "
    "written. Where they differ, a person is asked before the new one is accepted.",
    fields(
        before=long_text("The JSON document as it was."),
        after=long_text("The JSON document as it shall be."),
    ),
    [
        call(
            "json_query",
            "old",
            {"document": given("before"), "query": fixed("@")},
            title="Read the old one",
            parallel=beside("old"),
        ),
        call(
            "json_query",
            "new",
            {"document": given("after"), "query": fixed("@")},
            title="Read the new one",
            parallel=beside("new"),
        ),
        ask(
            "decision",
            "Accept what changed?",
            "The documents differ.\n\nBefore: {{ steps.old.result }}\n\n"
            "After: {{ steps.new.result }}",
            title="Ask before going on",
            when="steps.old.result != steps.new.result",
        ),
        call(
            "hash_text",
            "fingerprint",
            {"text": worked_out("to_string(steps.new.result)")},
            title="Take the fingerprint of what holds",
        ),
    ],
    {
        "same": worked_out("steps.old.result == steps.new.result"),
        "document": out("new", "result"),
        "fingerprint": out("fingerprint", "digest"),
    },
    {
        "before": '{"port": 8000, "hosts": ["a.example"]}',
        "after": '{"hosts": ["a.example", "b.example"], "port": 8000}',
    },
)

KEEP_WRONG = document(
    "Check a table and keep what is wrong",
    "Reads a table (CSV) and sorts its rows by a rule of yours into good ones and wrong ones. "
    "Where some are wrong, a person decides whether to go on with the good ones.",
    fields(
        table=long_text("The table as CSV, with names of columns in its first line."),
        rule=text("What holds for a good row, in JMESPath: names of columns, &&, ||, contains()."),
    ),
    [
        call("csv_parse", "table", {"text": given("table")}),
        call(
            "json_query",
            "wrong",
            {
                "document": worked_out("to_string(steps.table.rows)"),
                "query": template("[?!({{ initial.rule }})]"),
            },
            title="Find the rows that break the rule",
            parallel=beside("wrong"),
        ),
        call(
            "json_query",
            "good",
            {
                "document": worked_out("to_string(steps.table.rows)"),
                "query": template("[?({{ initial.rule }})]"),
            },
            title="Find the rows that keep it",
            parallel=beside("good"),
        ),
        ask(
            "decision",
            "Go on with the good rows?",
            "{{ length(steps.wrong.result) }} of {{ steps.table.row_count }} rows break the rule: "
            "{{ steps.wrong.result }}",
            title="Ask where some are wrong",
            when="size(steps.wrong.result) > 0",
            schema={
                "type": "object",
                "properties": {
                    "remark": {"type": "string", "description": "For whoever mends the rows."}
                },
            },
        ),
    ],
    {
        "good": out("good", "result"),
        "wrong": out("wrong", "result"),
        "remark": worked_out("steps.decision.values.remark || ''"),
    },
    {
        "table": "name,email\nAda,ada@x.example\nBob,\nCleo,cleo@x.example",
        "rule": "email && contains(email, '@')",
    },
)

ADD_UP = document(
    "Add up a column of a table",
    "Reads a table (CSV), takes one of its columns and adds its numbers up. A cell that is no "
    "number does not stop it: the total then says so, and the values are given.",
    fields(
        table=long_text("The table as CSV, with names of columns in its first line."),
        column=text("The name of the column."),
    ),
    [
        call("csv_parse", "table", {"text": given("table")}),
        call(
            "json_query",
            "values",
            {
                "document": worked_out("to_string(steps.table.rows)"),
                "query": template('[]."{{ initial.column }}"'),
            },
            title="Take the column",
        ),
        call(
            "calculator",
            "total",
            {"expression": worked_out("join(' + ', steps.values.result)")},
            title="Add it up",
            when="size(steps.values.result) > 0",
            fallback={"value": {"result": 0, "expression": ""}},
        ),
    ],
    {
        "total": worked_out("steps.total.expression && steps.total.result || 'cannot be added up'"),
        "values": out("values", "result"),
        "rows": out("table", "row_count"),
    },
    {"table": "item,price\nTent,129.90\nRope,24.5\nLamp,18", "column": "price"},
)

CONVERT = document(
    "Convert a list of measurements",
    "Converts each measurement of a list to the unit you name, several at a time, and tells the "
    "sum, the least and the greatest.",
    fields(
        measurements={
            "type": "array",
            "description": "The measurements: value and unit.",
            "minItems": 1,
            "items": {
                "type": "object",
                "properties": {"value": {"type": "number"}, "unit": {"type": "string"}},
                "required": ["value", "unit"],
            },
        },
        to=text("The unit that all shall have, such as km."),
    ),
    [
        call(
            "convert_units",
            "converted",
            {"value": item("value"), "from": item("unit"), "to": given("to")},
            forEach=each(given("measurements")),
            outputDisplaySuccess="Converted to {{ initial.to }}.",
        ),
    ],
    {
        "values": out("converted", "[].result"),
        "sum": worked_out("sum(steps.converted[].result)"),
        "least": worked_out("min(steps.converted[].result)"),
        "greatest": worked_out("max(steps.converted[].result)"),
        "unit": out("converted", "[0].unit"),
    },
    {
        "measurements": [
            {"value": 2, "unit": "mile"},
            {"value": 1500, "unit": "m"},
            {"value": 500, "unit": "m"},
        ],
        "to": "km",
    },
)
