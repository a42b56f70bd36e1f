# Gradient importance of every head at every epoch, on the set that chooses.
rule score:
    input:
        vocabulary=VOCABULARY,
        texts=texts("choose"),
        code=sources("headroom.score"),
        checkpoints=checkpoints("{run}"),
    output:
        f"{RESULTS}/scores/{{run}}.csv",
    log:
        f"{LOGS}/score/{{run}}.log",
    benchmark:
        f"{BENCHMARKS}/score/{{run}}.tsv"
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=120,
        gpu=GPU,
    params:
        study=study.study,
        vocabulary=directory_of("vocabulary"),
        corpus=directory_of("texts"),
        settings=flags(study.scores),
        device=study.device,
    shell:
        "python -m headroom.score --study {params.study} --run {wildcards.run} --checkpoints {input.checkpoints} "
        "--vocabulary {params.vocabulary} --corpus {params.corpus} --device {params.device} --set choose "
        "--output {output} {params.settings} > {log} 2>&1"
