# When do important heads settle? Every epoch's scores against the last epoch's.
rule settle:
    input:
        code=sources("headroom.stages.settling"),
        scores=f"{RESULTS}/scores/{{run}}.csv",
    output:
        f"{RESULTS}/settling/{{run}}.csv",
    log:
        f"{LOGS}/settle/{{run}}.log",
    benchmark:
        f"{BENCHMARKS}/settle/{{run}}.tsv"
    conda:
        "../../envs/plain.yaml"
    threads: 1
    resources:
        mem_mb=memory(1000),
        runtime=15,
    params:
        study=study.study,
    shell:
        "python -m headroom settling --study {params.study} --run {wildcards.run} --scores {input.scores} "
        "--output {output} > {log} 2>&1"
