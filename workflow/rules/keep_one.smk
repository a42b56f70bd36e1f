# One head kept per site: every head evaluated on the set that chooses, and on test.
rule keep_one:
    input:
        unpack(model_files("keep_one", "choose", "test")),
        shards=plan.shards("keep_one/{run}"),
    output:
        f"{RESULTS}/keep_one/{{run}}.csv",
    log:
        f"{LOGS}/keep_one/{{run}}.log",
    benchmark:
        f"{BENCHMARKS}/keep_one/{{run}}.tsv"
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=memory(4000),
        runtime=600,
        gpu=GPU,
    params:
        model=model,
        settings=of_run(job_settings.sections, "keep_one", "answers", "sampling"),
        columns=columns("keep_one"),
        written=merged,
    shell:
        "python -m headroom keep_one {params.model} --sets choose test --settings {params.settings:q} "
        "{params.written} > {log} 2>&1"


# The same with another replacement of the other heads than zero.
use rule keep_one as keep_one_replaced with:
    input:
        unpack(model_files("keep_one", "choose", "test")),
        shards=plan.shards("keep_one_replaced/{run}.{replacement}"),
    output:
        f"{RESULTS}/keep_one_replaced/{{run}}.{{replacement}}.csv",
    log:
        f"{LOGS}/keep_one_replaced/{{run}}.{{replacement}}.log",
    benchmark:
        f"{BENCHMARKS}/keep_one_replaced/{{run}}.{{replacement}}.tsv"
    params:
        columns=columns("keep_one_replaced"),
        written=merged_replaced,


if study.shards > 1:

    use rule keep_one as keep_one_shard with:
        input:
            unpack(model_files("keep_one", "choose", "test")),
        output:
            plan.shard("keep_one/{run}"),
        log:
            f"{LOGS}/keep_one/{{run}}.shard{{shard}}.log",
        benchmark:
            f"{BENCHMARKS}/keep_one/{{run}}.shard{{shard}}.tsv"
        params:
            written=shard_flags,

    use rule keep_one_replaced as keep_one_replaced_shard with:
        input:
            unpack(model_files("keep_one", "choose", "test")),
        output:
            plan.shard("keep_one_replaced/{run}.{replacement}"),
        log:
            f"{LOGS}/keep_one_replaced/{{run}}.{{replacement}}.shard{{shard}}.log",
        benchmark:
            f"{BENCHMARKS}/keep_one_replaced/{{run}}.{{replacement}}.shard{{shard}}.tsv"
        params:
            written=shard_flags_replaced,
