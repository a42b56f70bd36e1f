# Final scores of every run on every set.
rule evaluation:
    input:
        unpack(model_files("evaluation", plan.evaluated_sets)),
    output:
        f"{RESULTS}/evaluation/{{run}}.csv",
    log:
        f"{LOGS}/evaluation/{{run}}.log",
    benchmark:
        f"{BENCHMARKS}/evaluation/{{run}}.tsv"
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=memory(4000),
        runtime=120,
        gpu=GPU,
    params:
        model=model,
        settings=of_run(job_settings.evaluation),
        columns=columns("evaluation"),
        sets=of_run(plan.evaluated_sets),
    shell:
        "python -m headroom evaluation {params.model} --sets {params.sets} --settings {params.settings:q} "
        "--output {output} > {log} 2>&1"
