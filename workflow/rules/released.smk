# Released models, each as a run of one epoch: a translation model with its dictionaries and byte-pair codes, and
# classifiers.
if translation and translation.released:

    rule released_translation:
        input:
            code=code("released", "headroom.engines.fairseq.released"),
            files=outside(local_files(translation.released.path)),
        output:
            plan.vocabulary,
            checkpoint=plan.checkpoint(plan.translated[0]),
        log:
            f"{LOGS}/released/{plan.translated[0]}.log",
        benchmark:
            f"{BENCHMARKS}/released/{plan.translated[0]}.tsv"
        conda:
            "../../envs/torch.yaml"
        threads: 1
        resources:
            mem_mb=memory(8000),
            runtime=4 * 60,
        params:
            vocabulary=subpath(output[0], parent=True),
            settings=as_json(released=translation.released),
            mirror=mirror_flag,
        shell:
            "python -m headroom released --vocabulary {params.vocabulary} --checkpoint {output.checkpoint} "
            "--settings {params.settings:q} {params.mirror} > {log} 2>&1"


rule released_classification:
    input:
        texts=lambda wildcards: plan.texts(plan.runs[wildcards.run].task, "test"),
        code=code("released", "headroom.engines.hub.classifier.released"),
        files=lambda wildcards: outside(local_files(plan.task(wildcards.run).released.path)),
    output:
        checkpoint=[f"{RESULTS}/runs/{{run}}/epoch1/{file}" for file in CLASSIFIER],
    log:
        f"{LOGS}/released/{{run}}.log",
    benchmark:
        f"{BENCHMARKS}/released/{{run}}.tsv"
    wildcard_constraints:
        run=any_of(run for run in plan.labelled if plan.task(run).released),
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=memory(6000),
        runtime=60,
    params:
        corpus=directory_of("texts"),
        checkpoint=made_directory("checkpoint"),
        settings=lambda wildcards: as_json(released=plan.task(wildcards.run).released),
    shell:
        "python -m headroom released --engine classifier --corpus {params.corpus} "
        "--checkpoint {params.checkpoint} --settings {params.settings:q} > {log} 2>&1"
