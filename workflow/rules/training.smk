# One model per task, arm and seed, a checkpoint per epoch. State to resume from lives in work/, which is no
# output: Snakemake deletes the outputs of a failed job, and training would start over.
# Where `epochs_per_job` cuts a training into jobs, those before the last are `..._until`, by the epoch that they end at.
if TRANSLATED and not translation.released:

    rule training_translation:
        input:
            vocabulary=VOCABULARY,
            binarised=BINARISED,
            code=sources("headroom.stages.training", "headroom.methods.translation_arms"),
            earlier=earlier_job,
        output:
            table=f"{RESULTS}/training/{{run}}.csv",
            checkpoints=[f"{RESULTS}/runs/{{run}}/epoch{epoch}.pt" for epoch in range(1, translation.epochs + 1)],
        log:
            f"{LOGS}/training/{{run}}.log",
        benchmark:
            f"{BENCHMARKS}/training/{{run}}.tsv"
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
            arm=lambda wildcards: RUNS[wildcards.run].arm,
            seed=lambda wildcards: RUNS[wildcards.run].seed,
            settings=of_run(training_settings),
            device=TRAINING_DEVICE,
            part=until,
        shell:
            "python -m headroom training --study {params.study} --run {wildcards.run} --data {params.data} "
            "--work {params.work} --checkpoints {params.directory} --output {output.table} --device {params.device} "
            "--seed {params.seed} --arm {params.arm} --settings {params.settings:q} {params.part} > {log} 2>&1"

    use rule training_translation as training_translation_until with:
        output:
            table=f"{RESULTS}/training_so_far/{{run}}.epoch{{end}}.csv",
        log:
            f"{LOGS}/training_until/{{run}}.epoch{{end}}.log",
        benchmark:
            f"{BENCHMARKS}/training_until/{{run}}.epoch{{end}}.tsv"


# Outputs cannot depend on the task, and checkpoints are outputs: the rule is there once per number of epochs. All tasks
# with as many as the first one have `training_classification`; other numbers are part of the rule's name.
for epochs, runs in runs_by_epochs().items():

    rule:
        name:
            "training_classification" + ("" if runs[0] == TRAINED_CLASSIFIERS[0] else f"_of_{epochs}_epochs")
        input:
            texts=lambda wildcards: texts(RUNS[wildcards.run].task, "train", "choose", "check"),
            encoder=lambda wildcards: encoder_of(RUNS[wildcards.run].task),
            code=sources("headroom.stages.training", "headroom.methods.classification_arms"),
            earlier=earlier_job,
        output:
            table=f"{RESULTS}/training/{{run}}.csv",
            checkpoints=[
                f"{RESULTS}/runs/{{run}}/epoch{epoch}/{file}" for epoch in range(1, epochs + 1) for file in CLASSIFIER
            ],
        log:
            f"{LOGS}/training/{{run}}.log",
        benchmark:
            f"{BENCHMARKS}/training/{{run}}.tsv"
        wildcard_constraints:
            run=any_of(runs),
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
            arm=lambda wildcards: RUNS[wildcards.run].arm,
            seed=lambda wildcards: RUNS[wildcards.run].seed,
            settings=of_run(training_settings),
            device=TRAINING_DEVICE,
            part=until,
        shell:
            "python -m headroom training --task classification --study {params.study} --run {wildcards.run} "
            "--corpus {params.corpus} --encoder {params.encoder} --work {params.work} "
            "--checkpoints {params.directory} --output {output.table} --device {params.device} "
            "--seed {params.seed} --arm {params.arm} --settings {params.settings:q} {params.part} > {log} 2>&1"


if TRAINED_CLASSIFIERS:

    use rule training_classification as training_classification_until with:
        output:
            table=f"{RESULTS}/training_so_far/{{run}}.epoch{{end}}.csv",
        log:
            f"{LOGS}/training_until/{{run}}.epoch{{end}}.log",
        benchmark:
            f"{BENCHMARKS}/training_until/{{run}}.epoch{{end}}.tsv"
        wildcard_constraints:
            run=any_of(TRAINED_CLASSIFIERS),
