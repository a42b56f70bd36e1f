# Gradient importance of every head at every epoch, on the set that chooses.
rule score:
    input:
        data=of_run(data_of, "choose"),
        code=of_run(code_of, "headroom.stages.scores"),
        files=of_run(all_files),
    output:
        table=f"{RESULTS}/scores/{{run}}.csv",
        halves=f"{RESULTS}/scores_halves/{{run}}.csv",
    log:
        f"{LOGS}/score/{{run}}.log",
    benchmark:
        f"{BENCHMARKS}/score/{{run}}.tsv"
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
        settings=of_run(slice_of, "scores"),
    shell:
        "python -m headroom scores {params.place} --checkpoints {params.checkpoints} --set choose "
        "{params.settings} --output {output.table} --halves {output.halves} > {log} 2>&1"
