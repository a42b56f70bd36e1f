"""Criteria from the gradients of one pass, which is also that of the criteria of `gradient`.

With z the output of a head, m its gate (1), L the loss of an example, g = dL/dm = sum over positions of <z, dL/dz>, and
E the mean over examples:

    gradient-signed         -E g: how much the loss rises to first order if the head is removed
    gradient-mean           E of the sum over positions of <mean z - z, dL/dz>: the same if its z becomes its mean
    sign-share              E|g| times the share of examples with g < 0, which the head helps
    gradient-squared-batch  the mean of (E_b g)^2 over batches b of 32 examples, where E_b is the mean over one batch
    fisher-block            the error up to which the head is kept if heads are exchanged within their site

The mean z is that over positions without padding. A batch of 32 has consecutive examples of the set, independently of
the batches in which they are computed; the gradients of its examples may cancel before they are squared. `fisher-block`
uses the gradients of the same batches: see `exchanged_scores`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

from headroom.core.heads import Head, Site
from headroom.methods.criteria import COMPARED, Criterion
from headroom.methods.criteria.gradient import SOURCES as GRANULARITIES
from headroom.methods.criteria.gradient import Granularities, build_rows, gate_gradients, of_heads, place_kept

if TYPE_CHECKING:
    from torch import Tensor

    from headroom.models.batch import Batch
    from headroom.models.head_model import HeadModel

SOURCES = {
    "gradient-signed": "attribution patching with a zero baseline, as in the code of EAP-IG",
    "gradient-mean": "attribution patching with a mean baseline, as in the code of EAP-IG",
    "sign-share": "LAHIS",
    "gradient-squared-batch": "Kwon et al. 2022, mask search",
    "fisher-block": "Kwon et al. 2022, mask rearrangement",
}

BATCH = 32
"""Examples in a batch of `gradient-squared-batch` and `fisher-block` (Kwon et al. 2022)."""


def score_shared(
    model: HeadModel, batches: Iterable[Batch], removed: Collection[Head] = (), *, half: int | None = None
) -> dict[str, dict[Head, float]]:
    """Score all heads by these criteria and those of `gradient`, in one pass; see `gradient_scores`."""
    import torch

    granularities, baseline = Granularities(model), MeanBaseline(model)
    places: list[int] = []
    single: dict[Site, list[Tensor]] = {site: [] for site in model.sites}
    for batch in batches:
        if not (rows := build_rows(batch, half)):
            continue
        products = gate_gradients(model, batch, removed, baseline.of(model.real(batch), rows))
        granularities.add(products, None if half is None else rows)
        places += [batch.positions[row] for row in rows]
        for site, own in products.items():
            single[site].append(own.sum(0)[rows].double().cpu())  # (B, H)
    order = torch.tensor(places).argsort()
    none = torch.zeros(len(places), 1, dtype=torch.float64)
    gradients = {
        site: torch.cat(own)[order] if own else none.expand(-1, site.heads) for site, own in single.items()
    }  # (N, H)
    return granularities.scores() | _scores(gradients, baseline)


def _scores(gradients: dict[Site, Tensor], baseline: MeanBaseline) -> dict[str, dict[Head, float]]:
    """Return the scores from the gate's gradient of every example in the order of the set, (N, H) by site."""
    import torch

    blocks = {site: torch.stack([block.mean(0) for block in own.split(BATCH)]) for site, own in gradients.items()}
    found = {
        "gradient-signed": {site: -own.mean(0) for site, own in gradients.items()},
        "gradient-mean": {site: baseline.change(site) / len(own) - own.mean(0) for site, own in gradients.items()},
        "sign-share": {site: own.abs().mean(0) * (own < 0).double().mean(0) for site, own in gradients.items()},
        "gradient-squared-batch": {site: own.square().mean(0) for site, own in blocks.items()},
        "fisher-block": {site: score_by_exchanges(own) for site, own in blocks.items()},
    }
    return {name: of_heads(values) for name, values in found.items()}


class MeanBaseline:
    """The sums over positions from which the mean z and its product with the gradients follow."""

    def __init__(self, model: HeadModel) -> None:
        self._kept = {live.site: live.kept for live in model.live_sites}
        self._z: dict[Site, Tensor] = {}
        self._gradient: dict[Site, Tensor] = {}
        self._positions: dict[Site, float] = {}

    def of(self, real: Any, rows: Collection[int]) -> Any:
        """Return the function that adds z and dL/dz, (T, B, K, d), of those rows of a batch that count.

        Args:
            real: From `HeadModel.real`.
            rows: The rows.
        """
        import torch

        def add(site: Site, z: Tensor, gradient: Tensor) -> None:
            counts = torch.zeros(z.shape[:2], dtype=z.dtype, device=z.device)  # (T, B)
            counts[:, list(rows)] = real[site.kind][0].T[:, list(rows)].to(z)
            for sums, values in ((self._z, z), (self._gradient, gradient)):
                own = torch.einsum("tb,tbkd->kd", counts, values).double().cpu()
                sums[site] = sums[site] + own if site in sums else own
            self._positions[site] = self._positions.get(site, 0.0) + float(counts.sum())

        return add

    def change(self, site: Site) -> Tensor:
        """Return <mean z, sum of dL/dz> of a site's heads, (H,)."""
        import torch

        if site not in self._z:
            return torch.zeros(site.heads, dtype=torch.float64)
        products = (self._z[site] / self._positions[site] * self._gradient[site]).sum(-1)  # (K,)
        return place_kept(products, self._kept[site], site.heads)


def score_by_exchanges(gradients: Tensor) -> Tensor:
    """Score the heads of a site by the error at which they are removed, with exchanges at every number removed, (H,).

    The error of removing the heads P of a site is F(P), the mean over batches of (sum of g over P)^2: the Fisher matrix
    of one site, with its terms between heads (Kwon et al. 2022). For every number k of removed heads, P_k
    starts from the k heads with the smallest F of their own. Each other head, by rising F, is then
    added in turn, and the head without which F is smallest leaves. The sets of two k need not be nested, so a head's
    score is the range of the error over which it is kept: the sum over k of the rise from F(P_{k-1}) to F(P_k) if it
    is not in P_{k-1}, where a fall counts as none. For nested sets this is the error of the first set with it. Heads
    without any gradient, such as those removed before, are not part of the sets and score zero.

    Args:
        gradients: Gradients of the gates, (batches, H).
    """
    import torch

    scores = gradients.new_zeros(gradients.shape[1])
    (present,) = torch.nonzero(gradients.any(0), as_tuple=True)
    matrix = gradients[:, present].T @ gradients[:, present] / len(gradients)  # (K, K)
    before, removed = 0.0, list[int]()
    for count in range(1, len(present) + 1):
        kept = [head for head in range(len(present)) if head not in removed]
        removed = _exchange_heads(matrix, count)
        error = max(before, float(matrix[removed][:, removed].sum()))
        scores[present[kept]] += error - before
        before = error
    return scores


def _exchange_heads(matrix: Tensor, count: int) -> list[int]:
    """Return the removed heads of a site after exchanges, from its Fisher matrix (H, H)."""
    order: list[int] = matrix.diagonal().argsort(stable=True).tolist()
    removed = order[:count]
    for head in order[count:]:
        together = [*removed, head]
        own = matrix[together][:, together]  # (count + 1, count + 1)
        without = own.sum() - 2 * own.sum(1) + own.diagonal()  # F without each of them
        del together[int(without.argmin())]
        removed = together
    return removed


CRITERIA = tuple(
    Criterion(name, "backward", True, source, COMPARED, score=score_shared) for name, source in SOURCES.items()
)

ALSO = tuple(GRANULARITIES)
"""Criteria of another table that the function returns, too: one pass feeds all of them where they are compared."""
