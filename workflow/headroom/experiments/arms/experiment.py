"""The experiment: its section. What arms change is computed from the tables of other experiments."""

from headroom.experiments.experiment import Experiment

EXPERIMENT = Experiment(noun="arms", sections=("repulsion_section",))
