# Runs whose heads attend from piece to piece, so that they point somewhere, have roles and pass relevance on. The hops
# of a self-attentive encoder do not.
TRANSFORMERS = [name for name in RUNS if name in TRANSLATED or task_of(name).encoder.source != "self-attentive"]


# Where the heads of a run's last epoch point, and maps of heads with roles to look at.
rule observe:
    input:
        data=of_run(data_of, "check", "train"),
        treebank=of_run(treebank_of),
        code=of_run(code_of, "headroom.stages.attention_stats"),
        files=of_run(last_files),
    output:
        f"{RESULTS}/attention_stats/{{run}}.csv",
    log:
        f"{LOGS}/observe/{{run}}.log",
    benchmark:
        f"{BENCHMARKS}/observe/{{run}}.tsv"
    wildcard_constraints:
        run=any_of(TRANSFORMERS),
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=memory(4000),
        runtime=120,
        gpu=GPU,
    params:
        place=of_run(place_of),
        checkpoint=of_run(checkpoint),
        treebank=of_run(treebank_flag),
        settings=of_run(slice_of, "attention_stats"),
        sampling=flags(study.sampling),
    shell:
        "python -m headroom attention_stats {params.place} --checkpoint {params.checkpoint} {params.treebank} --set check "
        "--models trained untrained {params.settings} {params.sampling} --output {output} > {log} 2>&1"


rule trace:
    input:
        data=of_run(data_of, "check"),
        treebank=of_run(treebank_of),
        roles=f"{RESULTS}/roles/{{run}}.csv",
        pointing=f"{RESULTS}/attention_stats/{{run}}.csv",
        code=of_run(code_of, "headroom.stages.attention_maps"),
        files=of_run(last_files),
    output:
        f"{RESULTS}/attention_maps/{{run}}.json",
    log:
        f"{LOGS}/trace/{{run}}.log",
    benchmark:
        f"{BENCHMARKS}/trace/{{run}}.tsv"
    wildcard_constraints:
        run=any_of(TRANSFORMERS),
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=memory(4000),
        runtime=30,
        gpu=GPU,
    params:
        place=of_run(place_of),
        checkpoint=of_run(checkpoint),
        treebank=of_run(treebank_flag),
        settings=of_run(slice_of, "attention_maps"),
    shell:
        "python -m headroom attention_maps {params.place} --checkpoint {params.checkpoint} --roles {input.roles} "
        "--pointing {input.pointing} "
        "{params.treebank} --set check {params.settings} --output {output} > {log} 2>&1"
