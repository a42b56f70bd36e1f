"""Output matrices that are the embeddings or are not, also against the configuration: loading and saving keep that."""

import json
from itertools import pairwise

import pytest
import torch
import transformers
from headroom.core.errors import HeadroomError
from models import load_translator, write_translator
from safetensors.torch import load_file, save_file


def give_matrix(directory, embedding, **configured):
    """Give a model an output matrix of its own; return it and the embedding."""
    path, config = directory / "model.safetensors", directory / "config.json"
    state = load_file(path)
    state["lm_head.weight"] = torch.randn(state[embedding].shape, generator=torch.Generator().manual_seed(0))
    save_file(state, path, metadata={"format": "pt"})
    config.write_text(json.dumps(json.loads(config.read_text()) | configured))
    return state["lm_head.weight"], state[embedding]


def matrices(model):
    return model.model.get_output_embeddings().weight, model.model.get_input_embeddings().weight


@pytest.mark.parametrize(
    ("family", "embedding", "configured"),
    [
        ("t5", "shared.weight", {"tie_word_embeddings": True}),
        ("t5", "shared.weight", {"tie_word_embeddings": False}),
        ("marian", "model.shared.weight", {"tie_word_embeddings": True}),
    ],
)
def test_an_output_matrix_of_its_own_is_kept(family, embedding, configured, tmp_path):
    """Also that of a T5 whose logits are scaled if its configuration says that it is tied."""
    write_translator(tmp_path / "released", family)
    output, given = give_matrix(tmp_path / "released", embedding, **configured)
    plain = transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "released").eval()
    pieces = torch.tensor([[5, 9, 7, 2]])
    with torch.no_grad():
        expected = plain(input_ids=pieces, decoder_input_ids=pieces).logits
    for place, following in pairwise(["released", "saved", "again"]):
        model = load_translator(tmp_path / place)
        assert torch.equal(matrices(model)[0], output)
        assert torch.equal(matrices(model)[1], given)
        found = model.model(input_ids=pieces, decoder_input_ids=pieces).logits
        torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-6)
        model.save(tmp_path / following)


VARIANTS = {
    "all": {},
    "decoder and output": {"share_encoder_decoder_embeddings": False},
    "none": {"share_encoder_decoder_embeddings": False, "tie_word_embeddings": False},
}
"""Which embeddings of a Marian are one matrix."""


@pytest.mark.parametrize("tied", VARIANTS)
def test_a_marian_with_any_ties_is_loaded_as_it_was_or_refused(tied, tmp_path):
    """With each tensor of embeddings left out of a file with all names: what is tied to another is that one."""
    place = write_translator(tmp_path / "whole", "marian", **VARIANTS[tied])
    pieces = torch.tensor([[5, 9, 7, 2]])
    model = load_translator(place).model
    expected = model(input_ids=pieces, decoder_input_ids=pieces).logits
    state = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    matrices = [name for name in state if "embed_tokens" in name or "shared" in name or "lm_head" in name]
    (place / "model.safetensors").unlink()
    refused = []
    for left_out in matrices:
        kept = {name: tensor for name, tensor in state.items() if name != left_out}
        save_file(kept, place / "model.safetensors", metadata={"format": "pt"})
        try:
            found = load_translator(place).model(input_ids=pieces, decoder_input_ids=pieces).logits
        except HeadroomError as error:
            assert f"1 tensors of config.json are missing, e.g. {left_out}" in str(error)  # noqa: PT017
            refused.append(left_out)
        else:
            torch.testing.assert_close(found, expected, rtol=0, atol=1e-6)
    assert len(refused) == {"all": 0, "decoder and output": 1, "none": 3}[tied]
