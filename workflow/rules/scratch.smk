# Layouts that gates left, trained from scratch.
if any(SCRATCH.values()):

    rule train_layout:
        input:
            vocabulary=VOCABULARY,
            binarised=BINARISED,
            code=sources("headroom.stages.training"),
            profile=f"{RESULTS}/pruned_models/{{run}}/hard-concrete.all/{{strength}}/profile.txt",
        output:
            checkpoints=[
                f"{RESULTS}/scratch/{{run}}.{{strength}}/epoch{epoch}.pt" for epoch in range(1, translation.epochs + 1)
            ],
            table=f"{RESULTS}/scratch_training/{{run}}.{{strength}}.csv",
        log:
            f"{LOGS}/train_layout/{{run}}.{{strength}}.log",
        benchmark:
            f"{BENCHMARKS}/train_layout/{{run}}.{{strength}}.tsv"
        wildcard_constraints:
            run=any_of(TRANSLATED),
            strength="[0-9.e-]+",
        priority: 20
        conda:
            "../../envs/torch.yaml"
        threads: 1
        resources:
            mem_mb=memory(4000 * study.gpus),
            runtime=24 * 60,
            gpu=TRAINING_GPUS,
        params:
            study=study.study,
            data=directory_of("binarised"),
            work=f"work/{study.study}/{{run}}.scratch-{{strength}}",
            arm=of_run(arm_of),
            seed=lambda wildcards: RUNS[wildcards.run].seed,
            model=flags(translation.model),
            training=flags(translation.training),
            device=TRAINING_DEVICE,
            directory=f"{RESULTS}/scratch/{{run}}.{{strength}}",
        shell:
            "python -m headroom training --study {params.study} --run {wildcards.run} --data {params.data} "
            "--work {params.work} --checkpoints {params.directory} --output {output.table} --device {params.device} "
            "--profile {input.profile} "
            "--seed {params.seed} {params.arm} {params.model} {params.training} > {log} 2>&1"

    rule contrast:
        input:
            data=of_run(data_of, "test"),
            code=of_run(code_of, "headroom.stages.from_scratch"),
            files=of_run(last_files),
            other=f"{RESULTS}/scratch/{{run}}.{{strength}}/epoch{translation.epochs}.pt",
        output:
            f"{RESULTS}/pruned_models/{{run}}.scratch-{{strength}}.csv",
        log:
            f"{LOGS}/contrast/{{run}}.{{strength}}.log",
        benchmark:
            f"{BENCHMARKS}/contrast/{{run}}.{{strength}}.tsv"
        wildcard_constraints:
            run=any_of(TRANSLATED),
            strength="[0-9.e-]+",
        conda:
            "../../envs/torch.yaml"
        threads: 1
        resources:
            mem_mb=memory(4000),
            runtime=60,
            gpu=GPU,
        params:
            place=of_run(place_of),
            checkpoint=of_run(checkpoint),
            judging=of_run(judging_of),
            examples=lambda wildcards: limit_of(task_of(wildcards.run).gates.test_examples),
        shell:
            "python -m headroom from_scratch {params.place} --checkpoint {params.checkpoint} "
            "--other {input.other} --method scratch --setting {wildcards.strength} "
            "{params.examples} {params.judging} --output {output} > {log} 2>&1"
