# Relevance of every head for what a Transformer says, by layer-wise relevance propagation, at the last epoch.
rule attribute:
    input:
        data=of_run(data_of, "check"),
        code=of_run(code_of, "headroom.stages.relevance"),
        files=of_run(last_files),
    output:
        f"{RESULTS}/relevance/{{run}}.csv",
    log:
        f"{LOGS}/attribute/{{run}}.log",
    benchmark:
        f"{BENCHMARKS}/attribute/{{run}}.tsv"
    wildcard_constraints:
        run=any_of(TRANSFORMERS),
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=memory(4000),
        runtime=120,
        gpu=GPU,
    params:
        place=of_run(place_of),
        checkpoint=of_run(checkpoint),
        settings=of_run(slice_of, "relevance"),
    shell:
        "python -m headroom relevance {params.place} --checkpoint {params.checkpoint} --set check "
        "{params.settings} --output {output} > {log} 2>&1"
