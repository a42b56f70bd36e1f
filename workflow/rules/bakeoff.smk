# The comparison of criteria of every task: areas, shares kept, correlation with ablation, cost.
rule bakeoff:
    input:
        code=code("bakeoff"),
        curves=lambda wildcards: plan.bakeoff_curves(wildcards.task),
        resamples=lambda wildcards: [path[:-4] + ".npz" for path in plan.bakeoff_curves(wildcards.task)],
        scores=lambda wildcards: plan.bakeoff_tables("bakeoff_scores", wildcards.task),
        costs=lambda wildcards: plan.bakeoff_tables("bakeoff_costs", wildcards.task),
    output:
        f"{RESULTS}/bakeoff/{{task}}.csv",
    log:
        f"{LOGS}/bakeoff/{{task}}.log",
    benchmark:
        f"{BENCHMARKS}/bakeoff/{{task}}.tsv"
    conda:
        "../../envs/plain.yaml"
    threads: 1
    resources:
        mem_mb=memory(2000),
        runtime=15,
    params:
        study=study.study,
        columns=columns("bakeoff"),
    shell:
        "python -m headroom bakeoff --study {params.study} --task {wildcards.task} --curves {input.curves} "
        "--scores {input.scores} --costs {input.costs} --output {output} > {log} 2>&1"
