"""The sandbox service: the one process that runs code from packages, apart from Django.

Start it with `python -m registry.sandbox.service --socket PATH --store DIR`. Nothing in here
imports Django or the rest of the product; Django speaks to it through `registry.sandbox.client`.
"""
