"""The stages: one module per experiment with its command line, run as `python -m headroom <stage>`."""
