# Good, random and bad layouts of one size trained further, and the full model, to compare criteria after training.
rule bakeoff_retraining:
    input:
        unpack(model_files("bakeoff_retraining", "train", "test")),
        scores=of_run(plan.retraining_scores),
    output:
        table=f"{RESULTS}/bakeoff_retraining/{{run}}.csv",
        resamples=f"{RESULTS}/bakeoff_retraining/{{run}}.npz",
    log:
        f"{LOGS}/bakeoff_retraining/{{run}}.log",
    benchmark:
        f"{BENCHMARKS}/bakeoff_retraining/{{run}}.tsv"
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
        settings=of_run(job_settings.bakeoff_retraining),
        columns=columns("bakeoff_retraining"),
        seed=of_run(plan.seed),
    shell:
        "python -m headroom bakeoff_retraining {params.model} --scores {input.scores} --seed {params.seed} "
        "--settings {params.settings:q} --output {output.table} > {log} 2>&1"
