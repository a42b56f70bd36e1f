"""Translation models, trained by fairseq and written for transformers."""
