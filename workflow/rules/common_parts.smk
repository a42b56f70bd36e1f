# Work that is cut into more jobs: sweeps in shards, trainings of some epochs.


def shard_of(table):
    """Return the file that a shard of the sweep behind a table is written to."""
    return f"{RESULTS}/shards/{study.shards}/{table}.{{shard}}.npz"


def shards_of(table):
    """Return the files of all shards of the sweep behind a table; none if one job does it all."""
    numbers = range(1, study.shards + 1) if study.shards > 1 else ()
    return [shard_of(table).replace("{shard}", str(number)) for number in numbers]


def shard_flags(wildcards, output):
    """Return the flags of a job that judges a shard."""
    return f"--output {output[0]} --shard {wildcards.shard}/{study.shards}"


def merged_table(wildcards, input, output):
    """Return the flags of the job that writes the table of a sweep, from its shards if it has any."""
    return " ".join([f"--output {output[0]}", *(["--merge", *input.shards] if study.shards > 1 else [])])


def ends_of_jobs(task):
    """Return the epochs at which the jobs of a training end: one after another, the last one with the last epoch."""
    step = study.epochs_per_job or task.epochs
    return [*range(step, task.epochs, step), task.epochs]


def earlier_job(wildcards):
    """Return what a job of a training waits for: the table of the job before it; nothing if it is the first."""
    task = task_of(wildcards.run)
    end = int(wildcards.get("end", task.epochs))
    earlier = [other for other in ends_of_jobs(task) if other < end]
    return [f"{RESULTS}/training_so_far/{wildcards.run}.epoch{other}.csv" for other in earlier[-1:]]


def until(wildcards):
    """Return the flag of a job that ends before the last epoch."""
    return f"--until {wildcards.end}" if "end" in wildcards.keys() else ""


def runs_by_epochs():
    """Return the runs of classifiers that are trained, by their number of epochs."""
    found = {}
    for run in TRAINED_CLASSIFIERS:
        found.setdefault(task_of(run).epochs, []).append(run)
    return found
