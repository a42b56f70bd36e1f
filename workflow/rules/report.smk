# The report: one HTML file.

# templates, styles and scripts of the page, and its references
PAGE_FILES = sorted(
    str(path)
    for pattern in (
        "report/templates/**/*.*",
        "report/references.yaml",
        "figures/templates/**/*.*",
        "experiments/*/*.j2",
        "claims/papers/*.yaml",
        "claims/grounds.csv",
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


# what every job but those that prepare text and models took
MEASURED = [
    f"{BENCHMARKS}/{fill(form.place(plan), dict(job))}.tsv"
    for form in FORMS
    for job in form.calls
    if form.rule not in PREPARATION and form.rule.name != "training_until" and not form.shard
]


rule report:
    input:
        tables=list_tables(plan),
        resamples=list_resamples(plan),
        maps=[f"{RESULTS}/attention_maps/{run}.json" for run in plan.detailed if run in plan.transformers],
        claims=f"{RESULTS}/claims.csv",
        numbers=f"{RESULTS}/numbers.csv",
        benchmarks=MEASURED,
        texts=[f"{RESULTS}/{task}/corpus/corpus.json" for task in study.tasks],
        configuration=f"{RESULTS}/configuration.json",
        code=outside([*sources.of_stage("headroom.report.__main__"), *PAGE_FILES]),
    output:
        page=report(f"<reports>/{study.study}.html", caption="../report/study.rst"),
        benchmark=f"{BENCHMARKS}/report.tsv",
    log:
        f"{LOGS}/report.log",
    conda:
        "../../envs/plain.yaml"
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: attempt * 2000,
        runtime=15,
    params:
        study=study.study,
    shell:
        "python -m headroom --libraries plain --benchmark {output.benchmark:q} report --study {params.study} --tables {input.tables} --maps {input.maps} "
        "--claims {input.claims} --numbers {input.numbers} --texts {input.texts} "
        "--benchmarks {input.benchmarks} "
        "--configuration {input.configuration} --output {output.page} > {log} 2>&1"
