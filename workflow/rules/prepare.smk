# Subword vocabulary and the binarised set that training reads.
rule prepare:
    input:
        texts=texts("train", "choose", "check"),
        code=sources("headroom.prepare"),
    output:
        VOCABULARY,
        BINARISED,
        f"{RESULTS}/binarised/prepared.json",
    log:
        f"{LOGS}/prepare.log",
    benchmark:
        f"{BENCHMARKS}/prepare.tsv"
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        corpus=directory_of("texts"),
        directory=subpath(output[0], parent=True),
        settings=flags(study.vocabulary),
    shell:
        "python -m headroom.prepare --corpus {params.corpus} --output {params.directory} {params.settings} > {log} 2>&1"
