# Attention maps of heads with roles.
rule attention_maps:
    input:
        unpack(model_files("attention_maps", "check")),
        treebank=of_run(plan.treebank),
        roles=f"{RESULTS}/roles/{{run}}.csv",
        stats=f"{RESULTS}/attention_stats/{{run}}.csv",
    output:
        f"{RESULTS}/attention_maps/{{run}}.json",
    log:
        f"{LOGS}/attention_maps/{{run}}.log",
    benchmark:
        f"{BENCHMARKS}/attention_maps/{{run}}.tsv"
    wildcard_constraints:
        run=any_of(plan.transformers),
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=memory(4000),
        runtime=30,
        gpu=GPU,
    params:
        model=model,
        treebank=flag("--treebank", "treebank"),
    shell:
        "python -m headroom attention_maps {params.model} --roles {input.roles} --pointing {input.stats} "
        "{params.treebank} --set check --output {output} > {log} 2>&1"
