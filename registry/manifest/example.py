"""A manifest to begin with: it uses every part, and has one mistake to look at."""

EXAMPLE = """\
{
  "name": "@acme/web-scraper",
  "version": "1.0.0",
  "keywords": ["tpmjs"],
  "tpmjs": {
    "category": "web-scraping",
    "frameworks": ["vercel-ai"],
    "hosts": ["api.scraper.example"],
    "env": [
      {
        "name": "SCRAPER_API_KEY",
        "description": "Key of the scraping service",
        "required": true
      }
    ],
    "tools": [
      {
        "name": "scrapeTool",
        "description": "Fetch a web page and return its title, text and links",
        "parameters": [
          {
            "name": "url",
            "type": "string",
            "description": "Address of the page",
            "required": true
          },
          {
            "name": "format",
            "type": "'markdown' | 'text'",
            "description": "What the text is written in",
            "default": "markdown"
          },
          {
            "name": "selectors",
            "type": "strings[]",
            "description": "CSS selectors of the parts to keep"
          }
        ],
        "returns": {
          "type": "object",
          "description": "The page's title, text and links"
        },
        "aiAgent": {
          "useCase": "When the content of a web page is needed",
          "limitations": "Does not run the page's scripts",
          "examples": ["Read the main content of https://example.org"]
        },
        "healthCheck": {
          "testParams": { "url": "https://example.org" }
        }
      }
    ]
  }
}
"""
