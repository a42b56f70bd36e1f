# Gradient importance of every head at every epoch, on the set that chooses.
rule scores:
    input:
        unpack(model_files("scores", "choose", epochs=plan.checkpoints)),
    output:
        table=f"{RESULTS}/scores/{{run}}.csv",
        halves=f"{RESULTS}/scores_halves/{{run}}.csv",
    log:
        f"{LOGS}/scores/{{run}}.log",
    benchmark:
        f"{BENCHMARKS}/scores/{{run}}.tsv"
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=memory(4000),
        runtime=120,
        gpu=GPU,
    params:
        models=models,
        settings=of_run(job_settings.sections, "scores"),
        columns=columns("scores", "scores_halves"),
    shell:
        "python -m headroom scores {params.models} --set choose --settings {params.settings:q} "
        "--output {output.table} --halves {output.halves} > {log} 2>&1"
