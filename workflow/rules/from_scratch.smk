# Layouts that gates left, trained from scratch.
if any(SCRATCH.values()):

    use rule training_translation as training_from_scratch with:
        input:
            vocabulary=VOCABULARY,
            binarised=BINARISED,
            code=sources("headroom.stages.training", "headroom.methods.translation_arms"),
            profile=f"{RESULTS}/pruned_models/{{run}}/hard-concrete.all/{{strength}}/profile.txt",
        output:
            table=f"{RESULTS}/scratch_training/{{run}}.{{strength}}.csv",
            checkpoints=[
                f"{RESULTS}/scratch/{{run}}.{{strength}}/epoch{epoch}.pt" for epoch in range(1, translation.epochs + 1)
            ],
        log:
            f"{LOGS}/training_from_scratch/{{run}}.{{strength}}.log",
        benchmark:
            f"{BENCHMARKS}/training_from_scratch/{{run}}.{{strength}}.tsv"
        wildcard_constraints:
            run=any_of(TRANSLATED),
            strength="[0-9.e-]+",
        priority: 20
        params:
            work=f"work/{study.study}/{{run}}.scratch-{{strength}}",
            directory=f"{RESULTS}/scratch/{{run}}.{{strength}}",
            part=lambda wildcards, input: f"--profile {input.profile}",

    rule from_scratch:
        input:
            data=of_run(data_of, "test"),
            code=of_run(code_of, "headroom.stages.from_scratch"),
            files=of_run(last_files),
            other=f"{RESULTS}/scratch/{{run}}.{{strength}}/epoch{translation.epochs}.pt",
        output:
            f"{RESULTS}/pruned/{{run}}.scratch-{{strength}}.csv",
        log:
            f"{LOGS}/from_scratch/{{run}}.{{strength}}.log",
        benchmark:
            f"{BENCHMARKS}/from_scratch/{{run}}.{{strength}}.tsv"
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
