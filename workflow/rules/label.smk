# The roles of heads, by where they point: of whole models, and of what gates left of them.
rule label:
    input:
        pointing=f"{RESULTS}/attention_stats/{{run}}.csv",
        code=sources("headroom.stages.roles"),
    output:
        f"{RESULTS}/roles/{{run}}.csv",
    log:
        f"{LOGS}/label/{{run}}.log",
    benchmark:
        f"{BENCHMARKS}/label/{{run}}.tsv"
    wildcard_constraints:
        run=any_of(TRANSFORMERS),
    conda:
        "../../envs/plain.yaml"
    threads: 1
    resources:
        mem_mb=memory(2000),
        runtime=15,
    params:
        settings=of_run(slice_of, "roles"),
    shell:
        "python -m headroom roles --pointing {input.pointing} {params.settings} --output {output} > {log} 2>&1"


rule label_pruned:
    input:
        pointing=lambda wildcards: pointing_of_pruned(wildcards.run),
        code=sources("headroom.stages.roles"),
    output:
        f"{RESULTS}/roles/{{run}}.pruned.csv",
    log:
        f"{LOGS}/label/{{run}}.pruned.log",
    benchmark:
        f"{BENCHMARKS}/label/{{run}}.pruned.tsv"
    wildcard_constraints:
        run=any_of(TRANSFORMERS),
    conda:
        "../../envs/plain.yaml"
    threads: 1
    resources:
        mem_mb=memory(2000),
        runtime=15,
    params:
        settings=of_run(slice_of, "roles"),
    shell:
        "python -m headroom roles --pointing {input.pointing} {params.settings} --output {output} > {log} 2>&1"
