# Arms against the first arm, paired over seeds.
rule compare:
    input:
        code=sources("headroom.compare"),
        evaluation=tables("evaluation", TRANSLATED),
        curves=tables("dynamics", TRANSLATED),
        diversity=tables("diversity", TRANSLATED),
    output:
        f"{RESULTS}/repulsion.csv",
    log:
        f"{LOGS}/compare.log",
    benchmark:
        f"{BENCHMARKS}/compare.tsv"
    conda:
        "../../envs/plain.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=15,
    params:
        study=study.study,
        arms=list(translation.arms),
    shell:
        "python -m headroom.compare --study {params.study} --arms {params.arms} --evaluation {input.evaluation} "
        "--curves {input.curves} --diversity {input.diversity} --output {output} > {log} 2>&1"
