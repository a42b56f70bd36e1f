# The report: one HTML file, and its figures for Snakemake's own report.
report: "../report/workflow.rst"


# by section of the page: the question that it is about
FIGURES = {
    "ablation": "Which heads matter",
    "keep_one": "Which heads matter",
    "scores": "Which heads matter",
    "rank_correlation": "Which heads matter",
    "agreement": "Which heads matter",
    "pruning": "What can be removed",
    "bakeoff": "What can be removed",
    "settling": "What can be removed",
    "roles": "What heads do",
    "phenomena": "What heads do",
    "gates": "What learned gates keep",
    "removal": "What removal gains",
    "timing": "What removal gains",
    "repulsion": "What repulsion changes",
    "training": "Training",
}

# templates, styles and scripts of the page, and its references; the captions in workflow/report/ are for Snakemake's own report
PAGE = WORKFLOW / "headroom/report"
PAGE_FILES = sorted(
    str(path)
    for path in (*(PAGE / "templates").rglob("*.*"), PAGE / "references.yaml")
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
        code=code("report") + outside([*PAGE_FILES, *PAPERS]),
    output:
        page=report(
            f"<reports>/{study.study}.html",
            caption="../report/study.rst",
            category="Report",
            labels={"figure": "all, with their text"},
        ),
        figures=[
            report(
                f"{RESULTS}/figures/{name}.svg",
                caption=f"../report/{name}.rst",
                category=category,
                labels={"figure": name.replace("_", " ")},
            )
            for name, category in FIGURES.items()
        ],
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
        figures=subpath(output[1], parent=True),
    shell:
        "python -m headroom report --study {params.study} --tables {input.tables} --maps {input.maps} "
        "--claims {input.claims} --numbers {input.numbers} --benchmarks {input.benchmarks} "
        "--configuration {input.configuration} --output {output.page} --figures {params.figures} > {log} 2>&1"
