"""Repair of a model without training: what remains of a site is adapted to the heads that it loses.

Every repair is a closed form from the mean and the covariance of z at the real positions of calibration examples, and
leaves all shapes as they are. With z_S and z_R the outputs of a site's removed and remaining heads, W its output
projection, and the output W z of the plain model as the target:

    repair      what the site computes instead                                     source
    mean-bias   W_R z_R + W_S mean(z_S): the replacement `mean`                    FLAP, An et al. 2024
    scale       sum over remaining heads h of s_h W_h z_h, and a constant; s by    Kwon et al. 2022 (there the target
                least squares                                                      is a model pruned less)
    obs         (W_R + W_S M) z_R; M predicts z_S from z_R by least squares with   Hassibi and Stork 1993; for heads
                a damping of 1 % of the mean square of z                           ZipLM, Kurtic et al. 2023
    refit       (W_R + W_S M) z_R and a constant; the same undamped, which is the  K-prune, Park et al. 2024
                least squares fit of the whole output projection

All act on z (`models.gates.Addition`): the removed heads' z is predicted, or the remaining heads' is scaled. On the
calibration examples, with the inputs of the plain model, no repair increases the squared error of a site's output, and
mean-bias, scale and refit reduce it in this order.

Every site is fitted on the plain model, independently of other sites.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from headroom.core.errors import HeadroomError
from headroom.models.gates import Addition, Replacements

if TYPE_CHECKING:
    from headroom.core.heads import Site
    from headroom.core.interventions import Intervention, Replacement
    from headroom.models.batch import Batch
    from headroom.models.engine import Engine
    from headroom.models.head_model import HeadModel
    from headroom.models.sites import AttentionSite

CALIBRATION_SET = "choose"
"""The set with the calibration examples: all of it."""

BATCH_EXAMPLES = 64
"""Calibration examples in a batch; does not change the result."""

DAMPING = 0.01
"""Damping of `obs`, a share of the mean of the Gram matrix's diagonal, as in ZipLM and DarwinLM."""

ROUNDING = 1e-9
"""Damping of the other repairs: directions of z with less variance than this are rounding errors of float32."""


@dataclass(frozen=True, eq=False)
class Moments:
    """The first moments of a site's z.

    Attributes:
        count: Positions.
        mean: (n,), over the features of all heads that the site was trained with; 0 for heads sliced out. In float64.
        scatter: Sum of (z - mean) (z - mean)^T over positions, (n, n), in float64.
    """

    count: int
    mean: Tensor
    scatter: Tensor

    @property
    def covariance(self) -> Tensor:
        """The covariance, (n, n)."""
        return self.scatter / self.count

    def joined(self, other: Moments) -> Moments:
        """Return the moments of both sets of positions together (Chan et al. 1983)."""
        count = self.count + other.count
        shift = other.mean - self.mean
        between = torch.outer(shift, shift) * (self.count * other.count / count)
        return Moments(count, self.mean + shift * (other.count / count), self.scatter + other.scatter + between)


def find_moments(z: Tensor) -> Moments:
    """Return the moments of z at some positions, (N, n), at least one."""
    z = z.double()
    mean = z.mean(0)
    centred = z - mean
    return Moments(len(z), mean.cpu(), (centred.T @ centred).cpu())


@torch.no_grad()
def measure_moments(model: HeadModel, batches: Iterable[Batch]) -> dict[Site, Moments]:
    """Return the moments of z at the real positions of examples, of sites with heads, in one forward pass.

    The z is that under the model's present gates.

    Raises:
        HeadroomError: If there are no examples.
    """
    found: dict[Site, Moments] = {}
    lives = {live.site: live for live in model.live_sites}
    for batch in batches:
        real = model.real(batch)

        def add(site: Site, z: Tensor, real: Any = real) -> None:
            kept = [index - 1 for index in lives[site].kept]
            positions = z.transpose(0, 1)[real[site.kind][0]]  # (T, B, K, d) -> (N, K, d)
            whole = positions.new_zeros(len(positions), site.heads, positions.shape[-1])
            whole[:, kept] = positions
            moments = find_moments(whole.flatten(1))
            found[site] = found[site].joined(moments) if site in found else moments

        with model.gates.observed(add):
            model.logits(batch)
    if not found and any(lives[site].kept for site in lives):
        raise HeadroomError("calibration: no examples; give a set with at least one")
    return found


def calibrate(model: HeadModel, batches: Iterable[Batch], *, seed: int = 0) -> Replacements:
    """Return what all replacements and repairs of a model need, from one forward pass over examples.

    `seed` determines the permutations of examples with which z is resampled.

    Raises:
        HeadroomError: If there are no examples.
    """
    moments = measure_moments(model, batches)
    means = {site: one.mean.unflatten(0, (site.heads, -1)) for site, one in moments.items()}
    return Replacements(means, seed, repair=partial(compute_repair, moments))


def calibrate_on(engine: Engine, model: HeadModel) -> Replacements:
    """Return what all replacements and repairs of a model need, from the set that chooses heads."""
    return calibrate(model, engine.batches(model, engine.examples(CALIBRATION_SET), BATCH_EXAMPLES))


def replacements_for(name: Replacement, engine: Engine, model: HeadModel) -> Replacements | None:
    """Return what a replacement needs: measured means, a seed, or nothing."""
    if name in ("zero", "first"):
        return None
    return calibrate_on(engine, model) if name == "mean" else Replacements({})


def compute_repair(moments: Mapping[Site, Moments], live: AttentionSite, intervention: Intervention) -> Addition:
    """Return the repair of a site under an intervention, from the moments of every site.

    Raises:
        HeadroomError: If the moments are those of another model.
    """
    features = live.site.heads * live.head_width
    if live.site not in moments or len(moments[live.site].mean) != features:
        raise HeadroomError(f"site {live.site}: no moments of z; measure them on this model")
    places = torch.arange(features).unflatten(0, (live.site.heads, -1))[[index - 1 for index in live.kept]].flatten()
    mean = moments[live.site].mean[places]
    covariance = moments[live.site].covariance[places][:, places]
    gone = torch.tensor([head in intervention.removed for head in live.kept_heads()])  # (K,)
    lost = gone.repeat_interleave(live.head_width)  # (K * d,)
    if intervention.repair == "obs":
        return Addition(prediction(covariance + torch.outer(mean, mean), lost, DAMPING), torch.zeros_like(mean))
    if intervention.repair == "scale":
        weight = live.output_weight.detach().double().cpu()  # (D, K * d)
        change = scales(covariance, weight, gone) - 1
        matrix = torch.diag((change * ~gone).repeat_interleave(live.head_width))
    else:
        matrix = prediction(covariance, lost, ROUNDING)
    return Addition(matrix, mean * lost - matrix @ mean)


def prediction(second: Tensor, lost: Tensor, damping: float) -> Tensor:
    """Return the least squares prediction of some features from the others: rows of lost ones, columns of others.

    Args:
        second: Second moments of features, (n, n).
        lost: Which features are predicted, (n,).
        damping: Added to the diagonal, as a share of its mean.

    Returns:
        (n, n), 0 outside these rows and columns.
    """
    added = (damping * second.diagonal().mean()).clamp(min=torch.finfo(second.dtype).tiny)
    damped = second + added * torch.eye(len(second), dtype=second.dtype)
    matrix = torch.zeros_like(second)
    if lost.all() or not lost.any():
        return matrix
    factor = torch.linalg.cholesky(damped[~lost][:, ~lost])
    fitted = torch.cholesky_solve(second[~lost][:, lost], factor)  # (kept, lost)
    matrix[lost.nonzero(), (~lost).nonzero().T] = fitted.T
    return matrix


def scales(covariance: Tensor, weight: Tensor, gone: Tensor) -> Tensor:
    """Return the scales of heads whose scaled outputs, with a constant, are closest to the output of all heads.

    With z centred, s minimises E ||sum over all heads of W_h z_h - sum over remaining heads of s_h W_h z_h||^2.

    Args:
        covariance: Of z, (K * d, K * d).
        weight: The output projection, (D, K * d).
        gone: Which heads are removed, (K,).

    Returns:
        (K,), 1 for removed heads, and for all heads of which the output does not depend.
    """
    heads = len(gone)
    products = (weight.T @ weight * covariance).unflatten(0, (heads, -1)).unflatten(-1, (heads, -1))  # (K, d, K, d)
    between = products.sum((1, 3))  # of h and k: E <W_h z_h, W_k z_k>
    return 1 + prediction(between, gone, ROUNDING).sum(0)
