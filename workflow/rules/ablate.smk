# Every head removed alone: on the set that chooses, on test and on the far domains.
rule ablate:
    input:
        vocabulary=VOCABULARY,
        texts=texts("choose", "test", *FAR_SETS),
        code=sources("headroom.ablate"),
        checkpoint=last_checkpoint("{run}"),
    output:
        f"{RESULTS}/ablation/{{run}}.csv",
    log:
        f"{LOGS}/ablate/{{run}}.log",
    benchmark:
        f"{BENCHMARKS}/ablate/{{run}}.tsv"
    priority: 20
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=600,
        gpu=GPU,
    params:
        study=study.study,
        vocabulary=directory_of("vocabulary"),
        corpus=directory_of("texts"),
        sets=["choose", "test", *FAR_SETS],
        settings=" ".join([flags(study.decoding), flags(study.sampling)]),
        device=study.device,
    shell:
        "python -m headroom.ablate --study {params.study} --run {wildcards.run} --checkpoint {input.checkpoint} "
        "--vocabulary {params.vocabulary} --corpus {params.corpus} --device {params.device} --sets {params.sets} "
        "--output {output} {params.settings} > {log} 2>&1"
