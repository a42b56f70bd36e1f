# Rank correlations between gradient scores, ablation, learned gates and, for Transformers, confidence and relevance.
rule rank_correlation:
    input:
        code=code("rank_correlation"),
        scores=f"{RESULTS}/scores/{{run}}.csv",
        ablation=f"{RESULTS}/ablation/{{run}}.csv",
        stats=lambda wildcards: plan.tables("attention_stats", {wildcards.run}.intersection(plan.transformers)),
        relevance=lambda wildcards: plan.tables("relevance", {wildcards.run}.intersection(plan.transformers)),
        gates=of_run(plan.survival_tables),
        halves=[f"{RESULTS}/{name}_halves/{{run}}.csv" for name in ("scores", "ablation")],
    output:
        f"{RESULTS}/rank_correlation/{{run}}.csv",
    log:
        f"{LOGS}/rank_correlation/{{run}}.log",
    benchmark:
        f"{BENCHMARKS}/rank_correlation/{{run}}.tsv"
    conda:
        "../../envs/plain.yaml"
    threads: 1
    resources:
        mem_mb=memory(1000),
        runtime=15,
    params:
        study=study.study,
        columns=columns("rank_correlation"),
        settings=of_run(job_settings.with_main),
        stats=flag("--attention-stats", "stats"),
        relevance=flag("--relevance", "relevance"),
    shell:
        "python -m headroom rank_correlation --study {params.study} --run {wildcards.run} --scores {input.scores} "
        "--ablation {input.ablation} {params.stats} {params.relevance} --gates {input.gates} "
        "--halves {input.halves} --settings {params.settings:q} --output {output} > {log} 2>&1"
