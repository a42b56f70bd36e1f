# Parameters of heads, of their sites and of the model.
rule count:
    input:
        data=of_run(data_of),
        code=of_run(code_of, "headroom.stages.parameters"),
        files=of_run(last_files),
    output:
        f"{RESULTS}/parameters/{{run}}.csv",
    log:
        f"{LOGS}/count/{{run}}.log",
    benchmark:
        f"{BENCHMARKS}/count/{{run}}.tsv"
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=memory(4000),
        runtime=30,
    params:
        place=of_run(place_of),
        checkpoint=of_run(checkpoint),
    shell:
        "python -m headroom parameters {params.place} --checkpoint {params.checkpoint} --output {output} > {log} 2>&1"
