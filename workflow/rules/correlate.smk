# Do gradient scores, ablation, learned gates and, of Transformers, confidence and relevance rank the heads alike?
rule correlate:
    input:
        code=sources("headroom.stages.rank_correlation"),
        scores=f"{RESULTS}/scores/{{run}}.csv",
        ablation=f"{RESULTS}/ablation/{{run}}.csv",
        pointing=lambda wildcards: tables("attention_stats", {wildcards.run}.intersection(TRANSFORMERS)),
        relevance=lambda wildcards: tables("relevance", {wildcards.run}.intersection(TRANSFORMERS)),
        gates=of_run(survival_tables),
        halves=[f"{RESULTS}/{name}_halves/{{run}}.csv" for name in ("scores", "ablation")],
    output:
        f"{RESULTS}/rank_correlation/{{run}}.csv",
    log:
        f"{LOGS}/correlate/{{run}}.log",
    benchmark:
        f"{BENCHMARKS}/correlate/{{run}}.tsv"
    conda:
        "../../envs/plain.yaml"
    threads: 1
    resources:
        mem_mb=memory(1000),
        runtime=15,
    params:
        study=study.study,
        main=of_run(main_of),
        pointing=lambda wildcards, input: f"--attention-stats {input.pointing}" if input.pointing else "",
        relevance=lambda wildcards, input: f"--relevance {input.relevance}" if input.relevance else "",
    shell:
        "python -m headroom rank_correlation --study {params.study} --run {wildcards.run} {params.main} --scores {input.scores} "
        "--ablation {input.ablation} {params.pointing} {params.relevance} --gates {input.gates} "
        "--halves {input.halves} --output {output} > {log} 2>&1"
