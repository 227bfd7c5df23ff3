"""An app of the tests alone: `flush`, which Django runs behind each test that commits, made fast.

Django truncates every table, which writes some 500 files anew, and works out the permissions
again: a third of a second. Most tests leave a few dozen rows, which are deleted in milliseconds.
"""
