# Do gradient scores, ablation, confidence, relevance and learned gates rank the heads alike?
rule correlate:
    input:
        code=sources("headroom.correlate"),
        scores=f"{RESULTS}/scores/{{run}}.csv",
        ablation=f"{RESULTS}/ablation/{{run}}.csv",
        pointing=f"{RESULTS}/pointing/{{run}}.csv",
        relevance=f"{RESULTS}/relevance/{{run}}.csv",
        gates=of_run(survival_tables),
        halves=[f"{RESULTS}/halves/{{run}}.{name}.csv" for name in ("scores", "ablation")],
    output:
        f"{RESULTS}/criteria/{{run}}.csv",
    log:
        f"{LOGS}/correlate/{{run}}.log",
    benchmark:
        f"{BENCHMARKS}/correlate/{{run}}.tsv"
    conda:
        "../../envs/plain.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=15,
    params:
        study=study.study,
    shell:
        "python -m headroom.correlate --study {params.study} --run {wildcards.run} --scores {input.scores} "
        "--ablation {input.ablation} --pointing {input.pointing} --relevance {input.relevance} --gates {input.gates} "
        "--halves {input.halves} --output {output} > {log} 2>&1"
