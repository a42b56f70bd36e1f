"""Imported by users of transformers, whose classes then also load models without some of their heads.

`import transformers, headroom.sliced`: `transformers.AutoModelForCausalLM.from_pretrained(directory)`, and likewise the
classes for encoder-decoders, masked language models and classifiers.
"""

from transformers.utils.import_utils import is_datasets_available, is_scipy_available

is_datasets_available(), is_scipy_available()  # transformers keeps the answers: other modules here change them

from headroom.models import self_attentive, sliced  # noqa: E402, F401 (they register their models)
from headroom.models.seq2seq import text  # noqa: E402, F401 (it registers a tokenizer)
