"""The transformers adapter: classifiers in the directory format of the Hugging Face Hub."""

from transformers.utils import logging

# quietly: what it would warn of when a model is loaded is checked here, and is an error
logging.set_verbosity_error()
logging.disable_progress_bar()
