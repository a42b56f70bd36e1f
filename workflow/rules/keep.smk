# One head kept per site: every head tried on the set that chooses, and on test.
rule keep:
    input:
        data=of_run(data_of, "choose", "test"),
        code=of_run(code_of, "headroom.stages.keep_one"),
        files=of_run(last_files),
        shards=shards_of("keep_one/{run}"),
    output:
        f"{RESULTS}/keep_one/{{run}}.csv",
    log:
        f"{LOGS}/keep/{{run}}.log",
    benchmark:
        f"{BENCHMARKS}/keep/{{run}}.tsv"
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
        limit=lambda wildcards: slice_of(wildcards.run, "keep_one"),
        written=merged_table,
    shell:
        "python -m headroom keep_one {params.place} --checkpoint {params.checkpoint} --sets choose test "
        "{params.limit} {params.judging} {params.written} > {log} 2>&1"


if study.shards > 1:

    use rule keep as keep_shard with:
        input:
            data=of_run(data_of, "choose", "test"),
            code=of_run(code_of, "headroom.stages.keep_one"),
            files=of_run(last_files),
        output:
            shard_of("keep_one/{run}"),
        log:
            f"{LOGS}/keep/{{run}}.shard{{shard}}.log",
        benchmark:
            f"{BENCHMARKS}/keep/{{run}}.shard{{shard}}.tsv"
        params:
            written=shard_flags,
