# Removal of each head on its own: on the set that chooses, on test and on the far domains.
rule ablation:
    input:
        unpack(model_files("ablation", plan.ablated_sets)),
        shards=plan.shards("ablation/{run}"),
    output:
        table=f"{RESULTS}/ablation/{{run}}.csv",
        halves=f"{RESULTS}/ablation_halves/{{run}}.csv",
    log:
        f"{LOGS}/ablation/{{run}}.log",
    benchmark:
        f"{BENCHMARKS}/ablation/{{run}}.tsv"
    priority: 20
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=memory(4000),
        runtime=600,
        gpu=GPU,
    params:
        model=model,
        settings=of_run(job_settings.sections, "ablation", "answers", "sampling"),
        columns=columns("ablation", "ablation_halves"),
        sets=of_run(plan.ablated_sets),
        written=lambda wildcards, input, output: merged(wildcards, input, output) + f" --halves {output.halves}",
    shell:
        "python -m headroom ablation {params.model} --sets {params.sets} --settings {params.settings:q} "
        "{params.written} > {log} 2>&1"


# The same with another replacement of the removed head than zero.
use rule ablation as ablation_replaced with:
    input:
        unpack(model_files("ablation", plan.ablated_sets)),
        shards=plan.shards("ablation_replaced/{run}.{replacement}"),
    output:
        f"{RESULTS}/ablation_replaced/{{run}}.{{replacement}}.csv",
    log:
        f"{LOGS}/ablation_replaced/{{run}}.{{replacement}}.log",
    benchmark:
        f"{BENCHMARKS}/ablation_replaced/{{run}}.{{replacement}}.tsv"
    params:
        columns=columns("ablation_replaced"),
        written=merged_replaced,


if study.shards > 1:

    use rule ablation as ablation_shard with:
        input:
            unpack(model_files("ablation", plan.ablated_sets)),
        output:
            plan.shard("ablation/{run}"),
        log:
            f"{LOGS}/ablation/{{run}}.shard{{shard}}.log",
        benchmark:
            f"{BENCHMARKS}/ablation/{{run}}.shard{{shard}}.tsv"
        params:
            written=shard_flags,

    use rule ablation_replaced as ablation_replaced_shard with:
        input:
            unpack(model_files("ablation", plan.ablated_sets)),
        output:
            plan.shard("ablation_replaced/{run}.{replacement}"),
        log:
            f"{LOGS}/ablation_replaced/{{run}}.{{replacement}}.shard{{shard}}.log",
        benchmark:
            f"{BENCHMARKS}/ablation_replaced/{{run}}.{{replacement}}.shard{{shard}}.tsv"
        params:
            written=shard_flags_replaced,
