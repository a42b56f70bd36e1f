# Verdicts on the claims of the papers from the tables of the study, and the numbers in the report's sentences.
PAPERS = sorted(str(path) for path in (WORKFLOW / "headroom/claims/papers").glob("*.yaml"))


rule claims:
    input:
        tables=plan.report_tables(),
        resamples=plan.resamples(),
        configuration=f"{RESULTS}/configuration.json",
        code=code("claims") + outside(PAPERS),
    output:
        claims=f"{RESULTS}/claims.csv",
        numbers=f"{RESULTS}/numbers.csv",
    log:
        f"{LOGS}/claims.log",
    benchmark:
        f"{BENCHMARKS}/claims.tsv"
    conda:
        "../../envs/plain.yaml"
    threads: 1
    resources:
        mem_mb=memory(2000),
        runtime=15,
    params:
        study=study.study,
        columns=columns("claims", "numbers"),
    shell:
        "python -m headroom claims --study {params.study} --tables {input.tables} "
        "--configuration {input.configuration} --output {output.claims} --numbers {output.numbers} > {log} 2>&1"
