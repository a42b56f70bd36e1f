# Final scores of every run on every set.
rule evaluate:
    input:
        vocabulary=VOCABULARY,
        texts=texts("check", "test", *study.corpus.far_names),
        code=sources("headroom.evaluate"),
        checkpoint=last_checkpoint("{run}"),
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
        mem_mb=4000,
        runtime=120,
        gpu=GPU,
    params:
        study=study.study,
        vocabulary=directory_of("vocabulary"),
        corpus=directory_of("texts"),
        sets=["check", "test", *study.corpus.far_names],
        settings=" ".join([flags(study.evaluation), flags(study.decoding), flags(study.sampling)]),
        device=study.device,
    shell:
        "python -m headroom.evaluate --study {params.study} --run {wildcards.run} --checkpoint {input.checkpoint} "
        "--vocabulary {params.vocabulary} --corpus {params.corpus} --device {params.device} --sets {params.sets} "
        "--output {output} {params.settings} > {log} 2>&1"
