"""Dependency trees as CoNLL-U."""

from collections.abc import Sequence
from pathlib import Path

from headroom.core.files import write_lines
from headroom.data.grammar.source import Token, text


def write_treebank(path: Path | str, sentences: Sequence[Sequence[Token]], *, name: str) -> None:
    """Write sentences as CoNLL-U with ids `<name>-1`, `<name>-2`, ... in the order of the plain text.

    Format: https://universaldependencies.org/format.html; words are split as in the plain text, with
    `SpaceAfter=No` before punctuation.
    """
    lines: list[str] = []
    for number, tokens in enumerate(sentences, 1):
        lines += [f"# sent_id = {name}-{number}", f"# text = {text(tokens)}", *conllu_rows(tokens), ""]
    write_lines(path, lines)


def conllu_rows(tokens: Sequence[Token]) -> list[str]:
    """Return the ten-column rows of one sentence."""
    number = {id(token): index for index, token in enumerate(tokens, 1)}
    rows = []
    for token in tokens:
        features = "|".join(f"{key}={value}" for key, value in sorted(token.features.items())) or "_"
        governor = 0 if token.governor is None else number[id(token.governor)]
        columns = (
            number[id(token)], token.form, token.lemma, token.universal, "_", features, governor,
            token.relation, "_", "_" if token.space_after else "SpaceAfter=No",
        )  # fmt: skip
        rows.append("\t".join(str(column) for column in columns))
    return rows
