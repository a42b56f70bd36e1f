# Subword vocabulary and the binarised set that training reads.
rule prepare:
    input:
        texts=texts("translation", "train", "choose", "check"),
        code=sources("headroom.stages.vocabulary"),
    output:
        VOCABULARY,
        BINARISED,
        f"{RESULTS}/translation/binarised/prepared.json",
    log:
        f"{LOGS}/translation/prepare.log",
    benchmark:
        f"{BENCHMARKS}/translation/prepare.tsv"
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=memory(4000),
        runtime=60,
    params:
        corpus=directory_of("texts"),
        directory=subpath(output[0], parent=True),
        settings=flags(translation.vocabulary),
    shell:
        "python -m headroom vocabulary --corpus {params.corpus} --output {params.directory} {params.settings} > {log} 2>&1"
