"""The self-attentive sentence classifier of Lin et al. 2017, "A Structured Self-attentive Sentence Embedding".

An et al. 2020 train it with heads that repel each other. Instead of a Transformer, a bidirectional LSTM reads tokens,
H (T, 2u), and r learned queries, the hops, attend to its states:

    A = softmax(W_s2 tanh(W_s1 H^T))   over the tokens; (r, T)
    M = A H                            (r, 2u), flattened: what the fully connected layer reads

A sentence pair is read as one sequence with the tokenizer's separators, as in BERT; the model does not otherwise
distinguish the two sentences.

Here a hop is a head. All hops are one site, E1: the rows of W_s2 are the heads, M is z, with one position per example,
and the fully connected layer is the output projection.
"""

from typing import Any

from headroom.models import installed  # noqa: F401  # isort: skip (before transformers)

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from transformers import AutoConfig, AutoModelForSequenceClassification, PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import SequenceClassifierOutput


class SelfAttentiveConfig(PreTrainedConfig):
    """The shape of the model, with transformers' names where they exist."""

    model_type = "headroom-self-attentive"

    vocab_size: int = 2000
    embedding_size: int = 64
    hidden_size: int = 64  # units of the LSTM in each direction, u
    attention_size: int = 64  # rows of W_s1
    num_attention_heads: int = 8  # hops, r
    fully_connected_size: int = 128
    dropout: float = 0.1  # on embeddings and on the fully connected layer
    penalty: float = 0.0  # weight of ||A A^T - I||_F^2 in the loss of training
    pad_token_id: int | None = 0
    max_position_embeddings: int = 1_000_000  # an LSTM has no limit; this exceeds the length of any text


class HopAttention(nn.Module):
    """Hops: learned queries, each of which computes a weighted average of the states of a sentence."""

    def __init__(self, *, states: int, attention: int, hops: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(states, attention, bias=False)  # W_s1
        self.hops = nn.Linear(attention, hops, bias=False)  # W_s2

    def forward(self, states: Tensor, real: Tensor) -> tuple[Tensor, Tensor]:
        """Average the states H, (B, T, 2u), of tokens that are not padding (`real`, (B, T)).

        Returns:
            z: M, flattened, (B, 1, hops * 2u), and the attention weights A, (B, hops, 1, T).
        """
        scores = self.hops(torch.tanh(self.hidden(states))).transpose(1, 2)  # (B, hops, T)
        weights = scores.masked_fill(~real.unsqueeze(1), -torch.inf).softmax(dim=-1)
        z = (weights @ states).flatten(1)  # (B, hops, 2u), then (B, hops * 2u)
        return z.unsqueeze(1), weights.unsqueeze(2)


class SentenceEncoder(nn.Module):
    """From tokens to a representation of the whole sentence."""

    def __init__(self, config: SelfAttentiveConfig) -> None:
        super().__init__()
        states = 2 * config.hidden_size
        self.embedding = nn.Embedding(config.vocab_size, config.embedding_size, padding_idx=config.pad_token_id)
        self.dropout = nn.Dropout(config.dropout)
        self.lstm = nn.LSTM(config.embedding_size, config.hidden_size, batch_first=True, bidirectional=True)
        self.attention = HopAttention(states=states, attention=config.attention_size, hops=config.num_attention_heads)
        self.fully_connected = nn.Linear(config.num_attention_heads * states, config.fully_connected_size)

    def forward(self, input_ids: Tensor, real: Tensor) -> tuple[Tensor, Tensor | None]:
        """Encode tokens (B, T), of which `real` (B, T) are not padding; padding is at the end.

        Returns:
            The fully connected layer after its ReLU, (B, units), and the attention weights, (B, hops, 1, T); None if
            all hops are removed.
        """
        z, weights = self.attention(self.states(input_ids, real), real)
        # without hops z has no feature, but still a row per token: one is enough for the bias
        return self.fully_connected(z[:, :1]).squeeze(1).relu(), weights

    def states(self, input_ids: Tensor, real: Tensor) -> Tensor:
        """Return the LSTM's states, (B, T, 2u); 0 at padding, which it does not read."""
        embedded = self.dropout(self.embedding(input_ids))  # (B, T, embedding)
        lengths = real.sum(1).cpu()  # packing requires them on the CPU
        packed = pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
        return pad_packed_sequence(self.lstm(packed)[0], batch_first=True, total_length=input_ids.shape[1])[0]


class SelfAttentiveForSequenceClassification(PreTrainedModel):
    """The classifier: the encoder, dropout, and a linear layer.

    Attributes:
        single_query: A site attends once per example instead of from every token.
    """

    config_class = SelfAttentiveConfig
    base_model_prefix = "encoder"
    single_query = True

    def __init__(self, config: SelfAttentiveConfig) -> None:
        super().__init__(config)
        labels: Any = config.num_labels  # a classifier's configuration has some
        self.encoder = SentenceEncoder(config)
        self.dropout = nn.Dropout(config.dropout)
        self.classifier = nn.Linear(config.fully_connected_size, labels)
        self.post_init()

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, labels: Tensor | None = None
    ) -> SequenceClassifierOutput:
        """Return logits (B, classes) and, with labels (B,), the mean loss in nats: in training with the penalty.

        The attention mask (B, T) is 1 for tokens, 0 for padding, which is at the end of `input_ids` (B, T).
        """
        real = torch.ones_like(input_ids, dtype=torch.bool) if attention_mask is None else attention_mask.bool()
        sentences, weights = self.encoder(input_ids, real)
        logits = self.classifier(self.dropout(sentences))
        loss = None
        if labels is not None:
            loss = nn.functional.cross_entropy(logits, labels)
            if self.training and self.config.penalty and weights is not None:
                loss = loss + self.config.penalty * redundancy(weights.squeeze(2)).mean()
        return SequenceClassifierOutput(loss=loss, logits=logits)

    def get_input_embeddings(self) -> nn.Module:
        """Return the embedding of tokens."""
        return self.encoder.embedding

    def _init_weights(self, module: Any) -> None:
        """Initialise weights by torch's defaults for each kind of layer: those of transformers are for Transformers."""
        if isinstance(module, nn.Embedding | nn.LSTM | nn.Linear):
            module.reset_parameters()


def redundancy(weights: Tensor) -> Tensor:
    """Return ||A A^T - I||_F^2, (B,), for attention weights A, (B, hops, T) (Lin et al. 2017, section 2.2)."""
    overlap = weights @ weights.transpose(1, 2)  # (B, hops, hops)
    return (overlap - torch.eye(weights.shape[1]).to(overlap)).square().sum((1, 2))


def trains_in_bfloat16(config: SelfAttentiveConfig) -> bool:
    """Return whether this processor can train the LSTM under autocast: oneDNN supports only some processors.

    torch uses these kernels for batches without padding, as in this test.
    """
    layer = nn.LSTM(config.embedding_size, config.hidden_size, batch_first=True, bidirectional=True)
    try:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            layer(torch.ones(2, 3, config.embedding_size))[0].sum().backward()
    except RuntimeError:
        return False
    return True


AutoConfig.register(SelfAttentiveConfig.model_type, SelfAttentiveConfig)
AutoModelForSequenceClassification.register(SelfAttentiveConfig, SelfAttentiveForSequenceClassification)
