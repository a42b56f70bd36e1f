"""Speed-up against batch size."""

import pandas
from markupsafe import Markup

from headroom.claims.selection import rows_where
from headroom.core.formatting import percent
from headroom.report import drawing, palette

MARKERS = ("o", "s", "^", "D", "v")


def speedups(rows: pandas.DataFrame, *, name: str, unit: str) -> Markup:
    """Return the panel of one part of the model: speed-up over the full model against batch size in `unit`.

    Sliced models are solid, one marker per share removed, with the median's 95 % interval;
    masked ones, the negative control, are grey; short dotted lines at the right are the expected gains.
    """
    shares = [share for share in sorted(rows["share_removed"].unique()) if share > 0]
    sizes = sorted(rows["batch_size"].unique())
    place = {size: index for index, size in enumerate(sizes)}
    ends: list[tuple[float, str]] = []
    with drawing.panel(f"timing-{name}", x_label=f"batch size ({unit})", y_label="speed-up", height=250) as panel:
        axes = panel.axes
        for index, share in enumerate(shares):
            marker = MARKERS[index % len(MARKERS)]
            masked = rows_where(rows, share_removed=share, model="masked").sort_values("batch_size")
            x = masked["batch_size"].map(place)
            axes.plot(x, masked["speedup"], color=palette.CONTROL.light, lw=1, marker=marker)
            sliced = rows_where(rows, share_removed=share, model="sliced").sort_values("batch_size")
            if sliced.empty:
                continue
            x = sliced["batch_size"].map(place)
            axes.vlines(x, sliced["speedup_low"], sliced["speedup_high"], color=palette.INK.light, lw=1)
            axes.plot(x, sliced["speedup"], color=palette.INK.light, marker=marker, markersize=5)
            expected = float(sliced["expected_speedup"].iloc[-1])
            axes.plot([x.iloc[-1] + 0.15, x.iloc[-1] + 0.75], [expected] * 2, color=palette.INK.light, ls=(0, (1.5, 2)))
            ends.append((expected, percent(share)))
        drawing.full_line(axes, 1.0)
        drawing.end_labels(axes, ends, len(sizes) - 0.22, merge=True)
        axes.set_xticks(list(place.values()), [f"{size:.0f}" for size in sizes])
        axes.set_xlim(-0.3, len(sizes) - 0.2)
    return panel.markup
