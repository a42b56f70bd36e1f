# The initial encoder of a task's classifiers: a pretrained one has weights, a new one has none.
rule encoder:
    input:
        texts=lambda wildcards: plan.texts(wildcards.task, "train"),
        code=code("encoder"),
        files=lambda wildcards: outside(plan.encoder_directory(wildcards.task)),
    output:
        [f"{RESULTS}/{{task}}/encoder/{file}" for file in CLASSIFIER if file != "model.safetensors"],
    log:
        f"{LOGS}/{{task}}/encoder.log",
    benchmark:
        f"{BENCHMARKS}/{{task}}/encoder.tsv"
    wildcard_constraints:
        task=any_of(name for name in classification if not plan.is_pretrained(name)),
    priority: 60  # trainings, the longest jobs, wait for it
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=memory(4000),
        runtime=60,
    params:
        corpus=directory_of("texts"),
        directory=subpath(output[0], parent=True),
        settings=lambda wildcards: as_json(encoder=classification[wildcards.task].encoder),
    shell:
        "python -m headroom encoder --corpus {params.corpus} --output {params.directory} "
        "--settings {params.settings:q} > {log} 2>&1"


use rule encoder as encoder_pretrained with:
    output:
        [f"{RESULTS}/{{task}}/encoder/{file}" for file in CLASSIFIER],
    wildcard_constraints:
        task=any_of(name for name in classification if plan.is_pretrained(name)),
