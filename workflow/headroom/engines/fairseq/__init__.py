"""The engine of translation: fairseq."""
