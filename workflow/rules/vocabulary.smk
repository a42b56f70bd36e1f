# Subword vocabulary and the binarised training set.
rule vocabulary:
    input:
        texts=plan.texts("translation", "train", "choose", "check"),
        code=code("vocabulary"),
    output:
        plan.vocabulary,
        plan.binarised,
        f"{RESULTS}/translation/binarised/prepared.json",
    log:
        f"{LOGS}/translation/vocabulary.log",
    benchmark:
        f"{BENCHMARKS}/translation/vocabulary.tsv"
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=memory(4000),
        runtime=60,
    params:
        corpus=directory_of("texts"),
        directory=subpath(output[0], parent=True),
        settings=as_json(vocabulary=translation.vocabulary),
    shell:
        "python -m headroom vocabulary --corpus {params.corpus} --output {params.directory} "
        "--settings {params.settings:q} > {log} 2>&1"
