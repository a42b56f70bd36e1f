"""Small models of transformers with random weights, one of every family."""

import torch
import transformers

_SIZES = {
    "vocab_size": 30,
    "hidden_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 6,
    "intermediate_size": 16,
}
_DECODER = {**_SIZES, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "max_position_embeddings": 64}
_GROUPED = {**_DECODER, "num_key_value_heads": 2}
_WIDE = {**_GROUPED, "head_dim": 8}
_TWO_STACKS = {
    "vocab_size": 30,
    "d_model": 24,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 6,
    "decoder_attention_heads": 6,
    "encoder_ffn_dim": 16,
    "decoder_ffn_dim": 16,
    "activation_function": "gelu",
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 2,
    "forced_eos_token_id": None,
}
_T5 = {
    "vocab_size": 30,
    "d_model": 24,
    "d_kv": 4,
    "d_ff": 16,
    "num_layers": 2,
    "num_decoder_layers": 2,
    "num_heads": 6,
    "pad_token_id": 0,
    "eos_token_id": 2,
    "decoder_start_token_id": 0,
    "relative_attention_num_buckets": 8,
    "relative_attention_max_distance": 16,
}

CAUSAL = {
    "gpt2": transformers.GPT2Config(
        vocab_size=30, n_embd=24, n_layer=2, n_head=6, n_inner=16, n_positions=64, bos_token_id=1, eos_token_id=2
    ),
    "gpt-neo": transformers.GPTNeoConfig(
        vocab_size=30,
        hidden_size=24,
        num_layers=2,
        num_heads=6,
        attention_types=[[["global", "local"], 1]],
        max_position_embeddings=64,
        window_size=4,
        bos_token_id=1,
        eos_token_id=2,
    ),
    "gpt-neox": transformers.GPTNeoXConfig(**_DECODER),
    "gpt-j": transformers.GPTJConfig(
        vocab_size=30,
        n_embd=24,
        n_layer=2,
        n_head=6,
        n_inner=16,
        rotary_dim=4,
        n_positions=64,
        bos_token_id=1,
        eos_token_id=2,
    ),
    "opt": transformers.OPTConfig(**{**_DECODER, "ffn_dim": 16, "word_embed_proj_dim": 24}),
    "phi": transformers.PhiConfig(**_GROUPED),
    "phi-3": transformers.Phi3Config(**_GROUPED),
    "llama": transformers.LlamaConfig(**_GROUPED),
    "mistral": transformers.MistralConfig(**_GROUPED, sliding_window=None),
    "qwen2": transformers.Qwen2Config(**_GROUPED),
    "qwen3": transformers.Qwen3Config(**_WIDE),
    "gemma2": transformers.Gemma2Config(**_WIDE, layer_types=["sliding_attention", "full_attention"]),
    "gemma3": transformers.Gemma3TextConfig(**_WIDE, layer_types=["sliding_attention", "full_attention"]),
    "smollm3": transformers.SmolLM3Config(**_GROUPED),
    "granite": transformers.GraniteConfig(**_GROUPED),
    "stablelm": transformers.StableLmConfig(**_GROUPED),
    "starcoder2": transformers.Starcoder2Config(**_GROUPED),
    "cohere": transformers.CohereConfig(**_GROUPED),
    "olmo2": transformers.Olmo2Config(**_GROUPED),
    "bloom": transformers.BloomConfig(
        vocab_size=30, hidden_size=24, n_layer=2, n_head=6, bos_token_id=1, eos_token_id=2
    ),
    "falcon": transformers.FalconConfig(**_DECODER, new_decoder_architecture=True, num_kv_heads=2),
}
SEQ2SEQ = {
    "marian": transformers.MarianConfig(**_TWO_STACKS),
    "bart": transformers.BartConfig(**_TWO_STACKS),
    "mbart": transformers.MBartConfig(**_TWO_STACKS),
    "pegasus": transformers.PegasusConfig(**_TWO_STACKS),
    "m2m100": transformers.M2M100Config(**_TWO_STACKS),
    "t5": transformers.T5Config(**_T5),
    "flan-t5": transformers.T5Config(**_T5, feed_forward_proj="gated-gelu", tie_word_embeddings=False),
    "mt5": transformers.MT5Config(**_T5),
    "umt5": transformers.UMT5Config(**_T5),
}
CLASSIFIERS = {
    "bert": transformers.BertConfig(**_DECODER),
    "modernbert": transformers.ModernBertConfig(
        **_DECODER, cls_token_id=1, sep_token_id=2, global_attn_every_n_layers=2, local_attention=8
    ),
    "deberta": transformers.DebertaConfig(**_DECODER, relative_attention=True, pos_att_type=["c2p", "p2c"]),
    "deberta-v2": transformers.DebertaV2Config(**_DECODER, relative_attention=True, pos_att_type=["c2p", "p2c"]),
    "albert": transformers.AlbertConfig(**_DECODER, embedding_size=12),
    "albert-groups": transformers.AlbertConfig(
        **{**_DECODER, "num_hidden_layers": 3}, embedding_size=12, num_hidden_groups=2, inner_group_num=2
    ),
}
TASKS = {
    **dict.fromkeys(CAUSAL, "AutoModelForCausalLM"),
    **dict.fromkeys(SEQ2SEQ, "AutoModelForSeq2SeqLM"),
    **dict.fromkeys(CLASSIFIERS, "AutoModelForSequenceClassification"),
}
CONFIGURATIONS = {**CAUSAL, **SEQ2SEQ, **CLASSIFIERS}

REFUSED = {"falcon": "features of FalconAttention are not a multiple"}
MASKED_ONLY = {"olmo2": "normalised over all heads", "bloom": "position bias"}
EAGER_ONLY = ("bloom", "gemma2", "gpt-neo", "gpt-j", "deberta", "deberta-v2")

PIECES = torch.tensor([[3, 11, 4, 15, 5, 9], [9, 12, 6, 5, 0, 0]])
MASK = (PIECES != 0).long()


def build_small(family, attention="sdpa", scale=0.15):
    """Return a model in eval mode with weights large enough that every head matters."""
    torch.manual_seed(3)
    config = CONFIGURATIONS[family]
    model = getattr(transformers, TASKS[family]).from_config(config, attn_implementation=attention).eval()
    computed = model._keys_to_ignore_on_save or ()  # Marian's positions
    for name, weight in model.named_parameters():
        if name in computed:
            continue
        weight.data.normal_(mean=1.0 if "norm" in name.lower() and name.endswith("weight") else 0.0, std=scale)
    return model.requires_grad_(False)


def inputs_of(family):
    """Return the inputs of a pass."""
    inputs = {"input_ids": PIECES, "attention_mask": MASK}
    return inputs | ({"decoder_input_ids": PIECES.flip(0) + 1} if family in SEQ2SEQ else {})


def prompt_of(family):
    """Return the inputs of a generation, with padding on the left for a decoder; None for a classifier."""
    if family in CLASSIFIERS:
        return None
    if family in SEQ2SEQ:
        return {"input_ids": PIECES, "attention_mask": MASK}
    return {"input_ids": PIECES.flip(1), "attention_mask": MASK.flip(1)}
