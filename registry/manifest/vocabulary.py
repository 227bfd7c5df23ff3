"""The words that a manifest may choose from."""

FIELD = "tpmjs"

CORE_CATEGORIES = (
    *("research", "web", "data", "documentation", "engineering", "security", "statistics"),
    *("ops", "agent", "sandbox", "utilities", "html", "compliance"),
    *("finance", "legal", "hr", "marketing", "cx", "edu", "sales"),
)
LEGACY_CATEGORIES = (
    *("web-scraping", "data-processing", "file-operations", "communication", "database"),
    *("api-integration", "image-processing", "text-analysis", "automation", "ai-ml"),
    *("monitoring", "text"),
)
ALIASES = {
    "doc": "documentation",
    "docs": "documentation",
    "scraping": "web-scraping",
    "utility": "utilities",
    "education": "edu",
}
"""Other names of categories, and what is kept for them."""

CATEGORIES = (*CORE_CATEGORIES, *LEGACY_CATEGORIES)

FRAMEWORKS = ("vercel-ai", "langchain", "llamaindex", "haystack", "semantic-kernel")

TYPES = "string, number, integer, boolean, object, string[], string | null or 'a' | 'b'"
"""What to write for a parameter's type, in words."""


def category_of(text: str) -> str | None:
    """Return the category that a text names, however it is spelt; None when it is none."""
    plain = "-".join(text.strip().lower().replace("_", " ").replace("-", " ").split())
    named = ALIASES.get(plain, plain)
    return named if named in CATEGORIES else None
