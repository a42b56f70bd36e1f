# Learned gates: which heads stay while detailed runs train on, and what they are compared with.
for task, way in dict.fromkeys((RUNS[run].task, way) for run in GATED for way in WAYS[run]):

    rule:
        name:
            f"gate_{task}_{way}".replace("-", "_").replace(".", "_")
        input:
            data=of_run(data_of, "train", "test"),
            code=of_run(code_of, "headroom.stages.gates"),
            files=of_run(last_files),
            training=of_run(training_table),
        output:
            models=all_pruned_files("{run}", task, way),
            learned=f"{RESULTS}/gates/{{run}}.{way}.csv",
            table=f"{RESULTS}/pruned_models/{{run}}.{way}.csv",
        log:
            f"{LOGS}/gate/{{run}}.{way}.log",
        benchmark:
            f"{BENCHMARKS}/gate/{{run}}.{way}.tsv"
        wildcard_constraints:
            run=any_of(RUNS_OF[task]),
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
            settings=of_run(gates_of, way),
            way="--method {} --scope {}".format(*way.split(".")),
            models=f"{RESULTS}/pruned_models/{{run}}/{way}",
            training=lambda wildcards, input: f"--training {input.training}" if input.training else "",
        shell:
            "python -m headroom gates {params.place} --checkpoint {params.checkpoint} {params.way} {params.training} "
            "{params.settings} {params.judging} --models {params.models} --learned {output.learned} "
            "--output {output.table} > {log} 2>&1"


# The controls: no head less, the best by gradient, random ones; trained further alike.
rule gate_controls:
    input:
        data=of_run(data_of, "train", "test"),
        code=of_run(code_of, "headroom.stages.gates"),
        files=of_run(last_files),
        scores=f"{RESULTS}/scores/{{run}}.csv",
        training=of_run(training_table),
    output:
        f"{RESULTS}/pruned_models/{{run}}.controls.csv",
    log:
        f"{LOGS}/gate/{{run}}.controls.log",
    benchmark:
        f"{BENCHMARKS}/gate/{{run}}.controls.tsv"
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
        settings=of_run(gates_of, "controls"),
        main=of_run(main_of),
        training=lambda wildcards, input: f"--training {input.training}" if input.training else "",
    shell:
        "python -m headroom gates {params.place} --checkpoint {params.checkpoint} --method controls "
        "--scores {input.scores} {params.training} {params.settings} {params.main} {params.judging} "
        "--output {output} > {log} 2>&1"
