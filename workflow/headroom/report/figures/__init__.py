"""The drawing of figures, one module per section of the report; words are in `headroom.report.sections`."""
