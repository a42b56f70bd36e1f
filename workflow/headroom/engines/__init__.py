"""Sites and gates, removal, and the adapters to the engines: fairseq (translation), transformers (classification)."""
