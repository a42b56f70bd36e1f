# Overlap of the most important heads between seeds and between arms.
rule overlap:
    input:
        code=code("overlap"),
        scores=plan.tables("scores", plan.runs_of(*plan.armed)),
    output:
        f"{RESULTS}/overlap.csv",
    log:
        f"{LOGS}/overlap.log",
    benchmark:
        f"{BENCHMARKS}/overlap.tsv"
    conda:
        "../../envs/plain.yaml"
    threads: 1
    resources:
        mem_mb=memory(2000),
        runtime=15,
    params:
        study=study.study,
        columns=columns("overlap"),
        mains=job_settings.mains(),
    shell:
        "python -m headroom overlap --study {params.study} {params.mains} --scores {input.scores} "
        "--output {output} > {log} 2>&1"
