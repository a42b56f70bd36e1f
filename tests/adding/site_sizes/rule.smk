# The heads of every site.
rule site_sizes:
    input:
        unpack(model_files("site_sizes")),
    output:
        f"{RESULTS}/site_sizes/{{run}}.csv",
    log:
        f"{LOGS}/site_sizes/{{run}}.log",
    benchmark:
        f"{BENCHMARKS}/site_sizes/{{run}}.tsv"
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=memory(4000),
        runtime=30,
    params:
        model=model,
        settings=of_run(job_settings.sections, "site_sizes"),
        columns=columns("site_sizes"),
    shell:
        "python -m headroom site_sizes {params.model} --settings {params.settings:q} --output {output} > {log} 2>&1"
