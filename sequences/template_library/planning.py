"""Templates that work on dates, times and decisions."""

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
    out,
    template,
    text,
    worked_out,
)

DEADLINES = document(
    "Work out the deadlines of a project",
    "Counts business days from one first day to the deadline of each task, writes the dates as "
    "people read them, and tells how long all of it takes.",
    fields(
        start=text("The first day, such as 2026-03-02."),
        tasks={
            "type": "array",
            "description": "The tasks: name, and business days from the first day on.",
            "minItems": 1,
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "days": {"type": "integer"}},
                "required": ["name", "days"],
            },
        },
    ),
    [
        call(
            "date_add",
            "due",
            {"date": given("start"), "business_days": item("days")},
            title="Find each deadline",
            forEach=each(given("tasks")),
        ),
        call(
            "format_date",
            "written",
            {"date": item("date"), "style": fixed("long")},
            title="Write the dates out",
            forEach=each(out("due")),
            parallel=beside("written"),
        ),
        call(
            "date_difference",
            "length",
            {"start": given("start"), "end": worked_out("max(steps.due[].date)")},
            title="Measure the whole",
            parallel=beside("length"),
        ),
    ],
    {
        "tasks": worked_out("initial.tasks[].name"),
        "deadlines": out("written", "[].text"),
        "takes": out("length", "words"),
        "businessDays": out("length", "business_days"),
    },
    {
        "start": "2026-03-02",
        "tasks": [
            {"name": "Draft", "days": 5},
            {"name": "Review", "days": 8},
            {"name": "Publish", "days": 12},
        ],
    },
)

MEETING = document(
    "What time is it for everybody?",
    "Tells the time and the day of the week in each city of a list, all at once.",
    fields(
        cities={
            "type": "array",
            "description": "Cities or time zones.",
            "minItems": 1,
            "items": {"type": "string"},
        }
    ),
    [
        call(
            "current_time",
            "now",
            {"timezone": item()},
            forEach=each(given("cities"), 8),
            retry={"attempts": 2, "backoffSeconds": 1},
        ),
    ],
    {
        "times": out("now", "[].human"),
        "zones": out("now", "[].timezone"),
        "weekdays": out("now", "[].weekday"),
    },
    {"cities": ["Tokyo", "Oslo", "New York"]},
)

DRAW = document(
    "Draw winners, ask, and keep a record",
    "Draws winners at random, lets a person look at them and add a few words, and makes a record "
    "of the draw with its time and a fingerprint that shows later that nothing was changed.",
    fields(
        "winners",
        names={
            "type": "array",
            "description": "Who takes part.",
            "minItems": 1,
            "items": {"type": "string"},
        },
        winners={"type": "integer", "minimum": 1, "default": 1, "description": "How many win."},
    ),
    [
        call(
            "random_choice",
            "drawn",
            {"options": given("names"), "count": given("winners")},
            outputDisplaySuccess="Drawn: {{ join(', ', result.chosen) }}",
        ),
        ask(
            "decision",
            "Announce these winners?",
            "Drawn among {{ length(initial.names) }}: {{ join(', ', steps.drawn.chosen) }}",
            title="Have a person look",
            schema={
                "type": "object",
                "properties": {
                    "announcement": {
                        "type": "string",
                        "description": "A sentence that goes before the names.",
                    }
                },
            },
        ),
        call("current_time", "time", {"timezone": fixed("UTC")}),
        call(
            "hash_text",
            "fingerprint",
            {
                "text": template(
                    "{{ join(', ', initial.names) }} | {{ join(', ', steps.drawn.chosen) }} | "
                    "{{ steps.time.iso }}"
                )
            },
        ),
    ],
    {
        "winners": out("drawn", "chosen"),
        "announcement": worked_out(
            "join(' ', [steps.decision.values.announcement || 'The winners:', "
            "join(', ', steps.drawn.chosen)])"
        ),
        "drawnAt": out("time", "iso"),
        "fingerprint": out("fingerprint", "digest"),
    },
    {"names": ["Ada", "Bob", "Cleo", "Dan"], "winners": 2},
)
