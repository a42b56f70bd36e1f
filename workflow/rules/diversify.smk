# How alike the heads of a site are, at every epoch of every run.
rule diversify:
    input:
        data=of_run(data_of, "check"),
        code=of_run(code_of, "headroom.stages.diversity"),
        files=of_run(all_files),
    output:
        f"{RESULTS}/diversity/{{run}}.csv",
    log:
        f"{LOGS}/diversify/{{run}}.log",
    benchmark:
        f"{BENCHMARKS}/diversify/{{run}}.tsv"
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=memory(4000),
        runtime=120,
        gpu=GPU,
    params:
        place=of_run(place_of),
        checkpoints=of_run(checkpoints),
        settings=of_run(slice_of, "diversity"),
    shell:
        "python -m headroom diversity {params.place} --checkpoints {params.checkpoints} --set check "
        "{params.settings} --output {output} > {log} 2>&1"
