"""Claims: pure functions from the tables of a study to verdicts, and the papers that they are of."""
