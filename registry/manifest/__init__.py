"""What a package says of its tools: the `tpmjs` field of its package.json, whole.

`read_manifest` reads a parsed package.json and never raises; `check_text` judges one that a person
wrote, line by line.
"""

from registry.manifest.declared import DeclaredCheck, DeclaredTool, Manifest
from registry.manifest.reading import ENV_NAME, MOST_TOOLS, read_manifest
from registry.manifest.tools import LONGEST_EXPORT
from registry.manifest.vocabulary import FIELD

__all__ = [
    "ENV_NAME",
    "FIELD",
    "LONGEST_EXPORT",
    "MOST_TOOLS",
    "DeclaredCheck",
    "DeclaredTool",
    "Manifest",
    "read_manifest",
]
