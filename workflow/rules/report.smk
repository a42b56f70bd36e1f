# The report: one HTML file.

# templates, styles and scripts of the page, and its references
PAGE_FILES = sorted(
    str(path)
    for pattern in (
        "report/templates/**/*.*",
        "report/references.yaml",
        "figures/templates/**/*.*",
        "experiments/*/*.j2",
    )
    for path in (WORKFLOW / "headroom").glob(pattern)
    if not path.name.startswith("compare")
)


rule configuration:
    output:
        f"{RESULTS}/configuration.json",
    log:
        f"{LOGS}/configuration.log",
    localrule: True
    conda:
        "../../envs/plain.yaml"
    params:
        configuration=study.used(),
    shell:
        "printf '%s\\n' {params.configuration:q} > {output} 2> {log}"


rule report:
    input:
        tables=plan.report_tables(),
        resamples=plan.resamples(),
        maps=plan.attention_maps(),
        claims=f"{RESULTS}/claims.csv",
        numbers=f"{RESULTS}/numbers.csv",
        benchmarks=plan.benchmarks(),
        configuration=f"{RESULTS}/configuration.json",
        code=code("report") + outside([*PAGE_FILES, *PAPERS, str(WORKFLOW / "headroom/claims/grounds.csv")]),
    output:
        report(f"<reports>/{study.study}.html", caption="../report/study.rst"),
    log:
        f"{LOGS}/report.log",
    benchmark:
        f"{BENCHMARKS}/report.tsv"
    conda:
        "../../envs/plain.yaml"
    threads: 1
    resources:
        mem_mb=memory(2000),
        runtime=15,
    params:
        study=study.study,
    shell:
        "python -m headroom report --study {params.study} --tables {input.tables} --maps {input.maps} "
        "--claims {input.claims} --numbers {input.numbers} --benchmarks {input.benchmarks} "
        "--configuration {input.configuration} --output {output} > {log} 2>&1"
