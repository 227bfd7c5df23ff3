"""The guest of Python packages: finds their tools, describes them and calls them.

It has nothing but the standard library, and a process of it serves one caller and is then killed,
so what a package does to this code harms nobody but itself.
"""
