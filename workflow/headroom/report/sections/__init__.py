"""The sections of the report: what was done, the exhibits, and their words, all computed from tables."""
