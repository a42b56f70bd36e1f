# Scores of criteria that are compared, with their cost by family, and curves by every order.
rule bakeoff_scores:
    input:
        unpack(model_files("bakeoff_scores", "choose")),
    output:
        table=f"{RESULTS}/bakeoff_scores/{{run}}.{{family}}.csv",
        costs=f"{RESULTS}/bakeoff_costs/{{run}}.{{family}}.csv",
    log:
        f"{LOGS}/bakeoff_scores/{{run}}.{{family}}.log",
    benchmark:
        f"{BENCHMARKS}/bakeoff_scores/{{run}}.{{family}}.tsv"
    wildcard_constraints:
        family=any_of(family_names()),
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
        settings=of_run(job_settings.bakeoff_scores),
        columns=columns("bakeoff_scores", "bakeoff_costs"),
    shell:
        "python -m headroom bakeoff_scores {params.model} --family {wildcards.family} --settings {params.settings:q} "
        "--output {output.table} --costs {output.costs} > {log} 2>&1"


rule bakeoff_curves:
    input:
        unpack(model_files("bakeoff_curves", "choose", "test")),
        scores=lambda wildcards: plan.bakeoff_scores(wildcards.run, wildcards.order),
    output:
        table=f"{RESULTS}/bakeoff_curves/{{run}}.{{order}}.csv",
        resamples=f"{RESULTS}/bakeoff_curves/{{run}}.{{order}}.npz",
    log:
        f"{LOGS}/bakeoff_curves/{{run}}.{{order}}.log",
    benchmark:
        f"{BENCHMARKS}/bakeoff_curves/{{run}}.{{order}}.tsv"
    wildcard_constraints:
        order="[a-z-]+",
    priority: 10
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=memory(4000),
        runtime=600,
        gpu=GPU,
    params:
        model=model,
        scores=flag("--scores", "scores"),
        settings=lambda wildcards: job_settings.bakeoff_curves(wildcards.run, wildcards.order),
        columns=columns("bakeoff_curves"),
    shell:
        "python -m headroom bakeoff_curves {params.model} --order {wildcards.order} {params.scores} "
        "--settings {params.settings:q} --output {output.table} > {log} 2>&1"
