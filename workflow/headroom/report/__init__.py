"""The report: figures, claims and the page."""
