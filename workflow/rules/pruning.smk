# Pruning curves at the last epoch of detailed runs: every order, and its controls.
rule pruning:
    input:
        unpack(model_files("pruning", "choose", "test")),
        unpack(of_run(plan.order_tables)),
        scores=f"{RESULTS}/scores/{{run}}.csv",
        shards=plan.shards("pruning/{run}.{scope}"),
    output:
        table=f"{RESULTS}/pruning/{{run}}.{{scope}}.csv",
        resamples=f"{RESULTS}/pruning/{{run}}.{{scope}}.npz",
    log:
        f"{LOGS}/pruning/{{run}}.{{scope}}.log",
    benchmark:
        f"{BENCHMARKS}/pruning/{{run}}.{{scope}}.tsv"
    priority: 10
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=memory(4000),
        runtime=600,
        gpu=GPU,
    params:
        models=models,
        orders=order_flags,
        settings=of_run(job_settings.pruning),
        columns=columns("pruning"),
        written=merged,
    shell:
        "python -m headroom pruning {params.models} --scores {input.scores} {params.orders} --scopes {wildcards.scope} "
        "--settings {params.settings:q} {params.written} > {log} 2>&1"


if study.shards > 1:

    use rule pruning as pruning_shard with:
        input:
            unpack(model_files("pruning", "choose", "test")),
            unpack(of_run(plan.order_tables)),
            scores=f"{RESULTS}/scores/{{run}}.csv",
        output:
            plan.shard("pruning/{run}.{scope}"),
        log:
            f"{LOGS}/pruning/{{run}}.{{scope}}.shard{{shard}}.log",
        benchmark:
            f"{BENCHMARKS}/pruning/{{run}}.{{scope}}.shard{{shard}}.tsv"
        params:
            written=shard_flags,


# The same orders with another replacement of the removed heads than zero.
use rule pruning as pruning_replaced with:
    input:
        unpack(model_files("pruning", "choose", "test")),
        unpack(of_run(plan.order_tables)),
        scores=f"{RESULTS}/scores/{{run}}.csv",
        shards=plan.shards("pruning_replaced/{run}.{scope}.{replacement}"),
    output:
        table=f"{RESULTS}/pruning_replaced/{{run}}.{{scope}}.{{replacement}}.csv",
        resamples=f"{RESULTS}/pruning_replaced/{{run}}.{{scope}}.{{replacement}}.npz",
    log:
        f"{LOGS}/pruning_replaced/{{run}}.{{scope}}.{{replacement}}.log",
    benchmark:
        f"{BENCHMARKS}/pruning_replaced/{{run}}.{{scope}}.{{replacement}}.tsv"
    params:
        columns=columns("pruning_replaced"),
        written=merged_replaced,


if study.shards > 1:

    use rule pruning_replaced as pruning_replaced_shard with:
        input:
            unpack(model_files("pruning", "choose", "test")),
            unpack(of_run(plan.order_tables)),
            scores=f"{RESULTS}/scores/{{run}}.csv",
        output:
            plan.shard("pruning_replaced/{run}.{scope}.{replacement}"),
        log:
            f"{LOGS}/pruning_replaced/{{run}}.{{scope}}.{{replacement}}.shard{{shard}}.log",
        benchmark:
            f"{BENCHMARKS}/pruning_replaced/{{run}}.{{scope}}.{{replacement}}.shard{{shard}}.tsv"
        params:
            written=shard_flags_replaced,


# The main order within every single site, at the last epoch of detailed runs.
rule pruning_sites:
    input:
        unpack(model_files("pruning", "choose", "test")),
        scores=f"{RESULTS}/scores/{{run}}.csv",
        shards=plan.shards("pruning/{run}.sites"),
    output:
        table=f"{RESULTS}/pruning/{{run}}.sites.csv",
        resamples=f"{RESULTS}/pruning/{{run}}.sites.npz",
    log:
        f"{LOGS}/pruning/{{run}}.sites.log",
    benchmark:
        f"{BENCHMARKS}/pruning/{{run}}.sites.tsv"
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=memory(4000),
        runtime=600,
        gpu=GPU,
    params:
        models=models,
        settings=of_run(job_settings.main_curves),
        columns=columns("pruning"),
        written=merged,
    shell:
        "python -m headroom pruning {params.models} --scores {input.scores} --only-main true --scopes sites "
        "--settings {params.settings:q} {params.written} > {log} 2>&1"


if study.shards > 1:

    use rule pruning_sites as pruning_sites_shard with:
        input:
            unpack(model_files("pruning", "choose", "test")),
            scores=f"{RESULTS}/scores/{{run}}.csv",
        output:
            plan.shard("pruning/{run}.sites"),
        log:
            f"{LOGS}/pruning/{{run}}.sites.shard{{shard}}.log",
        benchmark:
            f"{BENCHMARKS}/pruning/{{run}}.sites.shard{{shard}}.tsv"
        params:
            written=shard_flags,


# The main order at every epoch of detailed runs, and at the last epoch of the others, for the comparison of arms.
rule pruning_epochs:
    input:
        unpack(model_files("pruning", "choose", "test", epochs=plan.curve_checkpoints)),
        scores=f"{RESULTS}/scores/{{run}}.csv",
        shards=plan.shards("pruning_epochs/{run}"),
    output:
        table=f"{RESULTS}/pruning_epochs/{{run}}.csv",
        resamples=f"{RESULTS}/pruning_epochs/{{run}}.npz",
    log:
        f"{LOGS}/pruning_epochs/{{run}}.log",
    benchmark:
        f"{BENCHMARKS}/pruning_epochs/{{run}}.tsv"
    priority: 15  # the longest of the sweeps
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=memory(4000),
        runtime=600,
        gpu=GPU,
    params:
        models=models,
        settings=of_run(job_settings.main_curves),
        columns=columns("pruning"),
        written=merged,
    shell:
        "python -m headroom pruning {params.models} --scores {input.scores} --only-main true --scopes all "
        "--settings {params.settings:q} {params.written} > {log} 2>&1"


if study.shards > 1:

    use rule pruning_epochs as pruning_epochs_shard with:
        input:
            unpack(model_files("pruning", "choose", "test", epochs=plan.curve_checkpoints)),
            scores=f"{RESULTS}/scores/{{run}}.csv",
        output:
            plan.shard("pruning_epochs/{run}"),
        log:
            f"{LOGS}/pruning_epochs/{{run}}.shard{{shard}}.log",
        benchmark:
            f"{BENCHMARKS}/pruning_epochs/{{run}}.shard{{shard}}.tsv"
        params:
            written=shard_flags,
