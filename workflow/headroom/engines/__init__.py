"""Sites and gates, removal, and the engines: fairseq (translation), transformers (classification)."""
