# Learned gates: which heads stay while detailed runs train on, and what they are compared with.
GATED = [run for run in DETAILED if task_of(run).gates.ways and has_training_text(task_of(run))]
WAYS = {run: task_of(run).gates.ways for run in GATED}
SCRATCH = {run: [f"{value:g}" for value in task_of(run).gates.from_scratch] for run in GATED if run in TRANSLATED}


def gates_of(run):
    """Return the flags of gates: of a stage, not which stages there are."""
    task, idle = task_of(run), ["ways", "from_scratch"]
    return f"--seed {RUNS[run].seed} {flags(task.gates, leave_out=idle)}"


def training_table(run):
    """Return the table of a run's training, which says whether the model had converged; none of a released model."""
    return [] if task_of(run).released else tables("training", [run])


rule gate:
    input:
        data=of_run(data_of, "train", "test"),
        code=of_run(code_of, "headroom.gate"),
        files=of_run(last_files),
        training=of_run(training_table),
    output:
        models=directory(f"{RESULTS}/pruned_models/{{run}}/{{way}}"),
        learned=f"{RESULTS}/gates/{{run}}.{{way}}.csv",
        table=f"{RESULTS}/pruned/{{run}}.{{way}}.csv",
    log:
        f"{LOGS}/gate/{{run}}.{{way}}.log",
    benchmark:
        f"{BENCHMARKS}/gate/{{run}}.{{way}}.tsv"
    wildcard_constraints:
        way="[a-z-]+[.](all|E)",
    priority: 20
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=600,
        gpu=GPU,
    params:
        place=of_run(place_of),
        checkpoint=of_run(checkpoint),
        judging=of_run(judging_of),
        settings=of_run(gates_of),
        way=lambda wildcards: "--method {} --scope {}".format(*wildcards.way.split(".")),
        training=lambda wildcards, input: f"--training {input.training}" if input.training else "",
    shell:
        "python -m headroom.gate {params.place} --checkpoint {params.checkpoint} {params.way} {params.training} "
        "{params.settings} {params.judging} --models {output.models} --learned {output.learned} "
        "--output {output.table} > {log} 2>&1"


# The controls: no head less, the best by gradient, random ones; trained further alike.
rule gate_controls:
    input:
        data=of_run(data_of, "train", "test"),
        code=of_run(code_of, "headroom.gate"),
        files=of_run(last_files),
        scores=f"{RESULTS}/scores/{{run}}.csv",
        training=of_run(training_table),
    output:
        f"{RESULTS}/pruned/{{run}}.controls.csv",
    log:
        f"{LOGS}/gate/{{run}}.controls.log",
    benchmark:
        f"{BENCHMARKS}/gate/{{run}}.controls.tsv"
    priority: 20
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=600,
        gpu=GPU,
    params:
        place=of_run(place_of),
        checkpoint=of_run(checkpoint),
        judging=of_run(judging_of),
        settings=of_run(gates_of),
        training=lambda wildcards, input: f"--training {input.training}" if input.training else "",
    shell:
        "python -m headroom.gate {params.place} --checkpoint {params.checkpoint} --method controls "
        "--scores {input.scores} {params.training} {params.settings} {params.judging} --output {output} > {log} 2>&1"
