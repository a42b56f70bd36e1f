# Relevance of every head for the output of a Transformer, by layer-wise relevance propagation.
rule relevance:
    input:
        unpack(model_files("relevance", "check")),
    output:
        f"{RESULTS}/relevance/{{run}}.csv",
    log:
        f"{LOGS}/relevance/{{run}}.log",
    benchmark:
        f"{BENCHMARKS}/relevance/{{run}}.tsv"
    wildcard_constraints:
        run=any_of(plan.transformers),
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=memory(4000),
        runtime=120,
        gpu=GPU,
    params:
        model=model,
        settings=of_run(job_settings.sections, "relevance"),
        columns=columns("relevance"),
    shell:
        "python -m headroom relevance {params.model} --set check --settings {params.settings:q} "
        "--output {output} > {log} 2>&1"
