"""Values of the paper's tables and figures, to stand beside ours.

From Michel, Levy and Neubig 2019, "Are Sixteen Heads Really Better than One?", arXiv 1905.10650v3. Values
of figures were read from the vector paths of the figures in the PDF. The models differ from ours in data,
size and tokenisation: compare shapes, not absolute scores. Where both are given, values are by kind of task:
translation is WMT14 English-French (288 heads), classification BERT-base on MNLI (144 heads); accuracies in %.
"""

ABLATION = {
    "translation": {"E": (0.019, 0.110, 96), "A": (-0.030, 0.116, 96), "D": (0.016, 0.052, 96)},
    "classification": {"E": (-0.07, 0.18, 144)},
}
"""Figures 1 and 2: mean and standard deviation of the change without one head by kind of attention, heads."""

KEEP_ONE_SAME: dict[str, dict[str, tuple[str, ...]]] = {
    "translation": {
        "E": ("−1.31*", "−0.16", "0.12", "−0.15", "0.02", "−0.36*"),
        "A": ("0.24*", "0.06", "0.05", "−0.24", "−1.55*", "−13.56*"),
        "D": ("−0.03", "0.12", "0.18", "0.17", "−0.04", "0.24"),
    },
    "classification": {
        "E": (
            *("−0.01", "0.10", "−0.14", "−0.53", "−0.29", "−0.52"),
            *("0.05", "−0.72", "−0.96", "0.07", "−0.19", "−0.12"),
        )
    },
}
"""Tables 2 and 3: the best head of every layer, chosen and judged on the same set; * p < 0.01."""

KEEP_ONE_OTHER: dict[str, dict[str, tuple[str, ...]]] = {
    "translation": {
        "E": ("−1.96*", "−0.57*", "−0.45*", "−0.30", "−0.32", "−0.67*"),
        "A": ("0.02", "0.09", "−0.42*", "−0.60*", "−2.75*", "−18.89*"),
        "D": ("0.03", "−0.13", "0.00", "−0.31", "−0.66*", "−0.03"),
    },
    "classification": {
        "E": (
            *("−0.01", "−0.02", "−0.26", "−0.53", "−0.29", "−0.52"),
            *("0.05", "−0.72", "−0.96", "0.07", "−0.19", "−0.15"),
        )
    },
}
"""Tables 5 and 6: the head chosen on other data; * p < 0.01."""

KEEP_ONE_TABLES = {"translation": ("table 2", "table 5"), "classification": ("table 3", "table 6")}

AGREEMENT_ROWS = (
    "Pearson [95 % interval]",
    "Spearman [95 % interval]",
    "Pearson without the 1, 2, 5, 10 worst heads",
    "common among the 5, 10, 20 worst heads (chance)",
)
AGREEMENT = {
    "translation": (
        "0.56 [0.39, 0.68]",
        "0.34 [0.23, 0.45]",
        "0.50, 0.48, 0.38, 0.36",
        "3 (0.1), 5 (0.3), 11 (1.4)",
    ),
    "classification": (
        "0.68 [0.38, 0.82]",
        "0.27 [0.10, 0.44]",
        "0.54, 0.49, 0.32, 0.21",
        "3 (0.2), 6 (0.7), 9 (2.8)",
    ),
}
"""Figure 2: newstest2013 and MTNT; MNLI matched and mismatched. All but Pearson computed from the figure's points."""

SHARES = (0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100)

CURVES = {
    "translation": {
        "gradient": (36.05, 36.06, 35.63, 34.12, 32.48, 28.02, 24.13, 6.86, 0.36, 0.25, 0.01),
        "ablation": (36.05, 35.15, 33.82, 20.66, 8.58, 6.32, 3.17, 1.25, 0.34, 0.10, 0.01),
    },
    "classification": {
        "gradient": (83.6, 83.5, 83.6, 83.4, 82.8, 81.5, 79.4, 75.4, 53.8, 39.1, 31.8),
        "ablation": (83.6, 83.8, 81.9, 78.8, 76.8, 70.9, 69.1, 61.7, 36.9, 34.5, 31.8),
    },
}
"""Figure 3: the score by share of heads removed (SHARES), by gradient and by single ablation."""

TASK_CURVES = {
    "sst2": (92.7, 92.8, 92.6, 92.7, 92.4, 92.0, 91.7, 88.2, 82.2, 74.2, 50.9),
    "cola": (58.9, 58.6, 58.6, 58.9, 59.1, 59.1, 55.7, 48.2, 32.4, 2.8, 0.0),
    "mrpc": (89.4, 89.4, 88.9, 89.6, 89.1, 89.4, 87.4, 83.8, 59.6, 9.9, 0.0),
    "translation": (34.95, 34.38, 33.66, 33.08, 32.15, 29.86, 20.60, 1.73, 0.63, 0.06, 0.0),
}
"""Figure 6, by gradient: SST-2 accuracy, CoLA Matthews, MRPC F1 (not defined at the end: 0), IWSLT BLEU."""

CURVES_BY_KIND = {
    "E": (36.05, 36.21, 36.01, 35.64, 34.98, 34.47, 32.15, 30.17, 28.06, 23.38, 8.98),
    "A": (36.05, 36.13, 35.90, 35.91, 34.11, 32.92, 29.37, 10.59, 0.88, 0.49, 0.32),
    "D": (36.05, 36.04, 36.16, 35.96, 35.65, 34.96, 34.26, 32.14, 30.54, 21.42, 3.06),
}
"""Figure 4: BLEU on newstest2013 by share of one kind's heads removed (SHARES)."""

SETTLING_EPOCHS = (1, 2, 3, 5, 10, 20, 30, 40)

SETTLING = {
    20: (80.3, 91.8, 100.2, 97.1, 96.6, 96.3, 96.5, 96.8),
    40: (70.7, 68.3, 89.1, 87.7, 93.5, 92.4, 91.4, 91.9),
    50: (62.7, 65.5, 79.7, 78.5, 87.6, 83.7, 87.7, 85.2),
    60: (55.0, 47.7, 50.1, 36.5, 72.5, 66.2, 68.5, 56.1),
    80: (29.3, 22.5, 6.4, 1.4, 1.8, 1.0, 3.5, 1.9),
}
"""Figure 5: BLEU in % of the unpruned model of the same epoch (SETTLING_EPOCHS), by share removed in %."""

TIMING = {1: 1.019, 4: 1.027, 16: 1.175, 64: 1.175}
"""Table 4: speed-up of BERT with half of its heads removed, by batch size, on a GTX 1080 Ti."""

HEAD_SHARE = {"translation": 6.25, "classification": 8.34}
"""Section 4.3: a head's part of its attention layer, in %. All attention is about one third of the parameters."""

_PAPER = "Michel et al. 2019, "
_WMT = "WMT14 English-French"
_FROM_PATHS = "read from the figure’s vector paths."
SOURCES = {
    ("ablation", "translation"): f"{_PAPER}figure 1a ({_WMT}, newstest2013), its points read from the vector"
    " paths of figure 2a.",
    ("ablation", "classification"): f"{_PAPER}figure 1b (BERT, MNLI matched, points of accuracy), its points read"
    " from the vector paths of figure 2b.",
    ("keep_one", "translation"): f"{_PAPER}tables 2 (newstest2013) and 5 (newstest2014, head chosen on newstest2013):"
    " change in BLEU; * p < 0.01.",
    ("keep_one", "classification"): f"{_PAPER}tables 3 (best head on MNLI matched) and 6 (head chosen on 5000 training"
    " examples): change in accuracy of BERT, in points; none at p < 0.01 by its t-test.",
    ("agreement", "translation"): f"{_PAPER}figure 2a (newstest2013 and MTNT); intervals computed from the figure’s"
    " points.",
    ("agreement", "classification"): f"{_PAPER}figure 2b (MNLI matched and mismatched); intervals computed from the"
    " figure’s points.",
    ("curves", "translation"): f"{_PAPER}figure 3a ({_WMT}), {_FROM_PATHS}",
    ("curves", "classification"): f"{_PAPER}figure 3b (BERT, MNLI matched), {_FROM_PATHS} Chance is the score without"
    " any head: 31.8 % in the paper.",
    ("curves_by_task", "classification"): f"{_PAPER}figure 6, {_FROM_PATHS}",
    ("curves_by_kind", "translation"): f"{_PAPER}figure 4 ({_WMT}), {_FROM_PATHS}",
    ("settling", "translation"): f"{_PAPER}figure 5 (IWSLT14 German-English), {_FROM_PATHS}",
    ("timing", "translation"): f"{_PAPER}table 4: BERT with half of its heads removed, on a GPU; a different model and"
    " device.",
    ("timing", "classification"): f"{_PAPER}table 4: BERT-base with half of its heads removed, on a GPU (GTX 1080 Ti).",
    ("parameters", "translation"): f"{_PAPER}section 4.3 ({_WMT}).",
    ("parameters", "classification"): f"{_PAPER}section 4.3 (BERT-base).",
}
"""Where each group of values comes from, by exhibit and kind of task."""
