# Final scores of every run on every set.
rule evaluate:
    input:
        data=lambda wildcards: data_of(wildcards.run, *judged_sets(wildcards.run)),
        code=of_run(code_of, "headroom.stages.evaluation"),
        files=of_run(last_files),
    output:
        f"{RESULTS}/evaluation/{{run}}.csv",
    log:
        f"{LOGS}/evaluate/{{run}}.log",
    benchmark:
        f"{BENCHMARKS}/evaluate/{{run}}.tsv"
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
        judging=of_run(judging_of, True),
        sets=of_run(judged_sets),
    shell:
        "python -m headroom evaluation {params.place} --checkpoint {params.checkpoint} --sets {params.sets} "
        "{params.judging} --output {output} > {log} 2>&1"
