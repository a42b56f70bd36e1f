# Layouts that gates left, trained from scratch.
if any(plan.from_scratch(run) for run in plan.gated):

    use rule training_translation as training_from_scratch with:
        input:
            vocabulary=plan.vocabulary,
            binarised=plan.binarised,
            code=code("training", "headroom.methods.translation_arms"),
            models=ancient(f"{RESULTS}/pruned_models/{{run}}/hard-concrete.all"),  # a directory: its date says nothing
            learned=f"{RESULTS}/gates/{{run}}.hard-concrete.all.csv",
        output:
            table=f"{RESULTS}/training_from_scratch/{{run}}.{{strength}}.csv",
            checkpoints=[
                f"{RESULTS}/from_scratch/{{run}}.{{strength}}/epoch{epoch}.pt"
                for epoch in range(1, translation.epochs + 1)
            ],
        log:
            f"{LOGS}/training_from_scratch/{{run}}.{{strength}}.log",
        benchmark:
            f"{BENCHMARKS}/training_from_scratch/{{run}}.{{strength}}.tsv"
        wildcard_constraints:
            run=any_of(plan.translated),
            strength="[0-9.e-]+",
        priority: 20
        params:
            work=work("{run}.scratch-{strength}"),
            part=profile_and_checkpoints,

    rule from_scratch:
        input:
            unpack(model_files("from_scratch", "test")),
            other=f"{RESULTS}/from_scratch/{{run}}.{{strength}}/epoch{translation.epochs}.pt",
        output:
            f"{RESULTS}/pruned_models/{{run}}.scratch-{{strength}}.csv",
        log:
            f"{LOGS}/from_scratch/{{run}}.{{strength}}.log",
        benchmark:
            f"{BENCHMARKS}/from_scratch/{{run}}.{{strength}}.tsv"
        wildcard_constraints:
            run=any_of(plan.translated),
            strength="[0-9.e-]+",
        conda:
            "../../envs/torch.yaml"
        threads: 1
        resources:
            mem_mb=memory(4000),
            runtime=60,
            gpu=GPU,
        params:
            model=model,
            settings=of_run(job_settings.sections, "answers", "sampling"),
            columns=columns("pruned_models"),
            examples=test_examples,
        shell:
            "python -m headroom from_scratch {params.model} --other {input.other} --method scratch "
            "--setting {wildcards.strength} {params.examples} --settings {params.settings:q} --output {output} "
            "> {log} 2>&1"
