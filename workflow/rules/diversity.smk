# How similar the heads of a site are, at every epoch of every run.
rule diversity:
    input:
        unpack(model_files("diversity", "check", epochs=plan.whole_epochs)),
    output:
        f"{RESULTS}/diversity/{{run}}.csv",
    log:
        f"{LOGS}/diversity/{{run}}.log",
    benchmark:
        f"{BENCHMARKS}/diversity/{{run}}.tsv"
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=memory(4000),
        runtime=120,
        gpu=GPU,
    params:
        models=models,
        settings=of_run(job_settings.sections, "diversity"),
        columns=columns("diversity"),
    shell:
        "python -m headroom diversity {params.models} --set check --settings {params.settings:q} "
        "--output {output} > {log} 2>&1"
