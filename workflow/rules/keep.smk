# One head kept per site: chosen on one half of the validation set, judged on test.
rule keep:
    input:
        vocabulary=VOCABULARY,
        texts=texts("choose", "test"),
        code=sources("headroom.keep"),
        checkpoint=last_checkpoint("{run}"),
    output:
        f"{RESULTS}/keep_one/{{run}}.csv",
    log:
        f"{LOGS}/keep/{{run}}.log",
    benchmark:
        f"{BENCHMARKS}/keep/{{run}}.tsv"
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
        settings=" ".join([flags(study.decoding), flags(study.sampling)]),
        device=study.device,
    shell:
        "python -m headroom.keep --study {params.study} --run {wildcards.run} --checkpoint {input.checkpoint} "
        "--vocabulary {params.vocabulary} --corpus {params.corpus} --device {params.device} --choose-on choose "
        "--judge-on test --output {output} {params.settings} > {log} 2>&1"
