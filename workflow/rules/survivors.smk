# Where the heads point that Voita's gates left, and their roles now.
rule observe_pruned:
    input:
        data=of_run(data_of, "check", "train"),
        treebank=of_run(treebank_of),
        code=of_run(code_of, "headroom.stages.attention_stats"),
        files=lambda wildcards: pruned_files(wildcards.run, RUNS[wildcards.run].task, wildcards.way, wildcards.strength),
    output:
        f"{RESULTS}/attention_stats/{{run}}.{{way}}.{{strength}}.csv",
    log:
        f"{LOGS}/observe/{{run}}.{{way}}.{{strength}}.log",
    benchmark:
        f"{BENCHMARKS}/observe/{{run}}.{{way}}.{{strength}}.tsv"
    wildcard_constraints:
        way="[a-z-]+[.](all|E)",
        strength="[0-9.e-]+",
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=memory(4000),
        runtime=120,
        gpu=GPU,
    params:
        place=of_run(place_of),
        checkpoint=lambda wildcards: pruned_checkpoint(
            wildcards.run, RUNS[wildcards.run].task, wildcards.way, wildcards.strength
        ),
        treebank=of_run(treebank_flag),
        settings=of_run(slice_of, "attention_stats"),
        sampling=flags(study.sampling),
    shell:
        "python -m headroom attention_stats {params.place} {params.treebank} --set check "
        "--checkpoint {params.checkpoint} --name {wildcards.way}.{wildcards.strength} "
        "{params.settings} {params.sampling} --output {output} > {log} 2>&1"
