# Full, masked and sliced models timed side by side, with the machine to themselves.
rule speed:
    input:
        data=of_run(data_of, "test"),
        code=of_run(code_of, "headroom.stages.timing"),
        files=of_run(last_files),
        scores=f"{RESULTS}/scores/{{run}}.csv",
    output:
        table=f"{RESULTS}/timing/{{run}}.csv",
        samples=f"{RESULTS}/timing_samples/{{run}}.csv",
    log:
        f"{LOGS}/speed/{{run}}.log",
    benchmark:
        f"{BENCHMARKS}/speed/{{run}}.tsv"
    conda:
        "../../envs/torch.yaml"
    threads: alone("timing")
    resources:
        mem_mb=memory(4000),
        runtime=120,
        gpu=GPU,
    params:
        place=of_run(place_of),
        checkpoint=of_run(checkpoint),
        settings=of_run(slice_of, "timing"),
        main=of_run(main_of),
    shell:
        "python -m headroom timing {params.place} --checkpoint {params.checkpoint} --scores {input.scores} --set test "
        "{params.settings} {params.main} --output {output.table} --samples {output.samples} > {log} 2>&1"
