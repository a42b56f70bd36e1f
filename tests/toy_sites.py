"""Attention sites for tests: in tiny models of both engines with a batch, and without a model around them."""

from copy import deepcopy
from functools import cache

import torch
from fairseq_models import batch, make_trainer
from headroom.core.heads import Site
from headroom.engines.fairseq import sites as fairseq_maps
from headroom.engines.fairseq.sites import find_sites as find_fairseq_sites
from headroom.engines.hub import sites as encoder_maps
from headroom.engines.hub.sites import find_sites as find_encoder_sites
from headroom.engines.repulsion.regularisers import regulariser
from headroom.engines.sites import AttentionSite
from models import toy_configuration, toy_model
from torch import nn

HEADS = 4


class Engine:
    """A tiny model in training and one batch with padding, of fairseq or of transformers."""

    def __init__(self, model, sites, maps, *, inputs, real, batch_first):
        self.model, self.sites, self.maps, self.inputs = model, sites, maps, inputs
        self.real, self.batch_first = real, batch_first

    def forward(self):
        return self.model(**self.inputs)[0]

    def term(self, arm):
        found = regulariser(arm, self.sites, self.maps, seed=1, batch_first=self.batch_first)
        return found(self.forward, self.real, update=0, batch=0)[1]


@cache
def _model_and_sample(data):
    trainer = make_trainer(data, "--attention-dropout", "0.2")
    return trainer.model, batch(trainer, range(6))


def of_fairseq(data):
    """All kinds of sites, with dropout everywhere; the source is padded left, the target right."""
    model, sample = _model_and_sample(data)
    model = deepcopy(model).train()
    torch.manual_seed(0)  # of dropout
    source, target = sample["net_input"]["src_tokens"] != 1, sample["target"] != 1  # 1 is fairseq's padding
    assert not source.all()
    assert not target.all()
    real = {"E": (source, source), "A": (target, source), "D": (target, target)}
    sites = find_fairseq_sites(model)
    return Engine(model, sites, fairseq_maps.attention_maps, inputs=sample["net_input"], real=real, batch_first=False)


def of_transformers(_=None):
    model = toy_model(toy_configuration("bert")).train()
    words = torch.randint(5, 60, (3, 6), generator=torch.Generator().manual_seed(0))
    mask = torch.tensor([[1] * 6, [1] * 4 + [0] * 2, [1] * 2 + [0] * 4])
    inputs = {"input_ids": words * mask, "attention_mask": mask}
    real = {"E": (mask.bool(), mask.bool())}
    sites = find_encoder_sites(model)
    return Engine(model, sites, encoder_maps.attention_maps, inputs=inputs, real=real, batch_first=True)


class Caught:
    """The outputs of the projections of a site, (B, T, H, d) each, recorded by separate hooks."""

    def __init__(self, engine):
        self.by_site = {live.site: {} for live in engine.sites}
        for live in engine.sites:
            for name, projection in zip(("query", "key", "value"), live.inputs):
                projection.register_forward_hook(self.keep(live, name, engine.batch_first))
            live.output.register_forward_pre_hook(self.keep(live, "z", engine.batch_first))

    def keep(self, live, name, batch_first):
        def hook(_, inputs, output=None):
            found = inputs[0] if output is None else output.clone()  # fairseq scales queries in place
            found = found if batch_first else found.transpose(0, 1)
            self.by_site[live.site][name] = found.unflatten(-1, (len(live.kept), -1))

        return hook


def plain_sites(heads=HEADS):
    """Return sites without a model around them: their projections are all that gates need."""
    sites = []
    for kind in "EAD":
        for layer in (1, 2):
            attention = nn.ModuleDict({name: nn.Linear(2 * heads, 2 * heads) for name in ("q", "k", "v", "out")})
            sites.append(
                AttentionSite(
                    site=Site(kind, layer, heads),
                    parent=nn.ModuleDict({"attention": attention}),
                    attribute="attention",
                    queries="q",
                    keys="k",
                    values="v",
                    output_place="attention.out",
                    kept=tuple(range(1, heads + 1)),
                )
            )
    return sites
