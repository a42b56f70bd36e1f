# One model per arm and seed, a checkpoint per epoch. State to resume from lives in work/, which is no
# output: Snakemake deletes the outputs of a failed job, and training would start over.
# Where the configuration cuts a training into jobs, those before the last are named by the epochs they end at.
for end in ends_of_jobs(translation):

    rule:
        name:
            job_of("train", end, translation)
        input:
            vocabulary=VOCABULARY,
            binarised=BINARISED,
            code=sources("headroom.stages.training"),
            earlier=earlier_job(end, translation),
        output:
            checkpoints=[
                f"{RESULTS}/runs/{{run}}/epoch{epoch}.pt"
                for epoch in range(1, translation.epochs + 1)
                if end == translation.epochs
            ],
            table=training_so_far(end, translation),
        log:
            f"{LOGS}/{job_of('train', end, translation)}/{{run}}.log",
        benchmark:
            f"{BENCHMARKS}/{job_of('train', end, translation)}/{{run}}.tsv"
        wildcard_constraints:
            run=any_of(TRANSLATED),
        priority: 50
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
            work=f"work/{study.study}/{{run}}",
            directory=f"{RESULTS}/runs/{{run}}",
            arm=of_run(arm_of),
            seed=lambda wildcards: RUNS[wildcards.run].seed,
            model=flags(translation.model),
            training=flags(translation.training) + until(end, translation),
            device=TRAINING_DEVICE,
        shell:
            "python -m headroom training --study {params.study} --run {wildcards.run} --data {params.data} "
            "--work {params.work} --checkpoints {params.directory} --output {output.table} --device {params.device} "
            "--seed {params.seed} {params.arm} {params.model} {params.training} > {log} 2>&1"
