"""Find the tools that fit a need: tokens and BM25 are pure, the index service is not."""
