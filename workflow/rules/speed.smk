# Full, masked and sliced models timed side by side, with the machine to themselves.
rule speed:
    input:
        vocabulary=VOCABULARY,
        texts=texts("test"),
        code=sources("headroom.speed"),
        checkpoint=last_checkpoint("{run}"),
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
    threads: WHOLE_MACHINE
    resources:
        mem_mb=4000,
        runtime=120,
        gpu=GPU,
    params:
        study=study.study,
        vocabulary=directory_of("vocabulary"),
        corpus=directory_of("texts"),
        settings=flags(study.timing),
        device=study.device,
    shell:
        "python -m headroom.speed --study {params.study} --run {wildcards.run} --checkpoint {input.checkpoint} "
        "--vocabulary {params.vocabulary} --corpus {params.corpus} --device {params.device} --scores {input.scores} "
        "--set test --output {output.table} --samples {output.samples} {params.settings} > {log} 2>&1"
