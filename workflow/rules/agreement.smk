# Agreement of ablation effects between sets.
rule agreement:
    input:
        code=code("agreement"),
        ablation=f"{RESULTS}/ablation/{{run}}.csv",
    output:
        f"{RESULTS}/agreement/{{run}}.csv",
    log:
        f"{LOGS}/agreement/{{run}}.log",
    benchmark:
        f"{BENCHMARKS}/agreement/{{run}}.tsv"
    conda:
        "../../envs/plain.yaml"
    threads: 1
    resources:
        mem_mb=memory(1000),
        runtime=15,
    params:
        study=study.study,
        columns=columns("agreement"),
    shell:
        "python -m headroom agreement --study {params.study} --run {wildcards.run} --ablation {input.ablation} "
        "--output {output} > {log} 2>&1"
