# A checkpoint without its least important heads, checked against the masked model.
rule remove:
    input:
        vocabulary=VOCABULARY,
        texts=texts("test"),
        code=sources("headroom.remove"),
        checkpoint=last_checkpoint("{run}"),
        scores=f"{RESULTS}/scores/{{run}}.csv",
    output:
        sliced=f"{RESULTS}/sliced/{{run}}.pt",
        table=f"{RESULTS}/removal/{{run}}.csv",
    log:
        f"{LOGS}/remove/{{run}}.log",
    benchmark:
        f"{BENCHMARKS}/remove/{{run}}.tsv"
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=60,
        gpu=GPU,
    params:
        study=study.study,
        vocabulary=directory_of("vocabulary"),
        corpus=directory_of("texts"),
        settings=" ".join([flags(study.removal), flags(study.decoding)]),
        device=study.device,
    shell:
        "python -m headroom.remove --study {params.study} --run {wildcards.run} --checkpoint {input.checkpoint} "
        "--vocabulary {params.vocabulary} --corpus {params.corpus} --device {params.device} --scores {input.scores} "
        "--set test --sliced {output.sliced} --output {output.table} {params.settings} > {log} 2>&1"
