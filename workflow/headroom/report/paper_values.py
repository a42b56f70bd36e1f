"""Values of the papers' tables and figures, to stand beside ours.

From Michel, Levy and Neubig 2019, "Are Sixteen Heads Really Better than One?", arXiv 1905.10650v3. Values
of figures were read from the vector paths of the figures in the PDF. The models differ from ours in data,
size and tokenisation: compare shapes, not absolute scores.
"""

ABLATION_BY_KIND = {"E": (0.019, 0.110, 96), "A": (-0.030, 0.116, 96), "D": (0.016, 0.052, 96)}
"""Figure 2a's points: mean and standard deviation of the change in BLEU on newstest2013, heads."""

KEEP_ONE = {
    "E": ("−1.96*", "−0.57*", "−0.45*", "−0.30", "−0.32", "−0.67*"),
    "A": ("0.02", "0.09", "−0.42*", "−0.60*", "−2.75*", "−18.89*"),
    "D": ("0.03", "−0.13", "0.00", "−0.31", "−0.66*", "−0.03"),
}
"""Table 5: change in BLEU on newstest2014, head chosen on newstest2013, by layer; * p < 0.01."""

AGREEMENT = (
    ("Pearson [95 % interval]", "0.56 [0.39, 0.68]"),
    ("Spearman [95 % interval]", "0.34 [0.23, 0.45]"),
    ("Pearson without the 1, 2, 5, 10 worst heads", "0.50, 0.48, 0.38, 0.36"),
    ("common among the 5, 10, 20 worst heads (chance)", "3 (0.1), 5 (0.3), 11 (1.4)"),
)
"""Figure 2a, newstest2013 against MTNT, 288 heads; all but the first Pearson value computed from its points."""

SHARES = (0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100)

CURVES = {
    "gradient": (36.05, 36.06, 35.63, 34.12, 32.48, 28.02, 24.13, 6.86, 0.36, 0.25, 0.01),
    "ablation": (36.05, 35.15, 33.82, 20.66, 8.58, 6.32, 3.17, 1.25, 0.34, 0.10, 0.01),
}
"""Figure 3a: BLEU on newstest2013 by share of heads removed (SHARES), by gradient and by single ablation."""

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

_PAPER = "Michel et al. 2019, "
SOURCES = {
    "ablation": _PAPER + "figure 2a (WMT14 English-French, newstest2013), read from the figure’s vector paths.",
    "keep_one": _PAPER + "table 5: BLEU on newstest2014, head chosen on newstest2013; * p < 0.01.",
    "agreement": _PAPER + "figure 2a (newstest2013 and MTNT); intervals computed from the figure’s points.",
    "curves": _PAPER + "figure 3a (WMT14 English-French), read from the figure’s vector paths.",
    "curves_by_kind": _PAPER + "figure 4 (WMT14 English-French), read from the figure’s vector paths.",
    "settling": _PAPER + "figure 5 (IWSLT14 German-English), read from the figure’s vector paths.",
    "timing": _PAPER + "table 4: BERT with half of its heads removed, on a GPU; a different model and device.",
}
"""Where each group of values comes from."""
