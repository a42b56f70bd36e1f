"""Trees of the grammar as CoNLL-U."""

from collections.abc import Sequence

import conllu

from headroom.data.grammar.source import Token, text


def conllu_lines(sentences: Sequence[Sequence[Token]], *, name: str) -> list[str]:
    """Return the lines of sentences with ids `<name>-1`, `<name>-2`, ... in the order of the plain text.

    Format: https://universaldependencies.org/format.html; words are split as in the plain text, with
    `SpaceAfter=No` before punctuation.
    """
    lines: list[str] = []
    for number, tokens in enumerate(sentences, 1):
        about = conllu.Metadata(sent_id=f"{name}-{number}", text=text(tokens))
        lines += conllu.TokenList(_rows(tokens), metadata=about).serialize().removesuffix("\n").split("\n")
    return lines


def _rows(tokens: Sequence[Token]) -> list[conllu.Token]:
    """Return the ten columns of every word."""
    number = {id(token): index for index, token in enumerate(tokens, 1)}
    return [
        conllu.Token(
            id=number[id(token)],
            form=token.form,
            lemma=token.lemma,
            upos=token.universal,
            xpos=None,
            feats=dict(sorted(token.features.items())) or None,
            head=0 if token.governor is None else number[id(token.governor)],
            deprel=token.relation,
            deps=None,
            misc=None if token.space_after else {"SpaceAfter": "No"},
        )
        for token in tokens
    ]
