"""The starting point of a self-attentive sentence classifier: always fresh, with a vocabulary of the training text."""

from collections.abc import Sequence

from transformers import BertTokenizer

from headroom.data.wordpieces import learn_wordpieces
from headroom.models.classification.encoder import StartingPoint, with_labels
from headroom.models.classification.self_attentive import SelfAttentiveConfig
from headroom.settings.encoder import SelfAttentiveEncoder


def self_attentive_start(
    settings: SelfAttentiveEncoder, sentences: Sequence[str], labels: Sequence[str]
) -> StartingPoint:
    """Return a model to be trained from fresh weights, with BERT's special pieces and a vocabulary of sentences.

    Raises:
        HeadroomError: If the vocabulary has no room for the characters of the text.
    """
    pieces = learn_wordpieces(sentences, settings.vocabulary)
    config = SelfAttentiveConfig(
        vocab_size=len(pieces),
        embedding_size=settings.embedding,
        hidden_size=settings.hidden,
        attention_size=settings.attention,
        num_attention_heads=settings.hops,
        fully_connected_size=settings.fully_connected,
        dropout=settings.dropout,
        penalty=settings.penalty,
        architectures=["SelfAttentiveForSequenceClassification"],
    )
    tokenizer = BertTokenizer(vocab=pieces, model_max_length=config.max_position_embeddings)
    config.pad_token_id = tokenizer.pad_token_id
    return StartingPoint(with_labels(config, labels), tokenizer, None)
