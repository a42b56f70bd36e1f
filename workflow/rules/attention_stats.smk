# Attention statistics of heads: of a run's last epoch, and of an untrained model.
rule attention_stats:
    input:
        unpack(model_files("attention_stats", "check", "train")),
        treebank=of_run(plan.treebank),
    output:
        table=f"{RESULTS}/attention_stats/{{run}}.csv",
        distances=f"{RESULTS}/distances/{{run}}.csv",
    log:
        f"{LOGS}/attention_stats/{{run}}.log",
    benchmark:
        f"{BENCHMARKS}/attention_stats/{{run}}.tsv"
    wildcard_constraints:
        run=any_of(plan.transformers),
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=memory(4000),
        runtime=120,
        gpu=GPU,
    params:
        model=model,
        treebank=flag("--treebank", "treebank"),
        settings=of_run(job_settings.sections, "attention_stats", "sampling"),
        columns=columns("attention_stats", "distances"),
    shell:
        "python -m headroom attention_stats {params.model} {params.treebank} --set check --models trained untrained "
        "--settings {params.settings:q} --output {output.table} --distances {output.distances} > {log} 2>&1"


# Attention statistics of the heads kept by learned gates, and of those of their controls.
rule attention_stats_pruned:
    input:
        unpack(model_files("attention_stats", "check", "train", epochs=None)),
        models=ancient(f"{RESULTS}/pruned_models/{{run}}/{{way}}"),  # a directory: its modification time is irrelevant
        table=lambda wildcards: plan.table_of_models(wildcards.run, wildcards.way),
        treebank=of_run(plan.treebank),
    output:
        f"{RESULTS}/attention_stats/{{run}}.{{way}}.{{strength}}.csv",
    log:
        f"{LOGS}/attention_stats/{{run}}.{{way}}.{{strength}}.log",
    benchmark:
        f"{BENCHMARKS}/attention_stats/{{run}}.{{way}}.{{strength}}.tsv"
    wildcard_constraints:
        way=WAY,
        strength="[0-9a-z.-]+",
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=memory(4000),
        runtime=120,
        gpu=GPU,
    params:
        model=pruned_model,
        treebank=flag("--treebank", "treebank"),
        settings=of_run(job_settings.sections, "attention_stats", "sampling"),
        columns=columns("attention_stats"),
    shell:
        "python -m headroom attention_stats {params.model} {params.treebank} --set check "
        "--name {wildcards.way}.{wildcards.strength} --settings {params.settings:q} --output {output} > {log} 2>&1"
