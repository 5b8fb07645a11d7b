"""Color palette of all plots."""

# palette of Okabe and Ito, distinguishable for color-blind readers, plus brown and gray
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c564b", "#7f7f7f")
