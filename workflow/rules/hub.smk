# Parallel and labelled text of the Hugging Face Hub.
if translation and translation.corpus.source == "hub":

    rule download:
        input:
            code=sources("headroom.stages.download_parallel_hub"),
        output:
            texts("translation", *SPLITS, *translation.corpus.far_names),
            f"{RESULTS}/translation/corpus/corpus.json",
        log:
            f"{LOGS}/translation/download.log",
        benchmark:
            f"{BENCHMARKS}/translation/download.tsv"
        conda:
            "../../envs/torch.yaml"
        threads: 1
        resources:
            mem_mb=memory(4000),
            runtime=60,
        params:
            directory=subpath(output[0], parent=True),
            settings=flags(translation.corpus, leave_out=["source", "far"]) + far_flags(translation.corpus),
        shell:
            "python -m headroom download_parallel_hub --output {params.directory} {params.settings} > {log} 2>&1"


for name, task in labelled_from("hub"):

    rule:
        name:
            f"label_{name.replace('-', '_')}"
        input:
            code=sources("headroom.stages.download_hub"),
        output:
            texts(name, *SPLITS, *task.corpus.far_names),
        log:
            f"{LOGS}/{name}/label.log",
        benchmark:
            f"{BENCHMARKS}/{name}/label.tsv"
        conda:
            "../../envs/torch.yaml"
        threads: 1
        resources:
            mem_mb=memory(4000),
            runtime=60,
        params:
            directory=subpath(output[0], parent=True),
            settings=flags(task.corpus, leave_out=["source", "far"]) + far_flags(task.corpus),
        shell:
            "python -m headroom download_hub --output {params.directory} {params.settings} > {log} 2>&1"
