# One model per task, arm and seed, a checkpoint per epoch and those inside the first one. If `epochs_per_job` splits a
# training into jobs, those before the last are `..._until`, by their last epoch.
if translation and not translation.released:

    rule training_translation:
        input:
            vocabulary=plan.vocabulary,
            binarised=plan.binarised,
            code=code("training", "headroom.engines.fairseq.arms"),
            earlier=earlier_job,
        output:
            table=f"{RESULTS}/training/{{run}}.csv",
            checkpoints=[f"{RESULTS}/runs/{{run}}/epoch{epoch:g}.pt" for epoch in plan.epochs(plan.translated[0])],
        log:
            f"{LOGS}/training/{{run}}.log",
        benchmark:
            f"{BENCHMARKS}/training/{{run}}.tsv"
        wildcard_constraints:
            run=any_of(plan.translated),
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
            work=work("{run}"),
            arm=arm_of,
            seed=of_run(plan.seed),
            settings=of_run(job_settings.training),
            columns=columns("training"),
            device=TRAINING_DEVICE,
            part=checkpoints_or_until,
        shell:
            "python -m headroom training --study {params.study} --run {wildcards.run} --data {params.data} "
            "--work {params.work} --output {output.table} --device {params.device} --seed {params.seed} "
            "--arm {params.arm} --settings {params.settings:q} {params.part} > {log} 2>&1"

    use rule training_translation as training_translation_until with:
        output:
            table=f"{RESULTS}/training_so_far/{{run}}.epoch{{end}}.csv",
        log:
            f"{LOGS}/training_until/{{run}}.epoch{{end}}.log",
        benchmark:
            f"{BENCHMARKS}/training_until/{{run}}.epoch{{end}}.tsv"


# Outputs cannot depend on the task, and checkpoints are outputs: there is one rule per set of epochs. Tasks with the
# same set as the first one have `training_classification`; the ends of others are part of the rule's name.
for epochs, runs in plan.classifiers_by_epochs().items():

    rule:
        name:
            "training_classification" + ("" if runs[0] == plan.trained_classifiers[0] else f"_of_{ends(epochs)}_epochs")
        input:
            texts=lambda wildcards: plan.texts(plan.runs[wildcards.run].task, "train", "choose", "check"),
            encoder=lambda wildcards: plan.encoder_files(plan.runs[wildcards.run].task),
            code=code("training", "headroom.engines.hub.classifier.arms"),
            earlier=earlier_job,
        output:
            table=f"{RESULTS}/training/{{run}}.csv",
            checkpoints=[f"{RESULTS}/runs/{{run}}/epoch{epoch:g}/{file}" for epoch in epochs for file in CLASSIFIER],
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
            work=work("{run}"),
            arm=arm_of,
            seed=of_run(plan.seed),
            settings=of_run(job_settings.training),
            columns=columns("training"),
            device=TRAINING_DEVICE,
            part=checkpoints_or_until,
        shell:
            "python -m headroom training --engine classifier --study {params.study} --run {wildcards.run} "
            "--corpus {params.corpus} --encoder {params.encoder} --work {params.work} --output {output.table} "
            "--device {params.device} --seed {params.seed} --arm {params.arm} --settings {params.settings:q} "
            "{params.part} > {log} 2>&1"


if plan.trained_classifiers:

    use rule training_classification as training_classification_until with:
        output:
            table=f"{RESULTS}/training_so_far/{{run}}.epoch{{end}}.csv",
        log:
            f"{LOGS}/training_until/{{run}}.epoch{{end}}.log",
        benchmark:
            f"{BENCHMARKS}/training_until/{{run}}.epoch{{end}}.tsv"
        wildcard_constraints:
            run=any_of(plan.trained_classifiers),
