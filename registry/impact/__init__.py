"""What a change, or the end, of tools would do to whatever uses them.

`finding.impact_of` is the one question; `asked` says what is asked about, `picture` draws it.
"""
