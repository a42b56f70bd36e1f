# How alike the heads of a site are, at every epoch of every run.
rule diversify:
    input:
        vocabulary=VOCABULARY,
        texts=texts("translation", "check"),
        code=sources("headroom.diversify"),
        files=of_run(all_files),
    output:
        f"{RESULTS}/diversity/{{run}}.csv",
    log:
        f"{LOGS}/diversify/{{run}}.log",
    benchmark:
        f"{BENCHMARKS}/diversify/{{run}}.tsv"
    wildcard_constraints:
        run=any_of(TRANSLATED),
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=120,
        gpu=GPU,
    params:
        study=study.study,
        checkpoints=of_run(checkpoints),
        vocabulary=directory_of("vocabulary"),
        corpus=directory_of("texts"),
        settings=flags(translation.diversity),
        device=study.device,
    shell:
        "python -m headroom.diversify --study {params.study} --run {wildcards.run} --checkpoints {params.checkpoints} "
        "--vocabulary {params.vocabulary} --corpus {params.corpus} --device {params.device} --set check "
        "--output {output} {params.settings} > {log} 2>&1"
