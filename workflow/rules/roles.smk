# The roles of heads by where they point: of full models, and of pruned models.
rule roles:
    input:
        stats=f"{RESULTS}/attention_stats/{{run}}.csv",
        code=code("roles"),
    output:
        f"{RESULTS}/roles/{{run}}.csv",
    log:
        f"{LOGS}/roles/{{run}}.log",
    benchmark:
        f"{BENCHMARKS}/roles/{{run}}.tsv"
    wildcard_constraints:
        run=any_of(plan.transformers),
    conda:
        "../../envs/plain.yaml"
    threads: 1
    resources:
        mem_mb=memory(2000),
        runtime=15,
    params:
        columns=columns("roles"),
    shell:
        "python -m headroom roles --pointing {input.stats} --output {output} > {log} 2>&1"


rule roles_pruned:
    input:
        stats=of_run(plan.stats_tables_of_pruned),
        code=code("roles"),
    output:
        f"{RESULTS}/roles/{{run}}.pruned.csv",
    log:
        f"{LOGS}/roles/{{run}}.pruned.log",
    benchmark:
        f"{BENCHMARKS}/roles/{{run}}.pruned.tsv"
    wildcard_constraints:
        run=any_of(plan.transformers),
    conda:
        "../../envs/plain.yaml"
    threads: 1
    resources:
        mem_mb=memory(2000),
        runtime=15,
    params:
        columns=columns("roles"),
    shell:
        "python -m headroom roles --pointing {input.stats} --output {output} > {log} 2>&1"
