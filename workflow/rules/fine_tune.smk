# The encoder that every classification task starts from, and a classifier per seed with a checkpoint per epoch.
ENCODERS = {
    name: [
        f"{RESULTS}/{name}/encoder/{file}" for file in CLASSIFIER if file != "model.safetensors" or is_pretrained(task)
    ]
    for name, task in classification.items()
    if not task.released
}

for name in ENCODERS:

    task = classification[name]

    rule:
        name:
            f"prepare_encoder_{name.replace('-', '_')}"
        input:
            texts=texts(name, "train"),
            code=sources("headroom.stages.encoder"),
            files=encoder_files(task.encoder),
        output:
            ENCODERS[name],
        log:
            f"{LOGS}/{name}/prepare_encoder.log",
        benchmark:
            f"{BENCHMARKS}/{name}/prepare_encoder.tsv"
        priority: 60  # trainings, the longest jobs, wait for it
        conda:
            "../../envs/torch.yaml"
        threads: 1
        resources:
            mem_mb=memory(4000),
            runtime=60,
        params:
            corpus=directory_of("texts"),
            directory=subpath(output[0], parent=True),
            settings=flags(task.encoder),
        shell:
            "python -m headroom encoder --corpus {params.corpus} --output {params.directory} "
            "{params.settings} > {log} 2>&1"

    for end in ends_of_jobs(task):

        rule:
            name:
                job_of(f"fine_tune_{name.replace('-', '_')}", end, task)
            input:
                texts=texts(name, "train", "choose", "check"),
                encoder=ENCODERS[name],
                code=sources("headroom.stages.fine_tuning"),
                earlier=earlier_job(end, task),
            output:
                checkpoints=[
                    f"{RESULTS}/runs/{{run}}/epoch{epoch}/{file}"
                    for epoch in range(1, task.epochs + 1)
                    for file in CLASSIFIER
                    if end == task.epochs
                ],
                table=training_so_far(end, task),
            log:
                f"{LOGS}/{job_of('fine_tune', end, task)}/{{run}}.log",
            benchmark:
                f"{BENCHMARKS}/{job_of('fine_tune', end, task)}/{{run}}.tsv"
            wildcard_constraints:
                run=any_of(RUNS_OF[name]),
            priority: 50
            conda:
                "../../envs/torch.yaml"
            threads: 1
            resources:
                mem_mb=memory(6000 * study.gpus),
                runtime=24 * 60,
                gpu=TRAINING_GPUS,
            params:
                study=study.study,
                corpus=directory_of("texts"),
                encoder=directory_of("encoder"),
                work=f"work/{study.study}/{{run}}",
                directory=f"{RESULTS}/runs/{{run}}",
                seed=lambda wildcards: RUNS[wildcards.run].seed,
                arm=of_run(arm_of),
                settings=flags(task.training) + until(end, task),
                device=TRAINING_DEVICE,
            shell:
                "python -m headroom fine_tuning --study {params.study} --run {wildcards.run} --corpus {params.corpus} "
                "--encoder {params.encoder} --work {params.work} --checkpoints {params.directory} --output {output.table} "
                "--device {params.device} --seed {params.seed} {params.arm} {params.settings} > {log} 2>&1"


for name, task in classification.items():

    if not task.released:
        continue

    rule:
        name:
            f"adopt_{name.replace('-', '_')}"
        input:
            texts=texts(name, "test"),
            code=sources("headroom.stages.released_classifier"),
            files=local_files(task.released.path) if task.released.path else [],
        output:
            [f"{RESULTS}/runs/{RUNS_OF[name][0]}/epoch1/{file}" for file in CLASSIFIER],
        log:
            f"{LOGS}/{name}/adopt.log",
        benchmark:
            f"{BENCHMARKS}/{name}/adopt.tsv"
        conda:
            "../../envs/torch.yaml"
        threads: 1
        resources:
            mem_mb=memory(6000),
            runtime=60,
        params:
            corpus=directory_of("texts"),
            checkpoint=checkpoint(RUNS_OF[name][0]),
            settings=flags(task.released),
        shell:
            "python -m headroom released_classifier --corpus {params.corpus} --checkpoint {params.checkpoint} "
            "{params.settings} > {log} 2>&1"
