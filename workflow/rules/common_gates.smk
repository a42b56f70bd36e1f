# What rules ask about learned gates and the models that they leave.

# Runs with learned gates, their ways of learning, and the values of lambda whose layouts are trained from scratch.
GATED = [run for run in DETAILED if task_of(run).gates.ways and has_training_text(task_of(run))]
WAYS = {run: task_of(run).gates.ways for run in GATED}
SCRATCH = {run: [f"{value:g}" for value in task_of(run).gates.from_scratch] for run in GATED if run in TRANSLATED}


def gates_of(run, way):
    """Return the flags of a way of learning gates, or of `controls`: those that change what it does."""
    idle = {"hard-concrete": ["kept_shares", "kept_heads", "random_draws"], "controls": ["penalties"]}
    idle = idle.get(way.partition(".")[0], ["penalties", "random_draws"])
    return f"--seed {RUNS[run].seed} {flags(task_of(run).gates, leave_out=['ways', 'from_scratch', *idle])}"


def training_table(run):
    """Return the table of a run's training, which says whether the model had converged; none of a released model."""
    return [] if task_of(run).released else tables("training", [run])


def limit_of(examples):
    """Return the flag that limits the examples of the test set."""
    return "" if examples is None else f"--test-examples {examples}"


def pruned_names(task, way):
    """Return the names of the models that a way of learning gates leaves: its values of lambda, or shares and counts."""
    gates = study.tasks[task].gates
    if way.startswith("hard-concrete"):
        return [f"{value:g}" for value in gates.penalties]
    return [*(f"{share:g}" for share in gates.kept_shares), *(f"{count}-heads" for count in gates.kept_heads)]


def pruned_checkpoint(run, task, way, name):
    """Return what is handed to a stage as a pruned model: a file or a directory, named as the one it comes from."""
    ending = ".pt" if task == "translation" else ""
    return f"{RESULTS}/pruned_models/{run}/{way}/{name}/epoch{study.tasks[task].epochs}{ending}"


def pruned_files(run, task, way, name):
    """Return the files of a pruned model, and its profile."""
    place = pruned_checkpoint(run, task, way, name)
    descriptor = [] if task == "translation" else [f"{place}/headroom.json"]
    return [*files_of([place]), *descriptor, f"{os.path.dirname(place)}/profile.txt"]


def all_pruned_files(run, task, way):
    """Return the files of all models that a way of learning gates leaves of a run."""
    return [file for name in pruned_names(task, way) for file in pruned_files(run, task, way, name)]


def relabelled(run):
    """Return the way whose survivors get their roles anew: gates on the encoder, or on all heads without those."""
    ways = WAYS.get(run, ()) if run in TRANSFORMERS else ()
    return next((way for way in ("hard-concrete.E", "hard-concrete.all") if way in ways), None)


def pointing_of_pruned(run):
    """Return the tables of where survivors point, one per lambda."""
    way = relabelled(run)
    strengths = task_of(run).gates.penalties if way else ()
    return [f"{RESULTS}/attention_stats/{run}.{way}.{strength:g}.csv" for strength in strengths]


def survival_tables(run):
    """Return a run's tables of gates on all heads; none without learned gates."""
    return [f"{RESULTS}/gates/{run}.{way}.csv" for way in WAYS.get(run, ()) if way.endswith(".all")]
