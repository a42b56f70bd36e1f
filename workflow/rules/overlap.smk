# Do runs of other seeds and other arms find the same heads important?
rule overlap:
    input:
        code=sources("headroom.stages.overlap"),
        scores=[path for task in ARMED for path in tables("scores", RUNS_OF[task])],
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
        mains=mains_of(ARMED),
    shell:
        "python -m headroom overlap --study {params.study} {params.mains} --scores {input.scores} "
        "--output {output} > {log} 2>&1"
