# The report: one HTML file.

# templates, styles and scripts of the page, and its references
PAGE_FILES = sorted(
    str(path)
    for pattern in (
        "report/templates/**/*.*",
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
        "<study>/configuration.json",
    log:
        "<log>/configuration.log",
    localrule: True
    conda:
        "../../envs/plain.yaml"
    params:
        configuration=study.used(),
    shell:
        "printf '%s\\n' {params.configuration:q} > {output} 2> {log}"


use rule job as claims with:
    input:
        outside(sorted(glob(f"{WORKFLOW}/headroom/claims/papers/*.yaml"))),
        tables=targets.list_tables(plan),
        after=targets.list_resamples(plan),
        configuration="<study>/configuration.json",
    output:
        output="<study>/claims.csv",
        numbers="<study>/numbers.csv",
    pathvars:
        job="claims",
    params:
        **jobs.params("claims"),


use rule job as report with:
    input:
        tables=targets.list_tables(plan),
        after=[*targets.list_resamples(plan), *outside(PAGE_FILES)],
        maps=targets.list_maps(plan),
        texts=[f"<study>/{task}/corpus/corpus.json" for task in study.tasks],
        claims="<study>/claims.csv",
        numbers="<study>/numbers.csv",
        configuration="<study>/configuration.json",
    output:
        output=report(f"<reports>/{study.study}.html", caption="../report/study.rst"),
    pathvars:
        job="report",
    resources:
        mem_mb=request_memory(2000),
        runtime=15,
        gpu=0,
    params:
        **jobs.params("report", places=times_of),


rule all:
    default_target: True
    input:
        f"<reports>/{study.study}.html",
    localrule: True
