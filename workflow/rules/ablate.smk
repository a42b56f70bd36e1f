# Every head removed alone: on the set that chooses, on test and on the far domains.
rule ablate:
    input:
        data=lambda wildcards: data_of(wildcards.run, *ablated_sets(wildcards.run)),
        code=of_run(code_of, "headroom.stages.ablation"),
        files=of_run(last_files),
        shards=shards_of("ablation/{run}"),
    output:
        table=f"{RESULTS}/ablation/{{run}}.csv",
        halves=f"{RESULTS}/ablation_halves/{{run}}.csv",
    log:
        f"{LOGS}/ablate/{{run}}.log",
    benchmark:
        f"{BENCHMARKS}/ablate/{{run}}.tsv"
    priority: 20
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=memory(4000),
        runtime=600,
        gpu=GPU,
    params:
        place=of_run(place_of),
        checkpoint=of_run(checkpoint),
        judging=of_run(judging_of),
        limit=lambda wildcards: slice_of(wildcards.run, "ablation", leave_out=["far_sets"]),
        sets=of_run(ablated_sets),
        halves=f"--halves {RESULTS}/ablation_halves/{{run}}.csv",
        written=merged_table,
    shell:
        "python -m headroom ablation {params.place} --checkpoint {params.checkpoint} --sets {params.sets} "
        "{params.limit} {params.judging} {params.halves} {params.written} > {log} 2>&1"


if study.shards > 1:

    use rule ablate as ablate_shard with:
        input:
            data=lambda wildcards: data_of(wildcards.run, *ablated_sets(wildcards.run)),
            code=of_run(code_of, "headroom.stages.ablation"),
            files=of_run(last_files),
        output:
            shard_of("ablation/{run}"),
        log:
            f"{LOGS}/ablate/{{run}}.shard{{shard}}.log",
        benchmark:
            f"{BENCHMARKS}/ablate/{{run}}.shard{{shard}}.tsv"
        params:
            halves="",
            written=shard_flags,
