# What rules ask about runs: their code, data, checkpoints and flags.


def task_of(run):
    """Return the settings of a run's task."""
    return study.tasks[RUNS[run].task]


def kind_of(run):
    """Return what kind of task a run is: translation or classification."""
    return "translation" if run in TRANSLATED else "classification"


def code_of(run, stage):
    """Return the sources of a stage on a run: its own, and of the run's task those parts that the stage uses."""
    used = _imports.find_upstream_modules(stage)
    parts = [part for part in ("loading", "judging", "timing", "observing") if f"headroom.tasks.{part}" in used]
    return sources(stage, *(f"headroom.tasks.{kind_of(run)}.{part}" for part in parts))


def ablated_sets(run):
    """Return the sets that a run's heads are ablated on."""
    far = task_of(run).ablation.far_sets
    return ["choose", "test", *(task_of(run).corpus.far_names if far is None else far)]


def judged_sets(run):
    """Return the sets of the final scores."""
    return ["check", "test", *task_of(run).corpus.far_names]


def texts(task, *sets):
    """Return the text files of evaluation sets of a task."""
    if task == "translation":
        return [f"{RESULTS}/translation/corpus/{name}.{side}" for name in sets for side in ("source", "target")]
    return [f"{RESULTS}/{task}/corpus/{name}.tsv" for name in sets] + [f"{RESULTS}/{task}/corpus/corpus.json"]


def data_of(run, *sets):
    """Return what a stage needs to look at a run on sets: their texts, and the vocabulary of a translation."""
    vocabulary = VOCABULARY if run in TRANSLATED else []
    return [*vocabulary, *texts(RUNS[run].task, *sets)]


def place_of(run):
    """Return the flags that name a run, its task, and where its data are."""
    task = RUNS[run].task
    where = f"--corpus {RESULTS}/{task}/corpus --device {study.device}"
    vocabulary = f" --vocabulary {os.path.dirname(VOCABULARY[0])}" if run in TRANSLATED else ""
    return f"--study {study.study} --run {run} --task {kind_of(run)}{vocabulary} {where}"


def answering_of(run):
    """Return the flags that affect answers."""
    return flags(task_of(run).decoding if run in TRANSLATED else task_of(run).labelling)


def judging_of(run, final=False):
    """Return the flags that affect answers and scores; `final`: also those of final scores alone."""
    search = flags(task_of(run).evaluation) if final and run in TRANSLATED else ""
    return f"{search} {answering_of(run)} {flags(study.sampling)}".strip()


def slice_of(run, *sections, leave_out=()):
    """Return sections of a run's task as flags."""
    return " ".join(flags(getattr(task_of(run), section), leave_out) for section in sections)


def checkpoint(run, epoch=None):
    """Return what is handed to a stage as the checkpoint of an epoch, the last by default: a file or a directory."""
    place = f"{RESULTS}/runs/{run}/epoch{epoch or task_of(run).epochs}"
    return f"{place}.pt" if run in TRANSLATED else place


def checkpoints(run):
    """Return the checkpoints of a run, one per epoch."""
    return [checkpoint(run, epoch) for epoch in range(1, task_of(run).epochs + 1)]


def files_of(places):
    """Return the files of checkpoints."""
    return [
        file
        for place in places
        for file in ([place] if place.endswith(".pt") else [f"{place}/{name}" for name in CLASSIFIER])
    ]


def last_files(run):
    """Return the files of a run's last checkpoint."""
    return files_of([checkpoint(run)])


def all_files(run):
    """Return the files of all checkpoints of a run."""
    return files_of(checkpoints(run))


def tables(name, runs):
    """Return one table per run."""
    return [f"{RESULTS}/{name}/{run}.csv" for run in runs]


def directory_of(name):
    """Return what gives a job the directory of its input files of this name."""
    return lambda wildcards, input: os.path.dirname(input[name][0])


def main_of(run):
    """Return the flag that names the main criterion of a run's task."""
    return f"--main {task_of(run).pruning.main}"


def mains_of(tasks):
    """Return the flags that name the main criterion of tasks."""
    return " ".join(f"--main {task} {study.tasks[task].pruning.main}" for task in tasks)


def tables_of_orders(run):
    """Return the tables, by experiment, of those criteria that give orders and are not of the score table."""
    named = dict.fromkeys(criterion(name).table for name in task_of(run).pruning.criteria)
    found = {"ablation": tables("ablation", [run])}
    found["relevance"] = tables("relevance", [run]) if run in TRANSFORMERS else []
    found["attention_stats"] = tables("attention_stats", [run]) if run in TRANSFORMERS else []
    found["gates"] = survival_tables(run)
    return {table: paths for table, paths in found.items() if table == "ablation" or table in named}


def order_files(run):
    """Return the files of these tables."""
    return [path for paths in tables_of_orders(run).values() for path in paths]


def order_flags(run):
    """Return the flags that name these tables."""
    flags_ = {table: " ".join(paths) for table, paths in tables_of_orders(run).items() if paths}
    return " ".join(f"--{table.replace('_', '-')} {paths}" for table, paths in flags_.items())


def main_order_of(run):
    """Return the flags of curves by the main order alone."""
    return slice_of(run, "pruning", leave_out=["scopes", "criteria", "normalisations", "random_draws"])


def dynamic_checkpoints(run):
    """Return the checkpoints that a run has curves of: all if it is detailed, else the last."""
    return checkpoints(run) if run in DETAILED else [checkpoint(run)]


def is_pretrained(task):
    """Return whether an encoder comes with weights."""
    return task.encoder.source not in ("new", "self-attentive")


def labelled_from(source):
    """Return the classification tasks whose text comes from there."""
    return [(name, task) for name, task in classification.items() if task.corpus.source == source]


def trees_from(source):
    """Return the tasks whose treebank comes from there."""
    return [(name, task) for name, task in study.tasks.items() if task.treebank.source == source]


def treebank_of(run):
    """Return the treebank of a run's task, as a list of files: none without."""
    return [] if task_of(run).treebank.source == "none" else [f"{RESULTS}/{RUNS[run].task}/treebank.conllu"]


def treebank_flag(run):
    """Return the flag that names the treebank of a run's task, if it has one."""
    return " ".join(f"--treebank {path}" for path in treebank_of(run))


def far_flags(corpus):
    """Return the far domains of a corpus as flags: named files, or named splits of a data set."""
    return "".join(f" --far {name} {shlex.quote(place)}" for name, place in corpus.far.items())


def has_training_text(task):
    """Return whether a task has text to train on; a released model needs none."""
    return task.corpus.source != "sacrebleu" and getattr(task.corpus, "train", "unknown") is not None


def encoder_files(encoder):
    """Return the files that an encoder is made of: those of its directory, where it is one of yours."""
    return local_files(encoder.path) if encoder.source == "directory" else []


def local_files(place):
    """Return the files that stand in a directory of yours, or the one file that it is."""
    here = Path(place)
    return sorted(str(path) for path in here.iterdir() if path.is_file()) if here.is_dir() else [place]
