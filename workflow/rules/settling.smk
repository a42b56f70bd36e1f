# Stability of head importance during training: the scores of every epoch against those of the last one.
rule settling:
    input:
        code=code("settling"),
        scores=f"{RESULTS}/scores/{{run}}.csv",
    output:
        f"{RESULTS}/settling/{{run}}.csv",
    log:
        f"{LOGS}/settling/{{run}}.log",
    benchmark:
        f"{BENCHMARKS}/settling/{{run}}.tsv"
    conda:
        "../../envs/plain.yaml"
    threads: 1
    resources:
        mem_mb=memory(1000),
        runtime=15,
    params:
        study=study.study,
        columns=columns("settling"),
    shell:
        "python -m headroom settling --study {params.study} --run {wildcards.run} --scores {input.scores} "
        "--output {output} > {log} 2>&1"
