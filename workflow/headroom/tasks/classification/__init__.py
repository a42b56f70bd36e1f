"""Classification: a BERT-like encoder in the Hub's directory format, and labelled text."""
