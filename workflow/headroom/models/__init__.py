"""Sites and gates, removal, and the adapters to the training engines."""
