# A model that others trained, with its dictionaries and byte-pair codes, as a run of one epoch.
rule adopt:
    input:
        code=sources("headroom.stages.released"),
        files=local_files(translation.released.path) if translation.released.path else [],
    output:
        VOCABULARY,
        checkpoint=checkpoint(TRANSLATED[0]),
    log:
        f"{LOGS}/adopt.log",
    benchmark:
        f"{BENCHMARKS}/adopt.tsv"
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=memory(8000),
        runtime=4 * 60,
    params:
        vocabulary=subpath(output[0], parent=True),
        settings=flags(translation.released),
        mirror=mirror_flag,
    shell:
        "python -m headroom released --vocabulary {params.vocabulary} --checkpoint {output.checkpoint} {params.settings} "
        "{params.mirror} > {log} 2>&1"
