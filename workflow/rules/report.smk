# The report: one HTML file, and its figures for Snakemake's own report.
report: "../report/workflow.rst"


FIGURES = {
    "training": "Training",
    "scores": "Importance",
    "roles": "Roles",
    "relevance": "Importance",
    "criteria": "Importance",
    "ablation": "Ablation",
    "retested": "Ablation",
    "keep_one": "Ablation",
    "agreement": "Ablation",
    "curves": "Pruning",
    "curves_by_kind": "Pruning",
    "curves_by_layer": "Pruning",
    "curves_by_task": "Pruning",
    "settling": "Pruning",
    "gates": "Learned gates",
    "survivors": "Learned gates",
    "retention": "Learned gates",
    "timing": "Removal",
    "repulsion": "Repulsion",
    "head_diversity": "Repulsion",
    "particles": "Repulsion",
    "head_counts": "Repulsion",
    "arm_pruning": "Repulsion",
    "overlaps": "Repulsion",
    "updates": "Repulsion",
    "update_cost": "Repulsion",
}

# template, style and script of the page; the captions in workflow/report/ are for Snakemake's own report
PAGE_FILES = sorted(str(path) for path in (WORKFLOW / "headroom/report/templates").glob("page.*"))


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
