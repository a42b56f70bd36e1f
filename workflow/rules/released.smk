# Models that others trained, each as a run of one epoch: a translation model with its dictionaries and byte-pair codes,
# and classifiers.
if translation and translation.released:

    rule released_translation:
        input:
            code=sources("headroom.stages.released", "headroom.engines.translation.released"),
            files=local_files(translation.released.path),
        output:
            VOCABULARY,
            checkpoint=checkpoint(TRANSLATED[0]),
        log:
            f"{LOGS}/released/{TRANSLATED[0]}.log",
        benchmark:
            f"{BENCHMARKS}/released/{TRANSLATED[0]}.tsv"
        conda:
            "../../envs/torch.yaml"
        threads: 1
        resources:
            mem_mb=memory(8000),
            runtime=4 * 60,
        params:
            vocabulary=subpath(output[0], parent=True),
            settings=sections(released=translation.released),
            mirror=mirror_flag,
        shell:
            "python -m headroom released --vocabulary {params.vocabulary} --checkpoint {output.checkpoint} "
            "--settings {params.settings:q} {params.mirror} > {log} 2>&1"


rule released_classification:
    input:
        texts=lambda wildcards: texts(RUNS[wildcards.run].task, "test"),
        code=sources("headroom.stages.released", "headroom.engines.classification.released"),
        files=lambda wildcards: local_files(task_of(wildcards.run).released.path),
    output:
        [f"{RESULTS}/runs/{{run}}/epoch1/{file}" for file in CLASSIFIER],
    log:
        f"{LOGS}/released/{{run}}.log",
    benchmark:
        f"{BENCHMARKS}/released/{{run}}.tsv"
    wildcard_constraints:
        run=any_of(run for run in LABELLED if task_of(run).released),
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=memory(6000),
        runtime=60,
    params:
        corpus=directory_of("texts"),
        checkpoint=of_run(checkpoint),
        settings=lambda wildcards: sections(released=task_of(wildcards.run).released),
    shell:
        "python -m headroom released --task classification --corpus {params.corpus} "
        "--checkpoint {params.checkpoint} --settings {params.settings:q} > {log} 2>&1"
