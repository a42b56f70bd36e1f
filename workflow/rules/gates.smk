# Learned gates: which heads are kept in further training of detailed runs. One model per lambda, share or count.
rule gates:
    input:
        unpack(model_files("gates", "train", "check", "test")),
        training=of_run(plan.training_table),
    output:
        models=directory(f"{RESULTS}/pruned_models/{{run}}/{{way}}"),
        learned=f"{RESULTS}/gates/{{run}}.{{way}}.csv",
        table=f"{RESULTS}/pruned_models/{{run}}.{{way}}.csv",
        resamples=f"{RESULTS}/pruned_models/{{run}}.{{way}}.npz",
    log:
        f"{LOGS}/gates/{{run}}.{{way}}.log",
    benchmark:
        f"{BENCHMARKS}/gates/{{run}}.{{way}}.tsv"
    wildcard_constraints:
        way=f"(?!controls){WAY}",
    priority: 20
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=memory(4000),
        runtime=600,
        gpu=GPU,
    params:
        model=model,
        settings=lambda wildcards: job_settings.gates(wildcards.run, wildcards.way),
        columns=columns("gates", "pruned_models"),
        way=lambda wildcards: "--method {} --scope {}".format(*wildcards.way.split(".")),
        seed=of_run(plan.seed),
        training=flag("--training", "training"),
    shell:
        "python -m headroom gates {params.model} {params.way} {params.training} --seed {params.seed} "
        "--settings {params.settings:q} --models {output.models} --learned {output.learned} "
        "--output {output.table} > {log} 2>&1"


# The controls: no head removed, the best by the main criterion, random ones; with the same further training. Models are
# saved for the controls whose roles are computed.
rule gates_controls:
    input:
        unpack(model_files("gates", "train", "check", "test")),
        scores=f"{RESULTS}/scores/{{run}}.csv",
        training=of_run(plan.training_table),
    output:
        models=directory(f"{RESULTS}/pruned_models/{{run}}/controls.{{scope}}"),
        table=f"{RESULTS}/pruned_models/{{run}}.controls.{{scope}}.csv",
        resamples=f"{RESULTS}/pruned_models/{{run}}.controls.{{scope}}.npz",
    log:
        f"{LOGS}/gates/{{run}}.controls.{{scope}}.log",
    benchmark:
        f"{BENCHMARKS}/gates/{{run}}.controls.{{scope}}.tsv"
    priority: 20
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=memory(4000),
        runtime=600,
        gpu=GPU,
    params:
        model=model,
        settings=of_run(job_settings.gates, "controls"),
        save=lambda wildcards: " ".join(plan.saved_controls(wildcards.run)),
        columns=columns("pruned_models"),
        seed=of_run(plan.seed),
        training=flag("--training", "training"),
    shell:
        "python -m headroom gates {params.model} --method controls --scope {wildcards.scope} --scores {input.scores} "
        "{params.training} --seed {params.seed} --settings {params.settings:q} --models {output.models} "
        "--save {params.save} --output {output.table} > {log} 2>&1"
