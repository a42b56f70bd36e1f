"""Learning a WordPiece vocabulary as in BERT: lower-cased, split at spaces and punctuation. No torch."""

from collections.abc import Sequence

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

from headroom.core.errors import HeadroomError

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
"""BERT's special pieces, the first of every vocabulary."""

_INSIDE = "##"
"""The prefix of pieces inside a word (Schuster and Nakajima 2012; Devlin et al. 2019)."""


def learn_wordpieces(sentences: Sequence[str], size: int) -> dict[str, int]:
    """Return the pieces of a vocabulary, at most `size` with special ones, with their numbers.

    The same sentences give the same numbers.

    Raises:
        HeadroomError: If the characters of the text exceed the vocabulary; names the smallest sufficient size.
    """
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    words = {
        word
        for sentence in sentences
        for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(tokenizer.normalizer.normalize_str(sentence))
    }
    characters = {character for word in words for character in word}
    inside = sorted({_INSIDE + character for word in words for character in word[1:]})
    smallest = len(SPECIAL) + len(characters) + len(inside)
    if smallest > size:
        raise HeadroomError(
            f"encoder.vocabulary: {size} pieces, but the characters of the training text need {smallest}; "
            f"set it to {smallest} or more"
        )
    # The trainer numbers characters inside words in the order of a hash map, which differs from process to
    # process, and breaks ties by these numbers. Given as special pieces they have the numbers of this list.
    trainer = trainers.WordPieceTrainer(
        vocab_size=size,
        special_tokens=[*SPECIAL, *inside],
        initial_alphabet=sorted(characters),
        continuing_subword_prefix=_INSIDE,
        show_progress=False,
    )
    tokenizer.train_from_iterator(sentences, trainer)
    return dict(sorted(tokenizer.get_vocab().items(), key=lambda item: item[1]))
