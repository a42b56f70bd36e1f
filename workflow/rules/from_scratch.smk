# Layouts of learned gates, trained from the start: from new weights, or rewound to early weights of the run; and random
# layouts with the same number of heads. All get the further training of pruned models, and the same evaluation.
if any(plan.from_scratch(run) for run in plan.gated):

    use rule training_translation as training_from_scratch with:
        input:
            vocabulary=plan.vocabulary,
            binarised=plan.binarised,
            code=code("training", "headroom.engines.fairseq.arms"),
            models=ancient(f"{RESULTS}/pruned_models/{{run}}/hard-concrete.all"),  # a directory: its modification time is irrelevant
            learned=f"{RESULTS}/gates/{{run}}.hard-concrete.all.csv",
            rewound=lambda wildcards: plan.rewound_to(wildcards.run, wildcards.start),
        output:
            table=f"{RESULTS}/training_from_scratch/{{run}}.{{start}}-{{strength}}.csv",
            checkpoints=[f"{RESULTS}/from_scratch/{{run}}.{{start}}-{{strength}}/epoch{translation.epochs}.pt"],
        log:
            f"{LOGS}/training_from_scratch/{{run}}.{{start}}-{{strength}}.log",
        benchmark:
            f"{BENCHMARKS}/training_from_scratch/{{run}}.{{start}}-{{strength}}.tsv"
        wildcard_constraints:
            run=any_of(plan.translated),
            start=START,
            strength="[0-9.e-]+",
        priority: 20
        params:
            work=work("{run}.{start}-{strength}"),
            seed=seed_of_start,
            settings=of_run(job_settings.training, "early_checkpoints"),
            part=layout_and_checkpoint,

    rule from_scratch:
        input:
            unpack(model_files("from_scratch", "train", "check", "test")),
            other=f"{RESULTS}/from_scratch/{{run}}.{{start}}-{{strength}}/epoch{translation.epochs}.pt",
            training=f"{RESULTS}/training_from_scratch/{{run}}.{{start}}-{{strength}}.csv",
        output:
            table=f"{RESULTS}/pruned_models/{{run}}.{{start}}-{{strength}}.csv",
            resamples=f"{RESULTS}/pruned_models/{{run}}.{{start}}-{{strength}}.npz",
        log:
            f"{LOGS}/from_scratch/{{run}}.{{start}}-{{strength}}.log",
        benchmark:
            f"{BENCHMARKS}/from_scratch/{{run}}.{{start}}-{{strength}}.tsv"
        wildcard_constraints:
            run=any_of(plan.translated),
            start=START,
            strength="[0-9.e-]+",
        conda:
            "../../envs/torch.yaml"
        threads: 1
        resources:
            mem_mb=memory(4000),
            runtime=600,
            gpu=GPU,
        params:
            model=model,
            start=start_flags,
            seed=seed_of_start,
            settings=of_run(job_settings.gates, "from_scratch"),
            columns=columns("pruned_models"),
        shell:
            "python -m headroom from_scratch {params.model} --other {input.other} --training {input.training} "
            "{params.start} --setting {wildcards.strength} --seed {params.seed} --settings {params.settings:q} "
            "--output {output.table} > {log} 2>&1"
