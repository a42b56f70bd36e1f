# A checkpoint without its least important heads, verified against the masked model.
if plan.translated:

    rule removal:
        input:
            unpack(model_files("removal", plan.removal_sets)),
            scores=f"{RESULTS}/scores/{{run}}.csv",
        output:
            sliced=f"{RESULTS}/sliced/{{run}}.pt",
            table=f"{RESULTS}/removal/{{run}}.csv",
        log:
            f"{LOGS}/removal/{{run}}.log",
        benchmark:
            f"{BENCHMARKS}/removal/{{run}}.tsv"
        wildcard_constraints:
            run=any_of(plan.translated),
        conda:
            "../../envs/torch.yaml"
        threads: 1
        resources:
            mem_mb=memory(4000),
            runtime=60,
            gpu=GPU,
        params:
            model=model,
            settings=of_run(job_settings.with_main, "removal", "answers"),
            columns=columns("removal"),
            sliced=lambda wildcards, output: output.sliced,
        shell:
            "python -m headroom removal {params.model} --scores {input.scores} --set test --settings {params.settings:q} "
            "--sliced {params.sliced} --output {output.table} > {log} 2>&1"


# A classifier is a directory; its descriptor lists the removed heads.
if plan.labelled:

    rule removal_labelled:
        input:
            unpack(model_files("removal", plan.removal_sets)),
            scores=f"{RESULTS}/scores/{{run}}.csv",
        output:
            sliced=[f"{RESULTS}/sliced/{{run}}/{name}" for name in (*CLASSIFIER, "headroom.json")],
            table=f"{RESULTS}/removal/{{run}}.csv",
        log:
            f"{LOGS}/removal/{{run}}.log",
        benchmark:
            f"{BENCHMARKS}/removal/{{run}}.tsv"
        wildcard_constraints:
            run=any_of(plan.labelled),
        conda:
            "../../envs/torch.yaml"
        threads: 1
        resources:
            mem_mb=memory(4000),
            runtime=60,
            gpu=GPU,
        params:
            model=model,
            settings=of_run(job_settings.with_main, "removal", "answers"),
            columns=columns("removal"),
            sliced=made_directory("sliced"),
        shell:
            "python -m headroom removal {params.model} --scores {input.scores} --set test --settings {params.settings:q} "
            "--sliced {params.sliced} --output {output.table} > {log} 2>&1"
