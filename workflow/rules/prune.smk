# Criteria of other tables than the scores give orders where their experiments are run.
for run in DETAILED:
    if lacking := [name for name, paths in tables_of_orders(run).items() if not paths]:
        raise WorkflowError(
            f"configuration, pruning.criteria of {RUNS[run].task}: there is no table of {lacking[0]} for {run}; "
            "leave its criterion out"
        )


# Pruning curves at the last epoch of detailed runs: every order, and its controls.
rule curves:
    input:
        data=of_run(data_of, "choose", "test"),
        code=of_run(code_of, "headroom.stages.pruning"),
        files=of_run(last_files),
        scores=f"{RESULTS}/scores/{{run}}.csv",
        orders=of_run(order_files),
        shards=shards_of("pruning/{run}.{scope}"),
    output:
        f"{RESULTS}/pruning/{{run}}.{{scope}}.csv",
    log:
        f"{LOGS}/curves/{{run}}.{{scope}}.log",
    benchmark:
        f"{BENCHMARKS}/curves/{{run}}.{{scope}}.tsv"
    priority: 10
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
        orders=of_run(order_flags),
        settings=lambda wildcards: slice_of(wildcards.run, "pruning", "scores", leave_out=["scopes"]),
        written=merged_table,
    shell:
        "python -m headroom pruning {params.place} --checkpoints {params.checkpoint} --scores {input.scores} "
        "{params.orders} --scopes {wildcards.scope} {params.settings} {params.judging} "
        "{params.written} > {log} 2>&1"


if study.shards > 1:

    use rule curves as curves_shard with:
        input:
            data=of_run(data_of, "choose", "test"),
            code=of_run(code_of, "headroom.stages.pruning"),
            files=of_run(last_files),
            scores=f"{RESULTS}/scores/{{run}}.csv",
            orders=of_run(order_files),
        output:
            shard_of("pruning/{run}.{scope}"),
        log:
            f"{LOGS}/curves/{{run}}.{{scope}}.shard{{shard}}.log",
        benchmark:
            f"{BENCHMARKS}/curves/{{run}}.{{scope}}.shard{{shard}}.tsv"
        params:
            written=shard_flags,


# The main order within every single site, at the last epoch of detailed runs.
rule site_curves:
    input:
        data=of_run(data_of, "choose", "test"),
        code=of_run(code_of, "headroom.stages.pruning"),
        files=of_run(last_files),
        scores=f"{RESULTS}/scores/{{run}}.csv",
        shards=shards_of("pruning/{run}.sites"),
    output:
        f"{RESULTS}/pruning/{{run}}.sites.csv",
    log:
        f"{LOGS}/curves/{{run}}.sites.log",
    benchmark:
        f"{BENCHMARKS}/curves/{{run}}.sites.tsv"
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
        settings=of_run(main_order_of),
        written=merged_table,
    shell:
        "python -m headroom pruning {params.place} --checkpoints {params.checkpoint} --scores {input.scores} "
        "--only-main true --scopes sites {params.settings} {params.judging} "
        "{params.written} > {log} 2>&1"


if study.shards > 1:

    use rule site_curves as site_curves_shard with:
        input:
            data=of_run(data_of, "choose", "test"),
            code=of_run(code_of, "headroom.stages.pruning"),
            files=of_run(last_files),
            scores=f"{RESULTS}/scores/{{run}}.csv",
        output:
            shard_of("pruning/{run}.sites"),
        log:
            f"{LOGS}/curves/{{run}}.sites.shard{{shard}}.log",
        benchmark:
            f"{BENCHMARKS}/curves/{{run}}.sites.shard{{shard}}.tsv"
        params:
            written=shard_flags,


# The main order at every epoch of detailed runs; at the last of the others, by which arms are compared.
rule dynamics:
    input:
        data=of_run(data_of, "choose", "test"),
        code=of_run(code_of, "headroom.stages.pruning"),
        files=lambda wildcards: files_of(dynamic_checkpoints(wildcards.run)),
        scores=f"{RESULTS}/scores/{{run}}.csv",
        shards=shards_of("pruning_epochs/{run}"),
    output:
        f"{RESULTS}/pruning_epochs/{{run}}.csv",
    log:
        f"{LOGS}/dynamics/{{run}}.log",
    benchmark:
        f"{BENCHMARKS}/dynamics/{{run}}.tsv"
    priority: 15  # the longest of the sweeps
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=memory(4000),
        runtime=600,
        gpu=GPU,
    params:
        place=of_run(place_of),
        checkpoints=of_run(dynamic_checkpoints),
        judging=of_run(judging_of),
        settings=of_run(main_order_of),
        written=merged_table,
    shell:
        "python -m headroom pruning {params.place} --checkpoints {params.checkpoints} --scores {input.scores} "
        "--only-main true --scopes all {params.settings} {params.judging} "
        "{params.written} > {log} 2>&1"


if study.shards > 1:

    use rule dynamics as dynamics_shard with:
        input:
            data=of_run(data_of, "choose", "test"),
            code=of_run(code_of, "headroom.stages.pruning"),
            files=lambda wildcards: files_of(dynamic_checkpoints(wildcards.run)),
            scores=f"{RESULTS}/scores/{{run}}.csv",
        output:
            shard_of("pruning_epochs/{run}"),
        log:
            f"{LOGS}/dynamics/{{run}}.shard{{shard}}.log",
        benchmark:
            f"{BENCHMARKS}/dynamics/{{run}}.shard{{shard}}.tsv"
        params:
            written=shard_flags,
