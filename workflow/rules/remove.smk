# A checkpoint without its least important heads, checked against the masked model.
if TRANSLATED:

    rule remove:
        input:
            data=of_run(data_of, "test"),
            code=of_run(code_of, "headroom.stages.removal"),
            files=of_run(last_files),
            scores=f"{RESULTS}/scores/{{run}}.csv",
        output:
            sliced=f"{RESULTS}/sliced/{{run}}.pt",
            table=f"{RESULTS}/removal/{{run}}.csv",
        log:
            f"{LOGS}/remove/{{run}}.log",
        benchmark:
            f"{BENCHMARKS}/remove/{{run}}.tsv"
        wildcard_constraints:
            run=any_of(TRANSLATED),
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
            answering=of_run(answering_of),
            settings=of_run(slice_of, "removal"),
            main=of_run(main_of),
            sliced=lambda wildcards, output: output.sliced,
        shell:
            "python -m headroom removal {params.place} --checkpoint {params.checkpoint} --scores {input.scores} --set test "
            "--sliced {params.sliced} {params.settings} {params.main} {params.answering} --output {output.table} > {log} 2>&1"


# A classifier is a directory; the descriptor says which heads are gone.
if LABELLED:

    rule remove_labelled:
        input:
            data=of_run(data_of, "test"),
            code=of_run(code_of, "headroom.stages.removal"),
            files=of_run(last_files),
            scores=f"{RESULTS}/scores/{{run}}.csv",
        output:
            sliced=[f"{RESULTS}/sliced/{{run}}/{name}" for name in (*CLASSIFIER, "headroom.json")],
            table=f"{RESULTS}/removal/{{run}}.csv",
        log:
            f"{LOGS}/remove/{{run}}.log",
        benchmark:
            f"{BENCHMARKS}/remove/{{run}}.tsv"
        wildcard_constraints:
            run=any_of(LABELLED),
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
            answering=of_run(answering_of),
            settings=of_run(slice_of, "removal"),
            main=of_run(main_of),
            sliced=f"{RESULTS}/sliced/{{run}}",
        shell:
            "python -m headroom removal {params.place} --checkpoint {params.checkpoint} --scores {input.scores} --set test "
            "--sliced {params.sliced} {params.settings} {params.main} {params.answering} --output {output.table} > {log} 2>&1"
