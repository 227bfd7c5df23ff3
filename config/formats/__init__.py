"""How dates are written where a page does not say it, by locale."""
