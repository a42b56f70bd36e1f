"""Values of the second paper's tables and figures, to stand beside ours.

From Voita, Talbot, Moiseev, Sennrich and Titov 2019, "Specialized Heads Do the Heavy Lifting, the Rest Can Be
Pruned", arXiv 1905.09418v2. Transformer-base (6 layers of 8 heads of each kind), English-Russian unless named. Values
of figures were read off bitmaps, to within 0.01 of an accuracy and 0.05 of a BLEU. One seed, no test.
"""

RELATIONS = {
    "nsubj:to-dependent": ((45, 35), (77, 45)),
    "nsubj:to-governor": ((52, 35), (70, 45)),
    "obj:to-dependent": ((78, 41), (61, 46)),
    "obj:to-governor": ((73, 41), (84, 46)),
    "amod:to-dependent": ((74, 72), (81, 80)),
    "amod:to-governor": ((82, 72), (81, 80)),
    "advmod:to-dependent": ((48, 46), (38, 33)),
    "advmod:to-governor": ((52, 46), (42, 33)),
}
"""Table 1: best head and most frequent position, accuracy in %, on WMT and on OpenSubtitles."""

LANGUAGES = {
    "English-Russian": (45, 52, 78, 73, 74, 82, 48, 52),
    "English-German": (46, 57, 66, 75, 72, 84, 47, 57),
    "English-French": (41, 44, 72, 78, 72, 72, 46, 49),
    "most frequent position": (35, 35, 41, 41, 72, 72, 46, 46),
}
"""Figure 4: the best head's accuracy in % by target language, WMT, in the order of RELATIONS."""

RELEVANCE = {"smallest": 0.078, "largest": 0.205, "even share": 0.125}
"""Figure 1a, OpenSubtitles."""

ROLES = {
    "OpenSubtitles": {"positional": 5, "syntactic": 8, "rare": 1, "unknown": 34},
}
"""Figure 1c: encoder heads by what they do."""

POSITIONAL = {"heads": "5, 5 and 4 of 48", "confidence": "above 0.8"}

RARE = {"rarest": 66, "two-rarest": 83}
"""Section 5.3, OpenSubtitles, in %; on WMT more than 50 % to one of the two rarest."""

ENCODER_PRUNED = {
    "WMT": {
        48: 29.60, 35: 29.70, 19: 29.56, 12: 29.45, 11: 29.45, 10: 29.45, 8: 29.26, 7: 29.15, 6: 29.21, 5: 29.08,
        3: 28.54, 2: 28.26,
    },
    "OpenSubtitles": {
        48: 32.40, 30: 32.40, 17: 32.38, 14: 32.43, 11: 32.20, 9: 32.20, 7: 32.18, 6: 32.15, 5: 32.15, 4: 32.15,
        3: 32.08, 2: 32.02, 1: 31.46,
    },
}  # fmt: skip
"""Figure 7: BLEU by number of encoder heads kept."""

SURVIVORS = {
    48: (5, 8, 1, 34), 30: (4, 7, 1, 18), 17: (3, 7, 1, 6), 14: (2, 6, 1, 5), 11: (2, 4, 1, 4), 9: (2, 3, 1, 3),
    7: (2, 2, 1, 2), 6: (2, 2, 1, 1), 5: (2, 1, 0, 2), 4: (2, 1, 0, 1), 3: (2, 0, 0, 1),
}  # fmt: skip
"""Figure 8, OpenSubtitles: positional, syntactic, rare and unknown among the encoder heads kept."""

LAYOUTS = {
    "WMT": (
        ((48, 48, 48), 29.6, None),
        ((14, 31, 30), 29.62, 29.47),
        ((12, 21, 25), 29.36, 28.95),
        ((8, 13, 15), 29.06, 28.56),
        ((5, 9, 12), 28.90, 28.41),
    ),
    "OpenSubtitles": (
        ((48, 48, 48), 32.4, None),
        ((27, 31, 46), 32.24, 32.23),
        ((13, 17, 31), 32.23, 31.98),
        ((6, 9, 13), 32.27, 31.84),
    ),
}
"""Table 2: heads kept in E, D and A, BLEU pruned from the trained model, BLEU of the layout from scratch."""

BY_KIND = {
    "E": (48, 34, 24, 15, 14, 13, 13, 12, 11, 11, 11, 10, 8, 5),
    "D": (48, 47, 40, 33, 31, 30, 27, 21, 21, 20, 19, 16, 13, 9),
    "A": (48, 47, 39, 33, 30, 28, 28, 25, 24, 22, 21, 20, 15, 12),
}
"""Figure 9, WMT: heads kept by kind (of 48), at rising sparsity."""

BY_LAYERS = {
    "D": {
        "1–2": (16, 16, 16, 13, 12, 11, 10, 10, 8, 8, 8, 8, 7, 6),
        "3–4": (16, 16, 15, 13, 12, 12, 11, 9, 9, 8, 8, 7, 5, 3),
        "5–6": (16, 15, 9, 7, 7, 7, 6, 2, 4, 4, 3, 1, 1, 0),
    },
    "A": {
        "1–2": (16, 15, 7, 6, 6, 5, 5, 5, 5, 5, 5, 5, 4, 4),
        "3–4": (16, 16, 16, 11, 11, 10, 10, 10, 10, 8, 8, 7, 5, 3),
        "5–6": (16, 16, 16, 16, 13, 13, 13, 10, 9, 9, 8, 8, 6, 5),
    },
}
"""Figure 10, WMT: heads kept by pair of layers (of 16), the same models."""

_PAPER = "Voita et al. 2019, "
_READ = "read off the figure."
SOURCES = {
    "relations": f"{_PAPER}table 1 (English-Russian); chosen and judged on the same sentences. A margin is the best"
    " head’s accuracy less that of the most frequent relative position.",
    "languages": f"{_PAPER}figure 4 (WMT), {_READ}",
    "relevance": f"{_PAPER}figure 1a (English-Russian, OpenSubtitles), {_READ}",
    "roles": f"{_PAPER}figure 1c (English-Russian, OpenSubtitles), 48 encoder heads.",
    "encoder": f"{_PAPER}figure 7 (English-Russian), {_READ} The decoder is frozen.",
    "survivors": f"{_PAPER}figure 8 (English-Russian, OpenSubtitles), {_READ} Heads with two functions are counted"
    " once.",
    "layouts": f"{_PAPER}table 2 (English-Russian), one seed each.",
    "kinds": f"{_PAPER}figure 9 (English-Russian, WMT), {_READ}",
    "layers": f"{_PAPER}figure 10 (English-Russian, WMT), {_READ}",
}
"""Where each group of values comes from."""
