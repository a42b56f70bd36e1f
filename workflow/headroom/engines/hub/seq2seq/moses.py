"""The tokenizer of models that fairseq released: Moses tokens split by byte-pair codes, a dictionary per language."""

import json
import shutil
from pathlib import Path
from typing import Any

from headroom.engines.hub import installed  # noqa: F401  # isort: skip (before transformers)

from transformers import AutoTokenizer, PreTrainedConfig, PreTrainedTokenizer

from headroom.data.subwords import CODES, MOSES, load_subwords


class MosesTokenizer(PreTrainedTokenizer):
    """Pieces of two languages; `text_target` is of the second one."""

    vocab_files_names = {"vocab": "vocab.json", "target_vocab": "target_vocab.json", "moses": MOSES, "bpecodes": CODES}  # noqa: RUF012
    model_input_names = ["input_ids", "attention_mask"]  # noqa: RUF012

    def __init__(
        self,
        vocab: Path | str,
        target_vocab: Path | str,
        codes: Path | str | None = None,
        moses: Path | str | None = None,
        bpecodes: Path | str | None = None,
        **options: Any,
    ) -> None:
        """Read dictionaries and codes.

        Args:
            vocab: Indices of the source's pieces, JSON.
            target_vocab: Those of the target's.
            codes: The directory of the codes and their settings; None for that of `moses`.
            moses: The settings, in the directory of a saved tokenizer.
            bpecodes: The codes beside them.
            options: Those of transformers.
        """
        del bpecodes  # its name is fixed
        self._directory = Path(codes) if codes else Path(str(moses)).parent
        self._languages = load_subwords(self._directory)
        self._indices = [json.loads(Path(file).read_text("utf-8")) for file in (vocab, target_vocab)]
        self._pieces = [{index: piece for piece, index in own.items()} for own in self._indices]
        self._side = 0
        marks = {"unk_token": "<unk>", "eos_token": "</s>", "pad_token": "<pad>"}
        super().__init__(**{**marks, **options})

    @property
    def vocab_size(self) -> int:
        """The number of source pieces."""
        return len(self._indices[0])

    def get_vocab(self) -> dict[str, int]:
        """Return the indices of the present language's pieces."""
        return dict(self._indices[self._side])

    def _tokenize(self, text: str, **_: Any) -> list[str]:
        return self._languages[self._side].encode(text)

    def _convert_token_to_id(self, token: str) -> int:
        own = self._indices[self._side]
        return int(own.get(token, own["<unk>"]))

    def _convert_id_to_token(self, index: int) -> str:
        return str(self._pieces[1].get(index, "<unk>"))  # what is decoded are translations

    def convert_tokens_to_string(self, tokens: list[str]) -> str:
        """Return the plain text of pieces of the target."""
        return self._languages[1].decode(tokens)

    def build_inputs_with_special_tokens(
        self, token_ids_0: list[int], token_ids_1: list[int] | None = None
    ) -> list[int]:
        """Return the pieces of a sentence with the end mark."""
        return [*token_ids_0, *(token_ids_1 or []), self.eos_token_id]

    def _switch_to_input_mode(self) -> None:
        self._side = 0

    def _switch_to_target_mode(self) -> None:
        self._side = 1

    def save_vocabulary(self, save_directory: str, filename_prefix: str | None = None) -> tuple[str, ...]:
        """Write the dictionaries, the codes and their settings; return their paths."""
        del filename_prefix  # transformers gives none
        found = [Path(save_directory, name) for name in self.vocab_files_names.values()]
        for file, own in zip(found, self._indices):
            file.write_text(json.dumps(own), "utf-8")
        for file in found[2:]:
            if not file.exists() or not file.samefile(self._directory / file.name):
                shutil.copyfile(self._directory / file.name, file)
        return tuple(map(str, found))


class _NoModel(PreTrainedConfig):
    """A configuration of no model: with it transformers keeps the tokenizer's class, which files name."""


AutoTokenizer.register(_NoModel, slow_tokenizer_class=MosesTokenizer)
