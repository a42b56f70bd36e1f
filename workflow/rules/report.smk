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
    "head_counts": "Repulsion",
    "arm_pruning": "Repulsion",
    "overlaps": "Repulsion",
    "updates": "Repulsion",
    "update_cost": "Repulsion",
}
PER_DETAILED_RUN = (
    "ablation",
    "keep_one",
    "agreement",
    "rank_correlation",
    "parameters",
    "removal",
    "timing",
    "timing_samples",
)
PER_RUN = ("evaluation", "scores", "settling", "pruning_epochs", "diversity")
PER_TRANSFORMER = ("attention_stats", "roles", "relevance")
TRAINED = [run for run in RUNS if not task_of(run).released]
SCOPES = {run: translation.pruning.scopes if run in TRANSLATED else ["all"] for run in DETAILED}
TABLES = [
    *tables("training", TRAINED),
    *(path for name in PER_RUN for path in tables(name, RUNS)),
    *(path for name in PER_TRANSFORMER for path in tables(name, TRANSFORMERS)),
    *(path for name in PER_DETAILED_RUN for path in tables(name, DETAILED)),
    *(f"{RESULTS}/pruning/{run}.{scope}.csv" for run in DETAILED for scope in (*SCOPES[run], "sites")),
    *(f"{RESULTS}/{name}/{run}.{way}.csv" for run in GATED for way in WAYS[run] for name in ("gates", "pruned_models")),
    *(f"{RESULTS}/pruned_models/{run}.controls.csv" for run in GATED),
    *(f"{RESULTS}/pruned_models/{run}.scratch-{value}.csv" for run in SCRATCH for value in SCRATCH[run]),
    *(path for run in GATED for path in pointing_of_pruned(run)),
    *(f"{RESULTS}/roles/{run}.pruned.csv" for run in GATED if relabelled(run)),
    *([f"{RESULTS}/update_cost.csv"] if "translation" in ARMED else []),
    *([f"{RESULTS}/arms.csv", f"{RESULTS}/overlap.csv"] if ARMED else []),
]


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
        tables=TABLES,
        maps=[f"{RESULTS}/attention_maps/{run}.json" for run in DETAILED if run in TRANSFORMERS],
        configuration=f"{RESULTS}/configuration.json",
        code=sources("headroom.report", data=[f"report/{name}" for name in REPORT_FILES]),
    output:
        page=report(
            f"reports/{study.study}.html",
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
        benchmarks=BENCHMARKS,
    shell:
        "python -m headroom report --study {params.study} --tables {input.tables} --maps {input.maps} "
        "--benchmarks $(find {params.benchmarks} -name '*.tsv' | sort) --configuration {input.configuration} "
        "--output {output.page} --figures {params.figures} > {log} 2>&1"
